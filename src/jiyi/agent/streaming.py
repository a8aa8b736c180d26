"""Pieces of a blocking iterator, for an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import TypeVar

from jiyi.execution import Run

T = TypeVar("T")


async def stream_from_thread(run: Run, make: Callable[[], Iterator[T]]) -> AsyncGenerator[T, None]:
    """Every piece as it comes; an error of the iterator is raised after its last piece.

    When the reader stops, the thread ends with the next piece and closes the iterator.
    """
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[tuple[T] | None] = asyncio.Queue()
    stopped = threading.Event()

    def pump() -> None:
        iterator = make()
        try:
            for piece in iterator:
                if stopped.is_set():
                    return
                loop.call_soon_threadsafe(pieces.put_nowait, (piece,))
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()

    task = asyncio.ensure_future(run(pump))
    task.add_done_callback(lambda _: pieces.put_nowait(None))
    try:
        while (piece := await pieces.get()) is not None:
            yield piece[0]
        await task
    finally:
        stopped.set()
        # Its error, if there is one, was raised above, or no reader is left to get it.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
