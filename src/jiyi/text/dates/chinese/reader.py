"""Reader: a Chinese text with the helpers that all rules use, and Point: the result of a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from jiyi.text.dates.chinese import words
from jiyi.text.dates.periods import DateValue

if TYPE_CHECKING:
    from jiyi.text.dates.reference_time import ReferenceTime


@dataclass(frozen=True, slots=True)
class Point:
    """One expression, where it ends, and what a shorter one after it may leave out."""

    when: DateValue
    finish: int
    year: int | None = None
    month: int | None = None

    def of(self, when: DateValue | None, finish: int) -> Point | None:
        """Another meaning with the same year and month; None if there is none."""
        return None if when is None else replace(self, when=when, finish=finish)


class Reader(NamedTuple):
    """A text and its reference time."""

    text: str
    reference: ReferenceTime

    def before(self, position: int, count: int = 1) -> str:
        """The characters before a position, "" at the beginning."""
        return self.text[max(position - count, 0) : position]

    def after_number(self, position: int) -> bool:
        """Whether the numeral at a position goes on from the left, so that it is only a part of a number."""
        before = self.before(position)
        if self.text[position] in "0123456789":
            separated = before in {".", ","} and self.before(position, 2)[:1].isdigit()
            return before.isdigit() or separated
        return before != "" and before in words.NUMERALS

    def begins_clause(self, position: int) -> bool:
        """Whether a clause begins here, perhaps after its subject."""
        before = self.before(position)
        return before == "" or before in "我你他她们在，,。.；;：:？?！!、\n （(“\"'‘"


Rule: TypeAlias = Callable[[Reader, int], Point | None]
