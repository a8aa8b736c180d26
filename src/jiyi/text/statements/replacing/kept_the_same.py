"""What a message says stays the same: "the church hall it is, same night" keeps "Thursdays" of a clause with both."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import MONTH, WEEKDAY

__all__ = ["keeps_some_of"]

_STAYS_ZH: Final = r"(?:都|也|倒|倒是|跟以前|还是)?(?:没[变动改换]|不变|不动|照旧|照常|一样)"
_SAME_TIME: Final = re.compile(
    r"\bsame (?:nights?|days?|times?|dates?|hours?|slot|evening|morning|week|weekend)\b"
    rf"|(?:时间|日子|日期|钟点|几号|哪天){_STAYS_ZH}|还是(?:每?周|星期|礼拜|老时间|那天)"
    r"|\b(?:dates?|days?|times?) (?:is|are|stays?|unchanged|the same)\b"
)
_SAME_PLACE: Final = re.compile(
    r"\bsame (?:place|airport|venue|building|town|city|room|hotel|station)\b"
    rf"|(?:地方|地点|城市|场地|酒店){_STAYS_ZH}|还在(?:原来那|那[边栋])"
)
_SAME_INSTITUTION: Final = re.compile(
    r"\bsame (?:school|office|company|firm|uni|university|hospital|employer|shop)\b"
    rf"|(?:学校|公司|单位|医院){_STAYS_ZH}|还是原来的?(?:学校|公司|单位|医院)"
)
_TIME: Final = re.compile(
    rf"\b{WEEKDAY}s?\b|\b{MONTH}\b|\b\d{{1,2}}(?::\d\d|(?:st|nd|rd|th)\b| ?[ap]m\b)"
    r"|周[一二三四五六日天末]|星期|礼拜|[\d一二三四五六七八九十]+[月号日点]"
    r"|(?<![\u4e00-\u9fff])[一二三四五六日]{2,4}(?=[早晚上下])"
)
_PLACE: Final = re.compile(
    r"\b(?:at|in|from|near) (?!(?:the )?(?:morning|evening|afternoon|night)|\d)[a-z]|在[\u3400-\u9fff]{2}"
)
_INSTITUTION: Final = re.compile(r"念|读|学|上班|工作|[做当任教]|\b(?:at|for|stud\w+|works?|working|teach\w*)\b")


def keeps_some_of(message: str, clause: str) -> bool:
    """Whether a message says of a time, place or employer in a clause of a fact that it stays the same."""
    said, known = fold(message), fold(clause)
    return any(
        same.search(said) is not None and has.search(known) is not None
        for same, has in ((_SAME_TIME, _TIME), (_SAME_PLACE, _PLACE), (_SAME_INSTITUTION, _INSTITUTION))
    )
