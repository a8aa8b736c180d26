"""Drainer: moves changes from the log into an index, in batches, as often as you like."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from jiyi.errors import IndexDamagedError, StoreBusyError
from jiyi.ports import (
    Change,
    DerivedIndex,
    IndexBatch,
    LogPosition,
    PreparesBatches,
    Progress,
    RecordStore,
    SharesFiles,
)

_log = logging.getLogger("jiyi.index")

_MAX_REWRITTEN: Final = 20_000
"""If an erasure has to write more entries than these again, the index is rebuilt: that needs less memory."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """How an index stands against the change log."""

    name: str
    usable: bool
    """Whether it can be asked at all; if not, it waits for a rebuild."""
    behind: int
    """Changes that it has not taken in."""


class Drainer:
    """Feeds indexes from the change log.

    Applying the current state of an entry twice does no harm, so a crash between two steps costs only the repetition.
    """

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._validated: dict[str, LogPosition] = {}

    def state(
        self, index: DerivedIndex, scopes: Sequence[str] | None = None, *, head: LogPosition | None = None
    ) -> IndexState:
        """How far the index is behind in these scopes, or in all; behind `head` if the caller has just asked for it."""
        log_position = self._valid_position(index)
        if log_position is None:
            return IndexState(index.name, usable=False, behind=self._store.pending(0, scopes))
        if log_position.sequence >= (head or self._store.head()).sequence:
            return IndexState(index.name, usable=True, behind=0)
        return IndexState(index.name, usable=True, behind=self._store.pending(log_position.sequence, scopes))

    def drain(self, index: DerivedIndex, *, progress: Progress | None = None) -> int:
        """Take in everything that was committed before this call; returns how many changes that were."""
        target = self._store.head().sequence
        done = 0
        while (step := self._step(index, target, None, progress)) is not None:
            done += step
            if progress is not None:
                progress(done, None)
        return done

    def advance(self, index: DerivedIndex, *, progress: Progress | None = None) -> int | None:
        """Take in one batch; `None` when the index is up to date."""
        target = self._store.head().sequence
        state = self.state(index)
        return None if state.usable and not state.behind else self._step(index, target, None, progress)

    def is_current(self, index: DerivedIndex, head: LogPosition) -> bool:
        """Whether the index has everything up to this position."""
        log_position = self._valid_position(index)
        return log_position is not None and log_position.sequence >= head.sequence

    def pending(
        self, index: DerivedIndex, scopes: Sequence[str], *, head: LogPosition, limit: int
    ) -> IndexBatch | None:
        """What the index lacks of these scopes, if it is between 1 and `limit` changes; nothing is written."""
        log_position = self._valid_position(index)
        if log_position is None or log_position.sequence >= head.sequence:
            return None
        return self.changed_since(log_position, scopes, limit=limit)

    def changed_since(self, log_position: LogPosition, scopes: Sequence[str], *, limit: int) -> IndexBatch | None:
        """What these scopes have changed after a position of the log, if it is between 1 and `limit` changes."""
        changes = self._store.changes_after(log_position.sequence, limit=limit + 1, scopes=scopes)
        return self._batch(changes) if 0 < len(changes) <= limit else None

    def catch_up(
        self, index: DerivedIndex, scopes: Sequence[str], *, seconds: float, head: LogPosition | None = None
    ) -> IndexState:
        """Take in what these scopes wrote before this call, but wait no longer than `seconds`.

        With `head` it is what they wrote up to there: one question to the records for several indexes.
        """
        head = head or self._store.head()
        state = self.state(index, scopes, head=head)
        if state.usable and not state.behind:
            return state
        deadline = time.monotonic() + seconds
        target = head.sequence
        while not state.usable or state.behind:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                if self._step(index, target, left, None) is None:
                    return IndexState(index.name, usable=True, behind=0)
            except StoreBusyError:
                # Another process is draining and has not come to an end in time: say how far it is.
                break
            state = self.state(index, scopes)
        return state

    def _step(self, index: DerivedIndex, target: int, timeout: float | None, progress: Progress | None) -> int | None:
        """Apply one batch under the index's lock; `None` when nothing up to `target` is left.

        What takes long is computed before. If the index has moved on meanwhile, nothing is applied (0): begin again.
        """
        prepared = self._prepare(index, target, timeout)
        with index.exclusive(timeout):
            log_position = self._valid_position(index)
            if prepared is not None and log_position is not None and log_position != prepared:
                return None if log_position.sequence >= target else 0
            if log_position is None:
                self.rebuild(index, progress=progress)
                return 0
            if log_position.sequence >= target:
                return None
            changes = self._store.changes_after(log_position.sequence, limit=index.batch_size)
            if not changes:
                return None
            try:
                self._apply(index, changes)
            except IndexDamagedError as error:
                _log.warning("index %s is rebuilt: %s", index.name, error)
                self.rebuild(index, progress=progress)
            return len(changes)

    def _apply(self, index: DerivedIndex, changes: Sequence[Change]) -> None:
        batch = self._batch(changes)
        if isinstance(index, SharesFiles) and any(change.erased for change in changes):
            # What was erased leaves the files with this batch: all that stands beside it is written into new ones.
            named = {change.entry_id for change in changes}
            erased = [change.entry_id for change in changes if change.erased]
            beside = [each for each in index.beside_removed(erased, _MAX_REWRITTEN) if each not in named]
            if len(beside) > _MAX_REWRITTEN:
                self.rebuild(index)
                return
            again = [entry for entry in self._store.fetch(beside, None).values() if entry.is_active]
            batch = replace(batch, upserts=[*batch.upserts, *again])
        index.apply(batch)

    def _prepare(self, index: DerivedIndex, target: int, timeout: float | None) -> LogPosition | None:
        """Let the index compute its next batch; returns the position that the batch follows."""
        log_position = self._valid_position(index) if isinstance(index, PreparesBatches) else None
        if log_position is None or log_position.sequence >= target or not isinstance(index, PreparesBatches):
            return None
        batch = self._batch(self._store.changes_after(log_position.sequence, limit=index.batch_size))
        try:
            index.prepare(batch, timeout)
        except IndexDamagedError:
            # Found again under the lock, where it is rebuilt.
            return None
        return log_position

    def rebuild(self, index: DerivedIndex, *, progress: Progress | None = None) -> None:
        """Build the index anew; once more when its files are taken away or turn out to be broken meanwhile."""
        try:
            index.rebuild(self._store, progress=progress)
        except IndexDamagedError as error:
            _log.warning("building index %s begins again: %s", index.name, error)
            index.rebuild(self._store, progress=progress)

    def _batch(self, changes: Sequence[Change]) -> IndexBatch:
        scopes = {change.entry_id: change.scope for change in changes}
        present = self._store.fetch(list(scopes), None)
        upserts = [entry for entry in present.values() if entry.is_active]
        kept = {entry.id for entry in upserts}
        removals = [(scope, entry_id) for entry_id, scope in scopes.items() if entry_id not in kept]
        return IndexBatch(upserts, removals, changes[-1].log_position)

    def _valid_position(self, index: DerivedIndex) -> LogPosition | None:
        """The index's log position, if this very change log has it.

        Otherwise the index belongs to another history (a restored backup, a copied folder) and has to be rebuilt.
        """
        log_position = index.log_position()
        if log_position is None:
            return None
        if self._validated.get(index.name) != log_position:
            if self._store.log_position_at(log_position.sequence) != log_position:
                _log.warning("index %s does not belong to this state of the records and is rebuilt", index.name)
                return None
            self._validated[index.name] = log_position
        return log_position
