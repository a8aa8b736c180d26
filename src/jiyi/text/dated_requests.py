"""Whether a question asks for nothing but a time: "what did I do last Wednesday", 上周三我说了什么."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold

__all__ = ["asks_for_anything"]

_WORDS: Final = (
    "what whats what's which how anything everything something things thing stuff all else "
    "did do does doing done have has had was were been be is are am "
    "i i'd we you me us my our myself ourselves "
    "say said says saying tell told telling talk talked talking speak spoke mention mentioned discuss discussed "
    "chat chatted write wrote note noted notes happen happened happening go going went gone on up to about with "
    "that then the this day time in at of for from back and so remember recall show list know please can could"
)
_ANYTHING: Final = re.compile(
    rf"(?:\b(?:{'|'.join(sorted(_WORDS.split(), key=len, reverse=True))})\b|[^\w]"
    r"|我们?|咱们?|俺|你|自己|都|还|又|说|讲|聊|谈|做|干|提|写|记|忙|发生|告诉|跟|和|给|在|到|过|了|着|些|哪|什么|甚么|啥|嘛"
    r"|怎么|怎样|怎么样|如何|样|事情|事儿|事|内容|话|有|是|的|那天|那时|时候|时|当时|当天|一下|看看|列出|帮|吗|呢|呀|啊|吧"
    r")+"
)


def asks_for_anything(rest: str) -> bool:
    """Whether a question, without its dates, asks for whatever was said or done then."""
    return _ANYTHING.fullmatch(fold(rest)) is not None
