"""Which part of a text answers nothing: bare questions, and sentences that say that something is not known."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.not_known import TELLING, clause_says_not_known, may_say_not_known, says_not_known
from jiyi.text.patterns import has_han
from jiyi.text.question_forms import (
    asks_indirectly,
    asks_indirectly_zh,
    is_topic,
    only_requests_zh,
    refers_to_topic,
    without_topic,
)
from jiyi.text.sentences import CLOSERS, sentences
from jiyi.text.unmarked_questions import asks_without_mark, may_ask_without_mark

__all__ = [
    "asks_about_questions",
    "asks_about_requests",
    "asks_about_texts",
    "hands_over_text",
    "is_question",
    "question_share",
]

# Compiled at first use: a command that only asks does not need them.
_compiled = cache(re.compile)

_ASKS: Final = rf"[?？؟][!！?？.。…]*[{CLOSERS}\s]*\Z"
_FIRST_PERSON: Final = r"[我咱]|(?<![^\W_])(?:i|my|me|we|our|us|mine)(?![^\W_])"
_SPEAKER: Final = r"^[\w .-]{1,20}: "
_ENDING: Final = rf"[?？؟!！.。…{CLOSERS}\s]+\Z"
_CLAUSE_END: Final = r"[,，、;；:：—–]| - "
_FILLER: Final = 4
"""So many words, or Chinese characters, of nobody's own tell nothing beside a question."""
# How a clause begins that asks.
_ASKING: Final = (
    r"(?:(?:and|so|but|oh|hey|ok|okay|wait|hmm|well|by the way|btw) )*"
    r"(?:who|whom|whose|which|what|what's|whats|when|where|where's|why|how|how's|do|does|did|is|are|was|were|am|can|could"
    r"|will|would|should|shall|have|has|had|may|might|any|remind me|tell me|got any)\b"
)
_ASKING_ZH: Final = (
    "什么|怎么|怎样|如何|多少|多久|多大|多长|(?<![茶无])几(?![乎率何])|哪(?![吒怕])|谁|为何|何时|是否"
    "|有没有|是不是|能不能|会不会|要不要|吗(?![啡啉])|呢(?![子绒喃料帽大])"
)
_ASKING_FIRST: Final = r"(?:who|whom|whose|which|what|when|where|why|how)\b"
_QUESTION_MARKS: Final = frozenset("?？؟")
# What is to be done with a text that follows behind a colon, a quotation mark or the end of a line.
_WORK_ON_TEXT: Final = (
    r"(?:hey |hi |ok |so |and |now )*"
    r"(?:please |pls |can you |could you |would you |will you |kindly |help me |i need you to )*"
    r"(?:translat|proof-?read|rewrite|reword|rephrase|paraphrase|polish|correct|edit|improve|shorten|summari[sz]e|post"
    r"|tweet|(?:fix|check|tidy up) (?:the |my |this )?(?:grammar|spelling|text|sentence|wording|english|email|draft)"
    r"|(?:write|draft|make|compose)(?: me| us)? (?:an? |the |this |my )?(?:[\w-]+ ){0,3}?(?:post|tweet|e-?mail"
    r"|message|letter|caption|announcement|story|poem|ad|advert|note|text|reply|comment|review|headline|slogan|sign|status|speech))"
    r"|(?:请|麻烦|那|再|你|先|能不能|能否|可以|可不可以|帮我|帮忙|给我|替我|把|将|这|下面|以下|一|段|句|话|个|文字|内容|英文|中文)*"
    r"(?:翻译|翻成|译成|润色|改写|校对|纠正|修改|精简|缩写|扩写|改错|(?:写|发|拟|编)(?:一|个|条|篇|段|封|则)*"
    r"(?:朋友圈|帖子|文案|推文|微博|邮件|公告|通知|短信|动态|评论|回复|标题|广告|海报|留言))"
)
_TEXT_FOLLOWS: Final = r"[:：\n]\s*\S|[\"“「『].{4}"
_ABOUT_TEXTS: Final = (
    "translat|proof-?read|rewrit|rephras|polish|draft|翻译|翻成|润色|改写|校对|修改|文案|朋友圈|帖子|推文"
)
_EARLIER_REQUESTS: Final = (
    r"\b(?:i|we) (?:just |ever |also |last )?(?:ask|asked|want|wanted|request|requested|told you|tell you|sa(?:y|id))\b"
    r"|\basked (?:you|for)\b|\b(?:last time|earlier|before|previous\w*|already)\b"
    r"|[我咱].{0,6}(?:问|让你|叫你|要你|请你|托你|说过|提过|要求)|上次|之前|以前|刚才|先前"
)
_EARLIER_QUESTIONS: Final = (
    r"\b(?:i|we) (?:just |ever |also |last )?ask(?:ed)?\b|\basked you\b"
    r"|[我咱].{0,6}(?<![顾访学疑])问[过了你的](?!题)"
)
_TEXT_OFFSET: Final = 90
"""How far behind the beginning the text begins at the latest."""


