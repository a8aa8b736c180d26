"""TantivyIndex: finds entries by their words, with a `TermStore` beside it for the scorer.

The text is segmented before it comes here, and queries are built from terms: nothing a person types is ever parsed.
The mark of the change log is a document of the index itself, so data and mark are committed together; the term store is
written before it and does not mind being written twice.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import tantivy
from tantivy import Occur, Query

from jiyi.backends.embedded.text.files import META, checksum_problems
from jiyi.backends.embedded.text.terms import TermStore
from jiyi.backends.embedded.text.writer import IndexWriter, guarded
from jiyi.backends.shared.derived_file import (
    FileIdentity,
    FileVersion,
    file_identity,
    file_version,
    tree_bytes,
)
from jiyi.backends.shared.generations import Generations
from jiyi.backends.shared.locks import ProcessLock
from jiyi.backends.shared.term_rows import Analysed, analyse, term_id
from jiyi.errors import IndexDamagedError, IndexingError
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.ports import START, IndexBatch, LogPosition, Progress, RecordStore, TermRow, TermStatistics
from jiyi.text import Analyzer, Vocabulary

R = TypeVar("R")
_log = logging.getLogger("jiyi.index")

SCHEMA_VERSION = 2
_TANTIVY = "tantivy"
_TERMS = "terms.db"
_META_ID = "#mark"
_FEW = 32
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Checking the checksums of a small index at opening costs little; a large one is checked by `verify`.
_CHECK_AT_OPENING_BYTES = 64 << 20


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    for name in ("scope", "key", "category", "memory_type", "domain", "tags", "conversation"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("words", "bigrams", "labels"):
        builder.add_text_field(name, tokenizer_name="terms", index_option="freq")
    builder.add_integer_field("event_time", indexed=True, fast=True)
    builder.add_text_field("hash", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("mark", stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


@dataclass(slots=True)
class _Opened:
    """A generation in use."""

    folder: Path
    index: tantivy.Index
    writer: IndexWriter
    terms: TermStore
    terms_path: str
    terms_file: FileIdentity
    meta_path: str
    loaded: FileVersion | None = None
    """The commit that searchers show."""
    meta: tuple[FileVersion, dict[str, Any]] | None = None
    """How far the index has come, as of a commit."""

    def searcher(self) -> tantivy.Searcher:
        """A view of the last commit. Each one brings a new list of files, and only then there is something to load."""
        version = file_version(self.meta_path)
        if version is None or version != self.loaded:
            self.index.reload()
            self.loaded = version
        return self.index.searcher()


class TantivyIndex:
    """The text index of one data directory, shared by several processes."""

    name = "text"
    batch_size = 5_000

    def __init__(self, root: Path, analyzer: Analyzer, store_id: str, *, lock_timeout: float) -> None:
        self._generations = Generations(root, "text")
        self._analyzer = analyzer
        self._store_id = store_id
        self._lock = ProcessLock(root.parent / "text-index.lock", timeout=lock_timeout, purpose="the lock")
        self._lock_timeout = lock_timeout
        self._deadline: float | None = None
        """Of who holds the lock, for all there is to wait for."""
        self._opening = threading.Lock()
        self._reading_terms = threading.Lock()
        self._writing = threading.Lock()
        self._opened: _Opened | None = None
        self._damaged: Path | None = None
        self._damage = ""

    # --- the mark -------------------------------------------------------------------------------------------------

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it has to be rebuilt."""
        if self._open() is None:
            return None
        try:
            meta = self._ask(self._read_meta)
        except IndexDamagedError:
            return None
        # Another process may have taught the segmenter a word: hear of it before thinking the index is foreign.
        if meta is None or (meta["identity"] != self._identity() and not self._learned(meta["identity"])):
            return None
        return LogPosition(meta["sequence"], meta["fingerprint"])

    def _learned(self, identity: str) -> bool:
        return isinstance(self._analyzer, Vocabulary) and self._analyzer.refresh() and identity == self._identity()

    def _read_meta(self, opened: _Opened) -> dict[str, Any] | None:
        searcher = opened.searcher()
        version, known = opened.loaded, opened.meta
        if known is not None and known[0] == version:
            meta = known[1]
        else:
            by_id = Query.term_query(opened.index.schema, "id", _META_ID, "basic")
            hits = searcher.search(by_id, 1, count=False).hits
            if not hits:
                return None
            meta = _checked_meta(_first(searcher.doc(hits[0][1]), "mark"))
            opened.meta = None if version is None else (version, meta)
        with self._reading_terms:
            reached = opened.terms.sequence()
        # The terms are written first: they may be ahead of the index, never behind it.
        if reached < meta["sequence"]:
            raise IndexDamagedError("the terms are older than the text index")
        return meta

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
        """What the index keeps to recognise the state of an entry that it holds."""
        return entry.index_hash()

    def apply(self, batch: IndexBatch) -> None:
        """Take the batch in with one commit. The writer is held only for that long."""
        with self.exclusive():
            opened = self._open()
            if opened is None or self.log_position() is None:
                raise IndexDamagedError("the text index is missing or made by other rules")
            with self._writing, _unless_removed(opened.folder), guarded("write"):
                self._write(opened.writer, opened.terms, batch)
                opened.index.reload()

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build a new index beside the old one from all records, then swap."""
        with self.exclusive():
            head = store.head()
            folder = self._generations.create()
            try:
                with _unless_removed(folder), guarded("rebuild"):
                    self._fill(folder, store, head, progress)
                    self._generations.publish(folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise

    def _fill(self, folder: Path, store: RecordStore, head: LogPosition, progress: Progress | None) -> None:
        with closing(TermStore(folder / _TERMS, create=True)) as terms, closing(_made(folder)) as writer:
            done, after = 0, ""
            while entries := store.scan(after_id=after, limit=self.batch_size):
                self._write(writer, terms, IndexBatch(entries, (), START), new=True)
                done, after = done + len(entries), entries[-1].id
                if progress is not None:
                    progress(done, None)
            self._write(writer, terms, IndexBatch((), (), head))

    def _write(self, writer: IndexWriter, terms: TermStore, batch: IndexBatch, *, new: bool = False) -> None:
        analysed = [analyse(self._analyzer, entry) for entry in batch.upserts]
        with writer.commit(self._deadline or inf) as documents:
            terms.apply(analysed, [entry_id for _, entry_id in batch.removals], batch.log_position.sequence)
            if not new:
                for _, entry_id in batch.removals:
                    documents.delete_documents_by_term("id", entry_id)
                for entry in batch.upserts:
                    documents.delete_documents_by_term("id", entry.id)
            for each in analysed:
                documents.add_document(_document(each))
            documents.delete_documents_by_term("id", _META_ID)
            meta = {
                "identity": self._identity(),
                "sequence": batch.log_position.sequence,
                "fingerprint": batch.log_position.fingerprint,
            }
            document = tantivy.Document()
            document.add_text("id", _META_ID)
            document.add_text("mark", json.dumps(meta))
            documents.add_document(document)

    # --- reading --------------------------------------------------------------------------------------------------

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches by BM25, filters applied inside the index."""
        if not terms:
            return []

        def search(opened: _Opened) -> list[str]:
            schema = opened.index.schema
            wanted = [Query.term_query(schema, field, term, "freq") for term in terms]
            if labels:
                wanted += [Query.term_query(schema, "labels", term, "freq") for term in terms]
            should = Query.boolean_query([(Occur.Should, query) for query in wanted])
            query = Query.boolean_query([(Occur.Must, should), *_filter_clauses(schema, filters)])
            searcher = opened.searcher()
            hits = searcher.search(query, limit, count=False).hits
            return [_first(searcher.doc(address), "id") for _, address in hits]

        return self._ask(search)

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of these scopes together."""
        return self._ask_terms(lambda terms: terms.statistics(scopes, words, bigrams))

    def windows(self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = ()) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its conversation, in order."""
        return self._ask_terms(lambda terms: terms.windows(ids, reach=reach, scopes=scopes))

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, conversation) its length and how often each word stands in it."""
        pairs = list(threads)
        return self._ask_terms(lambda terms: terms.conversations(pairs, words))

    def term_ids(self, terms: Sequence[str]) -> list[int]:
        """The numbers under which `windows` shows these terms."""
        return [term_id(term) for term in terms]

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, hash) of every document; the hash is another where the term store does not agree."""
        opened = self._open()
        if opened is None:
            return
        counted = self._ask_terms(lambda terms: dict(terms.contents()))
        with guarded("read"):
            opened.index.reload()
            searcher = opened.index.searcher()
            everything = searcher.search(Query.all_query(), max(1, searcher.num_docs), count=False).hits
            for _, address in everything:
                document = searcher.doc(address)
                entry_id = _first(document, "id")
                if entry_id != _META_ID:
                    digest = _first(document, "hash")
                    yield entry_id, digest if counted.pop(entry_id, None) == digest else "disagrees"
        yield from ((entry_id, "only in the term store") for entry_id in counted)

    def check(self) -> list[str]:
        """Compare every file with the checksum that tantivy wrote at its end."""
        folder = self._generations.current()
        if folder is None:
            return ["there is no text index; run: jiyi rebuild"]
        problems = checksum_problems(folder / _TANTIVY)
        try:
            return problems + self._ask_terms(TermStore.check)
        except IndexDamagedError as error:
            return [*problems, str(error)]

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        folder = self._generations.current()
        size = tree_bytes(folder) + tree_bytes(folder / _TANTIVY) if folder is not None else 0
        return {
            "engine": "tantivy",
            "engine_version": version("tantivy"),
            "bytes": size,
            "analyzer": self._analyzer.identity,
        }

    def close(self) -> None:
        """Let go of the files."""
        with self._opening:
            writer = None if self._opened is None else self._opened.writer
            self._let_go()
        if writer is not None:
            writer.close()
        self._lock.close()

    # --- opening --------------------------------------------------------------------------------------------------

    def _ask(self, question: Callable[[_Opened], R]) -> R:
        """Ask the generation in use, or the one that another process has put in its place meanwhile."""
        while True:
            opened = self._open()
            if opened is None:
                raise IndexDamagedError(self._damage or "there is no text index")
            try:
                with guarded("read"):
                    return question(opened)
            except IndexDamagedError as error:
                if self._generations.current() == opened.folder:
                    self._condemn(opened.folder, error)
                    raise

    def _ask_terms(self, question: Callable[[TermStore], R]) -> R:
        def ask(opened: _Opened) -> R:
            with self._reading_terms:
                return question(opened.terms)

        return self._ask(ask)

    def _open(self) -> _Opened | None:
        """The current generation, reopened when another process has swapped it; `None` when it has to be rebuilt."""
        with self._opening:
            while True:
                folder = self._generations.current()
                if folder is None or folder == self._damaged:
                    self._let_go()
                    self._damage = "" if folder is None else self._damage
                    return None
                opened = self._opened
                if (
                    opened is not None
                    and opened.folder == folder
                    and opened.terms_file == file_identity(opened.terms_path)
                ):
                    return opened
                self._let_go()
                try:
                    with guarded("open"):
                        self._opened = _opened(folder)
                except IndexingError as error:
                    # If it is not the current one any more, it was not damaged but deleted: take the next.
                    if self._generations.current() == folder:
                        if not isinstance(error, IndexDamagedError):
                            raise
                        self._condemn(folder, error)

    def _let_go(self) -> None:
        if self._opened is not None:
            # A connection must not be closed under the hands of another thread.
            with self._writing, self._reading_terms:
                self._opened.terms.close()
                # Perhaps its folder is gone: what is merged there needs nobody to wait for it.
                self._opened.writer.close(wait=False)
                self._opened = None

    def _condemn(self, folder: Path, error: IndexDamagedError) -> None:
        """Remember that this generation is broken, so that it is rebuilt and not asked again."""
        _log.warning("the text index is damaged and will be rebuilt from the records: %s", error)
        self._damaged, self._damage = folder, str(error)


