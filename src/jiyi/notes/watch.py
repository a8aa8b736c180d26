"""Watching the files in the background. An event of the system starts a scan, and the scan finds what has changed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from jiyi.errors import JiyiError, MissingDependencyError

if TYPE_CHECKING:
    from jiyi.model.note import ScanReport
    from jiyi.notes.service import NotesService

_log = logging.getLogger("jiyi.notes")

_STEP_MILLISECONDS: Final = 50
_DEBOUNCE_MILLISECONDS: Final = 400
# Events are lost when too many come at once, and some file systems send none: scan now and then anyway.
_POLL_MILLISECONDS: Final = 5_000


class Watcher:
    """A thread that scans after events of the file system, and every few seconds without one."""

    def __init__(self, service: NotesService, report: Callable[[ScanReport], None] | None) -> None:
        self._service = service
        self._report = report
        self._stop = threading.Event()
        self._logged = ""
        self._thread = threading.Thread(target=self._run, name="jiyi-notes-watcher", daemon=True)

    def start(self) -> None:
        """Start; the first scan is done when this returns."""
        self._scan()
        self._thread.start()

    def stop(self) -> None:
        """Stop, after a scan that is running."""
        self._stop.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except (OSError, RuntimeError) as error:
                # The workspace is gone, or the system sends no more events: scan now and then.
                self._log_once(f"the notes are not watched: {error}")
                self._stop.wait(_POLL_MILLISECONDS / 1_000)
                if not self._stop.is_set():
                    self._scan()

    def _follow(self) -> None:
        from watchfiles import watch

        changes = watch(
            self._service.root,
            stop_event=self._stop,
            step=_STEP_MILLISECONDS,
            debounce=_DEBOUNCE_MILLISECONDS,
            rust_timeout=_POLL_MILLISECONDS,
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
        for _ in changes:
            if self._stop.is_set():
                return
            self._scan()

    def _scan(self) -> None:
        try:
            self._service.write_new_candidates()
            report = self._service.scan()
        except JiyiError as error:
            # The next call of the user raises the same error; the thread continues.
            self._log_once(f"the notes could not be followed: {error}")
            return
        self._logged = ""
        if self._report is not None and report.changed:
            self._report(report)

    def _log_once(self, problem: str) -> None:
        if problem != self._logged:
            _log.warning("%s", problem)
            self._logged = problem


def start(service: NotesService, report: Callable[[ScanReport], None] | None) -> None:
    """Watch the workspace of a notes service; a second watcher takes the place of the first."""
    try:
        import watchfiles  # noqa: F401 - only whether it is installed
    except ImportError:
        raise MissingDependencyError(
            "watching files needs the package watchfiles; install it with: pip install 'jiyi[notes]' "
            "(without it the notes are looked at whenever they are asked)"
        ) from None
    stop(service)
    # A workspace that does not exist is an error now; one that disappears later is waited for.
    service.files.listing()
    watcher = Watcher(service, report)
    watcher.start()
    service.watcher = watcher


def stop(service: NotesService) -> None:
    """Stop watching, if a watcher is running."""
    watcher, service.watcher = service.watcher, None
    if watcher is not None:
        watcher.stop()
