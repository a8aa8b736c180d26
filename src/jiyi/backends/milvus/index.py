"""MilvusVectors: vectors in Milvus, in a file (Milvus Lite), on one server or on a cluster.

Milvus has no transactions. So everything is written in an order in which a crash costs only repetition: first the rows
of a batch, which can be written twice, then one row of another collection, the state, which says how far the vectors
have come and in which collection they are. A rebuild fills a new collection; the state row is what makes it the one.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from jiyi.backends.milvus.connection import (
    MAX_ROWS,
    SESSION,
    STRONG,
    MilvusConnection,
    MissingCollectionError,
    Row,
)
from jiyi.backends.milvus.scan import MilvusScan, fetch_blocks
from jiyi.backends.milvus.schema import (
    BUCKETS,
    LAYOUT,
    STATE_FIELDS,
    State,
    any_of,
    build_indexes,
    build_schema,
    data_fields,
    differences,
    entry_rows,
    in_filters,
    index_kind,
    row_fingerprint,
    row_id,
    state_indexes,
)
from jiyi.backends.milvus.scope_cache import ScopeCache
from jiyi.backends.shared.embedding import CHUNK_COLUMNS, embed_entries
from jiyi.backends.shared.vector_matrix import Floats, MatrixScan
from jiyi.errors import ConfigError, IndexDamagedError, IndexingError, IndexUnavailableError
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.identity import text_hash
from jiyi.ports import Embedder, IndexBatch, LogPosition, Progress, RecordStore

_log = logging.getLogger("jiyi.index")

DEFAULT_COLLECTION = "agent_memories_vectors"
EXACT_ROWS = 10_000
"""A scope with up to so many entries is compared as a whole, a larger one through Milvus's index."""
PARTITIONS = 16
_PAGE = 2_000
_MESSAGE_BYTES = 4 << 20
"""Of rows in one request; Milvus's own messages hold 5 MB."""
_KNOWN = ["id", "entry_id", "scope", "chunks", "sequence", "fingerprint", "text_hash"]


