"""How memories of the runtime lose strength without use. Pure.

Unused and weak: a memory loses one of its strength for every `idle_days` without use, and for every `ignored_idle_days`
if it was recalled and never found useful. One that was found useful does not decay, nor does a strong or a pinned one.
At strength 0 it becomes inactive; `grace_days` later it is archived.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from jiyi.errors import InvalidInputError
from jiyi.model.entry import MemoryEntry


@dataclass(frozen=True, slots=True)
class DecayRules:
    """The numbers of the rule."""

    idle_days: int = 30
    ignored_idle_days: int = 10
    weak_below: int = 10
    """A memory of this strength or more does not decay."""
    grace_days: int = 30

    def __post_init__(self) -> None:
        for name in ("idle_days", "ignored_idle_days", "weak_below", "grace_days"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInputError(f"{name} {value!r} must be a whole number from 1 on")

    @property
    def grace(self) -> timedelta:
        """How long an inactive memory stays before it is archived."""
        return timedelta(days=self.grace_days)


@dataclass(frozen=True, slots=True)
class Usage:
    """How often a memory was recalled, usefully or not."""

    useful: int = 0
    """How often it was found useful."""
    missed: int = 0
    """How often it was recalled and not useful."""
    decayed_at: datetime | None = None
    """Up to when the decay was computed."""


@dataclass(frozen=True, slots=True)
class TrackedMemory:
    """A memory of the runtime, and how it was used."""

    entry: MemoryEntry
    usage: Usage


@dataclass(frozen=True, slots=True)
class DecayedStrength:
    """What decay makes of a memory."""

    strength: int
    decayed_at: datetime
    version: int
    """The version it was computed from; a memory that was changed since, such as strengthened, is left alone."""


def decay(entry: MemoryEntry, usage: Usage, now: datetime, rules: DecayRules) -> DecayedStrength | None:
    """What is left of the memory now; `None` when nothing changes.

    Only whole periods count, and the moment up to which they were counted is kept: how often this is asked does not
    matter.
    """
    if not entry.is_active or entry.pinned or usage.useful or entry.strength >= rules.weak_below:
        return None
    period = timedelta(days=rules.ignored_idle_days if usage.missed else rules.idle_days)
    since = max(moment for moment in (entry.created_at, entry.last_accessed_at, usage.decayed_at) if moment is not None)
    periods = (now - since) // period
    if periods < 1:
        return None
    lost = min(periods, max(entry.strength, 1))
    return DecayedStrength(max(0, entry.strength - lost), since + periods * period, entry.version)
