"""BackgroundIndexer: one thread that keeps the indexes close behind the writes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from jiyi.errors import JiyiError
from jiyi.indexing.drain import Drainer
from jiyi.ports import DerivedIndex, RecordStore

_log = logging.getLogger("jiyi.index")

# Writes that come in a burst are taken in together: a commit costs the same for one as for thousands.
_GATHER_SECONDS = 0.05
_RETRY_SECONDS = (0.5, 2.0, 10.0, 60.0)


class BackgroundIndexer:
    """Sleeps until told of a write. A failure is logged, kept in `last_error`, and retried with growing pauses."""

    def __init__(self, store: RecordStore, drainer: Drainer, indexes: Sequence[DerivedIndex]) -> None:
        self._store = store
        self._drainer = drainer
        self._indexes = indexes
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jiyi-indexer", daemon=True)
        self.last_error: str | None = None

    def start(self) -> None:
        """Begin, with whatever is left over from before."""
        self._wake.set()
        self._thread.start()

    def notify(self) -> None:
        """Something was written."""
        self._wake.set()

    def stop(self) -> None:
        """End after the batch in hand. What is left stays in the change log for the next opening."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        failures = 0
        while True:
            self._wake.wait()
            if self._stop.wait(_GATHER_SECONDS):
                return
            self._wake.clear()
            try:
                for index in self._indexes:
                    self._drain(index)
                self._store.maintain()
            except (JiyiError, OSError) as error:
                pause = _RETRY_SECONDS[min(failures, len(_RETRY_SECONDS) - 1)]
                failures += 1
                self.last_error = f"{type(error).__name__}: {error}"
                _log.warning("indexing failed and is tried again in %g s: %s", pause, self.last_error)
                self._wake.set()
                if self._stop.wait(pause):
                    return
            else:
                failures = 0
                self.last_error = None

    def _drain(self, index: DerivedIndex) -> None:
        while not self._stop.is_set():
            if self._drainer.advance(index) is None:
                return
