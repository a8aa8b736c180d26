"""One generation of the text index: a folder with a tantivy index and a `TermStore`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import tantivy
from tantivy import DocAddress, Query

from jiyi.backends.embedded.text.documents import IndexState, build_schema, is_entry, stored_text
from jiyi.backends.embedded.text.files import META, SegmentFiles, checksum_problems, segment_sizes
from jiyi.backends.embedded.text.terms import TermStore
from jiyi.backends.embedded.text.writer import IndexWriter, WritingMarker
from jiyi.backends.shared.derived_file import FileIdentity, FileVersion, file_identity, file_version, tree_bytes
from jiyi.errors import IndexDamagedError

_TANTIVY = "tantivy"
_TERMS = "terms.db"


@dataclass(slots=True)
class Generation:
    """A generation that is open."""

    folder: Path
    index: tantivy.Index
    files: SegmentFiles
    writer: IndexWriter
    terms: TermStore
    _terms_path: str
    _terms_file: FileIdentity
    _meta_path: str
    _loaded: FileVersion | None = None
    """The commit that searchers show."""
    _searcher: tantivy.Searcher | None = None
    """The last one."""
    _state: tuple[FileVersion, IndexState] | None = None
    """The state as of a commit."""

    @classmethod
    def open(cls, folder: Path) -> Generation:
        """Open a folder; `IndexDamagedError` if a file is missing or broken."""
        data = folder / _TANTIVY
        files = SegmentFiles(data)
        # If a process has died while it was writing, look at everything: it may have died of a damaged file.
        files.check_at_opening(everything=WritingMarker(data).exists())
        terms, meta = folder / _TERMS, data / META
        terms_file = file_identity(terms)
        if terms_file is None or not meta.is_file():
            raise IndexDamagedError(f"{_TERMS if terms_file is None else META} is missing")
        index = _configured(tantivy.Index(build_schema(), path=str(data), reuse=True))
        writer = IndexWriter(index, data, files)
        return cls(folder, index, files, writer, TermStore(terms), str(terms), terms_file, str(meta))

    def is_in(self, folder: Path) -> bool:
        """Whether this generation is in the folder, and the folder still has the same files."""
        return self.folder == folder and self._terms_file == file_identity(self._terms_path)

    def searcher(self, *, skip_check: bool = False) -> tantivy.Searcher:
        """A view of the last commit. Each commit replaces `meta.json`, and only then the index is reloaded.

        Before it is used, the files are checked as far as they have changed: see `files`. With `skip_check` it is the
        last one, if they were checked a moment ago.
        """
        if skip_check and self._searcher is not None and self.files.checked_recently():
            return self._searcher
        self.files.check_unchanged()
        version = file_version(self._meta_path)
        if version is None or version != self._loaded:
            self.index.reload()
            self._loaded = version
        self._searcher = searcher = self.index.searcher()
        return searcher

    def reload(self) -> None:
        """Show the commit that was just made."""
        self.index.reload()
        self._searcher = None

    @property
    def _index_folder(self) -> Path:
        """Where tantivy's files are."""
        return self.folder / _TANTIVY

    def state(self) -> IndexState | None:
        """The state as of the last commit."""
        searcher = self.searcher()
        version, known = self._loaded, self._state
        if known is not None and known[0] == version:
            return known[1]
        found = IndexState.read(searcher, self.index.schema)
        self._state = None if version is None or found is None else (version, found)
        return found

    def beside_removed(self, removed: set[str], limit: int) -> list[str]:
        """Ids of the other entries in segments that hold a document of these entries, live or deleted.

        With those of all segments that hold deleted documents of any entry, if these are not more than `limit`.
        """
        self._loaded = None
        searcher = self.searcher()
        everything = searcher.search(Query.all_query(), max(1, searcher.num_docs), count=False).hits
        live: defaultdict[int, dict[int, str]] = defaultdict(dict)
        for _, address in everything:
            live[address.segment_ord][address.doc] = stored_text(searcher.doc(address), "id")
        found: list[str] = []
        others: list[str] = []
        for place, size in enumerate(segment_sizes(self._index_folder)):
            here = live[place]
            # A deleted document can still be read by its address.
            addresses = (DocAddress(place, number) for number in range(size) if number not in here)
            deleted = {stored_text(searcher.doc(address), "id") for address in addresses}
            beside = [entry_id for entry_id in here.values() if entry_id not in removed and is_entry(entry_id)]
            if not removed.isdisjoint(here.values()) or not removed.isdisjoint(deleted):
                found += beside
            elif any(map(is_entry, deleted)):
                others += beside
        return found + others if len(found) + len(others) <= limit else found


def create_generation(folder: Path) -> tuple[IndexWriter, TermStore]:
    """An empty tantivy index and an empty term store in a new folder."""
    data = folder / _TANTIVY
    data.mkdir()
    index = _configured(tantivy.Index(build_schema(), path=str(data)))
    return IndexWriter(index, data), TermStore(folder / _TERMS, create=True)


def generation_problems(folder: Path) -> list[str]:
    """The files of tantivy that do not match their checksums."""
    return checksum_problems(folder / _TANTIVY)


def generation_bytes(folder: Path) -> int:
    """The size of all files."""
    return tree_bytes(folder) + tree_bytes(folder / _TANTIVY)


def _configured(index: tantivy.Index) -> tantivy.Index:
    index.register_tokenizer("terms", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    index.config_reader("manual", 0)
    return index
