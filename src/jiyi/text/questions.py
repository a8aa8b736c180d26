"""Which part of a text answers nothing: bare questions, and sentences that say that something is not known."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.sentences import CLOSERS, sentences

__all__ = ["asks", "question_share"]

# Compiled at first use: a command that only asks does not need them.
_compiled = cache(re.compile)

_ASKS: Final = rf"[?？؟][!！?？.。…]*[{CLOSERS}\s]*\Z"
_FIRST_PERSON: Final = r"[我咱]|(?<![^\W_])(?:i|my|me|we|our|us|mine)(?![^\W_])"
_HAN: Final = r"[\u4e00-\u9fff]"
_SPEAKER: Final = r"^[\w .-]{1,20}: "
_CLAUSE_END: Final = r"[,，、;；:：—–]| - "
# How a clause begins that asks.
_ASKING: Final = (
    r"(?:(?:and|so|but|oh|hey|ok|okay|wait|hmm|well|by the way|btw) )*"
    r"(?:who|whom|whose|which|what|what's|whats|when|where|where's|why|how|how's|do|does|did|is|are|was|were|am|can|could"
    r"|will|would|should|shall|have|has|had|may|might|any|remind me|tell me|got any)\b"
)
# What follows these inside a question is told, not asked.
_TELLING: Final = r"\b(?:because|since|that|if|after|before|while|now that|when (?:i|we|my))\b"
_ASKING_ZH: Final = (
    "什么|怎么|怎样|如何|多少|多久|多大|多长|几|哪|谁|为何|何时|是否|有没有|是不是|能不能|会不会|要不要|吗|呢"
)
_ASKING_FIRST: Final = r"(?:who|whom|whose|which|what|when|where|why|how)\b"
_NOT_KNOWN: Final = (
    r"\b(?:i|we) (?:really |still |just )?(?:do not|don't|dont|didn't|did not|haven't|have not|can't|cannot|couldn't) "
    r"(?:really |actually |yet |seem to )?(?:know|recall|remember|find|tell"
    r"|have (?:that|it|any|a note|anything|the|this|those|one)|see (?:that|it|any|anything))"
    r"|\b(?:you|nobody|no one) (?:haven't|have not|never|didn't|hasn't|has not) (?:actually |yet )?"
    r"(?:told|mentioned|said|given|shared|sent)"
    r"|\bno idea\b|\bnot sure\b|\bnothing (?:about|on) (?:that|it)\b"
    r"|\b(?:not|hasn't|haven't|isn't) (?:been )?(?:noted|recorded|decided|mentioned|come up)\b"
)
_NOT_KNOWN_ZH: Final = (
    "不(?:太)?(?:知道|清楚|记得|确定|晓得)"
    "|(?:还|并|好像|从来|也|都)?没(?:有)?(?:跟我|和我|告诉|提过|提到|说过|记录|记下|查到|找到|收到|看到|定下)"
    "|没印象|不了解|还没(?:说|定|提|讲)|没有(?:这|相关|记录|信息)|暂时没有"
)


def asks(text: str) -> bool:
    """Whether the text is a question: by its end, its first word, or a Chinese word that asks."""
    folded = fold(text).strip()
    return bool(
        _compiled(_ASKS).search(folded)
        or _compiled(_ASKING_FIRST).match(folded)
        or _compiled(_ASKING_ZH).search(folded)
    )


def question_share(text: str) -> float:
    """Which share of the text, by characters, is no answer: it asks, or says that something is not known.

    A question in which the speaker tells something ("did I tell you that we moved?", "我下周去北京，要带什么？") states
    a fact and does not count; "where did I put my passport?" tells nothing.
    """
    found = sentences(text)
    total = sum(map(len, found))
    empty = sum(len(sentence) for sentence in found if _answers_nothing(sentence))
    return empty / total if total else 0.0


def _answers_nothing(sentence: str) -> bool:
    folded = fold(sentence)
    if _compiled(_ASKS).search(sentence):
        return _is_bare(folded)
    return bool(_compiled(_NOT_KNOWN_ZH if _compiled(_HAN).search(folded) else _NOT_KNOWN).search(folded))


def _is_bare(question: str) -> bool:
    """Whether a question tells nothing about the person who asks it."""
    if not _compiled(_FIRST_PERSON).search(question):
        return True
    clauses = [
        part for each in _compiled(_CLAUSE_END).split(_compiled(_SPEAKER).sub("", question)) if (part := each.strip())
    ]
    if _compiled(_HAN).search(question):
        return all(
            _compiled(_ASKING_ZH).search(part) or (len(part) <= 4 and not _compiled(_FIRST_PERSON).search(part))
            for part in clauses
        )
    return all(
        _asks(part) or (len(part.split()) <= 4 and not _compiled(_FIRST_PERSON).search(part)) for part in clauses
    )


def _asks(clause: str) -> bool:
    begin = _compiled(_ASKING).match(clause)
    return begin is not None and not _compiled(_TELLING).search(clause, begin.end())
