"""ChangeEvents: tells MCP clients what has changed in their scope, from the change feed, whichever process wrote."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from jiyi.errors import JiyiError
from jiyi.server.access import Access
from jiyi.server.mcp.resources import ENTRY, RECENT

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from jiyi.memory import AgentMemory

_log = logging.getLogger("jiyi.server")
_NEW = frozenset({"create", "restore", "forget", "erase", "archive", "import"})


@dataclass
class _Feed:
    """What the clients of one scope are told. Scopes do not share a feed: a change is told to its own scope only."""

    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    task: asyncio.Task[None] | None = None
    sessions: dict[tuple[int, str], ServerSession] = field(default_factory=dict)
    """By session and address: clients of the protocol with sessions."""

    def __post_init__(self) -> None:
        self.listen = ListenHandler(self.bus)


class ChangeEvents:
    """One watcher of the change feed for each scope that somebody listens to."""

    def __init__(self, memory: AgentMemory) -> None:
        self._memory = memory
        self._feeds: dict[str, _Feed] = {}

    async def subscribe(self, session: ServerSession, address: str, access: Access) -> None:
        """Tell this session when what is at the address changes."""
        (await self._feed(access)).sessions[id(session), address] = session

    def unsubscribe(self, session: ServerSession, address: str) -> None:
        """No longer."""
        for feed in self._feeds.values():
            feed.sessions.pop((id(session), address), None)

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
            if feed.task is not None:
                feed.task.cancel()
                with suppress(asyncio.CancelledError):
                    await feed.task

    async def _feed(self, access: Access) -> _Feed:
        # What is written after the subscription was acknowledged is told, so the position is read before.
        position = await self._memory.last_position()
        feed = self._feeds.setdefault(access.scope, _Feed())
        if feed.task is None or feed.task.done():
            feed.task = asyncio.get_running_loop().create_task(self._watch(access.scope, feed, position))
        return feed

    async def _watch(self, scope: str, feed: _Feed, position: int) -> None:
        try:
            async for change in self._memory.watch(after=position, scopes=scope):
                address = ENTRY + change.entry_id
                for uri in (address, RECENT):
                    await feed.bus.publish(ResourceUpdated(uri=uri))
                    await self._tell(feed, uri)
                if change.operation in _NEW:
                    await feed.bus.publish(ResourcesListChanged())
        except JiyiError as error:
            # The next listener starts the watcher again.
            _log.warning("the change feed ended: %s", type(error).__name__)

    async def _tell(self, feed: _Feed, uri: str) -> None:
        for key, session in [item for item in feed.sessions.items() if item[0][1] == uri]:
            try:
                await session.send_resource_updated(uri)
            except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError):
                feed.sessions.pop(key, None)