@lru_cache(maxsize=32)
def is_question(text: str) -> bool:
    """Whether the text is a question: by its end, how it begins, or a Chinese word that asks.

    Kept for a moment: one recall asks it several times of the same text.
    """
    folded = fold(text).strip()
    return bool(
        _compiled(_ASKS).search(folded)
        or _compiled(_ASKING_FIRST).match(folded)
        or _compiled(_ASKING_ZH).search(folded)
        or asks_without_mark(folded)
    )


def question_share(text: str) -> float:
    """Which share of the text, by characters, is no answer: it asks, or says that something is not known.

    A question needs no question mark. One in which the speaker tells something ("did I tell you that we moved?",
    "我下周去北京，要带什么？") states a fact and does not count; "where did I put my passport?" tells nothing.
    """
    if _QUESTION_MARKS.isdisjoint(text) and not _may_answer_nothing(fold(text)):
        return 0.0
    found = sentences(text)
    total = sum(map(len, found))
    empty = sum(len(sentence) for sentence in found if _answers_nothing(sentence))
    return empty / total if total else 0.0


def asks_about_requests(text: str) -> bool:
    """Whether a question is about what was said or asked before: earlier questions answer it."""
    return _compiled(_EARLIER_REQUESTS).search(fold(text)) is not None


def asks_about_questions(text: str) -> bool:
    """Whether a question is about an earlier one: that question is what is looked for, not its answer."""
    return _compiled(_EARLIER_QUESTIONS).search(fold(text)) is not None


def asks_about_texts(text: str) -> bool:
    """Whether a question is about texts that were to be translated, corrected and the like."""
    return _compiled(_ABOUT_TEXTS).search(fold(text)) is not None


def hands_over_text(text: str) -> bool:
    """Whether a text is given to be translated, corrected, posted and the like: what it says is not told about anybody.

    "Translate this: I live in Paris" is not about where the speaker lives.
    """
    follows = _compiled(_TEXT_FOLLOWS).search(text, 0, _TEXT_OFFSET + 8)
    return follows is not None and _compiled(_WORK_ON_TEXT).match(fold(text[: follows.start() + 1])) is not None


def _may_answer_nothing(folded: str) -> bool:
    """Most texts without a question mark have no sign of it, and are not taken apart."""
    return may_say_not_known(folded) or may_ask_without_mark(folded)


def _answers_nothing(sentence: str) -> bool:
    folded = _compiled(_SPEAKER).sub("", fold(sentence))
    if _compiled(_ASKS).search(sentence):
        return _is_bare(folded)
    if says_not_known(folded):
        return True
    return asks_without_mark(folded) and (has_han(folded) or _is_bare(folded))


def _is_bare(question: str) -> bool:
    """Whether a question tells nothing about the person who asks it."""
    if not _compiled(_FIRST_PERSON).search(question):
        return True
    chinese = has_han(question)
    asked = question if chinese else without_topic(question)
    clauses = [
        part for each in _compiled(_CLAUSE_END).split(asked) if (part := _compiled(_ENDING).sub("", each).strip())
    ]
    if chinese:
        return all(_asks_zh(part) or _is_filler(part, len(part)) for part in clauses)
    named = any(_asks(part) and refers_to_topic(part) for part in clauses)
    return all(_asks(part) or _is_filler(part, len(part.split())) or (named and is_topic(part)) for part in clauses)


def _is_filler(clause: str, length: int) -> bool:
    return length <= _FILLER and not _compiled(_FIRST_PERSON).search(clause)


def _asks(clause: str) -> bool:
    begin = _compiled(_ASKING).match(clause)
    if begin is not None and not _compiled(TELLING).search(clause, begin.end()):
        return True
    return asks_indirectly(clause) or clause_says_not_known(clause)


def _asks_zh(clause: str) -> bool:
    return (
        _compiled(_ASKING_ZH).search(clause) is not None
        or asks_indirectly_zh(clause)
        or only_requests_zh(clause)
        or clause_says_not_known(clause)
    )