def _checked_meta(text: str) -> dict[str, Any]:
    meta = json.loads(text)
    known = {"identity": str, "sequence": int, "fingerprint": str}
    if not isinstance(meta, dict) or not all(isinstance(meta.get(name), kind) for name, kind in known.items()):
        raise IndexDamagedError("the text index does not say how far it has come")
    return meta


def _opened(folder: Path) -> _Opened:
    data = folder / _TANTIVY
    if tree_bytes(data) <= _CHECK_AT_OPENING_BYTES and (problems := checksum_problems(data)):
        raise IndexDamagedError("; ".join(problems))
    terms, meta = folder / _TERMS, data / META
    terms_file = file_identity(terms)
    if terms_file is None or not meta.is_file():
        raise IndexDamagedError(f"{_TERMS if terms_file is None else META} is missing")
    index = _registered(tantivy.Index(_schema(), path=str(data), reuse=True))
    return _Opened(folder, index, IndexWriter(index, data), TermStore(terms), str(terms), terms_file, str(meta))


def _made(folder: Path) -> IndexWriter:
    data = folder / _TANTIVY
    data.mkdir()
    return IndexWriter(_registered(tantivy.Index(_schema(), path=str(data))), data)


def _registered(index: tantivy.Index) -> tantivy.Index:
    index.register_tokenizer("terms", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    index.config_reader("manual", 0)
    return index


def _document(analysed: Analysed) -> tantivy.Document:
    entry, analysis = analysed.entry, analysed.analysis
    document = tantivy.Document()
    document.add_text("id", entry.id)
    document.add_text("scope", entry.scope)
    document.add_text("category", str(entry.category))
    document.add_text("memory_type", entry.memory_type)
    for domain in entry.domains:
        document.add_text("domain", domain)
    for tag in entry.tags:
        document.add_text("tags", tag)
    if entry.key is not None:
        document.add_text("key", entry.key)
    if entry.conversation_id is not None:
        document.add_text("conversation", entry.conversation_id)
    document.add_text("words", " ".join(analysis.words))
    document.add_text("bigrams", " ".join(analysis.bigrams))
    if analysed.labels:
        document.add_text("labels", " ".join(analysed.labels))
    document.add_integer("event_time", _microseconds(entry.event_time))
    document.add_text("hash", analysed.digest)
    return document


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
        ("conversation", filters.conversations),
    ):
        if values:
            must(_any_of(schema, name, values))
    for tag in filters.tags:
        must(Query.term_query(schema, "tags", tag, "basic"))
    if filters.without_types:
        clauses.append((Occur.MustNot, _any_of(schema, "memory_type", filters.without_types)))
    if filters.since is not None or filters.until is not None:
        must(_between(schema, filters.since, filters.until))
    if filters.periods:
        must(Query.boolean_query([(Occur.Should, _between(schema, *period)) for period in filters.periods]))
    return clauses


