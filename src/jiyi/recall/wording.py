"""Whether two texts say the same in nearly the same words: what differs between them says nothing of its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final, NamedTuple

from jiyi.text.normalize import fold
from jiyi.text.patterns import HAN, has_han
from jiyi.text.stopwords import ENGLISH

__all__ = ["say_the_same", "tells"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BE: Final = _words("is are am be been being 's 是 为")
_NAMING: Final = _words("called named name 叫 叫做 名叫 名字 名字叫 名为")
"""Words that may only join a thing and its name: "is called", 的名字是."""
_BESIDE_NAMING: Final = _BE | _words("the a 的")
"""Beside such a word these may stand in what differs, and who speaks; nothing else."""
_NAME_FOLLOWS: Final = _BE | _words(": 叫")
_USER: Final = _words("user 用户 该用户")
_OWN: Final = _words("my mine our ours your yours")
_SPEAKER: Final = _words("i me my mine myself we us our ours ourselves 我 我们 咱 咱们 本人") | _USER
_LISTENER: Final = _words("you your yours yourself 你 您 你们")
_THIRD: Final = (
    _words("he him his himself 他"),
    _words("she her hers herself 她"),
    _words("they them their theirs 他们 她们"),
)
_ANY_THIRD: Final = frozenset[str]().union(*_THIRD)
_PLACING: Final = _words("in on")
"""What is in the box is not on it, and either may be "at the box"."""
_FILLING: Final = (
    _words(
        """
        a an the this that these those which who it its and also too just really very quite so well now of at to into
        onto within do does please remember note noted ok okay yes yeah oh hey hi hello thanks thank
        的 了 着 地 得 在 也 就 很 把 对 于 这 那 个 些 和 与 及 这个 那个 一个 一下 吗 呢 吧 啊 呀 嘛 哦 嗯
        请 记住 记得 记下 下来 备忘 位于 现在 一位 一名
        """
    )
    | _PLACING
    | _BE
)
"""Words that say nothing of their own. Not all stop words: "from", "under" and "was" tell things apart."""
_SAME_AS: Final = {
    "rd": "road",
    "ave": "avenue",
    "av": "avenue",
    "blvd": "boulevard",
    "ln": "lane",
    "sq": "square",
    "hwy": "highway",
    "pkwy": "parkway",
    "apt": "apartment",
    "prof": "professor",
    "mister": "mr",
    "jr": "junior",
    "sr": "senior",
    "mt": "mount",
    "dept": "department",
    "&": "and",
    "'m": "am",
    "'re": "are",
    "'ve": "have",
    "'ll": "will",
    "大夫": "医生",
    "医生": "医生",
}
_BEFORE_A_NAME: Final = {"dr": ("doctor", "drive"), "st": ("saint", "street")}
"""What an abbreviation is before a name, and what it is elsewhere."""
_TITLES: Final = _words("dr mr mrs ms prof st")
_ENDS: Final = _words(", ; ! ? 。")
"""They end a clause. Not the full stop, which may end an abbreviation."""
_SIGNS: Final = _ENDS | _words(". : 、")
_NOT: Final = _words("no not never none nobody nothing neither nor without dont doesnt didnt isnt cant 不 没 未 无 别")
_VERBS: Final = {"ca": "can", "wo": "will"}
"""What stands before "n't"."""
_MIN_UNITS: Final = 2
_MAX_CHARACTERS: Final = 4_000
"""Longer texts have to be equal, and so much of a message is looked through for a fact: it takes a millisecond."""
_BEGINNING: Final = 4
"""By so many letters a word is known again: "Works at Acme", "I work at Acme". Not a name inside a sentence."""
_MIN_SHARE: Final = 0.7
_MIN_SHARE_CHINESE: Final = 0.85
"""So much of a fact stands in the message that says it. More of a Chinese one: nothing tells its names from words."""


class _Unit(NamedTuple):
    word: str
    """As it is compared."""
    begins: bool
    """Whether it begins a clause."""
    clause: int
    """Clauses before its own."""
    owns: bool
    """Whether it says whose something is: "my", 我 of 我的."""
    names: bool
    """Whether it only joins a thing and its name."""


def say_the_same(one: str, other: str, *, one_speaker: bool = True) -> bool:
    """Whether two texts have the same words in the same order, but for what says nothing of its own.

    With `one_speaker` "my" and "your" are two people's, otherwise they may be the same one's.
    """
    if max(len(one), len(other)) > _MAX_CHARACTERS:
        return False
    # Without a capital letter nothing tells a name, of which an "s" may be a part, from other words.
    has_cases = one != one.lower() and other != other.lower()
    own, others = _units(one, has_cases=has_cases), _units(other, has_cases=has_cases)
    telling, others_telling = ([unit.word for unit in units if not _may_differ(unit.word)] for units in (own, others))
    if telling != others_telling:
        return False
    if len(telling) < _MIN_UNITS:
        return [unit.word for unit in own] == [unit.word for unit in others]
    between = zip(_between_telling(own), _between_telling(others), strict=True)
    return all(_says_nothing(*_differing(one, other), one_speaker=one_speaker) for one, other in between)


def _between_telling(units: Sequence[_Unit]) -> list[list[_Unit]]:
    """What stands before, between and behind the words that tell something."""
    found: list[list[_Unit]] = [[]]
    for unit in units:
        if _may_differ(unit.word):
            found[-1].append(unit)
        else:
            found.append([])
    return found


def _differing(own: Sequence[_Unit], others: Sequence[_Unit]) -> tuple[Sequence[_Unit], Sequence[_Unit]]:
    """Both without the words with which both begin and end."""
    while own and others and own[0].word == others[0].word:
        own, others = own[1:], others[1:]
    while own and others and own[-1].word == others[-1].word:
        own, others = own[:-1], others[:-1]
    return own, others


def tells(text: str, fact: str) -> bool:
    """Whether most of the words of a fact stand in a text, all of its names and figures, and its "not"."""
    own, others = _units(fact[:_MAX_CHARACTERS], has_cases=False), _units(text[:_MAX_CHARACTERS], has_cases=False)
    if any(unit.word in _NOT for unit in own) and not any(unit.word in _NOT for unit in others):
        return False
    words = {unit.word for unit in others}
    beginnings = {word[:_BEGINNING] for word in words}
    if not all(word in words or (first and word[:_BEGINNING] in beginnings) for word, first in _names(fact)):
        return False
    chinese = has_han(fact)
    wanted, known = _compared(own, chinese=chinese), _compared(others, chinese=chinese)
    return bool(wanted) and len(wanted & known) >= (_MIN_SHARE_CHINESE if chinese else _MIN_SHARE) * len(wanted)


def _compared(units: Sequence[_Unit], *, chinese: bool) -> frozenset[str]:
    """The beginnings of the words that say something; in Chinese, which has none, they and characters in pairs."""
    said = [unit.word[:_BEGINNING] for unit in units if not _may_differ(unit.word)]
    return frozenset(map(str.__add__, said, said[1:]) if chinese else said)


def _may_differ(word: str) -> bool:
    return word in _FILLING or word in _SPEAKER or word in _LISTENER or word in _ANY_THIRD or word in _NAMING


def _says_nothing(own: Sequence[_Unit], others: Sequence[_Unit], *, one_speaker: bool) -> bool:
    """Whether what stands in one place of two texts makes no difference."""
    units = (*own, *others)
    sides = [{unit.word for unit in side} for side in (own, others)]
    words = sides[0] | sides[1]
    if words & _NAMING:
        allowed = _BESIDE_NAMING | _SPEAKER
        return all(unit.names or (unit.word in allowed and unit.word not in _NAMING) for unit in units)
    if all(side & _PLACING for side in sides) and sides[0] & _PLACING != sides[1] & _PLACING:
        return False
    if words & _ANY_THIRD:
        return _refers_back(units, words)
    if one_speaker and words & _SPEAKER and words & _LISTENER:
        return False
    # "My dentist" is "the dentist", but "Anna calls me Ben" is not "Anna calls Ben".
    people = [bool(side & (_SPEAKER | _LISTENER)) for side in sides]
    return all(people) or all(_may_be_left_out(unit) for unit in units)


def _refers_back(units: Sequence[_Unit], words: Collection[str]) -> bool:
    """Whether "his" in "The dentist is Dr. Patel, his surgery is …" is who was named: not "his" for "my" or "her"."""
    if any(word in _SPEAKER or word in _LISTENER for word in words):
        return False
    if sum(not each.isdisjoint(words) for each in _THIRD) > 1:
        return False
    return all(unit.clause > 0 for unit in units if unit.word in _ANY_THIRD)


def _may_be_left_out(unit: _Unit) -> bool:
    if unit.word not in _SPEAKER and unit.word not in _LISTENER:
        return True
    return unit.owns or (unit.begins and unit.word not in _USER)


@lru_cache(maxsize=256)
def _units(text: str, *, has_cases: bool) -> tuple[_Unit, ...]:
    """The words of a text and its Chinese characters, as they are compared."""
    told = _opening().sub("", _on_roads().sub("", text.replace("\u2019", "'").strip()), count=1)
    told = _hyphen().sub("", _not().sub(_with_not, told))
    found = [*_unit().findall(told), "", ""]
    folded = [fold(each) for each in found]
    units: list[_Unit] = []
    clause, begins = 0, True
    for place, (raw, word) in enumerate(zip(found[:-2], folded, strict=False)):
        if word in _SIGNS:
            if word in _ENDS:
                clause, begins = clause + bool(units), True
            continue
        before, behind, next_but_one = folded[place - 1], folded[place + 1], folded[place + 2]
        compared = _SAME_AS.get(word, word)
        if word in _BEFORE_A_NAME:
            named = next_but_one if behind == "." else behind
            compared = _BEFORE_A_NAME[word][0 if named.isalpha() and named not in ENGLISH else 1]
        elif has_cases and raw.islower() and not (before in _TITLES or folded[place - 2] in _TITLES):
            compared = _SAME_AS.get(word) or _without_ending(word)
        owns = word in _OWN or behind in {"的", "'s"}
        units.append(_Unit(compared, begins, clause, owns, _only_names(word, before, behind)))
        begins = begins and word in _FILLING
    return tuple(units)


def _only_names(word: str, before: str, behind: str) -> bool:
    """Whether a word joins a thing and its name: not in "I called Anna" or "named after"."""
    if word in {"called", "named"}:
        return (before in _BE or before in {"'m", "'re"}) and bool(behind) and behind not in ENGLISH | _SIGNS
    if word == "name":
        return behind in _NAME_FOLLOWS and before not in {"first", "last", "middle", "family", "user"}
    return word in _NAMING and (word != "名字" or behind in _NAME_FOLLOWS)


def _without_ending(word: str) -> str:
    """Lives as live, eggs as egg. "Lived" is another word: it tells of another time."""
    if len(word) <= _BEGINNING - 1 or not word.endswith("s") or word.endswith(("ss", "us", "is")) or word in ENGLISH:
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "oes")) else word[:-1]


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """Folded, the capitalized words and the figures, each with whether a sentence begins with it."""
    first = True
    before = ""
    for raw in _unit().findall(text):
        word = fold(raw)
        if word in _SIGNS:
            first = first or (word in {".", "!", "?", "。", ":"} and before not in _TITLES)
        elif raw[0].isdigit() or (raw[0].isupper() and word not in ENGLISH and word not in _USER):
            if word not in _BEFORE_A_NAME:
                yield _SAME_AS.get(word, word), first and not raw[0].isdigit()
            first = False
        elif raw[0].isalnum():
            first = False
        before = word


def _with_not(match: re.Match[str]) -> str:
    """Don't as do not, can't and cannot as can not."""
    verb = match[1] or match[2]
    return f"{_VERBS.get(verb.lower(), verb)} not"


# Compiled at first use: few answers have texts that are that similar.
@cache
def _unit() -> re.Pattern[str]:
    known = _FILLING | _NAMING | _SPEAKER | _LISTENER | _ANY_THIRD | frozenset(_SAME_AS)
    chinese = sorted((word for word in known if not word.isascii()), key=len, reverse=True)
    latin = rf"[^\W\d_{HAN}]+|'(?:s|m|re|ve|ll|d)(?![^\W_])"
    figure = r"(?<![^\W_])-\d+(?:[.,:]\d+)*|\d+(?:[.,:]\d+)*"
    return re.compile(
        rf"{'|'.join(chinese)}|[{HAN}]|{latin}|{figure}|[-+#%$€£¥°&/]|[.,;:!?。，；：！？、]", re.IGNORECASE
    )


@cache
def _not() -> re.Pattern[str]:
    return re.compile(r"\b([a-z]+)n't(?![^\W_])|\b(can)not\b", re.IGNORECASE)


@cache
def _hyphen() -> re.Pattern[str]:
    """That of e-mail, which is email too."""
    return re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")


@cache
def _on_roads() -> re.Pattern[str]:
    """人民路上 is 人民路, and 城里 is 城."""
    return re.compile("(?<=[路街巷])上(?![午海次班学])|(?<=[市省县城村镇])[里内]")


@cache
def _opening() -> re.Pattern[str]:
    """What says only that the user said it."""
    english = r"(?:the\s+)?user\s+(?:says?|said|mention(?:s|ed)|stated?s?)\s+(?:that\s+)?"
    return re.compile(rf"\A{english}|\A用户(?:说|提到|表示)过?[,，:：]?", re.IGNORECASE)
