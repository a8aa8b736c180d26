"""What somebody takes up beside what they do already: "signed up for spin class" ends no yoga."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.statements.about.content_words import share_content
from jiyi.text.statements.about.topics import TOPICS, topics_of
from jiyi.text.statements.replacing.change_words import ends, is_mistake

__all__ = ["takes_up_something_else"]

_SINGLE: Final = frozenset(topic.name for topic in TOPICS if topic.single)
_TAKES_UP: Final = re.compile(
    r"\b(?:(?:started|began) (?:learning|doing|playing|collecting|taking|reading|baking|making)|took up|taken up"
    r"|signed up (?:for|to)|enrolled (?:in|on)|picked up a\b|got (?:really )?into|hooked on|made a (?:new )?friend"
    r"|opened an? \w+ account|just finished (?!work|school|uni|my)|adopted|getting (?:decent|good|better)|discovered"
    r"|joined (?:the|a|our) (?:[\w-]+ ){0,3}?(?:crew|club|choir|team|group|band|society|class|league|orchestra))\b"
    r"|(?:最近|刚)?开始学|报了(?:个|一个)?[^，。]{1,6}(?:班|课)|迷上|爱上|入坑"
    r"|加入了?[^，。]{1,6}(?:社|队|团|俱乐部)|领养了|捡了"
)
# Words which say that the new thing takes the place of another one.
_INSTEAD: Final = re.compile(
    r"换|改|不再|代替|\b(?:instead|rather than|switch\w*|swap\w*|replac\w*|moved|left|quit|no longer|any ?more|used to"
    r"|over to|gave up|given up|no more|bye|back to)\b"
)


def takes_up_something_else(message: str, fact: str) -> bool:
    """Whether a message tells only of something that somebody has taken up, and a fact of something else."""
    said = fold(message)
    if not _TAKES_UP.search(said) or _INSTEAD.search(said) or ends(said) or is_mistake(said):
        return False
    if topics_of(said).keys() & topics_of(fold(fact)).keys() & _SINGLE:
        return False
    return not share_content(message, fact)
