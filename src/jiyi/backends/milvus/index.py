"""`MilvusVectors`: vectors in Milvus, in a file (Milvus Lite), on one server or on a cluster.

Milvus has no transactions, so everything is written in an order in which a crash costs only repetition: first the rows
of a batch, which can be written twice, then the state row, which holds the log position and the name of the
collection. A rebuild fills a new collection; the state row makes it the current one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

from jiyi.backends.milvus.collections import StoreCollections
from jiyi.backends.milvus.connection import MAX_ROWS, SESSION, STRONG, MilvusConnection, Row
from jiyi.backends.milvus.errors import MissingCollectionError
from jiyi.backends.milvus.expressions import in_filters
from jiyi.backends.milvus.rows import row_fingerprint
from jiyi.backends.milvus.scan import MilvusScan
from jiyi.backends.milvus.schema import SCHEMA_VERSION, index_kind
from jiyi.backends.milvus.scope_cache import ScopeCache
from jiyi.backends.milvus.state import State, StateCollection
from jiyi.backends.milvus.writer import RowWriter, WriteResult, is_current
from jiyi.backends.shared.embedding import CHUNK_COLUMNS, PreparedVectors, embed_entries
from jiyi.backends.shared.vector_matrix import Floats, MatrixScan, block_similarities
from jiyi.errors import IndexDamagedError, IndexingError
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.identity import text_hash
from jiyi.model.searched_text import CONTENT_ONLY, SearchedText
from jiyi.ports import Embedder, IndexBatch, LogPosition, Progress, RecordStore

_log = logging.getLogger("jiyi.index")

DEFAULT_COLLECTION = "agent_memories_vectors"
EXACT_ROWS = 10_000
"""A scope with up to so many entries is scanned exactly, a larger one is searched by Milvus's index."""
PARTITIONS = 16
_PREPARING_SECONDS = 30.0
"""How long to wait for another thread of this process that is computing vectors."""


