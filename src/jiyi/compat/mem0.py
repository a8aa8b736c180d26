"""mem0's `Memory` on a jiyi memory: `from jiyi.compat.mem0 import Memory` in place of `from mem0 import Memory`.

The memories of a user are in the scope of that name, so `memory.recall(…, scope=user_id)` finds them as well. What
differs from mem0 is in docs/guides/migrating.md.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from heapq import merge
from types import TracebackType
from typing import Any, Final, Self

from jiyi.compat.mem0_filters import Mem0Filter
from jiyi.compat.mem0_forms import (
    IDS,
    NAMESPACE,
    checked_ids,
    expiry_of,
    history_of,
    memory_of,
    scope_of,
)
from jiyi.compat.memory_owner import ClosesOwnMemory, SharesMemory
from jiyi.errors import InvalidInputError
from jiyi.model.entry import MemoryEntry
from jiyi.sync import AgentMemory

_log = logging.getLogger("jiyi.compat.mem0")
_UNSET: Final = object()
_SESSION: Final = "mem0"
"""The conversation of messages without a run."""


class Memory(SharesMemory, ClosesOwnMemory):
    """mem0's methods: `add search get_all get update delete delete_all history reset close`.

    Without arguments it opens the memory in the default directory; give it a path, or a `jiyi.sync.AgentMemory` that is
    open. No model and no key are needed.
    """

    def __init__(self, memory: AgentMemory | str | os.PathLike[str] | None = None, **settings: Any) -> None:
        self._owned = not isinstance(memory, AgentMemory)
        self._memory = memory if isinstance(memory, AgentMemory) else AgentMemory.open(memory, **settings)
        self._places: dict[str, str] = {}

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Open with `{"jiyi": {"path": "./data", …settings}}`; what mem0 needs besides is named in the log and left."""
        own = dict(config_dict.get("jiyi", {}))
        unused = sorted(set(config_dict) - {"jiyi", "version"})
        if unused:
            _log.warning("jiyi does not use %s of the configuration: it embeds and stores by itself", ", ".join(unused))
        return cls(own.pop("path", None), **own)

    @property
    def memory(self) -> AgentMemory:
        """The memory underneath."""
        return self._memory

    # --- writing ----------------------------------------------------------------------------------------------------

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: datetime | None = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Keep what messages say: its facts, or with `infer=False` every message as it is."""
        if memory_type is not None or prompt is not None:
            raise InvalidInputError("memory_type and prompt of add are not supported; leave them out")
        ids = checked_ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        scope = scope_of(ids)
        about: dict[str, Any] = {**(metadata or {}), **ids}
        expires = expiry_of(expiration_date)
        if expires is not None:
            about["expiration_date"] = expires[0]
        given: dict[str, Any] = {
            "scope": scope,
            "occurred_at": timestamp,
            "expires_at": None if expires is None else expires[1],
        }
        said = _messages(messages)
        if not infer:
            return {"results": [self._added(message, about, given) for message in said]}
        results = []
        for user, assistant in _rounds(said):
            facts = self._memory.longterm.extract_and_store_memories_for_round(
                scope, run_id or _SESSION, user, assistant, created_at=timestamp
            )
            for fact in facts:
                self._memory.update(
                    id=fact.id,
                    metadata={**fact.metadata, **about},
                    namespace=NAMESPACE,
                    expires_at=given["expires_at"],
                    scope=scope,
                )
                self._places[fact.id] = scope
                results.append({"id": fact.id, "memory": fact.content, "event": "ADD"})
        return {"results": results}

    def _added(self, message: Mapping[str, Any], about: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        who = message.get("name")
        own = {**about, "role": message["role"], **({"actor_id": who} if who else {})}
        entry = self._memory.add(str(message["content"]), metadata=own, namespace=NAMESPACE, **given)
        self._places[entry.id] = entry.scope
        return {"id": entry.id, "memory": entry.content, "event": "ADD", "actor_id": who, "role": message["role"]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change the text, add to the metadata, or change the date; what identifies a memory stays."""
        new = data if text is None else text
        if new is None and metadata is None and expiration_date is _UNSET:
            raise InvalidInputError("At least one of text, metadata, or expiration_date must be provided.")
        entry = self._existing(memory_id)
        about = {**entry.metadata, **{k: v for k, v in (metadata or {}).items() if k not in (*IDS, "actor_id")}}
        changes: dict[str, Any] = {"content": new}
        if expiration_date is not _UNSET:
            about.pop("expiration_date", None)
            expires = expiry_of(expiration_date)
            if expires is None:
                changes["clear"] = ["expires_at"]
            else:
                about["expiration_date"], changes["expires_at"] = expires
        self._memory.update(id=entry.id, metadata=about, scope=entry.scope, **changes)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Delete a memory; its history stays."""
        entry = self._existing(memory_id)
        self._memory.forget(id=entry.id, scope=entry.scope)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Delete the memories with these ids."""
        ids = checked_ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        if not ids:
            raise InvalidInputError(
                "At least one filter is required to delete all memories; reset() deletes the memories of everyone."
            )
        for scope in self._scopes(ids):
            self._memory.forget_many(scope=scope, namespace=NAMESPACE, where=dict(ids))
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Delete every memory of every user that was added here, for good. Other entries stay."""
        for scope in self._scopes({}):
            self._memory.forget_many(scope=scope, namespace=NAMESPACE, erase=True)
        self._places.clear()

    # --- reading ----------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        rerank: bool = False,  # noqa: ARG002 - a setting of the memory here
        explain: bool = False,
        reference_date: datetime | None = None,
        show_expired: bool = False,
        limit: int | None = None,
        **ids: str | None,
    ) -> dict[str, Any]:
        """What fits a question, best first. Ids stand in `filters`, or are arguments as in earlier versions of mem0."""
        _refuse_expired(show_expired=show_expired)
        wanted, own = self._filter(filters, ids)
        max_results = top_k if limit is None else limit
        largest = self._memory.settings.limits.max_results
        of_scopes: list[list[MemoryEntry]] = []
        for scope in self._scopes(own):
            found = self._memory.recall(
                query,
                max_results if wanted.exact else largest,
                scope=scope,
                namespace=NAMESPACE,
                where=wanted.where,
                min_relevance=threshold or 0.0,
                now=reference_date,
                duplicates=True,
            )
            of_scopes.append([hit for hit in found if hit.scope == scope and wanted.holds(hit.metadata)])
        # Each list keeps its order, which a reranker may have made.
        hits = list(merge(*of_scopes, key=lambda hit: -(hit.relevance_score or 0.0)))
        results = []
        for hit in hits[:max_results]:
            self._places[hit.id] = hit.scope
            details = {"score_details": dict(hit.score_parts)} if explain else {}
            results.append({**memory_of(hit, score=hit.relevance_score or 0.0), **details})
        return {"results": results}

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        limit: int | None = None,
        **ids: str | None,
    ) -> dict[str, Any]:
        """The memories that meet the filters, the newest first."""
        _refuse_expired(show_expired=show_expired)
        wanted, own = self._filter(filters, ids)
        max_results = top_k if limit is None else limit
        found: list[MemoryEntry] = []
        for scope in self._scopes(own):
            for number, entry in enumerate(self._listed(scope, wanted)):
                if number >= max_results:
                    break
                found.append(entry)
        found.sort(key=lambda entry: (entry.created_at, entry.id), reverse=True)
        return {"results": [memory_of(entry) for entry in found[:max_results]]}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """A memory by its id."""
        entry = self._find(memory_id)
        return None if entry is None else memory_of(entry, in_list=False)

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Every change of a memory, oldest first."""
        known = self._places.get(memory_id)
        for scope in ([known] if known is not None else []) + self._scopes({}):
            versions = self._memory.history(id=memory_id, scope=scope)
            if versions:
                return history_of(memory_id, versions)
        return []

    # --- where things are ---------------------------------------------------------------------------------------------

    def _filter(
        self, filters: Mapping[str, Any] | None, ids: Mapping[str, str | None]
    ) -> tuple[Mem0Filter, dict[str, str]]:
        unknown = sorted(set(ids) - set(IDS))
        if unknown:
            raise InvalidInputError(f"unknown argument {unknown[0]}; put conditions on the metadata into filters")
        merged = {**(filters or {}), **checked_ids(ids)}
        own = checked_ids({name: merged[name] for name in IDS if not isinstance(merged.get(name), Mapping | None)})
        if not any(name in merged for name in IDS):
            raise InvalidInputError(
                "filters must contain at least one of: user_id, agent_id, run_id. Example: filters={'user_id': 'u1'}"
            )
        return Mem0Filter({**merged, **own}), own

    def _scopes(self, ids: Mapping[str, str]) -> list[str]:
        """The scopes that may have memories with these ids: that of the user, or without one every scope."""
        if ids.get("user_id") not in {None, "*"}:
            return [scope_of(ids)]
        return [info.scope for info in self._memory.scopes() if info.scope != "public"]

    def _listed(self, scope: str, wanted: Mem0Filter) -> Iterator[MemoryEntry]:
        cursor: str | None = None
        while True:
            page = self._memory.list(scope=scope, namespace=NAMESPACE, where=wanted.where, limit=200, cursor=cursor)
            yield from (entry for entry in page if entry.scope == scope and wanted.holds(entry.metadata))
            cursor = page.next_cursor
            if cursor is None:
                return

    def _find(self, memory_id: str) -> MemoryEntry | None:
        known = self._places.get(memory_id)
        for scope in ([known] if known is not None else []) + self._scopes({}):
            # Imported memories keep the id that they had in mem0 in their key.
            entry = self._memory.get(id=memory_id, scope=scope) or self._memory.get(f"mem0/{memory_id}", scope=scope)
            if entry is not None and entry.scope == scope and entry.namespace == NAMESPACE:
                self._places[memory_id] = scope
                return entry
        return None

    def _existing(self, memory_id: str) -> MemoryEntry:
        entry = self._find(memory_id)
        if entry is None:
            raise InvalidInputError(f"Memory with id {ascii(memory_id)[1:81]} not found")
        return entry


