"""What does not fade with time although no kind of fact says so: what somebody asks to remember, and decisions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import any_of
from jiyi.text.questions import is_question
from jiyi.text.sentences import sentences

__all__ = ["DECISION", "REQUESTED", "asks_to_remember", "lasting_in", "only_asks_to_remember", "states_decision"]

REQUESTED: Final = "requested"
"""Somebody asked to remember it."""
DECISION: Final = "decision"
"""What a group has decided, and who is responsible for what."""

# At the beginning of a clause: "I don't remember that" is no request. What is to be done later is a reminder.
_CLAUSE_EN: Final = r"(?:^|[.!?;:,]\s*|\b(?:and|so|but|please|pls|also|ok|okay|hey),? )"
_REMEMBER: Final = any_of(
    rf"{_CLAUSE_EN}(?:please |pls |can you |could you |would you |you should |i need you to |i want you to )*"
    r"(?:remember|memori[sz]e|keep in mind|bear in mind|make a note|take a note|write down|note down|don'?t forget)"
    r"(?:,? (?:that|this|these|it|for me|for later|for next time|of (?:this|that|it)|down)\b|[:,] ?| (?:my|our|the) )",
    rf"{_CLAUSE_EN}(?:please )?(?:note that|note:|remember:|save this|for the record:)",
    rf"{_CLAUSE_EN}(?:please )?(?:remember|memori[sz]e|note)(?: (?:this|that|it))?(?: for me| please)?[.!\s]*$",
    r"(?:^|[，,。.！!；;：:\s])(?:请|麻烦|拜托)?(?:你|您)?(?:一定要?|务必|千万要?|帮(?:我|忙)|替我|给我|先)*"
    r"(?:记住|记下来?|记一下|记一记|记着|记好|备忘(?:一下)?|存一下|记录一下|记到(?:记忆|脑子)里)"
    r"(?!了?(?:吗|没|么))(?!了[。！!]?$)",
    r"(?:请|帮(?:我|忙)|替我)(?:你)?(?:把(?:这|它)\S{0,6})?(?:记住|记下|记一下|记录|备忘)",
    r"(?:^|[，,。！!；;\s])(?:可)?(?:别|不要|不能)忘(?:了|记)(?!提醒|带|买|给|去|打|发|叫|吃|做|交|关|拿|回|告诉)",
)
_BARE: Final = re.compile(
    r"^[\W_]*(?:(?:please|pls|can you|could you|ok|and|请|麻烦|你|您|一定要?|帮我|替我|给我) ?)*"
    r"(?:remember|memori[sz]e|keep|note|make a note of|记住|记下来?|记一下|记着|记好|备忘|存一下)"
    r"(?: ?(?:this|that|it|in mind|down|for me|for later|please|这个|这些|哦|啊|吧|呀|哈))*[\W_]*$"
)
_DECISION: Final = any_of(
    r"\b(?:we|the team|our team|everyone|everybody|they all)(?:'ve| have|'ll)?(?: all| just| now| finally| both)*"
    r" (?:decided|agreed|settled on|chose|picked|opted|voted|concluded|dropped|ditched|abandoned|adopted"
    r"|standardi[sz]ed|migrated|switched|went with|are going with|go with|going with"
    r"|will (?:use|go with|stick with)|replaced"
    r"|no longer use|stopped using|moved (?:off|away from|from)|sticking with|are sticking)\b",
    r"\b(?:it was|it's been|has been) (?:decided|agreed)\b|\b(?:the|our) decision (?:is|was)\b|^decisions?:",
    r"\b(?:owns|is responsible for|is in charge of|takes over|took over|maintains|leads) (?:the|our|all) ",
    r"(?:我们|咱们|大家|团队|项目组|组里|公司|部门|双方|会上|我们组)\S{0,8}?"
    r"(?:决定|商定|商量好|说好|定了|定下|敲定|约定|同意|选定|选了|改用|换成|采用|弃用|不再用|统一用|放弃)",
    r"(?:最后|最终|会上|讨论后)\S{0,4}(?:决定|定了|敲定|选了|采用)|(?:^|[，,。])(?:决议|结论|决定)(?:是|：|:)",
    r"(?:由|归)\S{1,8}负责|\S{1,8}(?:来)?负责\S{1,10}(?:模块|服务|项目|系统|部分|接口|测试|前端|后端|运维|发布|上线)",
)
_PARTS: Final = re.compile(r"\W+")


@lru_cache(maxsize=2_048)
def asks_to_remember(text: str) -> bool:
    """Whether a text asks to remember what it says; a question whether something is remembered does not."""
    return any(_REMEMBER.search(fold(each).strip()) and not is_question(each) for each in sentences(text))


def only_asks_to_remember(sentence: str) -> bool:
    """Whether a sentence asks to remember, and says nothing of its own: what stands beside it is meant."""
    return _BARE.search(fold(sentence).strip()) is not None and not is_question(sentence)


def states_decision(text: str) -> bool:
    """Whether a text tells what a group has decided, or who is responsible for something."""
    return _DECISION.search(fold(text).strip()) is not None and not is_question(text)


def lasting_in(message: str, fact: str) -> str:
    """Why a fact of a message does not fade: it was asked for, or stands in a sentence that tells a decision."""
    if asks_to_remember(message):
        return REQUESTED
    words = _PARTS.sub("", fold(fact))
    telling = [each for each in sentences(message) if states_decision(each)]
    if states_decision(fact) or any(words in _PARTS.sub("", fold(each)) for each in telling):
        return DECISION
    return ""
