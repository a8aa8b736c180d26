"""ChangeEvents: tells MCP clients what has changed in their scope, whichever process wrote.

Memories come from the change feed. Notes are files that people edit, so their digests are compared from time to time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from jiyi.apps.server.access import Access
from jiyi.apps.server.mcp.resources import ENTRY, RECENT, Resources
from jiyi.apps.server.mcp.sessions import GONE, MAX_SESSIONS, session_of
from jiyi.errors import InvalidInputError, JiyiError

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from jiyi.memory import AgentMemory

_log = logging.getLogger("jiyi.server")
_LIST: Final = ""
"""Subscribed to by every session that has listed the resources: the list itself."""
_NOTES_EVERY: Final = 2.0
_MAX_ADDRESSES: Final = 1_000


@dataclass
class _Feed:
    """What the clients of one scope are told. Scopes do not share a feed: a change is told to its own scope only."""

    access: Access
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    sessions: OrderedDict[str, dict[str, ServerSession]] = field(default_factory=OrderedDict)
    """By session and address: clients of the protocol with sessions."""

    def __post_init__(self) -> None:
        self.listen = ListenHandler(self.bus)

    def subscribe(self, name: str, address: str, session: ServerSession) -> None:
        """Sessions and addresses are bounded; the session that subscribed longest ago is dropped."""
        addresses = self.sessions.setdefault(name, {})
        if len(addresses) >= _MAX_ADDRESSES and address not in addresses:
            raise InvalidInputError(f"a session has at most {_MAX_ADDRESSES} subscriptions; end some of them")
        addresses[address] = session
        while len(self.sessions) > MAX_SESSIONS:
            self.sessions.popitem(last=False)

    async def updated(self, uri: str) -> None:
        """Tell who has subscribed to this address."""
        await self.bus.publish(ResourceUpdated(uri=uri))
        for name, session in self._subscribed(uri):
            try:
                await session.send_resource_updated(uri)
            except GONE:
                self.sessions.pop(name, None)

    async def list_changed(self) -> None:
        """Tell who has seen the list of resources."""
        await self.bus.publish(ResourcesListChanged())
        for name, session in self._subscribed(_LIST):
            try:
                await session.send_resource_list_changed()
            except GONE:
                self.sessions.pop(name, None)

    def _subscribed(self, address: str) -> list[tuple[str, ServerSession]]:
        found = [(name, addresses.get(address)) for name, addresses in self.sessions.items()]
        return [(name, session) for name, session in found if session is not None]


class ChangeEvents:
    """One watcher of the change feed, and one of the notes, for each scope that somebody listens to."""

    def __init__(self, memory: AgentMemory, resources: Resources) -> None:
        self._memory = memory
        self._resources = resources
        self._feeds: dict[tuple[str, str], _Feed] = {}

    async def subscribe(self, context: ServerRequestContext[Any, Any], address: str, access: Access) -> None:
        """Tell this session when what is at the address changes."""
        (await self._feed(access)).subscribe(session_of(context), address, context.session)

    async def listed(self, context: ServerRequestContext[Any, Any], access: Access) -> None:
        """This session has seen the list of resources, which changes with the notes only."""
        if self._resources.lists_notes(access):
            (await self._feed(access)).subscribe(session_of(context), _LIST, context.session)

    def unsubscribe(self, context: ServerRequestContext[Any, Any], address: str) -> None:
        """No longer."""
        for feed in self._feeds.values():
            feed.sessions.get(session_of(context), {}).pop(address, None)

    async def listen(
        self,
        context: ServerRequestContext[Any, Any],
        params: types.SubscriptionsListenRequestParams,
        access: Access,
    ) -> types.SubscriptionsListenResult:
        """The stream of events of the stateless protocol."""
        return await (await self._feed(access)).listen(context, params)

    async def close(self) -> None:
        """End all watchers and streams."""
        feeds, self._feeds = list(self._feeds.values()), {}
        for feed in feeds:
            feed.listen.close()
            for task in feed.tasks.values():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _feed(self, access: Access) -> _Feed:
        # What is written after the subscription was acknowledged is told, so the position is read before.
        position = await self._memory.last_position()
        feed = self._feeds.setdefault((access.scope, access.kind), _Feed(access))
        self._start(feed, "memories", self._watch, position)
        if self._resources.lists_notes(access):
            running = feed.tasks.get("notes")
            if running is None or running.done():
                self._start(feed, "notes", self._watch_notes, await self._resources.note_digests())
        return feed

    def _start(self, feed: _Feed, name: str, watch: Any, start: Any) -> None:
        running = feed.tasks.get(name)
        if running is None or running.done():
            watching: Coroutine[Any, Any, None] = watch(feed, start)
            feed.tasks[name] = asyncio.get_running_loop().create_task(watching)

    async def _watch(self, feed: _Feed, position: int) -> None:
        try:
            async for change in self._memory.watch(after=position, scopes=feed.access.scope):
                for uri in (ENTRY + change.entry_id, RECENT) if change.entry_id else (RECENT,):
                    await feed.updated(uri)
        except JiyiError as error:
            # The next listener starts the watcher again.
            _log.warning("the change feed ended: %s", type(error).__name__)

    async def _watch_notes(self, feed: _Feed, known: dict[str, str]) -> None:
        while True:
            await asyncio.sleep(_NOTES_EVERY)
            try:
                found = await self._resources.note_digests()
            except JiyiError as error:
                _log.warning("the notes could not be looked at: %s", type(error).__name__)
                continue
            for address in sorted(set(found) | set(known)):
                if found.get(address) != known.get(address):
                    await feed.updated(address)
            if set(found) != set(known):
                await feed.list_changed()
            known = found
