"""Requests to forget something: "please forget my phone number", 忘掉我住在成都. They state nothing themselves."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.sentences import sentences

__all__ = ["without_forget_requests"]

# "I forget names" is a statement. "Forget what I said about X" takes something back, and states nothing either.
_REQUEST: Final = re.compile(
    r"^(?:please |pls |hey,? |can you |could you |you can |i want you to |i'd like you to ){0,3}"
    r"(?:forget|erase|delete|remove) (?:about |that |the fact that ){0,2}"
    r"(?:my|i|i'm|i've|im|our|we|(?:everything|anything|what|all|whatever) (?:about|i|we))\b"
    r"|^(?:(?:请|麻烦|拜托)?(?:你|帮我)?(?:忘掉|忘记|删掉|删除)|(?:请你?|你|帮我)忘了)(?:我|关于我|咱|这件事|所有)"
    r"|^(?:请|麻烦)?(?:你)?把(?:我|关于我)[^，。]{1,20}(?:忘掉|忘了|忘记|删掉|删除)"
)


def without_forget_requests(text: str) -> str:
    """The text without the sentences that ask to forget something; the fact that they name is not stated again."""
    parts = sentences(text)
    left = [part for part in parts if _REQUEST.search(fold(part).strip()) is None]
    return text if len(left) == len(parts) else "\n".join(left)
