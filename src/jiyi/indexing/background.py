"""BackgroundIndexer: one thread that keeps the indexes close behind the writes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

from jiyi.errors import IndexingError
from jiyi.execution import BackgroundThread
from jiyi.indexing.drain import Drainer
from jiyi.ports import DerivedIndex, RecordStore

_log = logging.getLogger("jiyi.index")

# Writes that come in a burst are taken in together: a commit costs the same for one as for thousands, and indexing in
# the middle of the burst would slow it down. No recall waits for this: it catches up by itself.
_QUIET_SECONDS = 0.05
_GATHER_SECONDS = 1.0
_RETRY_SECONDS = (0.5, 2.0, 10.0, 60.0)


class BackgroundIndexer(BackgroundThread):
    """Sleeps until told of a write. A failure is logged, kept in `last_error`, and retried with growing pauses."""

    def __init__(self, store: RecordStore, drainer: Drainer, indexes: Sequence[DerivedIndex]) -> None:
        super().__init__("jiyi-indexer")
        self._store = store
        self._drainer = drainer
        self._indexes = indexes
        self.last_error: str | None = None

    def _run(self) -> None:
        failures = 0
        while True:
            self._wake.wait()
            if self._stopped_while_gathering():
                return
            problem = self._round()
            if self._stop.is_set():
                return
            if problem is None:
                failures = 0
                self.last_error = None
            else:
                pause = _RETRY_SECONDS[min(failures, len(_RETRY_SECONDS) - 1)]
                failures += 1
                self.last_error = f"{type(problem).__name__}: {problem}"
                _log.warning("indexing failed and is tried again in %g s: %s", pause, self.last_error)
                self._wake.set()
                if self._stop.wait(pause):
                    return

    def _round(self) -> Exception | None:
        """Bring every index up to date; one that fails does not keep the others from it. Returns the first failure."""
        problem: Exception | None = None
        drains: list[Callable[[], None]] = [partial(self._drain, index) for index in self._indexes]
        for work in (*drains, self._store.maintain):
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever a backend or an embedder raises, the thread continues
                problem = problem or error
        return problem

    def _stopped_while_gathering(self) -> bool:
        """Wait until the writes pause, but not for long."""
        deadline = time.monotonic() + _GATHER_SECONDS
        while True:
            self._wake.clear()
            if self._stop.wait(_QUIET_SECONDS):
                return True
            if not self._wake.is_set() or time.monotonic() >= deadline:
                return False

    def _drain(self, index: DerivedIndex) -> None:
        while not self._stop.is_set():
            taken = self._drainer.advance(index, progress=self._stop_if_closing)
            # After a batch that was not full only newer writes can be left: they have announced themselves and are
            # gathered next. A rebuild takes in nothing (0) and goes on with what came meanwhile.
            if taken is None or 0 < taken < index.batch_size:
                return

    def _stop_if_closing(self, _done: int, _total: int | None) -> None:
        """Raise `IndexingError` if the memory is being closed: building an index anew can take minutes."""
        if self._stop.is_set():
            raise IndexingError("building the index broke off, because the memory was closed")
