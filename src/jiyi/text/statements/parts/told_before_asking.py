"""Statements in a message that asks: what was told before the question in the same sentence."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.patterns import has_han
from jiyi.text.statements.about.phrases_en import predicate_en
from jiyi.text.statements.about.phrases_zh import predicate_zh
from jiyi.text.statements.replacing.change_words import (
    changes,
    ends,
    ends_life,
    hints_at_change,
    is_strong_change,
    is_wish,
)

__all__ = ["question_breaks", "tells_before_asking", "tells_nothing"]

# "I'm on warfarin and can I eat kale": a question begins without a comma.
_QUESTION_BEGINS: Final = re.compile(
    r"(?<=[\w)'’]) +(?=(?:so|and|but) (?:(?:what|which|how|where|why)\b"
    r"|(?:can|could|should|do|does|did|is|are|am|will|would|may) (?:i|we|it|there|that|this|you|he|she|they)\b))",
    re.IGNORECASE,
)
# "I've a nut allergy so is satay off the menu?", and not "so is my brother".
_SO_IS: Final = re.compile(
    r"(?<=[\w)'’])(?<!\band)(?<!\bbut) +(?=so (?:is|are) (?!my\b|our\b|his\b|her\b|i\b)[a-z]+ [a-z]+)", re.IGNORECASE
)
# Nothing is told by a condition, by a general case, or by how somebody begins to ask.
_NO_STATEMENT_EN: Final = re.compile(
    r"^(?:and |but |so |ok |also )*(?:if|when|whenever|whether|unless|for|in|at|to|by|about|regarding|people|someone"
    r"|somebody|everyone|everybody|nobody|they say|please|let|let's|imagine|suppose|say|assuming|sorry|thanks|hi"
    r"|hello|hey|quick|random|serious|silly|just|apparently|i (?:was )?wonder\w*|i want to know|i need to know"
    r"|you|your|this|that|it|these|those|there|once)\b"
)
_NO_STATEMENT_ZH: Final = re.compile(
    r"想|打算|准备|考虑|^(?:如果|假如|要是|万一|假设|听说|据说|人家|有人|别人|大家|请问|你|您|那|这(?!学期|学年|个?[月周季]|星期|礼拜|[两几]|阵|年|边)|它)"
)
# A clause that begins with its verb tells of the speaker: 在软件上学葡萄牙语, and not what somebody asks to be done.
_REQUESTS_ZH: Final = re.compile(
    r"^(?:再|先|那就|就|能|可以|可|要|该|应该|得|会|别|不要|不用|来)|^(?:帮|给|写|推荐|翻|讲|说|解释|总结|列|查|找|看|问|算|编|画|设计|生成|分析"
    r"|比较|介绍|谢|感谢|求|有没有|有|是|叫|让|祝|请|麻烦|拜托|除了|关于|对于|根据|按|用|从|以|把|被|在家|在线)"
)
_MIN_TOLD_ZH: Final = 5
_FIRST_PERSON_EN: Final = re.compile(r"\b(?:i|me|my|us|our|we)\b")
_FIRST_PERSON_DOES: Final = re.compile(r"^(?:and |but |so |ok |also |well,? )*(?:i|we)(?:'ve|'d| have| had)? [a-z]+")


def question_breaks(sentence: str) -> list[int]:
    """Where a question begins inside of a sentence without a sign before it."""
    return [match.end() for pattern in (_QUESTION_BEGINS, _SO_IS) for match in pattern.finditer(sentence)]


def tells_nothing(folded: str) -> bool:
    """Whether a clause is a condition, a general case, or how somebody begins to ask."""
    return (_NO_STATEMENT_ZH if has_han(folded) else _NO_STATEMENT_EN).search(folded) is not None


def tells_before_asking(folded: str) -> bool:
    """Whether a clause before a question tells that something has changed, or what the speaker has done.

    "Dad's moved back to Leeds, what's on there?", "Olives have grown on me, what goes with them?".
    """
    if has_han(folded):
        of_speaker = len(folded) >= _MIN_TOLD_ZH and not _REQUESTS_ZH.search(folded) and predicate_zh(folded) == ""
    else:
        of_speaker = _FIRST_PERSON_EN.search(folded) is not None and bool(predicate_en(folded))
    change = any(says(folded) for says in (changes, ends, ends_life, is_strong_change, hints_at_change))
    does = _FIRST_PERSON_DOES.match(folded) is not None
    return not tells_nothing(folded) and not is_wish(folded) and (change or does or of_speaker)
