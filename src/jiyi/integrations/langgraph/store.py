"""JiyiStore: a LangGraph `BaseStore` on a jiyi memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from heapq import merge
from typing import Any, Final
from weakref import WeakKeyDictionary

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from jiyi.compat.langgraph_forms import KIND, entry_key
from jiyi.compat.memory_owner import ClosesOwnMemory, SharesMemory
from jiyi.errors import InvalidInputError
from jiyi.integrations.langgraph import filters
from jiyi.integrations.langgraph.items import (
    IN_CONTENT,
    INDEXED,
    VALUE,
    item_of,
    search_item_of,
    stored,
    ttl_of,
    value_of,
)
from jiyi.integrations.opened import use_memory
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.sync import AgentMemory

_PAGE: Final = 500
_REFRESH_AFTER: Final = 0.05
"""Which part of its time must have passed before a read extends the life of an item: each extension is a version."""

_Conditions = list[tuple[tuple[str, ...], str, Any]]


class JiyiStore(SharesMemory, ClosesOwnMemory, BaseStore):
    """Items of LangGraph in a jiyi memory: durable, versioned, and searched by words and meaning without a key.

    Give it a path, or a `jiyi.sync.AgentMemory` that is open. Items of a scope are seen by that scope only; those of
    the scope `public` by all. `fields` are the paths that are searched where `put` says nothing else (`"$"`: every text
    of the value). `ttl` is LangGraph's `TTLConfig`.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: AgentMemory | str | os.PathLike[str],
        *,
        scope: str | None = None,
        fields: Iterable[str] = ("$",),
        ttl: TTLConfig | None = None,
        index: Mapping[str, Any] | None = None,
    ) -> None:
        """`index` is accepted as LangGraph writes it (`{"fields": [...]}`); the memory embeds by itself."""
        self._fields = _fields_of(fields, index)
        self._scope = scope
        self.ttl_config = ttl
        # Before the locks: whoever pickles a store is told by its memory what to do instead.
        self._memory, self._owned = use_memory("JiyiStore", memory, scope)
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @property
    def memory(self) -> AgentMemory:
        """The memory that holds the items."""
        return self._memory

    # --- batches ----------------------------------------------------------------------------------------------------

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, in another thread. What is written at the same time is written in the order of the calls."""
        ops = list(ops)
        if not any(isinstance(op, PutOp) for op in ops):
            return await asyncio.to_thread(self.batch, ops)
        async with self._writing():
            return await asyncio.to_thread(self.batch, ops)

    def _writing(self) -> asyncio.Lock:
        """The lock of this event loop; those who wait for it get it in their order."""
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations. All reads see what was there before the batch; of several puts of a key the last counts.

        The puts of a batch are written in one transaction (of up to 2,000), before the deletions.
        """
        ops = list(ops)
        for op in ops:
            validate_op_namespace(op)
        puts = {entry_key(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        now = clock.utc_now()
        # Whatever is wrong with a value is told before anything is written.
        drafts = {key: stored(op, self._fields, now) for key, op in puts.items() if op.value is not None}
        results = [self._read(op) for op in ops]
        if drafts:
            entries = [{**draft, "scope": self._scope} for draft in drafts.values()]
            for key, entry in zip(drafts, self._memory.store_many(entries), strict=True):
                if entry.expires_at is not None and puts[key].ttl is None:
                    # Somebody else may have deleted or written it since.
                    with suppress(InvalidInputError):
                        self._memory.update(key, clear=["expires_at"], scope=self._scope, if_version=entry.version)
        for key, op in puts.items():
            if op.value is None:
                self._memory.forget(key, scope=self._scope)
        return results

    def _read(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._get(op)
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None
            case _:
                raise InvalidInputError(f"Unknown operation type: {type(op)}")

    # --- reading ----------------------------------------------------------------------------------------------------

    def _get(self, op: GetOp) -> Item | None:
        found = self._memory.get(entry_key(op.namespace, op.key), scope=self._scope)
        if found is None or KIND not in found.metadata:
            return None
        if op.refresh_ttl:
            self._refresh([found])
        return item_of(found)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.limit < 0 or op.offset < 0:
            raise InvalidInputError(f"limit {op.limit} and offset {op.offset} must not be negative")
        wanted = filters.conditions(op.filter)
        namespace = (KIND, *op.namespace_prefix)
        end = op.offset + op.limit
        if op.query and op.query.strip():
            found = self._recalled(op.query, namespace, wanted, end)[op.offset : end]
        else:
            found = self._listed(namespace, wanted, op.offset, end)
        if op.refresh_ttl:
            self._refresh(found)
        return [search_item_of(entry) for entry in found]

    def _recalled(self, query: str, namespace: tuple[str, ...], wanted: _Conditions, count: int) -> list[MemoryEntry]:
        max_results = self._memory.settings.limits.max_results
        if count <= 0:
            return []

        def ask(where: Mapping[str, Any], limit: int) -> list[MemoryEntry]:
            return self._memory.recall(
                query,
                limit,
                scope=self._scope,
                memory_types=KIND,
                namespace=namespace,
                where={INDEXED: True, **where},
                duplicates=True,
            )

        if not wanted:
            return ask({}, min(count, max_results))
        where, rest = filters.where_of(wanted, VALUE)
        plain = ask({**where, IN_CONTENT: {"$exists": False}}, max_results if rest else min(count, max_results))
        large = ask({IN_CONTENT: True}, max_results)
        kept = (
            (hit for hit in plain if filters.matches(value_of(hit), rest)),
            (hit for hit in large if filters.matches(value_of(hit), wanted)),
        )
        # Each list keeps its order, which a reranker may have made.
        return list(merge(*kept, key=lambda hit: -(hit.relevance_score or 0.0)))

    def _listed(self, namespace: tuple[str, ...], wanted: _Conditions, start: int, end: int) -> list[MemoryEntry]:
        """Items in the order in which they were made, the newest first."""
        if end <= start:
            return []
        if not wanted:
            return list(_part(self._pages(namespace, {}), start, end))
        where, rest = filters.where_of(wanted, VALUE)
        large = [
            entry for entry in self._pages(namespace, {IN_CONTENT: True}) if filters.matches(value_of(entry), wanted)
        ]
        plain = (
            entry
            for entry in self._pages(namespace, {**where, IN_CONTENT: {"$exists": False}})
            if filters.matches(value_of(entry), rest)
        )
        if not large:
            return list(_part(plain, start, end))
        both = [*large, *_part(plain, 0, end)]
        both.sort(key=lambda entry: (entry.created_at, entry.id), reverse=True)
        return both[start:end]

    def _pages(self, namespace: tuple[str, ...], where: Mapping[str, Any]) -> Iterator[MemoryEntry]:
        cursor: str | None = None
        while True:
            page = self._memory.list(
                scope=self._scope,
                memory_types=KIND,
                namespace=namespace,
                where=where,
                limit=min(_PAGE, self._memory.settings.limits.max_results),
                cursor=cursor,
            )
            yield from page
            cursor = page.next_cursor
            if cursor is None:
                return

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        prefix = _literal_prefix(op.match_conditions or ())
        found: list[tuple[str, ...]] = []
        step = self._memory.settings.limits.max_results
        while True:
            some = self._memory.list_namespaces(
                scope=self._scope, prefix=(KIND, *prefix), limit=step, offset=len(found)
            )
            found += some
            if len(some) < step:
                break
        names = {
            each[1:][: op.max_depth]
            for each in found
            if len(each) > 1 and all(_namespace_matches(condition, each[1:]) for condition in op.match_conditions or ())
        }
        return sorted(names)[op.offset : op.offset + op.limit]

    def _refresh(self, entries: Iterable[MemoryEntry]) -> None:
        """Extend the life of items that were read and have one."""
        now = clock.utc_now()
        for entry in entries:
            ttl = ttl_of(entry)
            if ttl is None or entry.expires_at is None or entry.key is None:
                continue
            if entry.expires_at - now < ttl * (1 - _REFRESH_AFTER):
                # Deleted or written since it was read: there is nothing to extend then.
                with suppress(InvalidInputError):
                    self._memory.update(entry.key, expires_at=now + ttl, scope=entry.scope, if_version=entry.version)


def _fields_of(fields: Iterable[str], index: Mapping[str, Any] | None) -> tuple[str, ...]:
    if index is not None:
        unknown = sorted(set(index) - {"fields"})
        if unknown:
            raise InvalidInputError(
                f"index has {', '.join(unknown)}, and the memory embeds by itself; give only fields, and choose "
                "another embedder when the memory is opened (the setting embedder)"
            )
        fields = index.get("fields") or ("$",)
    if isinstance(fields, str):
        raise InvalidInputError(f"fields must be a list of paths such as ['text'], not the text {ascii(fields)[:80]}")
    return tuple(fields)


def _part(entries: Iterable[MemoryEntry], start: int, end: int) -> Iterator[MemoryEntry]:
    for number, entry in enumerate(entries):
        if number >= end:
            return
        if number >= start:
            yield entry
            if number + 1 >= end:
                return


def _literal_prefix(conditions: Iterable[MatchCondition]) -> tuple[str, ...]:
    """The parts that every namespace begins with, up to the first wildcard."""
    for condition in conditions:
        if condition.match_type == "prefix":
            literal = []
            for part in condition.path:
                if part == "*":
                    break
                literal.append(part)
            return tuple(literal)
    return ()


def _namespace_matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if condition.match_type not in {"prefix", "suffix"}:
        raise InvalidInputError(f"Unsupported match type: {condition.match_type}; use prefix or suffix")
    if len(namespace) < len(path):
        return False
    compared = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in {"*", part} for wanted, part in zip(path, compared, strict=True))
