"""What somebody asks not to keep: "don't store that", 这个不要记."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.sentences import sentences

__all__ = ["without_off_record"]

# Folded. At the beginning of a clause: "I don't remember that" is no request.
_CLAUSE_EN: Final = r"(?:^|[,.;:!?()\-–—\"'] ?|\b(?:but|so|and|please|pls) )(?:please |pls |just |but |so |and ){0,3}"
_REQUEST: Final = re.compile(
    rf"{_CLAUSE_EN}(?:(?:don'?t|do not|never) (?:store|save|remember|record|memori[sz]e|keep|note|write down|log) "
    r"(?:(?:any|all) of )?(?:this|that|it|these|those)(?: (?:one|down|anywhere|please|pls|ok(?:ay)?|for me))*"
    r"(?= ?(?:[,.;:!?()\-–—]|$))|(?:this|that) is (?:strictly )?off the record)"
    r"|(?:这个?|那个?|这些|这(?:件)?事|这(?:一)?[条句]|以上|刚才(?:说)?的|它|请|千万|就|可|你|都){0,4}"
    r"(?:不要|别|不用|不必|不许|请勿)(?:帮我|给我|替我)?(?:记(?:下来?|住|录(?:下来)?)?|存(?:下来?|起来|储)?|保存(?:下来)?|记到记忆里)"
    r"(?:这个|这些|这条|它|了|啦|哦|哈|啊|吧|呀|在记忆里)*(?= ?(?:[,，.。;；:：!！?？、)）~～]|$))"
)
_WORDS: Final = re.compile(r"\w")


def without_off_record(text: str) -> str:
    """The text without the sentences that somebody asks not to keep.

    A request that stands alone means the sentence before it, or the one after it at the beginning of a text.
    """
    if _REQUEST.search(fold(text)) is None:
        return text
    parts = sentences(text)
    left_out: set[int] = set()
    for place, part in enumerate(parts):
        folded = fold(part).strip()
        if _REQUEST.search(folded) is None:
            continue
        left_out.add(place)
        if _WORDS.search(_REQUEST.sub("", folded)) is None:
            left_out.add(place - 1 if place else place + 1)
    return "\n".join(part for place, part in enumerate(parts) if place not in left_out)
