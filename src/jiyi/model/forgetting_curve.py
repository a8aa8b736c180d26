"""The curve of forgetting: how much of a memory is left after a while."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from jiyi.errors import InvalidInputError

BASE_RETENTION = 0.9
"""What is left after a day of a memory that was never used."""
STRENGTHENING_FACTOR = 1.5
"""How much flatter each use makes the curve."""
EXEMPT_KINDS = {
    "health": frozenset({"allergy", "health", "medication", "doctor"}),
    "identity": frozenset({"name", "age", "birthday", "contact", "phone", "email", "origin", "belief and identity"}),
    "safety": frozenset({"allergy", "medication", "emergency contact"}),
    "instruction": frozenset[str](),
    "requested": frozenset[str](),
    "decision": frozenset[str](),
    "pinned": frozenset[str](),
}
"""Kinds of facts that can be kept from being forgotten, each with its attributes; what is pinned never is. Health,
identity and standing instructions are known by the words of a fact as well, what somebody asked to remember and what a
group has decided by the message that a fact was made of."""
DEFAULT_EXEMPT = tuple(EXEMPT_KINDS)
DEFAULT_THRESHOLD = 0.1
"""A memory with less than this left is forgotten."""
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EbbinghausForgetting:
    """Retention = base_retention^(Δt / (24 × strengthening_factor^access_count)) × (0.5 + 0.5 × importance).

    Δt is in hours since the last recall. Each recall makes the curve flatter by `strengthening_factor`.
    """

    base_retention: float = BASE_RETENTION
    """What is left after a day of a memory that was never recalled; above 0 and at most 1."""
    strengthening_factor: float = STRENGTHENING_FACTOR
    """At least 1: a recall must not make a memory weaker."""

    def __post_init__(self) -> None:
        if not _is_number(self.base_retention) or not 0.0 < self.base_retention <= 1.0:
            raise InvalidInputError(f"base_retention {self.base_retention!r} must be above 0 and at most 1")
        if not _is_number(self.strengthening_factor) or self.strengthening_factor < 1.0:
            raise InvalidInputError(f"strengthening_factor {self.strengthening_factor!r} must be a number from 1 on")

    def calculate_retention(self, hours_since_access: float, access_count: int, importance: float) -> float:
        """What is left, from 0 to 1. A time in the future counts as now."""
        _check(access_count, importance)
        if not isinstance(hours_since_access, int | float) or math.isnan(hours_since_access):
            raise InvalidInputError(f"hours_since_access {hours_since_access!r} must be a number of hours")
        hours = max(0.0, float(hours_since_access))
        exponent = hours / (24.0 * self._strength(access_count))
        left = 0.0 if math.isinf(exponent) and self.base_retention < 1.0 else self.base_retention**exponent
        return float(left) * (0.5 + 0.5 * importance)

    def hours_until(self, threshold: float, access_count: int, importance: float) -> float:
        """After how many hours without a recall the retention falls below the threshold; infinite if it never does."""
        _check(access_count, importance)
        check_threshold(threshold)
        start = 0.5 + 0.5 * importance
        if start < threshold:
            return 0.0
        if threshold == 0.0 or self.base_retention == 1.0:
            return math.inf
        return 24.0 * self._strength(access_count) * math.log(threshold / start) / math.log(self.base_retention)

    def falls_below_at(
        self, threshold: float, last_accessed_at: datetime, access_count: int, importance: float
    ) -> datetime | None:
        """When the retention falls below the threshold; `None` if that is never, or not before the year 10000."""
        hours = self.hours_until(threshold, access_count, importance)
        room = (_LAST - last_accessed_at) / timedelta(hours=1)
        # A day of room, because another time zone must still be able to show it.
        return None if hours >= room - 24 else last_accessed_at + timedelta(hours=hours)

    def _strength(self, access_count: int) -> float:
        try:
            return float(self.strengthening_factor**access_count)
        except OverflowError:
            return math.inf


def check_threshold(threshold: object) -> float:
    """A threshold of retention: a number from 0 to 1."""
    if not _is_number(threshold) or not isinstance(threshold, int | float) or not 0.0 <= threshold <= 1.0:
        raise InvalidInputError(f"threshold {threshold!r} must be a number from 0 to 1")
    return float(threshold)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _check(access_count: object, importance: object) -> None:
    if isinstance(access_count, bool) or not isinstance(access_count, int) or access_count < 0:
        raise InvalidInputError(f"access_count {access_count!r} must be a whole number from 0 on")
    if not _is_number(importance) or not isinstance(importance, int | float) or not 0.0 <= importance <= 1.0:
        raise InvalidInputError(f"importance {importance!r} must be a number from 0 to 1")


def exempt_kind(attribute: str, kinds: Sequence[str]) -> str:
    """The first of the kinds that an attribute belongs to; empty when it may be forgotten."""
    return next((kind for kind in kinds if attribute in EXEMPT_KINDS.get(kind, ())), "")
