"""What people say is data. Sentences that try to steer the memory itself are not looked at for facts."""

from __future__ import annotations

import re
from typing import Final

from jiyi.model.storable import storable
from jiyi.text import fold, sentences
from jiyi.text.forget_requests import without_forget_requests
from jiyi.text.off_record import without_off_record
from jiyi.text.pasted_output import without_pasted_output

MAX_LOOKED_AT: Final = 24_000
"""Characters of one message that are looked at: its beginning and its end. The message itself is kept whole."""

_STEERING: Final = re.compile(
    # to forget the rules
    r"\b(?:ignore|disregard|forget|bypass|override)\b[^.!?\n]{0,40}"
    r"\b(?:rules?|instructions?|prompts?|guidelines?|polic(?:y|ies)|above|previous)\b"
    r"|(?:忽略|无视|不要理会|忘掉|忘记|绕过|跳过)[^。！？\n]{0,20}(?:规则|指令|指示|提示词|设定|以上|之前的|上面)"
    # to set what only the memory decides
    r"|\bimportance(?:[ _]?score)?\b[^.!?\n]{0,20}\b(?:of|to|is|as|=|:)?\s*(?:\d|one\b|max)"
    r"|(?:重要性|重要度|importance)[^。！？\n]{0,10}(?:设|为|是|成|=|:|：)[^。！？\n]{0,6}(?:\d|一|最高|满)"
    # for somebody else
    r"|\b(?:store|save|write|remember|record|keep)\b[^.!?\n]{0,60}\b(?:for|to|in|under|as) "
    r"(?:another|other|every|all|a different) (?:users?|scopes?|accounts?|persons?|people)\b"
    r"|(?:存|写|记|保存)[^。！？\n]{0,20}(?:到|给|在|进)?(?:另一个|别的|其他|其它|所有|每个|另外)[^。！？\n]{0,4}"
    r"(?:用户|作用域|账号|帐号|人)"
    r"|\b(?:user_id|memory_type|system prompt|importance_score)\b|系统提示词|你的系统提示"
)
_TAKEN_BACK: Final = re.compile(
    r"^(?:please )?(?:ignore|disregard|forget|scrap) (?:the above|what i (?:said|wrote)|the previous one)"
    r" (?:about|regarding|on|for) [^:,.;\n]{1,40}[:,.;] *(?=\w)"
    r"|^(?:忽略|不要理会|忘掉)(?:上面|之前|刚才)(?:说的|关于)(?P<about>[^：:，,。\n]{1,12}?)的?[：:，,。](?=\w)",
    re.IGNORECASE,
)
"""Before the right value: "ignore the above about the TTL: it should be 30 minutes"."""
_RULES: Final = re.compile(
    r"rule|instruction|prompt|guideline|polic|system|规则|指令|指示|提示|设定|系统", re.IGNORECASE
)


def readable(text: str) -> str:
    """The text as it can be stored, without white space around it."""
    return storable(text).strip()


def looked_at(text: str) -> str:
    """The part of a message that is looked at for facts: not all of a very long one, and nothing that steers.

    Nor what somebody asks not to keep or to forget, nor pasted code and logs.
    """
    clean = readable(text)
    if len(clean) > MAX_LOOKED_AT:
        half = MAX_LOOKED_AT // 2
        clean = f"{clean[:half]}\n…\n{clean[-half:]}"
    clean = _TAKEN_BACK.sub(_correcting, without_forget_requests(without_off_record(without_pasted_output(clean))))
    if not _STEERING.search(fold(clean)):
        return clean
    return "\n".join(sentence for sentence in sentences(clean) if not is_steering(sentence))


def _correcting(lead: re.Match[str]) -> str:
    if _RULES.search(lead[0]):
        return lead[0]
    return "Correction: " if lead["about"] is None else f"更正：{lead['about']}"


def is_steering(text: str) -> bool:
    """Whether a text tells the memory what to do instead of telling something."""
    return _STEERING.search(fold(text)) is not None
