"""TantivyIndex: finds entries by their words.

The text is segmented before it comes here, and queries are built from terms: nothing a person types is ever parsed.
The mark of the change log is a document of the index itself, so data and mark are committed together.
"""

from __future__ import annotations

import json
import logging
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tantivy
from tantivy import Occur, Query

from jiyi.backends.generations import Generations
from jiyi.backends.locks import ProcessLock
from jiyi.errors import IndexDamagedError, IndexingError
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import START, IndexBatch, Mark, Progress, Proposal, RecordStore

if TYPE_CHECKING:
    from jiyi.text import Analysis, Analyzer

_log = logging.getLogger("jiyi.index")

SCHEMA_VERSION = 1
_META_ID = "#mark"
_HEAP_BYTES = 64_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Words of the key and the tags count beside those of the text; bigrams help where the segmentation differs.
_LABEL_WEIGHT = 1.0
_BIGRAM_WEIGHT = 0.4
# Checking the checksums of a small index at opening costs little; a large one is checked by `verify`.
_CHECK_AT_OPENING_BYTES = 64 << 20


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    for name in ("scope", "key", "category", "memory_type", "domain", "tags"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("words", "bigrams", "labels"):
        builder.add_text_field(name, tokenizer_name="terms", index_option="freq")
    builder.add_integer_field("event_time", indexed=True, fast=True)
    builder.add_text_field("hash", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("mark", stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


class TantivyIndex:
    """The text index of one data directory, shared by several processes."""

    name = "text"
    batch_size = 5_000

    def __init__(self, root: Path, analyzer: Analyzer, store_id: str, *, lock_timeout: float) -> None:
        self._generations = Generations(root, "text")
        self._analyzer = analyzer
        self._store_id = store_id
        self._lock = ProcessLock(root.parent / "text-index.lock", timeout=lock_timeout, purpose="the lock")
        self._opening = threading.Lock()
        self._folder: Path | None = None
        self._index: tantivy.Index | None = None
        self._damaged: Path | None = None

    # --- the mark -------------------------------------------------------------------------------------------------

    def mark(self) -> Mark | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        try:
            index = self._open()
            if index is None:
                return None
            with _guarded("read"):
                meta = _read_meta(index)
        except IndexDamagedError as error:
            self._condemn(error)
            return None
        if meta is None or meta["identity"] != self._identity():
            return None
        return Mark(meta["sequence"], meta["fingerprint"])

    def _identity(self) -> str:
        return f"{self._store_id}/{SCHEMA_VERSION}/{self._analyzer.identity}"

    # --- writing --------------------------------------------------------------------------------------------------

    def exclusive(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Only one process drains or rebuilds at a time."""
        return self._lock.hold(timeout)

    def fingerprint(self, entry: MemoryEntry) -> str:
        """What the index keeps to recognise the state of an entry that it holds."""
        return entry.index_hash()

    def apply(self, batch: IndexBatch) -> None:
        """Take the batch in with one commit. The writer is held only for that long."""
        with self.exclusive():
            index = self._open()
            if index is None:
                folder = self._generations.create()
                self._generations.publish(folder)
                index = self._open()
                assert index is not None
            with _guarded("write"):
                self._write(index, batch)
                index.reload()

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build a new index beside the old one from all records, then swap."""
        with self.exclusive():
            head = store.head()
            folder = self._generations.create()
            with _guarded("rebuild"):
                index = self._register(tantivy.Index(_schema(), path=str(folder)))
                done, after = 0, ""
                while entries := store.scan(after_id=after, limit=self.batch_size):
                    self._write(index, IndexBatch(entries, (), START), new=True)
                    done, after = done + len(entries), entries[-1].id
                    if progress is not None:
                        progress(done, None)
                self._write(index, IndexBatch((), (), head))
            self._generations.publish(folder)
            self._damaged = None

    def _write(self, index: tantivy.Index, batch: IndexBatch, *, new: bool = False) -> None:
        writer = index.writer(_HEAP_BYTES, 1)
        try:
            if not new:
                for _, entry_id in batch.removals:
                    writer.delete_documents_by_term("id", entry_id)
                for entry in batch.upserts:
                    writer.delete_documents_by_term("id", entry.id)
            for entry in batch.upserts:
                writer.add_document(self._document(entry))
            writer.delete_documents_by_term("id", _META_ID)
            meta = {
                "identity": self._identity(),
                "sequence": batch.mark.sequence,
                "fingerprint": batch.mark.fingerprint,
            }
            document = tantivy.Document()
            document.add_text("id", _META_ID)
            document.add_text("mark", json.dumps(meta))
            writer.add_document(document)
            writer.commit()
        finally:
            # Gives the writer lock of the folder back, also when something failed before the commit.
            writer.wait_merging_threads()

    def _document(self, entry: MemoryEntry) -> tantivy.Document:
        analysis = self._analyzer.analyze(entry.content)
        document = tantivy.Document()
        document.add_text("id", entry.id)
        document.add_text("scope", entry.scope)
        document.add_text("category", str(entry.category))
        document.add_text("memory_type", entry.memory_type)
        if entry.domain is not None:
            document.add_text("domain", entry.domain)
        for tag in entry.tags:
            document.add_text("tags", tag)
        if entry.key is not None:
            document.add_text("key", entry.key)
        document.add_text("words", " ".join(analysis.words))
        document.add_text("bigrams", " ".join(analysis.bigrams))
        labels = [entry.key, *entry.tags] if entry.key is not None else list(entry.tags)
        if labels:
            label_words = (word for label in labels for word in self._analyzer.analyze(label).words)
            document.add_text("labels", " ".join(label_words))
        document.add_integer("event_time", _microseconds(entry.event_time))
        document.add_text("hash", self.fingerprint(entry))
        return document

    # --- reading --------------------------------------------------------------------------------------------------

    def search(self, query: Analysis, filters: Filters, *, limit: int) -> list[Proposal]:
        """The best matches by BM25, filters applied inside the index."""
        index = self._open()
        if index is None or not (query.words or query.bigrams):
            return []
        schema = index.schema
        terms: list[tuple[Occur, Query]] = []
        for word in dict.fromkeys(query.words):
            terms.append((Occur.Should, Query.term_query(schema, "words", word, "freq")))
            label = Query.term_query(schema, "labels", word, "freq")
            terms.append((Occur.Should, Query.boost_query(label, _LABEL_WEIGHT)))
        if query.has_han or not query.words:
            for bigram in dict.fromkeys(query.bigrams):
                term = Query.term_query(schema, "bigrams", bigram, "freq")
                terms.append((Occur.Should, Query.boost_query(term, _BIGRAM_WEIGHT)))
        clauses = [(Occur.Must, Query.boolean_query(terms)), *_filter_clauses(schema, filters)]
        with _guarded("search"):
            index.reload()
            searcher = index.searcher()
            hits = searcher.search(Query.boolean_query(clauses), limit, count=False).hits
            return [Proposal(_first(searcher.doc(address), "id"), float(score)) for score, address in hits]

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, hash) of every document."""
        index = self._open()
        if index is None:
            return
        with _guarded("read"):
            index.reload()
            searcher = index.searcher()
            everything = searcher.search(Query.all_query(), max(1, searcher.num_docs), count=False).hits
            for _, address in everything:
                document = searcher.doc(address)
                entry_id = _first(document, "id")
                if entry_id != _META_ID:
                    yield entry_id, _first(document, "hash")

    def check(self) -> list[str]:
        """Compare every file with the checksum that tantivy wrote at its end."""
        folder = self._generations.current()
        if folder is None:
            return ["there is no text index; run: jiyi rebuild"]
        return _checksum_problems(folder)

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        folder = self._generations.current()
        size = (
            sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
            if folder is not None
            else 0
        )
        return {
            "engine": "tantivy",
            "engine_version": tantivy.__version__,
            "bytes": size,
            "analyzer": self._analyzer.identity,
        }

    def close(self) -> None:
        """Let go of the files."""
        with self._opening:
            self._index = None
            self._folder = None
        self._lock.close()

    # --- opening --------------------------------------------------------------------------------------------------

    def _open(self) -> tantivy.Index | None:
        """The current generation, reopened when another process has swapped it."""
        folder = self._generations.current()
        with self._opening:
            if folder is None or folder == self._damaged:
                self._index, self._folder = None, None
            elif folder != self._folder:
                self._index, self._folder = None, None
                with _guarded("open"):
                    if _tree_bytes(folder) <= _CHECK_AT_OPENING_BYTES and (
                        problems := _checksum_problems(folder)
                    ):
                        raise IndexDamagedError("; ".join(problems))
                    empty = not (folder / "meta.json").exists()
                    index = (
                        tantivy.Index(_schema(), path=str(folder))
                        if empty
                        else tantivy.Index.open(str(folder))
                    )
                    self._index = self._register(index)
                self._folder = folder
            return self._index

    def _condemn(self, error: IndexDamagedError) -> None:
        """Remember that the current generation is broken, so that it is rebuilt and not tried again."""
        _log.warning("the text index is damaged and will be rebuilt from the records: %s", error)
        self._damaged = self._generations.current()

    @staticmethod
    def _register(index: tantivy.Index) -> tantivy.Index:
        index.register_tokenizer("terms", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
        index.config_reader("manual", 0)
        return index


def _filter_clauses(schema: tantivy.Schema, filters: Filters) -> list[tuple[Occur, Query]]:
    clauses: list[tuple[Occur, Query]] = []

    def must(query: Query) -> None:
        # Worth nothing, so that a filter does not change the order.
        clauses.append((Occur.Must, Query.const_score_query(query, 0.0)))

    for name, values in (
        ("scope", filters.scopes),
        ("category", filters.categories),
        ("memory_type", filters.memory_types),
        ("domain", filters.domains),
    ):
        if values:
            must(Query.term_set_query(schema, name, list(values)))
    for tag in filters.tags:
        must(Query.term_query(schema, "tags", tag, "basic"))
    if filters.without_types:
        clauses.append(
            (Occur.MustNot, Query.term_set_query(schema, "memory_type", list(filters.without_types)))
        )
    if filters.since is not None or filters.until is not None:
        must(
            Query.range_query(
                schema,
                "event_time",
                tantivy.FieldType.Integer,
                _microseconds(filters.since) if filters.since is not None else None,
                _microseconds(filters.until) if filters.until is not None else None,
                include_upper=False,
            )
        )
    return clauses


def _microseconds(moment: datetime) -> int:
    elapsed = moment - _EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


def _read_meta(index: tantivy.Index) -> dict[str, Any] | None:
    index.reload()
    searcher = index.searcher()
    hits = searcher.search(Query.term_query(index.schema, "id", _META_ID, "basic"), 1, count=False).hits
    if not hits:
        return None
    meta: dict[str, Any] = json.loads(_first(searcher.doc(hits[0][1]), "mark"))
    return meta


def _first(document: tantivy.Document, name: str) -> str:
    value = document.get_first(name)
    if not isinstance(value, str):
        raise IndexDamagedError(f"a document of the text index has no {name}")
    return value


@contextmanager
def _guarded(action: str) -> Iterator[None]:
    """Errors and panics of the engine mean damaged files: the records are safe and the index is rebuilt."""
    try:
        yield
    except IndexingError:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise IndexDamagedError(f"the text index failed to {action}: {error}") from error
    except BaseException as error:
        # A panic in the engine arrives as a BaseException of a type that cannot be imported.
        if type(error).__name__ == "PanicException":
            raise IndexDamagedError(f"the text index broke off to {action}: {error}") from None
        raise


_FOOTER_MAGIC = 1337


def _tree_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())


def _checksum_problems(folder: Path) -> list[str]:
    """Each data file ends with a JSON footer that holds the CRC-32 of what stands before it."""
    problems = []
    for file in sorted(folder.iterdir()):
        if file.name.startswith(".") or file.suffix in {".json", ".lock"} or not file.is_file():
            continue
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            # A merge of another process has removed it since.
            continue
        if len(data) < 8:
            problems.append(f"{file.name} is cut short")
            continue
        length, magic = struct.unpack("<II", data[-8:])
        body_end = len(data) - 8 - length
        if magic != _FOOTER_MAGIC or body_end < 0:
            problems.append(f"{file.name} has no readable footer")
            continue
        try:
            expected = json.loads(data[body_end:-8])["crc"]
        except (ValueError, KeyError, TypeError):
            problems.append(f"{file.name} has a broken footer")
            continue
        if zlib.crc32(data[:body_end]) != expected:
            problems.append(f"{file.name} does not match its checksum")
    return problems
