"""An index that remembers everything it was told, for tests of who tells it what."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from jiyi.errors import StoreBusyError
from jiyi.model.entry import MemoryEntry
from jiyi.ports import IndexBatch, LogPosition, Progress, RecordStore


class ListedIndex:
    """A `DerivedIndex` in memory."""

    def __init__(self, name: str = "listed", batch_size: int = 3) -> None:
        self.name = name
        self.batch_size = batch_size
        self.held: list[tuple[str, str]] = []
        self.batches: list[IndexBatch] = []
        self.rebuilt = 0
        self._log_position: LogPosition | None = None
        self._lock = threading.RLock()

    def log_position(self) -> LogPosition | None:
        return self._log_position

    def apply(self, batch: IndexBatch) -> None:
        self.batches.append(batch)
        gone = {entry_id for _, entry_id in batch.removals} | {entry.id for entry in batch.upserts}
        self.held = [pair for pair in self.held if pair[0] not in gone]
        self.held += [(entry.id, self.fingerprint(entry)) for entry in batch.upserts]
        self._log_position = batch.log_position

    def rebuild(self, store: RecordStore, *, progress: Progress | None = None) -> None:
        head, held, after = store.head(), list[tuple[str, str]](), ""
        while entries := store.scan(after_id=after, limit=self.batch_size):
            held += [(entry.id, self.fingerprint(entry)) for entry in entries]
            after = entries[-1].id
            if progress is not None:
                progress(len(held), None)
        self.held, self._log_position = held, head
        self.rebuilt += 1

    def lose(self) -> None:
        """As if its files had been deleted."""
        self.held, self._log_position = [], None

    def contents(self) -> Iterator[tuple[str, str]]:
        yield from self.held

    def check(self) -> list[str]:
        return [] if self._log_position is not None else ["there is nothing here"]

    def exclusive(self, timeout: float | None = None) -> AbstractContextManager[None]:
        return self._exclusive(timeout) if timeout is not None else nullcontext()

    @contextmanager
    def _exclusive(self, timeout: float) -> Iterator[None]:
        if not self._lock.acquire(timeout=timeout):
            raise StoreBusyError("somebody else is at it; try again")
        try:
            yield
        finally:
            self._lock.release()

    def fingerprint(self, entry: MemoryEntry) -> str:
        return f"{entry.id}:{entry.content}"

    def describe(self) -> dict[str, Any]:
        return {"engine": "a list", "built": True}

    def close(self) -> None:
        pass
