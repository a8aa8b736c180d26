"""Appointments beside each other: with other people, of another kind, and not at the same hour of the same day.

"Meeting with Bea on Tuesday at 3" says nothing of the meeting with Ann on Monday, nor 周五和Bob吃晚饭 of a
lunch on that day. What says that an appointment was moved is left to the trained models.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import MONTH, WEEKDAY, has_han
from jiyi.text.statements.about.phrase_words import NO_WORDS_EN
from jiyi.text.statements.replacing.change_words import changes, ends, is_mistake, is_strong_change

__all__ = ["is_another_appointment"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MEETING_ZH: Final = "开会|会议|例会|碰头|开个会|见面|打(?:个)?电话|通话|通个?电话|视频|语音|聊项目"
_MEETING_EN: Final = r"\b(?:meeting|call|zoom|catch-?up|catching up|one[- ]on[- ]one|1:1|stand-?up|sync)\b"
# What takes place, each kind under one name. A call and a meeting may be one appointment.
_KINDS: Final = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("breakfast", r"早饭|早餐|早茶|\bbreakfast\b"),
        ("brunch", r"早午餐|\bbrunch\b"),
        ("lunch", r"午饭|午餐|中饭|\blunch\b"),
        ("dinner", r"晚饭|晚餐|\b(?:dinner|supper)\b"),
        ("coffee", r"喝(?:杯|个)?咖啡|\bcoffee\b"),
        ("drinks", r"喝(?:一?杯|两杯|点|个)?酒|\b(?:drinks|pints?|beers?)\b"),
        ("meeting", rf"{_MEETING_ZH}|{_MEETING_EN}"),
        ("interview", r"面试|\binterview\b"),
        ("film", r"看(?:场|个)?电影|\b(?:cinema|film|movie)\b"),
        ("haircut", r"剪头发?|理发|\b(?:haircut|hairdresser)\b"),
        ("check-up", r"体检|看(?:牙|医生|病)|复查|\b(?:check-?up|scan|dentist|doctor's appointment)\b"),
        ("game", r"打(?:个)?(?:羽毛球|篮球|网球|乒乓球?|麻将|球|牌)|\b(?:match|board games|tennis|badminton|squash)\b"),
        ("concert", r"演唱会|音乐会|\b(?:concert|gig|theatre)\b"),
        ("shopping", r"逛街|\bshopping\b"),
    )
)
_WITH_EN: Final = re.compile(
    r"\b(?:with|(?:seeing|see|meeting|interview at|call to)(?! with\b))"
    r" (?P<who>[\w'’.&-]+(?: (?!on\b|at\b|in\b|for\b|from\b|to\b|about\b|this\b|next\b|tomorrow\b|tonight\b|today\b"
    rf"|every\b|is\b|was\b|has\b|got\b|and i\b|again\b|{WEEKDAY})[\w'’.&-]+){{0,4}})"
)
_WITH_ZH: Final = re.compile(
    r"(?:[和跟与同]|约了?|见)(?P<who>(?!周|星期|礼拜|面|了)[\u3400-\u9fffa-z]{1,8}?)"
    r"(?=[打开吃喝看聊谈见逛去面通视语碰]|一起|一块|的|在|$|[，。,.!！])"
    r"|去(?P<place>[\u3400-\u9fffa-z]{2,8}?)(?=面试|开会|体检)"
)
_NOBODY: Final = _words(
    "milk sugar honey cream ice lemon everyone everybody them him her it me us friends family people 大家 他 她 它 他们"
)
_DAY: Final = re.compile(
    r"(?:下个?|这个?|本|每)?(?:周|星期|礼拜)[一二三四五六日天]|[今明后]天|[\d一二三四五六七八九十]+[号日]"
    rf"|\b(?:{WEEKDAY}|today|tonight|tomorrow|\d{{1,2}}(?:st|nd|rd|th)|{MONTH} \d{{1,2}}|\d{{1,2}} {MONTH})"
)
_HOUR: Final = re.compile(
    r"[\d一二两三四五六七八九十]{1,3}点(?:半|一刻|[\d一二三四五六七八九十]{1,3}分?)?"
    r"|\bat (?:\d{1,2}(?:[:.]\d\d)?|noon|midday)\b|\b\d{1,2}(?:[:.]\d\d)? ?(?:am|pm)\b"
)
_REFERS_BACK: Final = re.compile(r"^(?:it|it's|that|that's|this|he|she|they)\b|^(?:它|他|她|这|那)")
# Another day, hour or person for what was agreed before.
_MOVES: Final = re.compile(
    r"改|换|挪|调|移|推|提前|变成|取消|不是|\b(?:now|instead|moved?|moving|reschedul\w*|push\w*|not)\b"
)


@dataclass(frozen=True, slots=True)
class _Appointment:
    kinds: frozenset[str]
    people: frozenset[str]
    days: frozenset[str]
    hours: frozenset[str]


def is_another_appointment(message: str, fact: str) -> bool:
    """Whether a message tells of an appointment beside the one of a fact."""
    said, known = fold(message), fold(fact)
    if _REFERS_BACK.search(said) or _MOVES.search(said):
        return False
    if any(told(said) for told in (is_mistake, is_strong_change, changes, ends)):
        return False
    new, old = _read(said), _read(known)
    if new is None or old is None or (new.hours and (new.days, new.hours) == (old.days, old.hours)):
        return False
    if new.people and old.people:
        return not (new.people & old.people or any(name in said for name in old.people)) or _differs(new, old)
    return _differs(new, old)


def _differs(new: _Appointment, old: _Appointment) -> bool:
    """Whether both are of plainly different kinds: a lunch and a dinner."""
    return bool(new.kinds and old.kinds) and not new.kinds & old.kinds


def _read(folded: str) -> _Appointment | None:
    """The appointment of which a text tells; `None` where it has no day or hour, or neither a kind nor people."""
    kinds = frozenset(name for name, pattern in _KINDS if pattern.search(folded))
    days = frozenset(match[0].removesuffix("s") for match in _DAY.finditer(folded))
    hours = frozenset(match[0].removeprefix("at ") for match in _HOUR.finditer(folded))
    people = _people(folded)
    if not (days or hours) or not (kinds or people):
        return None
    return _Appointment(kinds, people, days, hours)


def _people(folded: str) -> frozenset[str]:
    if has_han(folded):
        found = (match["who"] or match["place"] for match in _WITH_ZH.finditer(folded))
        return frozenset(found) - _NOBODY
    words = (word.strip("'’.").removesuffix("'s") for m in _WITH_EN.finditer(folded) for word in m["who"].split())
    return frozenset(words) - _NOBODY - NO_WORDS_EN - {"team", "dr", "mr", "mrs", "ms", "and", ""}
