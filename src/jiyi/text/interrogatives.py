"""Chinese words that only ask: 什么, 怎么, 多少, 哪里, 几点, 时候. They say nothing about what an answer looks like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from jiyi.text.normalize import fold

__all__ = ["without_interrogatives"]

_INTERROGATIVE: Final = (
    "什么时候|什么|为什么|怎么回事|怎么样|怎么|怎样|如何|为何|何时|何地|多少|多久|多大|多长|多远|多高|多重"
    "|(?<!茶)几(?=[点号月岁年个次天时分块位名只本张家种]|[^\\w]|$)"
    "|哪(?:里|儿|个|些|年|天|次|位|家|种|月|件|边|一)?|谁|是否|有没有|是不是|能不能|会不会|要不要|吗|呢|来着"
    "|时候|回事|请问|告诉我|关于"
)


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_INTERROGATIVE)


def without_interrogatives(
    text: str, words: Sequence[str], bigrams: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The terms of a question without those that come from words that only ask.

    A pair of characters stays if it stands somewhere in the question without touching such a word.
    """
    folded = fold(text)
    asking: set[str] = set()
    touched: set[str] = set()
    free, end = [], 0
    for match in _pattern().finditer(folded):
        start, stop = match.span()
        asking.add(match[0])
        free.append(folded[end:start])
        touched.update(folded[place : place + 2] for place in range(max(start - 1, 0), min(stop, len(folded) - 1)))
        end = stop
    if not asking:
        return tuple(words), tuple(bigrams)
    elsewhere = "\n".join([*free, folded[end:]])
    kept = tuple(pair for pair in bigrams if pair not in touched or pair in elsewhere)
    return tuple(word for word in words if not any(word in each or each in word for each in asking)), kept
