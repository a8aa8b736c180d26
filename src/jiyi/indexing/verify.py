"""Verify and repair: does every index hold exactly what the records say?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jiyi.errors import IndexDamagedError
from jiyi.indexing.drain import Drainer
from jiyi.ports import DerivedIndex, LogPosition, Progress, RecordStore

_PAGE = 2_000
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What the comparison of one index with the records found."""

    index: str
    records: int
    held: int
    behind: int
    missing: tuple[str, ...] = ()
    """Ids of records that the index does not hold (the first few)."""
    stale: tuple[str, ...] = ()
    """Ids that it holds in another state."""
    surplus: tuple[str, ...] = ()
    """Ids that it holds and the records do not have, or that it holds twice."""
    problems: tuple[str, ...] = ()
    built: bool = True
    """Whether it is there at all: a new store has no index until the first recall, and one may be deleted."""
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether the index holds what the records said at the place of the change log that it has come to."""
        return not (self.missing or self.stale or self.surplus or self.problems)

    @property
    def sound(self) -> bool:
        """Whether the index agrees with the records as they are now."""
        return self.agrees and not self.behind

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "index": self.index,
            "sound": self.sound,
            "built": self.built,
            "records": self.records,
            "held": self.held,
            "behind": self.behind,
            "counts": self.counts,
            "missing": list(self.missing),
            "stale": list(self.stale),
            "surplus": list(self.surplus),
            "problems": list(self.problems),
        }


def verify(
    store: RecordStore, drainer: Drainer, index: DerivedIndex, *, progress: Progress | None = None
) -> IndexReport:
    """Compare ids and hashes of all records with everything the index holds. Changes nothing."""
    with index.exclusive():
        state = drainer.state(index)
        if not state.usable and not is_built(index.describe()):
            # Nothing is wrong: the next recall builds it.
            records = _count(store, progress)
            return IndexReport(index=index.name, records=records, held=0, behind=state.behind, built=False)
        log_position = index.log_position()
        problems = list(index.check())
        held: dict[str, str] = {}
        twice: list[str] = []
        count = 0
        try:
            for entry_id, fingerprint in index.contents():
                count += 1
                if entry_id in held:
                    twice.append(entry_id)
                held[entry_id] = fingerprint
        except IndexDamagedError as error:
            problems.append(str(error))
        if not state.usable:
            problems.append("the index is missing, damaged, or made by other rules")
        records = 0
        missing: list[str] = []
        stale: list[str] = []
        after = ""
        while page := store.scan(after_id=after, limit=_PAGE):
            records += len(page)
            after = page[-1].id
            for entry in page:
                shown = held.pop(entry.id, None)
                if shown is None:
                    missing.append(entry.id)
                elif shown != index.fingerprint(entry):
                    stale.append(entry.id)
            if progress is not None:
                progress(records, None)
        changed = _changed_since(store, log_position) if state.usable and log_position is not None else []
    # What was written in the meantime is not wrong in the index, only not there yet.
    pending = set(changed)
    found = (missing, stale, [*twice, *held])
    missing, stale, surplus = ([i for i in ids if i not in pending] for ids in found)
    return IndexReport(
        index=index.name,
        records=records,
        held=count,
        behind=len(changed),
        missing=tuple(missing[:_SHOWN]),
        stale=tuple(stale[:_SHOWN]),
        surplus=tuple(surplus[:_SHOWN]),
        problems=tuple(problems),
        counts={"missing": len(missing), "stale": len(stale), "surplus": len(surplus)},
    )


def is_built(description: Mapping[str, Any]) -> bool:
    """Whether an index that describes itself so is there at all, in whatever state."""
    return bool(description.get("built", description.get("bytes")))


def _count(store: RecordStore, progress: Progress | None) -> int:
    records, after = 0, ""
    while page := store.scan(after_id=after, limit=_PAGE):
        records += len(page)
        after = page[-1].id
        if progress is not None:
            progress(records, None)
    return records


def _changed_since(store: RecordStore, log_position: LogPosition) -> list[str]:
    found: list[str] = []
    sequence = log_position.sequence
    while changes := store.changes_after(sequence, limit=_PAGE):
        found += [change.entry_id for change in changes]
        sequence = changes[-1].sequence
    return found


def repair(
    store: RecordStore, drainer: Drainer, indexes: Sequence[DerivedIndex], *, progress: Progress | None = None
) -> list[IndexReport]:
    """Bring every index up to date; one that still disagrees is rebuilt. Returns the reports afterwards."""
    reports = []
    for index in indexes:
        drainer.drain(index, progress=progress)
        report = verify(store, drainer, index)
        if not report.agrees:
            drainer.rebuild(index, progress=progress)
            drainer.drain(index, progress=progress)
            report = verify(store, drainer, index)
        reports.append(report)
    return reports
