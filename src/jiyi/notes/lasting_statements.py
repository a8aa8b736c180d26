"""Which sentences of a note say something lasting, by rules."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.statements.keeping.cues import find_statements

_MIN_IMPORTANCE: Final = 0.7
_PASSING_KINDS: Final = frozenset({"date"})
# What holds only for a while stays in the daily notes: appointments, and what is about to happen.
_PASSING: Final = re.compile(
    r"\b(?:tomorrow|tonight|today|later|soon|this (?:morning|afternoon|evening|week|weekend|month)"
    r"|next (?:week|weekend|month|mon|tues|wednes|thurs|fri|satur|sun)\w*"
    r"|(?:on|by|until) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|in (?:an?|\d+|two|three|a few) (?:minutes?|hours?|days?|weeks?)"
    r"|at (?:\d{1,2}(?::\d\d)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon|midnight)\b)"
    r"|\d{1,2}(?::\d\d)? ?(?:am|pm)\b|o'clock"
    r"|明天|明早|明晚|后天|今天|今晚|今早|今日|下周|下星期|下个?月|这周|本周|这个?周末|周末|待会|一会儿?|稍后|马上|等下"
    r"|(?:上午|下午|晚上|早上|中午)?[\d一二两三四五六七八九十]{1,3}[点點](?!儿)",
    re.IGNORECASE,
)


def lasting_statements(text: str) -> list[tuple[str, str]]:
    """(kind, sentence) of what is worth knowing in every session."""
    return [
        (statement.kind, statement.content)
        for statement in find_statements(text)
        if statement.importance >= _MIN_IMPORTANCE
        and statement.kind not in _PASSING_KINDS
        and not is_passing(statement.content)
    ]


def is_passing(text: str) -> bool:
    """Whether a sentence is about a moment that passes ("tomorrow at three", 明天下午三点)."""
    return _PASSING.search(text) is not None
