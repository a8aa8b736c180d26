"""Whether a question asks for nothing but a time: "what did I do last Wednesday", 上周三我说了什么."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold

__all__ = ["SAYING", "asks_for_anything", "asks_what_was_said", "is_date_alone"]

_WORDS: Final = (
    "what whats what's which how anything everything something things thing stuff all else "
    "did do does doing done have has had was were been be is are am "
    "i i'd we you me us my our myself ourselves "
    "say said says saying tell told telling talk talked talking speak spoke mention mentioned discuss discussed "
    "chat chatted write wrote note noted notes happen happened happening go going went gone on up to about with "
    "take took taken place event events between during within since until before after around "
    "that then the this day time in at of for from back and so remember recall show list know please can could"
)
_ANYTHING: Final = re.compile(
    rf"(?:\b(?:{'|'.join(sorted(_WORDS.split(), key=len, reverse=True))})\b|[^\w]"
    r"|我们?|咱们?|俺|你|自己|都|还|又|说|讲|聊|谈|做|干|提|写|记|忙|发生|告诉|跟|和|给|在|到|过|了|着|些|哪|什么|甚么|啥|嘛"
    r"|怎么|怎样|怎么样|如何|样|事情|事儿|事|内容|话|有|是|的|那天|那时|时候|时|当时|当天|一下|看看|列出|帮|吗|呢|呀|啊|吧"
    r"|事件|大事|经历|之间|期间|里|间|内"
    r")*"
)
_BESIDE_A_DATE: Final = re.compile(
    r"(?:\b(?:on|in|at|of|for|from|to|the|and|between|during|within|since|until|around|about|then|that day|day)\b|[^\w]"
    r"|在|的|那天|当天|那时|时候|之间|期间|里|间|内|和|到|呢)*"
)

_SAYING: Final = (
    "say tell talk speak mention discuss happen chat write note 说 说过 讲 聊 聊过 谈 谈到 提 提到 告诉 发生"
)
SAYING: Final = frozenset(_SAYING.split())
"""Terms by which one asks what was said or done at a time: an answer need not have them."""

_SAID: Final = re.compile(
    r"\b(?:said?|says|saying|tell|told|talk|mention|discuss|chat|wr[io]te|not(?:e|ed|ing)|stor|sav(?:e|ed|ing)|record"
    r"|remember|add(?:ed)?|learn)|[说讲聊谈提写记存学]|告诉"
)


def asks_for_anything(rest: str) -> bool:
    """Whether a question, without its dates, asks for whatever was said or done then: a date alone does."""
    return _ANYTHING.fullmatch(fold(rest)) is not None


def is_date_alone(rest: str) -> bool:
    """Whether nothing but its preposition is left of a question without its dates: "on 14 May", 中秋那天."""
    return _BESIDE_A_DATE.fullmatch(fold(rest)) is not None


def asks_what_was_said(question: str) -> bool:
    """Whether it asks what was said or stored at a time, and not what happened then."""
    return _SAID.search(fold(question)) is not None
