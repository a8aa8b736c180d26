"""`TantivyIndex`: finds entries by their words, with a `TermStore` beside it for the scorer.

The log position is a document of the index, so data and position are committed together. The term store is written
before that commit; writing it twice changes nothing.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tantivy import Query

from jiyi.backends.embedded.text.documents import IndexState, entry_document, is_entry, stored_text
from jiyi.backends.embedded.text.generation import (
    Generation,
    create_generation,
    generation_bytes,
    generation_problems,
)
from jiyi.backends.embedded.text.pending import PendingTerms
from jiyi.backends.embedded.text.terms import TermStore
from jiyi.backends.embedded.text.writer import IndexWriter, guarded
from jiyi.backends.shared.generations import Generations
from jiyi.backends.shared.term_rows import (
    BIGRAMS,
    WORDS,
    Analysed,
    CollectionStatistics,
    analyse,
    text_fingerprint,
)
from jiyi.contexts import on_error
from jiyi.errors import IndexDamagedError, IndexingError
from jiyi.file_lock import FileLock
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import START, IndexBatch, LogPosition, Progress, RecordStore, TermRow, TermStatistics
from jiyi.text import Analyzer, Vocabulary

if TYPE_CHECKING:
    from jiyi.backends.embedded.text.overlay import RecallTextView, TextOverlay

R = TypeVar("R")
_log = logging.getLogger("jiyi.index")

SCHEMA_VERSION = 5
_REUSE_SECONDS = 0.1
"""Seconds for which the reads of a recall take the generation that was opened when it began."""
_MAX_RECENT = 512
"""How many analysed entries are kept."""


class TantivyIndex:
    """The text index of one data directory, shared by several processes."""

    name = "text"
    batch_size = 5_000

    def __init__(self, root: Path, analyzer: Analyzer, store_id: str, *, lock_timeout: float) -> None:
        self._generations = Generations(root, "text")
        self._analyzer = analyzer
        self._store_id = store_id
        self._lock = FileLock(root.parent / "text-index.lock", timeout=lock_timeout)
        self._lock_timeout = lock_timeout
        self._deadline: float | None = None
        """Until when the holder of the lock waits for tantivy's own lock."""
        self._opening = threading.Lock()
        self._reading_terms = threading.Lock()
        self._writing = threading.Lock()
        self._opened: Generation | None = None
        self._broken: Path | None = None
        """A generation that turned out to be damaged; it is not opened again."""
        self._damage = ""
        self._looked = -inf
        """When it was last looked whether the opened generation is the current one."""
        self._recent: dict[tuple[str, int], Analysed] = {}
        """What overlays have analysed: several recalls may come before the commit, and then the commit."""

    # --- log position ---------------------------------------------------------------------------------------------

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        if self._open() is None:
            return None
        try:
            state = self._read(self._state, skip_check=True)
        except IndexDamagedError:
            return None
        # Another process may have added a user word: load it before taking the index for one of other rules.
        if state is None or (state.identity != self._identity() and not self._matches_new_words(state.identity)):
            return None
        return LogPosition(state.sequence, state.fingerprint)

    def _matches_new_words(self, identity: str) -> bool:
        return isinstance(self._analyzer, Vocabulary) and self._analyzer.refresh() and identity == self._identity()

    def _state(self, generation: Generation) -> IndexState | None:
        state = generation.state()
        if state is None:
            return None
        with self._reading_terms:
            reached = generation.terms.sequence()
        # The terms are written first: they may be ahead of the index, never behind it.
        if reached < state.sequence:
            raise IndexDamagedError("the terms are older than the text index")
        return state

    def _identity(self) -> str:
        return f"{self._store_id}/{SCHEMA_VERSION}/{self._analyzer.identity}"

    # --- writing --------------------------------------------------------------------------------------------------

    @contextmanager
    def exclusive(self, timeout: float | None = None) -> Iterator[None]:
        """Only one process drains or rebuilds at a time."""
        deadline = time.monotonic() + (self._lock_timeout if timeout is None else timeout)
        with self._lock.hold(timeout):
            outer = self._deadline
            self._deadline = deadline if outer is None else outer
            try:
                yield
            finally:
                self._deadline = outer

    def fingerprint(self, entry: MemoryEntry) -> str:
        """The hash by which the index recognises the state of an entry."""
        return text_fingerprint(self._analyzer, entry)

    def apply(self, batch: IndexBatch) -> None:
        """Write the batch with one commit. The writer is open only for that long."""
        with self.exclusive():
            opened = self._open()
            if opened is None or self.log_position() is None:
                raise IndexDamagedError("the text index is missing or made by other rules")
            with self._writing, _damaged_if_removed(opened.folder), guarded("write"):
                self._write(opened.writer, opened.terms, batch)
                opened.reload()

    def beside_removed(self, removed: Sequence[str], limit: int) -> list[str]:
        """Ids of the entries that have to be written again: see `SharesFiles`.

        A segment keeps the words of deleted documents until its last document is deleted.
        """
        opened = self._open()
        if opened is None:
            return []
        with self.exclusive(), self._writing, guarded("read"):
            opened.writer.finish_merges(self._deadline or inf)
            return opened.beside_removed(set(removed), limit)

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build a new index beside the old one from all records, then swap."""
        with self.exclusive():
            head = store.head()
            folder = self._generations.create()
            with (
                on_error(lambda: shutil.rmtree(folder, ignore_errors=True)),
                _damaged_if_removed(folder),
                guarded("rebuild"),
            ):
                self._fill(folder, store, head, progress)
                self._generations.publish(folder)

    def _fill(self, folder: Path, store: RecordStore, head: LogPosition, progress: Progress | None) -> None:
        new_writer, new_terms = create_generation(folder)
        with closing(new_terms) as terms, closing(new_writer) as writer:
            done, after = 0, ""
            while entries := store.scan(after_id=after, limit=self.batch_size):
                self._write(writer, terms, IndexBatch(entries, (), START), new=True)
                done, after = done + len(entries), entries[-1].id
                if progress is not None:
                    progress(done, None)
            self._write(writer, terms, IndexBatch((), (), head))

    def _write(self, writer: IndexWriter, terms: TermStore, batch: IndexBatch, *, new: bool = False) -> None:
        analysed = [self._analysed(entry) for entry in batch.upserts]
        removed = [entry_id for _, entry_id in batch.removals]
        position = batch.log_position
        with writer.commit(self._deadline or inf) as documents:
            terms.apply(analysed, removed, position.sequence)
            if not new:
                for entry_id in (*removed, *(entry.id for entry in batch.upserts)):
                    documents.delete_documents_by_term("id", entry_id)
            for each in analysed:
                documents.add_document(entry_document(each))
            IndexState(self._identity(), position.sequence, position.fingerprint).write(documents)

    # --- reading --------------------------------------------------------------------------------------------------

    def propose(
        self,
        field: str,
        terms: Sequence[str],
        filters: Filters,
        *,
        limit: int,
        labels: bool = False,
        skip_check: bool = False,
        counted: CollectionStatistics | None = None,
    ) -> list[str]:
        """Ids of the best matches, filters applied inside the index.

        Here and below, `skip_check` is for a caller that has just asked for the log position: see `RecallTextView`.
        `counted` are the numbers of the terms, each of them once, if they were read before.
        """
        # numpy is loaded with it, which commands that only write do not need.
        from jiyi.backends.embedded.text.matches import best_matches
        from jiyi.backends.shared.bm25 import term_weights

        if not terms:
            return []
        unique = list(dict.fromkeys(terms))
        if counted is None or len(unique) < len(terms):
            kind = WORDS if field == "words" else BIGRAMS
            counted = self._read_terms(
                lambda terms: terms.frequencies(filters.scopes, kind, unique), skip_check=skip_check
            )
        weights = term_weights(unique, counted.df, counted.entries)

        def search(generation: Generation) -> list[str]:
            return best_matches(
                generation.searcher(skip_check=skip_check),
                generation.index.schema,
                field,
                weights,
                filters,
                labels=labels,
                mean_length=counted.mean_length,
                limit=limit,
                expected=sum(counted.df),
                entries=counted.entries,
            )

        return self._read(search, skip_check=skip_check)

    def statistics(
        self,
        scopes: Sequence[str],
        words: Sequence[str],
        bigrams: Sequence[str],
        pending: PendingTerms | None = None,
        *,
        skip_check: bool = False,
    ) -> TermStatistics:
        """Numbers of these scopes together, with `pending` as if it were in the index."""
        return self._read_terms(lambda terms: terms.statistics(scopes, words, bigrams, pending), skip_check=skip_check)

    def windows(
        self,
        ids: Sequence[str],
        *,
        reach: int,
        scopes: Sequence[str] = (),
        pending: PendingTerms | None = None,
        skip_check: bool = False,
    ) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its conversation, in order."""
        return self._read_terms(
            lambda terms: terms.windows(ids, reach=reach, scopes=scopes, pending=pending), skip_check=skip_check
        )

    def conversations(
        self,
        threads: Iterable[tuple[str, str]],
        words: Sequence[str],
        pending: PendingTerms | None = None,
        *,
        skip_check: bool = False,
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, conversation) its length and how often each word occurs in it."""
        pairs = list(threads)
        return self._read_terms(lambda terms: terms.conversations(pairs, words, pending), skip_check=skip_check)

    def for_recall(self) -> RecallTextView:
        """The index for one recall, which has just asked for the log position."""
        from jiyi.backends.embedded.text.overlay import RecallTextView

        return RecallTextView(self)

    def overlaid(self, batch: IndexBatch) -> TextOverlay:
        """The index as if it had taken in this batch. Nothing is written."""
        if len(self._recent) > _MAX_RECENT:
            self._recent.clear()
        for entry in batch.upserts:
            key = _version(entry)
            if key not in self._recent:
                self._recent[key] = analyse(self._analyzer, entry)
        from jiyi.backends.embedded.text.overlay import TextOverlay

        removed = [entry_id for _, entry_id in batch.removals]
        return TextOverlay(self, [self._analysed(entry) for entry in batch.upserts], removed)

    def _analysed(self, entry: MemoryEntry) -> Analysed:
        """The terms of an entry, which an overlay may have found before."""
        return self._recent.get(_version(entry)) or analyse(self._analyzer, entry)

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, hash) of every document; a wrong hash where the term store does not agree."""
        opened = self._open()
        if opened is None:
            return
        counted = self._read_terms(lambda terms: dict(terms.contents()))
        with guarded("read"):
            searcher = opened.searcher()
            everything = searcher.search(Query.all_query(), max(1, searcher.num_docs), count=False).hits
            for _, address in everything:
                document = searcher.doc(address)
                entry_id = stored_text(document, "id")
                if is_entry(entry_id):
                    digest = stored_text(document, "hash")
                    yield entry_id, digest if counted.pop(entry_id, None) == digest else "disagrees"
        yield from ((entry_id, "only in the term store") for entry_id in counted)

    def check(self) -> list[str]:
        """Compare every file with the checksum that tantivy wrote at its end."""
        folder = self._generations.current()
        if folder is None:
            return ["there is no text index; run: jiyi rebuild"]
        problems = generation_problems(folder)
        try:
            return problems + self._read_terms(TermStore.check)
        except IndexDamagedError as error:
            return [*problems, str(error)]

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        # Loading it takes some milliseconds, which every command would pay.
        from importlib.metadata import version

        folder = self._generations.current()
        return {
            "engine": "tantivy",
            "engine_version": version("tantivy"),
            "built": self._generations.was_published(),
            "bytes": 0 if folder is None else generation_bytes(folder),
            "analyzer": self._analyzer.identity,
        }

    def close(self) -> None:
        """Close the files."""
        with self._opening:
            writer = None if self._opened is None else self._opened.writer
            self._close_generation()
        if writer is not None:
            writer.close()
        self._lock.close()

    # --- opening --------------------------------------------------------------------------------------------------

    def _read(self, read: Callable[[Generation], R], *, skip_check: bool = False) -> R:
        """Read from the current generation, or from the next one if another process swaps it meanwhile."""
        while True:
            opened = self._recently_checked() if skip_check else None
            opened, skip_check = opened or self._open(), False
            if opened is None:
                raise IndexDamagedError(self._damage or "there is no text index")
            try:
                with guarded("read"):
                    return read(opened)
            except IndexDamagedError as error:
                if self._generations.current() == opened.folder:
                    self._mark_broken(opened.folder, error)
                    raise

    def _read_terms(self, read: Callable[[TermStore], R], *, skip_check: bool = False) -> R:
        def read_locked(generation: Generation) -> R:
            with self._reading_terms:
                return read(generation.terms)

        return self._read(read_locked, skip_check=skip_check)

    def _recently_checked(self) -> Generation | None:
        """The generation whose log position was asked a moment ago: one recall reads several times.

        If another process has swapped it since, it can still be read.
        """
        opened = self._opened
        return opened if time.monotonic() - self._looked < _REUSE_SECONDS else None

    def _open(self) -> Generation | None:
        """The current generation, reopened when another process has swapped it; `None` when it has to be rebuilt."""
        with self._opening:
            self._looked = time.monotonic()
            while True:
                folder = self._generations.current()
                if folder is None or folder == self._broken:
                    self._close_generation()
                    self._damage = "" if folder is None else self._damage
                    return None
                try:
                    if self._opened is not None and self._opened.is_in(folder):
                        self._opened.terms.check_mapping()
                        return self._opened
                    self._close_generation()
                    with guarded("open"):
                        self._opened = Generation.open(folder)
                except IndexingError as error:
                    # If it is no longer the current one, it was deleted and not damaged: open the next.
                    if self._generations.current() == folder:
                        if not isinstance(error, IndexDamagedError):
                            raise
                        self._mark_broken(folder, error)

    def _close_generation(self) -> None:
        if self._opened is not None:
            # Another thread may be using the connection.
            with self._writing, self._reading_terms:
                self._opened.terms.close()
                # The folder may be deleted already: do not wait for a merge there.
                self._opened.writer.close(wait=False)
                self._opened = None

    def _mark_broken(self, folder: Path, error: IndexDamagedError) -> None:
        """Do not open this generation again: it is rebuilt."""
        _log.warning("the text index is damaged and will be rebuilt from the records: %s", error)
        self._broken, self._damage, self._looked = folder, str(error), -inf


def _version(entry: MemoryEntry) -> tuple[str, int]:
    """What tells two states of an entry apart."""
    return entry.id, entry.version


@contextmanager
def _damaged_if_removed(folder: Path) -> Iterator[None]:
    """An error while the folder is gone means that there is no index, not that the index is busy."""
    try:
        yield
    except IndexingError as error:
        if folder.is_dir():
            raise
        raise IndexDamagedError("the text index was removed while it was written") from error
