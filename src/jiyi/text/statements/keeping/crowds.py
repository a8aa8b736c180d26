"""What people in general do, or those around the speaker: "Everyone at the party was eating steak", 好多人都搬走了.

It is no fact about the speaker, and says nothing against one. A crowd to which the speaker belongs is none: "everyone
in my team", 我们家.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han

__all__ = ["BY_SPEAKER", "tells_of_crowd"]

BY_SPEAKER: Final = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|i'm|im|i've|ive|i'd|i'll|we're|we've|we'll|we'd)\b|[我咱俺]|本人|自己"
)
"""The speaker, anywhere in a folded text."""
_PEOPLE: Final = (
    r"(?:people|guests|office|customers|kids|parents|neighbou?rs|colleagues|students|men|women|others"
    r"|table|village|town|street|folks|visitors|passengers)"
)
_CROWD_EN: Final = re.compile(
    r"^(?:(?:at|in|on|during|outside) (?:the|a|that|this|his|her|their) [\w' ]{2,30}?,? )?(?:"
    r"(?:(?:lots|loads|plenty|most|half|some|many|a lot|a few|all|tons|a bunch)(?: of)?(?: the| those| these)?"
    rf"(?: other)?|the other|other) {_PEOPLE}\b"
    r"|people (?:at|in|on|outside|around|near|from|are|were|keep|everywhere)\b"
    r"|(?:the )?(?:guests|others|people (?:next door|upstairs)|(?:next|other) table)\b"
    r"|every(?:one|body) else\b"
    r"|(?:every(?:one|body)|people|they all)\b[^,.]{0,40}\b(?:was|were) (?:all )?[a-z]+ing\b)"
)
_CROWD_ZH: Final = re.compile(
    r"^[^，。我]{0,8}?[，,]?"
    r"(?:(?:好多|很多|不少|许多|一堆|一群|其他|别的|旁边|周围|身边|外面|满)[^，。我]{0,5}?(?:人|同学|同事|客人)"
    r"|别人|人家|(?:大家|所有人|每个人|人人|一桌人)(?:都|全|也)?(?:在(?!家)|正|忙着))"
)
_OWN: Final = re.compile(r"\b(?:family|household|team|class)\b|家里|全家|班里|组里|团队")


def tells_of_crowd(text: str) -> bool:
    """Whether a text tells what people do among whom the speaker need not be."""
    folded = fold(text).strip()
    crowd = _CROWD_ZH if has_han(folded) else _CROWD_EN
    return not BY_SPEAKER.search(folded) and not _OWN.search(folded) and crowd.search(folded) is not None
