"""What is told of others and says nothing of the speaker, and who somebody is, which what they do does not change.

"Everyone at the party was eating steak" says nothing of a vegetarian, "Grace is the manager of the team next door"
nothing of one's own manager, and "Tom moved to Bath" does not undo "My friend Tom is great".
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.relations import CHINESE_WORDS, ROLES, relations_in
from jiyi.text.statements.keeping.crowds import BY_SPEAKER, tells_of_crowd
from jiyi.text.statements.replacing.change_words import ends, ends_life, ends_love, is_mistake

__all__ = ["tells_only_of_others"]

_ELSEWHERE: Final = re.compile(
    r"隔壁|对面|楼上|楼下|别的|其他|其它|另一?个|别人|旁边"
    r"|\b(?:next door|opposite|upstairs|downstairs|across the (?:road|street|hall|corridor)"
    r"|down the (?:road|street|hall)"
    r"|(?:the|an)other (?!half)[a-z]+|neighbou?ring)\b"
)
_EN_NAMES: Final = r"(?P<en{0}>[A-Z][a-z]+(?:(?:, | and |, and | & )[A-Z][a-z]+)*)"
_ZH_NAMES: Final = r"(?P<zh{0}>[\u3400-\u9fff]{{2,3}}?(?:(?:、|和|跟|与)[\u3400-\u9fff]{{2,3}}?)*)"
_ZH_KIN: Final = "|".join(CHINESE_WORDS)
_GOOD_EN: Final = (
    r"(?:(?:really|so|very|such|super|just|the|a|an) )*(?:great|lovely|nice|kind|funny|awesome|amazing|wonderful|sweet"
    r"|fun|cool|brilliant|best|fantastic|good (?:guy|man|woman|friend|person|laugh)|lovely (?:guy|man|woman|person)"
    r"|annoying|weird|strange|clever|smart|hilarious)"
)
_GOOD_ZH: Final = (
    r"(?:人)?(?:很|特别|挺|真|超|非常|可|蛮|最)(?:好|幽默|有趣|可爱|善良|靠谱|聪明|热心|逗|搞笑|温柔|厉害|棒)(?:玩|人)?"
)
_INTRODUCES: Final = re.compile(
    rf"(?:My|Our|my|our) (?:[a-z-]+ ){{1,4}}{_EN_NAMES.format(1)}(?:'s| is| are) {_GOOD_EN}[.!]*"
    rf"|(?:I|We)(?:'ve| have)(?: got)? (?:an?|one|two|three|four|five) (?:[a-z-]+ ){{0,3}}[a-z-]+"
    rf"(?:,|:| called| named|, called|, named| -) {_EN_NAMES.format(2)}[.!]*"
    rf"|我们?(?:家)?(?:有)?(?:[一两二三四五六]?[个位])?(?:{_ZH_KIN}){_ZH_NAMES.format(1)}{_GOOD_ZH}[。！]*"
    rf"|我们?家?有[一两二三四五六几]?[个位只条][\u3400-\u9fff]{{1,4}}(?:，|：|，?(?:分别)?叫){_ZH_NAMES.format(2)}[。！]*"
)
_JUDGES: Final = re.compile(rf"\b{_GOOD_EN}\b|{_GOOD_ZH}")
_AND: Final = re.compile(r", and |, | and | & |[、和跟与]")
# What does end or change who somebody is to the speaker, or what they are called.
_OF_THE_RELATION: Final = re.compile(
    r"绝交|闹翻|闹掰|改名|叫|名字|\b(?:fell out|falling out|friends?|call(?:ed|s)?|names?|renamed|gone|missing|lost)\b"
)


def tells_only_of_others(message: str, fact: str) -> bool:
    """Whether a message tells of others what neither replaces nor contradicts a fact."""
    said = fold(message)
    if is_mistake(said):
        return False
    if tells_of_crowd(message):
        return not tells_of_crowd(fact)
    return _of_a_role_elsewhere(said, fold(fact)) or _leaves_who_it_is(said, fact)


def _of_a_role_elsewhere(said: str, known: str) -> bool:
    """Whether a message tells who holds a role that is not the speaker's: 孙浩是隔壁部门的经理."""
    if BY_SPEAKER.search(said) or not _ELSEWHERE.search(said) or _ELSEWHERE.search(known):
        return False
    return bool(relations_in(said) & relations_in(known) & ROLES) or ("经理" in said and "经理" in known)


def _leaves_who_it_is(said: str, fact: str) -> bool:
    """Whether a fact tells who somebody is, and a message what that one has done: 我有两个妹妹，小雪和小雨."""
    match = _INTRODUCES.fullmatch(fact.strip())
    if match is None or ends(said) or ends_life(said) or ends_love(said) or _OF_THE_RELATION.search(said):
        return False
    names = [fold(name) for name in _AND.split(next(filter(None, match.groups())))]
    if not any(name in said if has_han(name) else re.search(rf"\b{name}\b", said) for name in names):
        return False
    return relations_in(said).isdisjoint(relations_in(fold(fact))) and not _JUDGES.search(said)
