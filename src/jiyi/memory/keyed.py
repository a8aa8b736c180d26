"""Keyed memory: `store`, `add`, `recall`, `get`, `update`, `forget`, `history`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from jiyi.errors import InvalidInputError
from jiyi.memory.base import MemoryBase
from jiyi.memory.drafts import checked_fields, cleared_fields, make_drafts, new_draft, source_of_trust
from jiyi.model import clock
from jiyi.model.entry import NOTE_TYPE, EntryVersion, MemoryEntry
from jiyi.model.filters import Filters, make_filters
from jiyi.model.limits import check_flag, check_version, check_whole
from jiyi.model.recalled import RecalledEntries
from jiyi.model.relevance import check_min_relevance
from jiyi.model.request import current_request
from jiyi.model.scope import GROUP_PREFIX, visible_scopes
from jiyi.model.scoring import DECAY_RATE, final_weights
from jiyi.ports import Draft, Progress
from jiyi.recall.request import Request

_BULK = 2_000


class KeyedMemory(MemoryBase):
    """The methods for entries that have a key in a scope."""

    async def store(
        self,
        key: str,
        content: str,
        category: str | None = None,
        *,
        scope: str | None = None,
        tags: Iterable[str] | None = None,
        importance: float | None = None,
        memory_type: str | None = None,
        domain: str | None = None,
        conversation_id: str | None = None,
        occurred_at: datetime | None = None,
        position: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        namespace: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> MemoryEntry:
        """Remember `content` under `key`; on disk when this returns.

        A key that exists in the scope gets a new version: `created_at` stays, `updated_at` moves, what was left `None`
        is kept, and the version before stays in `history`. `metadata` is a JSON object of your own, for `where`;
        `namespace` files the entry inside its scope. A new entry has the category `core` if none is given.
        """
        own, checked = self._scope(scope), self._limits.check_key(key)
        given = checked_fields(self._limits, locals())
        return await self._put_one(new_draft(self._limits, own, checked, given))

    async def add(
        self,
        content: str,
        category: str | None = None,
        *,
        scope: str | None = None,
        tags: Iterable[str] | None = None,
        importance: float | None = None,
        memory_type: str | None = None,
        domain: str | None = None,
        conversation_id: str | None = None,
        occurred_at: datetime | None = None,
        position: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        namespace: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> MemoryEntry:
        """Remember `content` without a key; on disk when this returns. Each call makes a new entry, found by its id."""
        given = checked_fields(self._limits, locals())
        return await self._put_one(new_draft(self._limits, self._scope(scope), None, given))

    async def store_many(
        self, entries: Iterable[Mapping[str, Any]], progress: Progress | None = None, *, trust: str = "user"
    ) -> list[MemoryEntry]:
        """Remember many at once: mappings with the argument names of `store`.

        All are checked before the first is written. They are written in transactions of 2,000; `progress(done, total)`
        is called when each is on disk. `trust` says where they come from: `user`, `agent`, `tool` or `import`; it is in
        the `source` of each, and prompts name it.
        """
        source = source_of_trust(trust)
        drafts = await self._run(make_drafts, self._limits, self._scope, entries, source)
        stored: list[MemoryEntry] = []
        for start in range(0, len(drafts), _BULK):
            stored += await self._put(drafts[start : start + _BULK])
            if progress is not None:
                progress(len(stored), len(drafts))
        return stored

    async def recall(
        self,
        query: str,
        limit: int = 10,
        *,
        scope: str | None = None,
        mode: str = "hybrid",
        category: str | Iterable[str] | None = None,
        memory_types: str | Iterable[str] | None = None,
        domains: str | Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        where: Mapping[str, Any] | None = None,
        namespace: Sequence[str] | None = None,
        weights: tuple[float, float, float] | None = None,
        decay_rate: float = DECAY_RATE,
        context: int = 0,
        now: datetime | None = None,
        highlights: bool = False,
        kind: str = "main",
        min_relevance: float = 0.0,
        duplicates: bool = False,
        time_zone: str | tzinfo | None = None,
    ) -> RecalledEntries:
        """The entries that answer the query best, best first, each with `relevance_score` and its parts.

        The `notes` of the list say what the answer lacks, also of an empty one: an index or embedder that failed.

        Sees every write that was acknowledged before it, from any process. Any text is a valid query. Dates in it
        (昨天, last Tuesday, 去年春节) are read against `now` in the user's time zone (`time_zone`, or the zone of `now`
        if it is not UTC, or that of the settings), and entries of that time rank higher; `since` and `until` are hard
        limits. `where` has conditions on the metadata:
        `{"project": "x", "score": {"$gte": 3}}`; `namespace` is one that the entries are in or below. With `weights`
        (α, β, γ) the order is
        α·relevance + β·decay + γ·importance. With `context` each hit has that many entries before and after it in its
        conversation; with `highlights` its explanation has the positions of the matched words in the content. `kind` is
        the kind of session that asks: a `group` sees shared notes only, never `MEMORY.md`.

        `relevance_score` is the probability that a hit answers; `confident` says whether it is high enough to rely on,
        and hits below `min_relevance` are left out. Entries that say what a better hit says are listed in its
        `other_sources`; with `duplicates` they are hits of their own. Letters that are no words get nothing.
        """
        if kind != "main":
            from jiyi.notes.visibility import check_kind

            check_kind(kind)
        text = self._limits.check_query(query)
        count = self._limits.check_limit(limit)
        filters = make_filters(
            visible_scopes(self._scope(scope)),
            category=category,
            memory_types=memory_types,
            domains=domains,
            tags=self._limits.check_tags(tags),
            since=since,
            until=until,
            where=where,
            namespace=namespace,
            alive_at=None if now is None else clock.require_aware(now, "now"),
        )
        sessions = self._agent_sessions() if self._agent_sessions.made else None
        being_asked = frozenset() if sessions is None else sessions.open_questions(filters.scopes)
        request = Request(
            query=text,
            filters=filters,
            limit=count,
            mode=mode,
            weights=None if weights is None else final_weights(weights, decay_rate),
            context=check_whole(context, "context", 0, 50),
            now=None if now is None else clock.require_aware(now, "now"),
            zone=clock.check_zone(time_zone) or (None if now is None else clock.zone_of(now)),
            highlights=check_flag(highlights, "highlights"),
            min_relevance=check_min_relevance(min_relevance),
            duplicates=check_flag(duplicates, "duplicates"),
            left_out=being_asked,
        )
        if self._includes_notes(filters, kind):
            notes = await self._notes_made()
            found = await self._run(notes.searcher.recall_with_notes, request, kind)
        else:
            found = await self._run(self._components.engine.answer, request)
        if not found and (filters.domains or filters.memory_types):
            return RecalledEntries(notes=(*found.notes, *await self._run(self._not_stored, filters)))
        return found

    def _not_stored(self, filters: Filters) -> list[str]:
        """Which of the domains and types that were asked for no entry has: any word may be one, and be misspelled."""
        asked = [(Filters(filters.scopes, domains=(name,)), "domain", name) for name in filters.domains]
        asked += [
            (Filters(filters.scopes, memory_types=(name,)), "memory type", name)
            for name in filters.memory_types
            if name != NOTE_TYPE
        ]
        return [f"no entry here has the {kind} {name!r}" for one, kind, name in asked if not self._store.count(one)]

    async def get(
        self,
        key: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name of the attribute
        scope: str | None = None,
    ) -> MemoryEntry | None:
        """The entry with this key, or this id, in the scope, or else in `public`; `None` when there is none."""
        checked, entry_id = self._key_or_id(key, id)
        return await self._run(self._store.get, visible_scopes(self._scope(scope)), checked, entry_id=entry_id)

    async def update(
        self,
        key_or_id: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name of the attribute
        content: str | None = None,
        category: str | None = None,
        tags: Iterable[str] | None = None,
        importance: float | None = None,
        memory_type: str | None = None,
        domain: str | None = None,
        conversation_id: str | None = None,
        occurred_at: datetime | None = None,
        position: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        namespace: Sequence[str] | None = None,
        expires_at: datetime | None = None,
        clear: Iterable[str] = (),
        if_version: int | None = None,
        scope: str | None = None,
    ) -> MemoryEntry:
        """Change an entry of the scope, found by its key or else by its id: what is given is replaced, the rest stays.

        With `id` keys are not looked at: an entry may have the id of another as its key. It gets a new version; the one
        before stays in `history`. `clear` names what is to be empty afterwards, such as `["expires_at", "tags"]`.
        Raises `InvalidInputError` when nothing is to be changed or the scope has no such entry, and
        `VersionConflictError` when it has another version than `if_version`.
        """
        if key_or_id is not None and id is not None:
            raise InvalidInputError("pass key_or_id or an id, not both")
        by_id = id is not None
        named = self._limits.check_id(id if by_id else key_or_id, "id" if by_id else "key_or_id")
        changes = checked_fields(self._limits, locals())
        changes |= cleared_fields(clear, changes)
        if not changes:
            raise InvalidInputError("nothing to change: give content, tags or another field, or name one in clear")
        own = self._scope(scope)
        updated = await self._write(
            self._store.update,
            own,
            named,
            changes,
            actor=self._settings.actor,
            if_version=check_version(if_version),
            by_id=by_id,
        )
        if updated is None:
            what = "id {} is no id" if by_id else "key_or_id {} is no key and no id"
            raise InvalidInputError(f"{what.format(ascii(named)[:80])} of an entry of the scope")
        self._written()
        return updated

    async def forget(
        self,
        key: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name of the attribute
        scope: str | None = None,
        erase: bool = False,
        if_version: int | None = None,
    ) -> bool:
        """Remove the entry with this key, or this id, from recall; `False` when there is none.

        Its versions stay readable in `history`; with `erase` their texts are deleted as well, for good. The messages
        that a fact was made of leave recall with it; their conversation has them until `forget_session`. Raises
        `VersionConflictError` when it has another version than `if_version`.
        """
        checked, entry_id = self._key_or_id(key, id)
        own = self._scope(scope)
        gone = await self._write(
            self._store.forget,
            own,
            checked,
            actor=self._settings.actor,
            erase=erase,
            entry_id=entry_id,
            if_version=check_version(if_version),
        )
        self._written()
        return gone

    async def history(
        self,
        key: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name of the attribute
        scope: str | None = None,
    ) -> Sequence[EntryVersion]:
        """Every version of the entries with this key, or of the one with this id, oldest first.

        Each says what changed, when, and by whom.
        """
        checked, entry_id = self._key_or_id(key, id)
        for readable in visible_scopes(self._scope(scope)):
            found = await self._run(self._store.versions, readable, checked, entry_id=entry_id)
            if found:
                return found
        return []

    async def known_keys(self, keys: Iterable[str], *, scope: str | None = None) -> set[str]:
        """Which of these keys entries of the scope have or once had; those of forgotten entries too."""
        if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
            raise InvalidInputError(f"keys must be a list of keys, not {type(keys).__name__}: {ascii(keys)[:80]}")
        checked = [self._limits.check_key(key) for key in keys]
        found: set[str] = await self._run(self._store.known_keys, self._scope(scope), checked)
        return found

    def _key_or_id(self, key: str | None, entry_id: str | None) -> tuple[str | None, str | None]:
        if entry_id is None:
            return self._limits.check_key(key), None
        if key is not None:
            raise InvalidInputError("pass a key or an id, not both")
        return None, self._limits.check_id(entry_id, "id")

    async def _put_one(self, draft: Draft) -> MemoryEntry:
        # A request that is done once is noted beside what it has written, which therefore has a call of its own.
        if current_request() is not None:
            return (await self._put([draft]))[0]
        return await self._calls.write_item(self._put_drafts, draft)

    async def _put(self, drafts: Sequence[Draft]) -> Sequence[MemoryEntry]:
        stored = await self._write(self._store.put, drafts, actor=self._settings.actor)
        self._written()
        return stored

    def _includes_notes(self, filters: Filters, kind: str) -> bool:
        """Whether recall also searches the notes: they belong to the scope that the memory was opened with.

        A group has a scope of its own and sees the shared ones.

        Notes are off in simple mode; the coverage of each hit says so.
        """
        settings = self._settings
        if not settings.has_notes or not settings.recall_notes:
            return False
        if kind == "group" and filters.scopes[0].startswith(GROUP_PREFIX):
            return True
        return filters.scopes == visible_scopes(settings.scope)
