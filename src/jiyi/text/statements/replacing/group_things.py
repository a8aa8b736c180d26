"""What belongs to a group: in a conversation of several people anybody may tell that it has changed."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.statements.about.subject_phrases import names_its_subject

__all__ = ["belongs_to_group"]

_ONE_SPEAKER: Final = re.compile(
    r"(?<![^\W_])(?:i|i'm|im|i've|i'd|i'll|my|me|mine|myself)(?![^\W_])|[我俺](?![们們])|本人|自己"
)
_TOGETHER: Final = re.compile(
    r"(?<![^\W_])(?:we|we're|we've|we'll|our|ours|us|the team|everyone|everybody)(?![^\W_])"
    r"|我们|我們|咱们?|大家|全组|全家"
)
_RELATIVE: Final = re.compile(
    r"^(?:the |our )?(?:mum|mom|dad|mother|father|wife|husband|son|daughter)\b"
    r"|^(?:老婆|老公|太太|先生|爱人|媳妇|爸|妈|儿子|女儿|闺女|孩子|对象|男朋友|女朋友|家里|家人)"
)
"""Without "our" each speaker means their own."""
_LEADING: Final = re.compile(
    r"^(?:(?:no|nope|wait|actually|ok|okay|hey|sorry|so|and|but|不对|不是|等下|哦)[\s,，.:!！]+)+"
)


def belongs_to_group(text: str) -> bool:
    """Whether a text is about something that a group has in common, not about whoever says it.

    "The release is on Friday", "we meet at six"; not "I live in Leeds", nor 住在上海, which leaves out who does.
    """
    folded = _LEADING.sub("", fold(text).strip())
    if _ONE_SPEAKER.search(folded) is not None:
        return False
    if _TOGETHER.search(folded) is not None:
        return True
    return _RELATIVE.search(folded) is None and names_its_subject(_LEADING.sub("", text.strip()))
