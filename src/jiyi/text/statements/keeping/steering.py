"""Sentences that try to steer the memory itself (prompt injection): no facts are looked for in them.

A word alone does not steer. 我是系统管理员, "the user_id column" and "dark mode is on for all users" are statements
like others; what is refused is to tell the memory which rules it has, what a memory is worth, or whose it is.
"""

from __future__ import annotations

from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import any_of
from jiyi.text.sentences import sentences

__all__ = ["is_steering", "without_steering"]

_OTHERS: Final = (
    r"(?:another|other|every|all|any|a different) (?:users?|scopes?|accounts?|persons?|people)\b",
    r"(?:另一个|别的|其他|其它|所有|每个|另外|任何)[^。！？\n]{0,4}(?:用户|作用域|账号|帐号|人)",
)
_STORE: Final = (
    r"\b(?:store|save|write|remember|record|keep|set)\b[^.!?\n]{0,60}",
    r"(?:存|写|记|保存|设|标记)[^。！？\n]{0,20}",
)


_STEERING: Final = any_of(
    # to forget the rules
    r"(?<!\bi )(?<!\bwe )\b(?:ignore|disregard|forget|bypass|override)\b[^.!?\n]{0,40}"
    r"\b(?:rules?|instructions?|prompts?|guidelines?|polic(?:y|ies)|restrictions?|above|previous)\b",
    r"(?<!我)(?:忽略|无视|不要理会|忘掉|忘记|绕过|跳过)[^。！？\n]{0,20}"
    r"(?:规则|指令|指示|限制|提示|设定|安全(?:策略|机制|检查|要求)|以上|之前的|上面)",
    r"(?:^|\n)\s*(?:system|assistant|developer) ?(?:prompt|message)?:",
    r"系统管理员(?:在此|命令|要求|权限)|以(?:系统)?管理员(?:的)?(?:身份|名义|权限)",
    # to show or change what it was told
    r"\byour system prompt\b|\b(?:reveal|show|print|repeat|output|leak)\b[^.!?\n]{0,30}\bsystem prompt\b",
    r"系统提示词|你的(?:系统提示|规则)",
    # to set what only the memory decides
    r"\bimportance(?:[ _]?score)?\b[^.!?\n]{0,20}\b(?:of|to|is|as|=|:)?\s*"
    r"(?:(?:[01](?:\.\d+)?|10|100)(?![\d.]*\d)|one\b|max)",
    r"(?:重要性|重要度|importance)[^。！？\n]{0,10}(?:设|为|是|成|=|:|：)[^。！？\n]{0,6}(?:\d|一|最高|满)",
    r"重要性.{0,6}(?:1(?:\.0)?|最高|满分)|(?:设为|存为|写入|标记为).{0,6}(?:永久记忆|最高优先)",
    r"\b(?:user_id|memory_type|importance_score)\s*[=:]",
    *(rf"{store}(?:user_id|memory_type|importance_score)" for store in _STORE),
    # for somebody else, or what others have stored
    rf"{_STORE[0]}\b(?:for|to|in|under|as) {_OTHERS[0]}",
    rf"{_STORE[1]}(?:到|给|在|进)?{_OTHERS[1]}",
    r"\b(?:another|other|every|all|any) users?(?:'s?)? memor(?:y|ies)\b",
    r"(?:别的|其他|其它|所有|另一个|任何)用户的记忆",
    # to delete what it knows
    r"\b(?:delete|erase|wipe|raise|modify) (?:the importance of )?(?:all|every|other|your) memor",
    r"删除(?:其他|所有|全部)(?:的)?记忆",
)


def is_steering(text: str) -> bool:
    """Whether a text tells the memory what to do instead of telling something."""
    return _STEERING.search(fold(text)) is not None


def without_steering(text: str) -> str:
    """The text without the sentences that try to steer the memory."""
    if not is_steering(text):
        return text
    return "\n".join(sentence for sentence in sentences(text) if not is_steering(sentence))
