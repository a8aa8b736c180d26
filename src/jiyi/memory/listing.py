"""Listing: `list`, `count`, `forget_many` and `list_namespaces`, all by the same conditions."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from jiyi.errors import InvalidInputError
from jiyi.memory.base import MemoryBase
from jiyi.model import clock
from jiyi.model.entry import MESSAGE_TYPE
from jiyi.model.filters import Filters, make_filters
from jiyi.model.limits import check_whole
from jiyi.model.listing import Forgotten, Order, Page, cursor_of, make_order, place_of_cursor
from jiyi.model.namespace import check_namespace
from jiyi.model.scope import visible_scopes

_MAX_OFFSET = 2**31 - 1
_MAX_TEXTS = 256
_FORGET_AT_ONCE = 500
"""How many entries one transaction of `forget_many` forgets."""


class Listing(MemoryBase):
    """The methods for entries that meet conditions."""

    async def count(
        self,
        *,
        scope: str | None = None,
        category: str | Iterable[str] | None = None,
        memory_types: str | Iterable[str] | None = None,
        domains: str | Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        conversation_id: str | None = None,
        key_prefix: str | None = None,
        namespace: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        where: Mapping[str, Any] | None = None,
        now: datetime | None = None,
    ) -> int:
        """How many entries the scope sees: its own and the public ones. Messages count only if asked for.

        With `now` those count that had not expired at that moment, also if they are archived since.
        """
        filters = self._filters(visible_scopes(self._scope(scope)), locals())
        return await self._run(self._store.count, filters)

    async def forget_many(
        self,
        *,
        scope: str | None = None,
        category: str | Iterable[str] | None = None,
        memory_types: str | Iterable[str] | None = None,
        domains: str | Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        conversation_id: str | None = None,
        key_prefix: str | None = None,
        namespace: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        where: Mapping[str, Any] | None = None,
        erase: bool = False,
        dry_run: bool = False,
    ) -> Forgotten:
        """Forget the entries of the scope that meet all conditions, and return a receipt.

        Public entries stay. At least one condition is needed. They are counted first and then forgotten in transactions
        of 500: what was done before an error stays done. `erase` also deletes their versions, for good. A dry run only
        counts.
        """
        own = (self._scope(scope),)
        filters = self._filters(own, locals())
        if filters in (make_filters(own), make_filters(own, without_types=(MESSAGE_TYPE,))):
            raise InvalidInputError("forget_many needs a condition, such as key_prefix, tags or where")
        matched = await self._run(self._store.count, filters)
        forgotten = 0
        while matched and not dry_run:
            some = await self._write(
                self._store.forget_some,
                filters,
                actor=self._settings.actor,
                limit=_FORGET_AT_ONCE,
                erase=bool(erase),
            )
            forgotten += some
            self._written()
            if some < _FORGET_AT_ONCE:
                break
        return Forgotten(matched, forgotten, erased=bool(erase), dry_run=bool(dry_run))

    async def list_namespaces(
        self,
        *,
        scope: str | None = None,
        prefix: Sequence[str] | None = None,
        suffix: Sequence[str] | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> builtins.list[tuple[str, ...]]:
        """The namespaces of the entries the scope sees, in order.

        `prefix` and `suffix` are parts that they begin and end with. With `max_depth` they are cut to that many parts,
        and each is listed once.
        """
        limit = self._limits.check_limit(limit)
        first = check_whole(offset, "offset", 0, _MAX_OFFSET)
        start = () if prefix is None else check_namespace(prefix, "prefix")
        end = () if suffix is None else check_namespace(suffix, "suffix")
        depth = None if max_depth is None else check_whole(max_depth, "max_depth", 1, _MAX_OFFSET)
        scopes = visible_scopes(self._scope(scope))
        found = await self._run(self._store.namespaces, scopes, now=clock.utc_now())
        kept = {
            each[:depth]
            for each in found
            if each[: len(start)] == start and each[max(0, len(each) - len(end)) :] == end
        }
        return sorted(kept)[first : first + limit]

    async def similarities(
        self, texts: Sequence[str], *, ids: Sequence[str], scope: str | None = None
    ) -> builtins.list[builtins.list[float]]:
        """For each entry how near its meaning is to each of the texts, from -1 to 1.

        What the scope does not see, and what has no vector, is NaN. For drawing and grouping many entries at once;
        `recall` is the way to find the best ones.
        """
        for name, value in (("texts", texts), ("ids", ids)):
            if isinstance(value, str | bytes) or not isinstance(value, Sequence):
                raise InvalidInputError(f"{name} must be a list of texts, not {type(value).__name__}")
        asked = [self._limits.check_content(text, "texts") for text in texts]
        if not asked or len(asked) > _MAX_TEXTS:
            raise InvalidInputError(f"texts must be 1 to {_MAX_TEXTS} texts, not {len(asked)}")
        known = [self._limits.check_id(each, "ids") for each in ids]
        scopes = visible_scopes(self._scope(scope))
        return await self._run(self._components.engine.similarities, asked, known, scopes)

    async def list(
        self,
        *,
        scope: str | None = None,
        category: str | Iterable[str] | None = None,
        memory_types: str | Iterable[str] | None = None,
        domains: str | Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        conversation_id: str | None = None,
        key_prefix: str | None = None,
        namespace: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        where: Mapping[str, Any] | None = None,
        now: datetime | None = None,
        sort: str = "created",
        descending: bool | None = None,
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
    ) -> Page:
        """The entries the scope sees, newest first. Messages of conversations are listed only if asked for.

        They are sorted by `created` (when they were stored), `event` (when it happened) or `key` (those that have one,
        from the first to the last); `descending` turns the order round. The page has `next_cursor`: passed as `cursor`
        it gives the page that follows, whatever was stored or forgotten meanwhile, however far it is. With `now` those
        are listed that had not expired at that moment, also if they are archived since.
        """
        limit = self._limits.check_limit(limit)
        check_whole(offset, "offset", 0, _MAX_OFFSET)
        order = make_order(sort, descending)
        after = None if cursor is None else place_of_cursor(cursor, order)
        filters = self._filters(visible_scopes(self._scope(scope)), locals())
        # One more than asked for: it tells whether another page follows.
        found = await self._run(self._store.page, filters, limit=limit + 1, offset=offset, order=order, after=after)
        return _page(found, limit, order)

    def _filters(self, scopes: tuple[str, ...], given: Mapping[str, Any]) -> Filters:
        """The conditions among the arguments of a method, which are its `locals()`, checked.

        Messages are left out unless a type or a conversation is asked for.
        """
        limits, conversation_id, key_prefix = self._limits, given["conversation_id"], given["key_prefix"]
        session = None if conversation_id is None else limits.check_id(conversation_id, "conversation_id")
        now = given.get("now")
        return make_filters(
            scopes,
            category=given["category"],
            memory_types=given["memory_types"],
            without_types=(MESSAGE_TYPE,) if given["memory_types"] is None and session is None else (),
            domains=given["domains"],
            tags=limits.check_tags(given["tags"]),
            conversations=() if session is None else (session,),
            since=given["since"],
            until=given["until"],
            where=given["where"],
            key_prefix="" if key_prefix is None else limits.check_prefix(key_prefix),
            namespace=given["namespace"],
            alive_at=None if now is None else clock.require_aware(now, "now"),
        )


def _page(found: Sequence[Any], limit: int, order: Order) -> Page:
    page = Page(found[:limit])
    if len(found) > limit:
        page.next_cursor = cursor_of(order, order.place_of(page[-1]))
    return page
