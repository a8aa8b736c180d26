"""Server-sent events. A stream ends when its client goes away or the server stops; only so many are open at once."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any, Final

from fastapi import Response

from jiyi.apps.server.access import Access
from jiyi.apps.server.gate import Message, Receive, Send
from jiyi.apps.server.problems import ProblemError, problem, status_of, without_folders
from jiyi.errors import JiyiError

MEDIA_TYPE: Final = "text/event-stream"
_BEAT_SECONDS: Final = 15.0
_log = logging.getLogger("jiyi.server")


def event(kind: str, data: Any, position: int | None = None) -> str:
    """One event; `position` is what `Last-Event-ID` goes on behind."""
    first = "" if position is None else f"id: {position}\n"
    return f"{first}event: {kind}\ndata: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


class Streams:
    """The streams that are open. Each holds a connection, so there are only so many."""

    def __init__(self, max_open: int = 500, max_open_of_one: int = 50) -> None:
        self._max_open = max_open
        self._max_open_of_one = max_open_of_one
        self._open: Counter[str] = Counter()
        self._stopping = asyncio.Event()
        self.folders: tuple[str, ...] = ()
        """Folders of the server that no event names."""

    @property
    def open(self) -> int:
        """How many are open."""
        return self._open.total()

    def check(self, access: Access) -> str:
        """Refuse one stream too many; returns the name under which it counts."""
        name = access.key_id or access.scope
        if self.open >= self._max_open or self._open[name] >= self._max_open_of_one:
            raise ProblemError(
                429, "too_many_streams", f"at most {self._max_open_of_one} streams at once", {"Retry-After": "5"}
            )
        return name

    @contextmanager
    def counted(self, name: str) -> Iterator[None]:
        """While a stream is open."""
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]

    def stop(self) -> None:
        """End all streams: the server stops."""
        self._stopping.set()

    async def stopped(self) -> None:
        """Returns when the server stops."""
        await self._stopping.wait()


class EventStream(Response):
    """Events as they come. What makes them is cancelled when nobody reads them any more."""

    media_type = MEDIA_TYPE

    def __init__(self, events: AsyncGenerator[str, None], streams: Streams, access: Access) -> None:
        super().__init__(media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = _with_errors(events, streams.folders)
        self._streams = streams
        self._name = streams.check(access)

    async def __call__(self, _scope: Message, receive: Receive, send: Send) -> None:
        """Send the events."""
        sending = asyncio.Lock()

        async def write(text: str) -> None:
            async with sending:
                await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

        with self._streams.counted(self._name):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            producing = asyncio.ensure_future(_produce(self._events, write))
            others = [
                asyncio.ensure_future(each) for each in (_disconnected(receive), self._streams.stopped(), _beat(write))
            ]
            try:
                await asyncio.wait([producing, *others], return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (producing, *others):
                    task.cancel()
                ended = await asyncio.gather(producing, *others, return_exceptions=True)
            for error in ended:
                if isinstance(error, Exception) and not isinstance(error, OSError):
                    _log.warning("a stream ended: %s", type(error).__name__)
            if not others[0].done() or others[0].cancelled():
                await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _produce(events: AsyncGenerator[str, None], write: Any) -> None:
    async with aclosing(events):
        async for each in events:
            await write(each)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _beat(write: Any) -> None:
    """A comment now and then: proxies close connections on which nothing is said, and a dead client is noticed."""
    while True:
        await asyncio.sleep(_BEAT_SECONDS)
        await write(": still here\n\n")


async def _with_errors(events: AsyncGenerator[str, None], folders: Sequence[str]) -> AsyncGenerator[str, None]:
    """The status was sent: what goes wrong now is an event."""
    try:
        async with aclosing(events):
            async for each in events:
                yield each
    except JiyiError as error:
        status = status_of(error)
        detail = without_folders(str(error), folders)
        yield event("error", json.loads(problem(status, type(error).__name__, detail)))


async def with_progress(work: asyncio.Future[Any], done: str, every: float = 1.0) -> AsyncGenerator[str, None]:
    """How long a piece of work takes so far, and what comes of it as the last event."""
    begun = asyncio.get_running_loop().time()
    try:
        while not (await asyncio.wait({work}, timeout=every))[0]:
            yield event("progress", {"seconds": round(asyncio.get_running_loop().time() - begun, 1)})
        yield event(done, work.result())
    finally:
        work.cancel()


def wants_events(accept: str) -> bool:
    """Whether a client asks for events."""
    return MEDIA_TYPE in accept