class ExclusiveLock(Protocol):
    """Allows one writer at a time: a file lock beside the records, or a lock of their database. Milvus has no locks."""

    def hold(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Hold the lock for the block, re-entrant in a thread; `StoreBusyError` when it cannot be had in time."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


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
        searched: SearchedText = CONTENT_ONLY,
    ) -> None:
        """No connection is made before the first request.

        Args:
            uri: `http://host:19530`, `https://…`, or a path that ends with `.db` for Milvus Lite.
            embedder: Computes the vectors.
            store_id: The store whose vectors these are.
            lock: Allows one writing process at a time.
            token: A token, or `user:password`. It is never shown.
            collection: The alias under which Milvus shows the vectors.
            timeout: Seconds that one request may take.
            pause: Seconds for which a server that did not answer is not asked again.
            cache_bytes: Memory for the cache of small scopes.
            exact_rows: Up to so many entries of a scope are scanned exactly.
            partitions: Over how many partitions the scopes are distributed in a new collection.
            searched: What of an entry is searched.
        """
        self._connection = MilvusConnection(uri, token=token, timeout=timeout, pause=pause)
        self._embedder = embedder
        self._store_id = store_id
        self._searched = searched
        self._lock = lock
        dimension = embedder.identity.dimension
        store_hash = text_hash(store_id)
        self._collections = StoreCollections(
            self._connection, collection, store_hash, dimension=dimension, partitions=partitions
        )
        self._states = StateCollection(self._connection, f"{collection}_state", store_hash)
        self._prepared = PreparedVectors(embedder)
        self._writer = RowWriter(self._connection, self._prepared, dimension, searched)
        self._dimension = dimension
        self._cache = ScopeCache(self._connection, dimension, cache_bytes=cache_bytes, exact_rows=exact_rows)
        self._broken = ""
        """A collection that turned out to be missing."""
        self._damage = ""

    def __repr__(self) -> str:
        return f"MilvusVectors({self._connection.address!r}, collection={self._collections.alias!r})"

    @property
    def identity(self) -> str:
        """What the vectors depend on: another store, model, chunk size or searched text."""
        return f"{self._store_id}/{SCHEMA_VERSION}/{CHUNK_COLUMNS}/{self._embedder.identity}{self._searched.identity}"

    # --- log position ---------------------------------------------------------------------------------------------

    def log_position(self) -> LogPosition | None:
        """How far the index has come; `None` when it has to be rebuilt.

        For a fifth of a second after a write of another process, this may be the position before: applying changes
        twice does no harm. Writes of this process are always seen.
        """
        state = self._state(SESSION)
        return state.log_position if self._is_usable(state) else None

    def _state(self, reading: dict[str, Any]) -> State:
        return self._states.read(reading)

    def _is_usable(self, state: State) -> bool:
        own = self._searched.matches(lambda: self.identity, state.identity)
        return own and state.generation not in {"", self._broken}

    def _usable_state(self, reading: dict[str, Any]) -> State:
        state = self._state(reading)
        if not self._is_usable(state):
            raise IndexDamagedError(self._damage or "the vectors in Milvus are missing or made by other rules")
        return state

    def _require_collection(self, state: State) -> None:
        if not self._connection.has(state.generation):
            self._mark_broken(state.generation)
            raise IndexDamagedError(self._damage)

    def _mark_broken(self, generation: str) -> None:
        """Do not use this collection again: the vectors are rebuilt."""
        self._broken = generation
        self._damage = f"the collection {generation!r} is no longer in Milvus"
        _log.warning("the vectors will be rebuilt from the records: %s", self._damage)

    # --- writing --------------------------------------------------------------------------------------------------

    def exclusive(self, timeout: float | None = None) -> AbstractContextManager[None]:
        """Only one process drains or rebuilds at a time."""
        return self._lock.hold(timeout)

    def fingerprint(self, entry: MemoryEntry) -> str:
        """The hash by which the index recognises the state of an entry."""
        return row_fingerprint(self._searched.entry(entry))

    def prepare(self, batch: IndexBatch, timeout: float | None = None) -> None:
        """Embed the new texts of a batch, so that nobody waits for the model while the lock is held."""
        state = self._usable_state(SESSION)
        try:
            known = self._writer.known(state.generation, [entry.id for entry in batch.upserts], state.reading)
        except MissingCollectionError:
            # `apply` finds out what has become of it.
            return
        hashes = {entry_id: row["text_hash"] for entry_id, row in known.items()}
        entries = self._searched.entries(batch.upserts)
        new = [entry for entry in entries if hashes.get(entry.id) != text_hash(entry.content)]
        self._prepared.prepare(new, _PREPARING_SECONDS if timeout is None else timeout)

    def apply(self, batch: IndexBatch) -> None:
        """Write the rows of the new texts, then the log position. What was not prepared is embedded now."""
        with self.exclusive():
            try:
                self._apply(self._usable_state(SESSION), batch)
            except MissingCollectionError:
                # Another process has replaced the collection a moment ago, or somebody has dropped it.
                state = self._usable_state(STRONG)
                self._require_collection(state)
                self._apply(state, batch)
            self._prepared.clear()

    def _apply(self, state: State, batch: IndexBatch) -> None:
        removed = [entry_id for _, entry_id in batch.removals]
        generation, position = state.generation, batch.log_position
        known = self._writer.known(generation, [*(entry.id for entry in batch.upserts), *removed], state.reading)
        entries = self._searched.entries(batch.upserts)
        outdated = [entry for entry in entries if not is_current(known.get(entry.id), entry)]
        written = self._writer.put(generation, outdated, known, position.sequence, [generation], state)
        deleted_at = self._writer.delete(generation, removed, known)
        after = replace(
            state,
            sequence=position.sequence,
            fingerprint=position.fingerprint,
            timestamp=max(state.timestamp, written.timestamp, deleted_at),
        )
        self._states.write(after)
        self._update_cache(state, after, written, removed, known)

    def _update_cache(
        self, before: State, after: State, written: WriteResult, removed: Sequence[str], known: dict[str, Row]
    ) -> None:
        changes: dict[str, list[tuple[str, int, int, Floats | None]]] = {}
        for entry_id in removed:
            if entry_id in known:
                changes.setdefault(str(known[entry_id]["scope"]), []).append((entry_id, 0, 0, None))
        for entry, block in written.blocks:
            time = clock.microseconds(entry.event_time)
            changes.setdefault(entry.scope, []).append((entry.id, 0, time, block))
            if entry.id in known and known[entry.id]["scope"] != entry.scope:
                changes.setdefault(str(known[entry.id]["scope"]), []).append((entry.id, 0, 0, None))
        # Rows of an interrupted batch were not written now, and the cache may lack them.
        uncertain = {str(row["scope"]) for row in known.values() if int(row["sequence"]) > before.sequence}
        self._cache.apply(before, after, changes, uncertain)

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        """Build a new index beside the old one, then swap. Existing vectors are reused, also of an interrupted run."""
        with self.exclusive():
            self._collections.refuse_foreign()
            problems = self._states.create()
            if problems:
                raise self._collections.foreign(self._states.name, problems)
            head = store.head()
            building, created = self._begin(self._state(STRONG))
            timestamp = self._fill(building, store, head, empty=created, progress=progress)
            done = State(
                identity=self.identity,
                generation=building.building,
                sequence=head.sequence,
                fingerprint=head.fingerprint,
                timestamp=timestamp,
                text=self._collections.has_text(building.building),
            )
            self._states.write(done)
            self._broken = self._damage = ""
            self._cache.clear()
            self._collections.publish(done.generation)

    def _begin(self, state: State) -> tuple[State, bool]:
        """The state with the collection to fill, and whether it is new or continues an interrupted run."""
        if state.building and state.building_identity == self.identity and self._collections.is_intact(state.building):
            return state, False
        if state.building:
            self._connection.drop(state.building)
        building = replace(state, building=self._collections.new_name(), building_identity=self.identity)
        # The state is written first: otherwise a crash would leave a collection that is never dropped.
        self._states.write(building)
        self._collections.create(building.building)
        return building, True

    def _fill(
        self, state: State, store: RecordStore, head: LogPosition, *, empty: bool, progress: Progress | None
    ) -> int:
        target = state.building
        reusable = self._is_usable(state) and self._collections.is_intact(state.generation)
        sources = [target, state.generation] if reusable else [target]
        done, after, timestamp = 0, "", 0
        while page := self._searched.entries(store.scan(after_id=after, limit=self.batch_size)):
            known = {} if empty else self._writer.known(target, [entry.id for entry in page], STRONG)
            outdated = [entry for entry in page if not is_current(known.get(entry.id), entry)]
            written = self._writer.put(target, outdated, known, head.sequence, sources, state)
            timestamp = max(timestamp, written.timestamp)
            done, after = done + len(page), page[-1].id
            if progress is not None:
                progress(done, None)
        return timestamp if empty else max(timestamp, self._writer.delete_orphans(target, store))

    # --- reading --------------------------------------------------------------------------------------------------

    def scan(self, vector: Floats, scopes: Sequence[str]) -> MatrixScan | MilvusScan:
        """Compare a query with every text of these scopes."""
        state = self._usable_state(SESSION)
        while True:
            try:
                return self._cache.scan(state, vector, scopes)
            except MissingCollectionError:
                newer = self._usable_state(STRONG)
                if newer.generation == state.generation:
                    self._require_collection(newer)
                state = newer

    def similarities(self, vector: Floats, entries: Sequence[MemoryEntry]) -> Floats:
        """The similarity of each entry, as a scan will tell it when the entries are written."""
        return block_similarities(embed_entries(self._embedder, self._searched.entries(entries)), vector)

    def propose_text(self, text: str, filters: Filters, *, limit: int) -> list[tuple[str, float]]:
        """Entries by Milvus's own BM25 over words segmented by jieba, best first, with positive scores.

        For administrators: its scores depend on the texts of all scopes. Recall does not ask it.

        Empty if the collection has no BM25: see `ranks_text`.
        """
        state = self._usable_state(SESSION)
        if not state.text or not text.strip() or limit <= 0:
            return []
        hits = self._connection.search(
            state.generation,
            "words",
            text,
            in_filters(filters),
            ["entry_id"],
            state.reading,
            limit=min(limit, MAX_ROWS),
            params={"metric_type": "BM25"},
        )
        found: dict[str, float] = {}
        for score, row in hits:
            # Milvus Lite returns the score as a negative distance.
            found[str(row["entry_id"])] = max(abs(score), found.get(str(row["entry_id"]), 0.0))
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))

    @property
    def ranks_text(self) -> bool:
        """Whether `propose_text` can be used."""
        state = self._state(SESSION)
        return self._is_usable(state) and state.text

    def contents(self) -> Iterator[tuple[str, str]]:
        """(id, fingerprint) of every entry; a wrong fingerprint if rows are missing or of another text."""
        state = self._state(STRONG)
        if not self._is_usable(state):
            return
        fields = ["entry_id", "chunk", "chunks", "fingerprint"]
        for rows in self._writer.pages(state.generation, fields, STRONG):
            entries: dict[str, list[Row]] = {}
            for row in rows:
                entries.setdefault(str(row["entry_id"]), []).append(row)
            for entry_id, parts in entries.items():
                complete = sorted(int(row["chunk"]) for row in parts) == list(range(int(parts[0]["chunks"])))
                same = len({row["fingerprint"] for row in parts}) == 1
                yield entry_id, str(parts[0]["fingerprint"]) if complete and same else "damaged"

    def check(self) -> list[str]:
        """Problems of the collection, or of the connection."""
        try:
            state = self._state(STRONG)
            if not self._is_usable(state):
                return [self._damage or "there are no vectors of this store in Milvus; run: jiyi rebuild"]
            problems = self._collections.changes(state.generation)
            return [f"the collection {state.generation!r}: {problem}" for problem in problems]
        except IndexingError as error:
            return [str(error)]

    def describe(self) -> dict[str, Any]:
        """Facts for `doctor`."""
        facts: dict[str, Any] = {
            "engine": "milvus",
            "address": self._connection.address,
            "collection": self._collections.alias,
            "model": str(self._embedder.identity),
            "cached_scopes": self._cache.scopes,
            "cached_bytes": self._cache.nbytes,
        }
        try:
            server, state = self._connection.server, self._state(SESSION)
            rows = self._connection.count(state.generation, "chunk >= 0", SESSION) if self._is_usable(state) else 0
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
        """Close the connection."""
        self._cache.clear()
        self._connection.close()
        self._lock.close()