class ExclusiveLock(Protocol):
    """Who may write: Milvus itself has no locks. A file beside the records, or a lock of their database."""

    def hold(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Hold it for the block, again if the thread has it; `StoreBusyError` when it cannot be had in time."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@dataclass(frozen=True, slots=True)
class _Written:
    """What a batch has changed."""

    timestamp: int
    blocks: Sequence[tuple[MemoryEntry, Floats]]


class MilvusVectors:
    """The vectors of one store in one Milvus, shared by all processes that share the lock."""

    name = "vectors"
    batch_size = 256

    def __init__(
        self,
        uri: str,
        embedder: Embedder,
        store_id: str,
        *,
        lock: ExclusiveLock,
        token: str | None = None,
        collection: str = DEFAULT_COLLECTION,
        timeout: float = 10.0,
        pause: float = 5.0,
        cache_bytes: int = 256 << 20,
        exact_rows: int = EXACT_ROWS,
        partitions: int = PARTITIONS,
    ) -> None:
        """No connection is made before it is needed.

        Args:
            uri: `http://host:19530`, `https://…`, or a path that ends with `.db` for Milvus Lite.
            embedder: What makes the vectors.
            store_id: The store whose vectors these are.
            lock: Keeps two processes from writing at once.
            token: A token, or `user:password`. It is never shown.
            collection: The name under which Milvus shows the vectors.
            timeout: Seconds that one question may take.
            pause: Seconds for which a server that did not answer is not asked again.
            cache_bytes: How much of small scopes is kept in memory.
            exact_rows: Up to so many entries of a scope are compared exactly, whatever index Milvus has.
            partitions: Over how many partitions the scopes are spread in a new collection.
        """
        if not collection.isascii() or not collection.isidentifier() or len(collection) > 200:
            raise ConfigError(
                f"milvus_memory_collection {collection[:80]!a} is no name of a collection; use at most 200 letters, "
                "digits and '_', and begin with a letter"
            )
        self._connection = MilvusConnection(uri, token=token, timeout=timeout, pause=pause)
        self._embedder = embedder
        self._store_id = store_id
        self._lock = lock
        self._collection = collection
        self._state_collection = f"{collection}_state"
        self._state_id = text_hash(store_id)
        self._own_prefix = f"{collection}_{self._state_id[:8]}"
        """How the names of this store's collections begin."""
        self._partitions = partitions
        self._dimension = embedder.identity.dimension
        self._cache = ScopeCache(self._connection, self._dimension, cache_bytes=cache_bytes, exact_rows=exact_rows)
        self._state_ready = False
        self._condemned = ""
        """A collection that turned out to be missing."""
        self._reason = ""

    def __repr__(self) -> str:
        return f"MilvusVectors({self._connection.address!r}, collection={self._collection!r})"

    @property
    def identity(self) -> str:
        """What the vectors depend on: another store, model or way of cutting means another index."""
        return f"{self._store_id}/{LAYOUT}/{CHUNK_COLUMNS}/{self._embedder.identity}"

    # --- the mark -------------------------------------------------------------------------------------------------

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it has to be rebuilt.

        For a fifth of a second after another process has written it may be the mark from before: whoever then takes
        the changes in once more does no harm. What this process has written is always seen.
        """
        state = self._state(SESSION)
        return state.log_position if self._trusted(state) else None

    def _state(self, reading: dict[str, Any]) -> State:
        """The state row; an empty one where there is none."""
        try:
            if not self._state_ready and not self._connection.has(self._state_collection):
                return State()
            self._state_ready = True
            where = any_of("id", [self._state_id])
            rows = self._connection.rows(self._state_collection, where, ["id", "value"], reading)
        except MissingCollectionError:
            self._state_ready = False
            return State()
        return (State.from_row(rows[0]) if rows else None) or State()

    def _trusted(self, state: State) -> bool:
        return state.identity == self.identity and state.generation not in {"", self._condemned}

    def _needed(self, reading: dict[str, Any]) -> State:
        state = self._state(reading)
        if not self._trusted(state):
            raise IndexDamagedError(self._reason or "the vectors in Milvus are missing or made by other rules")
        return state

    def _write_state(self, state: State) -> None:
        self._connection.put_row(self._state_collection, state.to_row(self._state_id))

    # --- writing --------------------------------------------------------------------------------------------------

    def exclusive(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Only one process drains or rebuilds at a time."""
        return self._lock.hold(timeout)

    def fingerprint(self, entry: MemoryEntry) -> str:
        """What the index keeps to recognise what it holds of an entry; nothing where a reflection speaks for it."""
        return row_fingerprint(entry)

    def apply(self, batch: IndexBatch) -> None:
        """Embed what is new, write the rows, then the mark."""
        with self.exclusive():
            try:
                self._apply(self._needed(SESSION), batch)
            except MissingCollectionError:
                # Another process has put a new collection in its place a moment ago, or somebody has dropped it.
                state = self._needed(STRONG)
                self._must_exist(state)
                self._apply(state, batch)

    def _apply(self, state: State, batch: IndexBatch) -> None:
        gone = [entry_id for _, entry_id in batch.removals]
        known = self._known(state, state.generation, [*(entry.id for entry in batch.upserts), *gone])
        fresh = [entry for entry in batch.upserts if not self._is_held(known.get(entry.id), entry)]
        sources = [state.generation]
        written = self._put(state.generation, fresh, known, batch.log_position.sequence, sources, state)
        removed = [
            row_id(entry_id, chunk)
            for entry_id in gone
            if entry_id in known
            for chunk in range(int(known[entry_id]["chunks"]))
        ]
        timestamp = max(state.timestamp, written.timestamp, self._connection.delete(state.generation, removed))
        after = replace(
            state, sequence=batch.log_position.sequence, fingerprint=batch.log_position.fingerprint, timestamp=timestamp
        )
        self._write_state(after)
        self._tell_cache(state, after, written, gone, known)

    def _tell_cache(
        self, before: State, after: State, written: _Written, gone: Sequence[str], known: dict[str, Row]
    ) -> None:
        changes: dict[str, list[tuple[str, int, int, Floats | None]]] = {}
        for entry_id in gone:
            if entry_id in known:
                changes.setdefault(str(known[entry_id]["scope"]), []).append((entry_id, 0, 0, None))
        for entry, block in written.blocks:
            time = clock.microseconds(entry.event_time)
            changes.setdefault(entry.scope, []).append((entry.id, 0, time, block))
            if entry.id in known and known[entry.id]["scope"] != entry.scope:
                changes.setdefault(str(known[entry.id]["scope"]), []).append((entry.id, 0, 0, None))
        # Rows of a batch that broke off before its mark: they were not written now, and may not be known yet.
        repeated = {str(row["scope"]) for row in known.values() if int(row["sequence"]) > before.sequence}
        self._cache.follow(before, after, changes, repeated)

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build anew beside the old index, then swap. Vectors made before, even by a run that broke off, are used."""
        with self.exclusive():
            self._refuse_foreign()
            self._prepare_state()
            head = store.head()
            state = self._state(STRONG)
            building, begun = self._begin(state)
            timestamp = self._fill(building, store, head, fresh=begun, progress=progress)
            done = State(
                identity=self.identity,
                generation=building.building,
                sequence=head.sequence,
                fingerprint=head.fingerprint,
                timestamp=timestamp,
                text=self._has_text(building.building),
            )
            self._write_state(done)
            self._condemned = self._reason = ""
            self._cache.clear()
            self._connection.name_also(done.generation, self._collection)
            self._drop_others_than(done.generation)

    def _begin(self, state: State) -> tuple[State, bool]:
        """The collection to fill, and whether it is new: one that a run has begun with the same rules goes on."""
        if state.building and state.building_identity == self.identity and self._is_sound(state.building):
            return state, False
        if state.building:
            self._connection.drop(state.building)
        name = f"{self._own_prefix}{uuid.uuid4().hex[:8]}"
        building = replace(state, building=name, building_identity=self.identity)
        # First the state: a collection that nobody knows of would be left for ever.
        self._write_state(building)
        text = self._connection.server.ranks_text
        schema = build_schema(data_fields(self._dimension, text=text))
        indexes = build_indexes(self._connection.server, text=text)
        self._connection.create(name, schema, indexes, partitions=self._partitions)
        return building, True

    def _drop_others_than(self, generation: str) -> None:
        """Older collections of this store, also those that a crash has left behind."""
        for name in self._connection.collections():
            if name.startswith(self._own_prefix) and name != generation:
                self._connection.drop(name)

    def _fill(
        self, state: State, store: RecordStore, head: LogPosition, *, fresh: bool, progress: Progress | None
    ) -> int:
        target = state.building
        usable = state.identity == self.identity and state.generation not in {"", self._condemned}
        sources = [target, *([state.generation] if usable and self._is_sound(state.generation) else [])]
        done, after, timestamp = 0, "", 0
        while page := store.scan(after_id=after, limit=self.batch_size):
            known = {} if fresh else self._known(state, target, [entry.id for entry in page], STRONG)
            new = [entry for entry in page if not self._is_held(known.get(entry.id), entry)]
            timestamp = max(timestamp, self._put(target, new, known, head.sequence, sources, state).timestamp)
            done, after = done + len(page), page[-1].id
            if progress is not None:
                progress(done, None)
        if not fresh:
            timestamp = max(timestamp, self._drop_others(target, store))
        return timestamp

    def _put(
        self,
        target: str,
        entries: Sequence[MemoryEntry],
        known: dict[str, Row],
        sequence: int,
        sources: Sequence[str],
        state: State,
    ) -> _Written:
        """Write the rows of entries, and take away what is left of longer or other texts of theirs."""
        blocks = self._blocks(entries, known, sources, state)
        surplus: list[str] = []
        rows: list[Row] = []
        for entry, block in blocks:
            rows += entry_rows(entry, sequence, block)
            before = known.get(entry.id)
            if before is not None:
                # In another partition Milvus would keep the old rows beside the new ones.
                first = len(block) if before["scope"] == entry.scope else 0
                surplus += [row_id(entry.id, chunk) for chunk in range(first, int(before["chunks"]))]
        timestamp = self._connection.delete(target, surplus)
        for part in self._messages(rows):
            timestamp = max(timestamp, self._connection.put(target, part))
        return _Written(timestamp, blocks)

    def _messages(self, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
        """Requests of a size that Milvus takes as one message."""
        part: list[Row] = []
        size = 0
        for row in rows:
            weight = 4 * self._dimension + len(row["content"].encode("utf-8")) + 1_000
            if part and size + weight > _MESSAGE_BYTES:
                yield part
                part, size = [], 0
            part.append(row)
            size += weight
        if part:
            yield part

    def _blocks(
        self, entries: Sequence[MemoryEntry], known: dict[str, Row], sources: Sequence[str], state: State
    ) -> list[tuple[MemoryEntry, Floats]]:
        """The vectors of entries: those that Milvus has of the same text, and new ones."""
        found: dict[str, Floats] = {}
        for source in sources:
            wanted = {entry.id: text_hash(entry.content) for entry in entries if entry.id not in found}
            there = known if source == sources[0] else self._known(state, source, list(wanted))
            same = [i for i, digest in wanted.items() if i in there and there[i]["text_hash"] == digest]
            for start in range(0, len(same), _PAGE):
                page = same[start : start + _PAGE]
                found |= fetch_blocks(self._connection, state, page, "chunk >= 0", generation=source)
        missing = [entry for entry in entries if entry.id not in found]
        found |= dict(zip([entry.id for entry in missing], embed_entries(self._embedder, missing), strict=True))
        return [(entry, found[entry.id]) for entry in entries]

    def _known(
        self, state: State, collection: str, ids: Sequence[str], reading: dict[str, Any] | None = None
    ) -> dict[str, Row]:
        """The first row of each of these entries, without its vector."""
        found: dict[str, Row] = {}
        for start in range(0, len(ids), _PAGE):
            where = any_of("id", ids[start : start + _PAGE])
            rows = self._connection.rows(collection, where, _KNOWN, reading or state.reading)
            found.update((str(row["entry_id"]), row) for row in rows)
        return found

    @staticmethod
    def _is_held(row: Row | None, entry: MemoryEntry) -> bool:
        return row is not None and row["fingerprint"] == row_fingerprint(entry) and row["scope"] == entry.scope

    def _drop_others(self, collection: str, store: RecordStore) -> int:
        """Take out what a broken-off run left behind and no record has any more."""
        timestamp = 0
        for rows in self._pages(collection, ["id", "entry_id", "scope", "fingerprint"], STRONG):
            present = store.fetch(sorted({str(row["entry_id"]) for row in rows}), None)
            gone = [
                str(row["id"])
                for row in rows
                if (entry := present.get(str(row["entry_id"]))) is None
                or not entry.is_active
                or entry.scope != row["scope"]
                or row_fingerprint(entry) != row["fingerprint"]
            ]
            timestamp = max(timestamp, self._connection.delete(collection, gone))
        return timestamp

    # --- collections ----------------------------------------------------------------------------------------------

    def _prepare_state(self) -> None:
        if not self._connection.has(self._state_collection):
            try:
                self._connection.create(self._state_collection, build_schema(STATE_FIELDS), state_indexes())
            except IndexUnavailableError:
                raise
            except IndexingError:
                # Another store has made it at the same time.
                if not self._connection.has(self._state_collection):
                    raise
        found = differences(self._connection.described(self._state_collection), None, STATE_FIELDS)
        if found:
            raise self._foreign(self._state_collection, found)
        self._state_ready = True

    def _refuse_foreign(self) -> None:
        """The name of the collection is a second name of ours; a collection of that very name is not ours."""
        if self._connection.has(self._collection):
            described = self._connection.described(self._collection)
            if described.get("collection_name") == self._collection:
                metric = self._connection.metric(self._collection, "embedding") if _has_embedding(described) else None
                expected = data_fields(self._dimension, text=False)
                raise self._foreign(self._collection, differences(described, metric, expected))

    def _foreign(self, collection: str, found: Sequence[str]) -> IndexingError:
        shown = "; ".join(found[:6]) if found else "its fields are right, but jiyi did not make it"
        return IndexingError(
            f"Milvus at {self._connection.address} has a collection {collection!r} of another kind ({shown}); set "
            "milvus_memory_collection (MILVUS_MEMORY_COLLECTION) to another name, or rename or drop that collection"
        )

    def _drift(self, generation: str) -> list[str]:
        """How our own collection was changed by somebody else."""
        try:
            described = self._connection.described(generation)
            metric = self._connection.metric(generation, "embedding")
        except MissingCollectionError:
            return ["it is gone"]
        return differences(described, metric, data_fields(self._dimension, text=False))

    def _is_sound(self, generation: str) -> bool:
        return self._connection.has(generation) and not self._drift(generation)

    def _has_text(self, generation: str) -> bool:
        return any(field["name"] == "words" for field in self._connection.described(generation)["fields"])

    def _must_exist(self, state: State) -> None:
        if not self._connection.has(state.generation):
            self._condemned = state.generation
            self._reason = f"the collection {state.generation!r} is no longer in Milvus"
            _log.warning("the vectors will be rebuilt from the records: %s", self._reason)
            raise IndexDamagedError(self._reason)

    # --- reading --------------------------------------------------------------------------------------------------

    def scan(self, vector: Floats, scopes: Sequence[str]) -> MatrixScan | MilvusScan:
        """Compare a question with every text of these scopes."""
        state = self._needed(SESSION)
        while True:
            try:
                return self._cache.scan(state, vector, scopes)
            except MissingCollectionError:
                newer = self._needed(STRONG)
                if newer.generation == state.generation:
                    self._must_exist(newer)
                state = newer

    def propose_text(self, text: str, filters: Filters, *, limit: int) -> list[tuple[str, float]]:
        """Entries by Milvus's own BM25 over words cut by jieba, best first, with scores above 0: more is better.

        Empty where the collection has no BM25: `ranks_text` tells.
        """
        state = self._needed(SESSION)
        if not state.text or not text.strip() or limit <= 0:
            return []
        found: dict[str, float] = {}
        rows = min(limit, MAX_ROWS)
        hits = self._connection.search(
            state.generation,
            "words",
            text,
            in_filters(filters),
            ["entry_id"],
            state.reading,
            limit=rows,
            params={"metric_type": "BM25"},
        )
        for score, row in hits:
            # Milvus Lite says how far away a text is, a server how well it fits: the amount is the same.
            found[str(row["entry_id"])] = max(abs(score), found.get(str(row["entry_id"]), 0.0))
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))

    @property
    def ranks_text(self) -> bool:
        """Whether `propose_text` can be asked."""
        state = self._state(SESSION)
        return self._trusted(state) and state.text

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, fingerprint) of every entry; another fingerprint where rows of it are missing or of another text."""
        state = self._state(STRONG)
        if not self._trusted(state):
            return
        for rows in self._pages(state.generation, ["entry_id", "chunk", "chunks", "fingerprint"], STRONG):
            entries: dict[str, list[Row]] = {}
            for row in rows:
                entries.setdefault(str(row["entry_id"]), []).append(row)
            for entry_id, parts in entries.items():
                whole = sorted(int(row["chunk"]) for row in parts) == list(range(int(parts[0]["chunks"])))
                same = len({row["fingerprint"] for row in parts}) == 1
                yield entry_id, str(parts[0]["fingerprint"]) if whole and same else "damaged"

    def _pages(self, collection: str, fields: Sequence[str], reading: dict[str, Any]) -> Iterator[list[Row]]:
        """All rows; those of one entry on one page."""
        pages = 1 + 2 * self._connection.count(collection, "chunk >= 0", reading) // MAX_ROWS
        ranges = [(BUCKETS * page // pages, BUCKETS * (page + 1) // pages) for page in reversed(range(pages))]
        while ranges:
            start, end = ranges.pop()
            where = f"bucket >= {start} and bucket < {end}"
            rows = self._connection.rows(collection, where, fields, reading, limit=MAX_ROWS)
            if len(rows) == MAX_ROWS and end - start > 1:
                middle = (start + end) // 2
                ranges += [(middle, end), (start, middle)]
            elif rows:
                yield rows

    def check(self) -> list[str]:
        """What is wrong with the collection, or with reaching it."""
        try:
            state = self._state(STRONG)
            if not self._trusted(state):
                return [self._reason or "there are no vectors of this store in Milvus; run: jiyi rebuild"]
            return [f"the collection {state.generation!r}: {each}" for each in self._drift(state.generation)]
        except IndexingError as error:
            return [str(error)]

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        facts: dict[str, Any] = {
            "engine": "milvus",
            "address": self._connection.address,
            "collection": self._collection,
            "model": str(self._embedder.identity),
            "cached_scopes": self._cache.scopes,
            "cached_bytes": self._cache.nbytes,
        }
        try:
            server, state = self._connection.server, self._state(SESSION)
            rows = self._connection.count(state.generation, "chunk >= 0", SESSION) if self._trusted(state) else 0
        except IndexingError as error:
            return {**facts, "bytes": 0, "problem": str(error)}
        return {
            **facts,
            "engine": f"milvus {server.version}, {index_kind(server)}",
            "rows": rows,
            "bytes": rows * 4 * self._dimension,
            "full_text": state.text,
        }

    def close(self) -> None:
        """Let go of the connection."""
        self._cache.clear()
        self._connection.close()
        self._lock.close()


def _has_embedding(described: dict[str, Any]) -> bool:
    return any(field["name"] == "embedding" for field in described.get("fields", ()))