def _any_of(schema: tantivy.Schema, name: str, values: Sequence[str]) -> Query:
    """One of these values in a field. A set of terms takes the engine three times as long as a few single ones."""
    if len(values) > _FEW:
        return Query.term_set_query(schema, name, list(values))
    terms = [Query.term_query(schema, name, value, "basic") for value in values]
    return terms[0] if len(terms) == 1 else Query.boolean_query([(Occur.Should, term) for term in terms])


def _between(schema: tantivy.Schema, start: datetime | None, end: datetime | None) -> Query:
    return Query.range_query(
        schema,
        "event_time",
        tantivy.FieldType.Integer,
        _microseconds(start) if start is not None else None,
        _microseconds(end) if end is not None else None,
        include_upper=end is None,  # the engine calls an open side inclusive
    )


def _microseconds(moment: datetime) -> int:
    elapsed = moment - _EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


def _first(document: tantivy.Document, name: str) -> str:
    value = document.get_first(name)
    if not isinstance(value, str):
        raise IndexDamagedError(f"a document of the text index has no {name}")
    return value


@contextmanager
def _unless_removed(folder: Path) -> Iterator[None]:
    """Whatever fails because the folder was taken away means that there is no index any more, not that it is in use."""
    try:
        yield
    except IndexingError as error:
        if folder.is_dir():
            raise
        raise IndexDamagedError("the text index was removed while it was written") from error
