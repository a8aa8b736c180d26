"""Answers of the server as the values that a memory returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from jiyi.model import clock
from jiyi.model.change import MemoryChange
from jiyi.model.chat import Candidate
from jiyi.model.entry import HIT_ENTRIES, EntryVersion, Explanation, MemoryEntry
from jiyi.model.job import Job
from jiyi.model.listing import Page
from jiyi.model.turn import BudgetPart, TurnBudget


def entry_of(data: Mapping[str, Any]) -> MemoryEntry:
    """An entry."""
    return MemoryEntry.from_dict(data)


def hit_of(data: Mapping[str, Any]) -> MemoryEntry:
    """An entry with its score."""
    explained = data.get("explanation")
    hit = entry_of(data).as_hit(
        float(data["relevance_score"]),
        Explanation() if explained is None else Explanation.from_dict(explained),
        similarity=data.get("similarity"),
        confident=data.get("confident"),
    )
    return hit.changed({name: tuple(entry_of(each) for each in data.get(name, ())) for name in HIT_ENTRIES})


def page_of(data: Mapping[str, Any]) -> Page:
    """A page of entries."""
    page = Page(entry_of(each) for each in data["entries"])
    page.next_cursor = data["next_cursor"]
    return page


def version_of(data: Mapping[str, Any]) -> EntryVersion:
    """A version of an entry."""
    entry = data["entry"]
    return EntryVersion(
        data["version"],
        data["operation"],
        clock.from_text(data["changed_at"]),
        data["changed_by"],
        tuple(data["changed"]),
        None if entry is None else entry_of(entry),
    )


def change_of(data: Mapping[str, Any]) -> MemoryChange:
    """A line of the change feed."""
    return MemoryChange(**{**data, "changed_at": clock.from_text(data["changed_at"])})


def candidate_of(data: Mapping[str, Any]) -> Candidate:
    """What a compaction proposes to keep."""
    return Candidate(**with_times(data, "state_at", "created_at"))


def job_of(data: Mapping[str, Any]) -> Job:
    """A background job. Who holds it is known to the server only."""
    times = with_times(data, "not_before", "created_at", "finished_at")
    return Job(**{"lease_until": None, "lease_by": None, **times})


def budget_of(data: Mapping[str, Any]) -> TurnBudget:
    """How the tokens of a turn are shared out."""
    parts = tuple(BudgetPart(**part) for part in data["parts"])
    return TurnBudget(data["limit"], data["reply"], parts, tuple(data["problems"]))


def with_times(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The same with these texts as times."""
    return {
        name: clock.from_text(value) if name in names and value is not None else value for name, value in data.items()
    }


def known(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """What this version knows of an answer: a newer server may say more. Lists are tuples."""
    names = {each.name for each in fields(kind)}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items() if name in names}