class AsyncMemory(SharesMemory):
    """mem0's `AsyncMemory`: the same methods, awaited; the work is done in another thread."""

    def __init__(self, memory: AgentMemory | str | os.PathLike[str] | None = None, **settings: Any) -> None:
        self._sync = Memory(memory, **settings)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """As `Memory.from_config`; it may be awaited, as some versions of mem0 want it."""
        made = cls.__new__(cls)
        made._sync = Memory.from_config(config_dict)  # noqa: SLF001 - it is one of these
        return made

    def __await__(self) -> Generator[None, None, Self]:
        yield from ()
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._sync.close)

    def __copy__(self) -> Self:
        copied = super().__copy__()
        copied._sync = copy(self._sync)  # noqa: SLF001 - it is one of these
        return copied

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"AsyncMemory has no {name}")
        method = getattr(self._sync, name)
        if not callable(method):
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(method, *args, **kwargs)

        return call


def _messages(given: object) -> list[Mapping[str, Any]]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if isinstance(given, Mapping):
        given = [given]
    if not isinstance(given, Sequence):
        raise InvalidInputError(f"messages must be str, dict, or list[dict], not {type(given).__name__}")
    said = []
    for index, message in enumerate(given):
        known = isinstance(message, Mapping) and message.get("role") is not None
        if not known or not isinstance(message.get("content"), str):
            raise InvalidInputError(f"messages[{index}] needs a role and a content that is text: {ascii(message)[:80]}")
        if message["role"] != "system":
            said.append(message)
    return said


def _rounds(said: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """What the user said and what was answered, round by round."""
    user: list[str] = []
    answer: list[str] = []
    for message in said:
        if message["role"] == "assistant":
            answer.append(message["content"])
            continue
        if answer:
            yield "\n".join(user), "\n".join(answer)
            user, answer = [], []
        user.append(message["content"])
    if any(text.strip() for text in (*user, *answer)):
        yield "\n".join(user), "\n".join(answer)


def _refuse_expired(*, show_expired: bool) -> None:
    if show_expired:
        raise InvalidInputError(
            "show_expired is not supported: what has expired is in no answer; history(memory_id) still has it"
        )


__all__ = ["AsyncMemory", "Memory"]
