"""Changes of what is known that are too short to be worth keeping by themselves: "The meeting is at 5 now."."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.model.entry import MemoryEntry
from jiyi.text.normalize import fold
from jiyi.text.patterns import WEEKDAY
from jiyi.text.sentences import sentences
from jiyi.text.statements.about.content_words import content_words
from jiyi.text.statements.keeping.non_statements import TASK_FOR_NOW
from jiyi.text.statements.keeping.smalltalk import is_small_talk
from jiyi.text.statements.keeping.statement_features import FIRST_PERSON, FOREIGN_TEXT, PASSING, REQUEST, is_invented
from jiyi.text.statements.parts.claims import only_asks
from jiyi.text.statements.parts.own_words import own_words
from jiyi.text.statements.replacing.change_words import changes, is_temporary

__all__ = ["changed_fact"]

_CHANGED: Final = re.compile(
    r"改|换|推迟|提前|延期|取消|走丢|跑丢|走失|不见了|丢了|送人了|送走了"
    r"|\b(?:switched|moved|changed|replaced|renamed|postponed|rescheduled|cancell?ed"
    r"|brought forward|pushed back|ran away)\b"
)
_ALLOWED_AGAIN: Final = re.compile(r"又(?:可以|能|要|让|准)|\bagain\b|\bafter all\b|可以.{0,8}了$")
_FIGURE: Final = re.compile(
    rf"\d|[一二两三四五六七八九十](?:点|号|月|日|楼|层|块|元|折)|周[一二三四五六日天]|\b{WEEKDAY}s?\b"
)
_FORBIDS: Final = re.compile(r"不|别|勿|禁|\b(?:not|never|no|stop|avoid)\b|n't\b")
_SAYS_NOTHING: Final = frozenset(
    [
        "use",
        "like",
        "want",
        "work",
        "need",
        "thing",
        "people",
        "say",
        "know",
        "see",
        "good",
        "可以",
        "知道",
        "觉得",
        "事情",
    ]
)
_MAX_LENGTH: Final = 200


def changed_fact(message: str, facts: Sequence[MemoryEntry]) -> MemoryEntry | None:
    """The newest fact about the thing of which a message says that it has changed, where it is nothing else.

    What the speaker says of themselves is not looked at: that is worth keeping or not by itself.
    """
    text = own_words(message).strip()
    folded = fold(text)
    told = [sentence for sentence in sentences(text) if not is_small_talk(sentence)]
    if len(told) != 1 or len(text) > _MAX_LENGTH or only_asks(text) or is_temporary(folded) or is_invented(folded):
        return None
    if any(pattern.search(folded) for pattern in (FIRST_PERSON, FOREIGN_TEXT, PASSING, REQUEST, TASK_FOR_NOW)):
        return None
    named = content_words(text) - _SAYS_NOTHING
    return next((fact for fact in facts if named & content_words(fact.content) and _changes(folded, fact)), None)


def _changes(message: str, fact: MemoryEntry) -> bool:
    """Whether a message about the same thing as a fact tells of a change: by a word for it, or by another figure."""
    if _CHANGED.search(message):
        return True
    known = fold(fact.content)
    if _ALLOWED_AGAIN.search(message):
        return _FORBIDS.search(known) is not None
    return changes(message) and _FIGURE.search(message) is not None and _FIGURE.search(known) is not None
