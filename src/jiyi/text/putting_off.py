"""Replies that put off an answer, or only take note of the question: "Let me check.", "One moment.", 我查一下, 好问题.

Each clause has to be nothing but that: "I'll look it up at the bank on Friday" is a plan.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.not_known import clause_says_not_known
from jiyi.text.patterns import has_han
from jiyi.text.statements.keeping.smalltalk import is_small_talk

__all__ = ["puts_off"]

# Compiled at first use: a command that only asks does not need them.
_compiled = cache(re.compile)

_CLAUSE_END: Final = r"[,;:.!?…—–]+\s*|\s-\s|\s(?:and|but|then)\s"
_CLAUSE_END_ZH: Final = r"[,，、;；:：.。!！?？…—~～\s]+"
_MAX_CHARACTERS: Final = 120

_LEAD: Final = r"(?:(?:ok(?:ay)?|sure|well|oh|ah|hm+|right|yes|sorry|so|please|just|actually|and|then|thanks) )*"
_SOON: Final = (
    r"(?:it|that|this|into (?:it|that|this)|it up|that up|this up|for you|on (?:it|that|this)"
    r"|about (?:it|that|this)|to you|with you|now|right now|right away|again|later|soon|shortly|quickly|first"
    r"|in a (?:moment|minute|second|bit)"
    r"|a moment|a second|a minute|(?:for )?a bit|what i (?:have|can find)|if i can find (?:it|that|out|anything)"
    r"|(?:in |through |with )?(?:my|the|our|your) (?:notes?|records?|memory|files?|history|database|messages?))"
)
_LOOK: Final = (
    r"(?:check|look|see|think|search|verify|double-?check|find out|get back|come back|have a look|take a look"
    r"|have a think|dig|look around|confirm|remember|recall)"
)
_LOOKING: Final = r"(?:checking|looking|searching|thinking|verifying|on it|trying to (?:find|remember|recall))"
_SHALL: Final = (
    r"(?:let me|let's|(?:i|we)(?:'ll| will| can|'d| would| need to| have to|'d have to| would have to|'ll have to"
    r"| should| must)(?: go)?(?: and)?|i'm going to|i am going to|i'm gonna|allow me to)"
)
_WAIT: Final = (
    r"(?:(?:give me |just |only )*(?:a|one|1|half a) (?:moment|second|sec|minute|min|bit)|hold on|hang on|bear with me"
    r"|stand by|wait)(?: (?:a|one) (?:moment|second|sec|minute|min|bit))?(?: please)?"
)
_PRAISE: Final = (
    r"(?:that(?:'s| is)|what|it's|this is)? ?(?:an? )?(?:very |really |such an? )?"
    r"(?:good|great|interesting|nice|excellent|fair|tricky|hard|tough|difficult) (?:question|one)"
    r"|(?:thanks|thank you) for (?:asking|(?:the|your) (?:question|patience))|i'm glad you asked"
)
_EMPTY: Final = (
    rf"{_LEAD}(?:{_SHALL} (?:(?:just|quickly|first|really|try to) )*{_LOOK}(?: {_SOON})*"
    rf"|(?:i'm |i am |still |just |we're )*{_LOOKING}(?: {_SOON})*|(?:get|come) back(?: {_SOON})*|{_WAIT}|{_PRAISE})"
)

_SELF: Final = (
    "(?:好的?|嗯+|哦|那|请|麻烦|我们?|让我们?|容我|等我|马上|这就|立刻|立即|现在|先|去|来|再|帮你|帮您|给你|给您|替你|替您"
    "|为你|为您|需要|得|要|正在|在|还|仔细|稍后|回头|会|就|你|您)*"
)
_EMPTY_ZH: Final = (
    f"{_SELF}(?:查询?|找|搜索?|看|想|确认|核实|核对|翻|问|回忆|了解|研究)(?:一?下|一查|一看|一想|一找|查|看|找|想|问|翻)?"
    "(?:记录|笔记|资料|一下)?(?:吧|啊|哈|呢|哦|先)*(?:再|后|之后|然后)?(?:(?:告诉|回复|答复|通知)[你您]?|[跟和给]?[你您]说)?"
    f"|{_SELF}(?:告诉|回复|答复|通知)[你您]"
    "|(?:请|麻烦|您|你|好的?|嗯+)*(?:稍等|稍候|等等|等会儿?|等我?一?[下会]儿?|等一等)(?:片刻|一?[下会]儿?|哈|啊)?"
    "|(?:这|这个|真|真是|是|可|个|一个|很|不错的|有意思的)*(?:好|不错的|有意思的|有趣的)问题"
    "|(?:这|这个|你这个)?(?:问题)?问得?(?:真|很|太|非常)?好[啊呀]?|(?:谢谢|感谢)(?:你|您)?的?(?:提问|耐心)"
)


def puts_off(sentence: str) -> bool:
    """Whether a sentence only says that an answer is to come, or that the question was heard."""
    folded = fold(sentence).strip()
    if not folded or len(folded) > _MAX_CHARACTERS:
        return False
    chinese = has_han(folded)
    pattern, empty = (_CLAUSE_END_ZH, _EMPTY_ZH) if chinese else (_CLAUSE_END, _EMPTY)
    clauses = [clause for each in _compiled(pattern).split(folded) if (clause := each.strip(" '\"”’)）"))]
    said = [_compiled(empty).fullmatch(clause) is not None for clause in clauses]
    return any(said) and all(
        off or is_small_talk(clause) or clause_says_not_known(clause) for off, clause in zip(said, clauses, strict=True)
    )
