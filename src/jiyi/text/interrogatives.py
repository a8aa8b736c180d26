"""Chinese words that only ask: 什么, 怎么, 多少, 哪里, 几点, 时候. They say nothing about what an answer looks like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han

__all__ = ["without_interrogatives"]

_INTERROGATIVE: Final = (
    "什么时候|什么|为什么|怎么回事|怎么样|怎么|怎样|如何|为何|何时|何地|多少|多久|多大|多长|多远|多高|多重"
    "|(?<!茶)几(?![乎率何])|为啥|啥时候|啥|干嘛|咋(?:样|办|个|回事)?"
    "|哪(?:里|儿|个|些|年|天|次|位|家|种|月|件|边|一)?|谁|是否|有没有|是不是|能不能|会不会|要不要|吗|呢|来着"
    "|时候|回事|请问|告诉我|关于"
)
_INSIDE_WORDS: Final = frozenset("哪几咋吗呢谁")
"""Characters that ask by themselves and are also parts of words: 哪吒, 茶几, 吗啡, 呢子."""
# What is counted, and what else stands behind 哪, 几 and 咋 in a word that asks (几口, 哪边, 咋办).
_COUNTED: Final = frozenset(
    "个位名只条口间趟双点号月岁年天次时分块本张家种台辆部套件头匹棵朵瓶杯碗盒包袋箱桶斤两公里米厘毫寸尺吨升克度楼层栋幢排级届"
    "期周星秒小刻人毛元角万千百亿十成倍折站路线道题页章篇首句遍回场顿节门把根支颗粒片串股代户班轮批对副盘壶罐堆行列类样项笔封"
    "扇座架艘顶床幅盏滴份组队步圈声下手亩丈丝重集季任等针剂桌枝株些边里儿方面处地国省市县区校城所款会子钟"
)
_BEFORE: Final = frozenset({"", "第", "在", "去", "到", "有", "从", "往", "是", "周", "星期", "礼拜"})
_IDIOM: Final = 4
"""From this length on a word with 谁 is an idiom (鹿死谁手)."""
_ASKING_ENDS: Final = _COUNTED | frozenset("办样整搞弄说玩啦了回事就去找有是到在什么时候几一敢够知项目因素卖话")


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_INTERROGATIVE)


def without_interrogatives(
    text: str, words: Sequence[str], bigrams: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The terms of a question without those that come from words that only ask.

    A pair of characters stays if it stands somewhere in the question without touching such a word, and so does a word.
    A character inside another word (哪 in 哪吒) does not ask: `words` are those of the segmenter.
    """
    folded = fold(text)
    asking: set[str] = set()
    touched: set[str] = set()
    free, end = [], 0
    for match in _pattern().finditer(folded):
        start, stop = match.span()
        if match[0] in _INSIDE_WORDS and _is_inside_word(folded, start, words):
            continue
        asking.add(match[0])
        touched.add(match[0])
        free.append(folded[end:start])
        touched.update(folded[place : place + 2] for place in range(max(start - 1, 0), min(stop, len(folded) - 1)))
        end = stop
    if not asking:
        return tuple(words), tuple(bigrams)
    elsewhere = "\n".join([*free, folded[end:]])
    kept = tuple(pair for pair in bigrams if pair not in touched or pair in elsewhere)
    return tuple(word for word in words if word in elsewhere or not _touches(word, asking)), kept


def _touches(word: str, asking: set[str]) -> bool:
    return any(word in each or each in word for each in asking)


def _is_inside_word(folded: str, place: int, words: Sequence[str]) -> bool:
    """Whether the character there is a part of a word that does not ask."""
    character = folded[place]
    for word in words:
        offset = word.find(character)
        if len(word) < 2 or offset < 0:
            continue
        start = place - offset
        if (
            folded.startswith(word, max(start, 0))
            and start >= 0
            and not _asks(word, offset, folded[start + len(word) :])
        ):
            return True
    return False


def _asks(word: str, offset: int, behind: str) -> bool:
    """Whether a word with one of these characters is one that asks: 几口, 干吗, 谁家, but not 茶几, 吗啡."""
    before, after = word[:offset], word[offset + 1 :]
    match word[offset]:
        case "吗":
            return not after
        case "呢":
            # 毛呢大衣 is a coat, 大衣呢 at the end asks for one.
            return not after and not has_han(behind[:1])
        case "谁":
            return len(word) < _IDIOM
        case _:
            return before in _BEFORE and _ASKING_ENDS.issuperset(after)
