"""Requests against facts: a reminder or an instruction says nothing of a fact, nor of a request for something else."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.statements.about.content_words import content_words, share_content
from jiyi.text.statements.replacing.change_words import changes, ends, is_mistake

__all__ = ["asks_something_else"]

_REMINDER: Final = re.compile(
    r"提醒我|提醒一下|(?:别|不要)忘了?|记得(?!我)|\b(?:remind me|don'?t (?:let me )?forget|reminder)\b"
)
_INSTRUCTION: Final = re.compile(
    r"(?:回答|回复|答复|答案)(?:我|时|都|要|请|用|尽量|简短|得)|(?:用|拿).{1,4}(?:回答|回复|跟我说)|别(?:啰嗦|废话|用表情)"
    r"|^(?:以后|今后|请|麻烦|从现在起)?[，,]?(?:都)?(?:别|不要|不用)(?:再|老)?(?:给我|跟我|对我|发我)"
    r"|\b(?:keep (?:your |the )?(?:answers?|repl(?:y|ies)|responses?)"
    r"|(?:answer|reply|respond|write) (?:to me |me )?(?:in|with|only|briefly|concisely)"
    r"|please (?:answer|reply|respond|use|be|keep|avoid|don'?t use)|your (?:answers|replies))\b"
)
_REQUEST: Final = re.compile(r"^(?:please|pls|can you|could you|请|麻烦|帮我)")
_KINDS: Final = (
    re.compile(
        r"英[文语]|中文|粤语|普通话|语言|日[文语]"
        r"|\b(?:english|chinese|french|german|spanish|language|british|american)\b"
    ),
    re.compile(
        r"简短|简洁|啰嗦|字以内|详细|长|短"
        r"|\b(?:short|brief\w*|concise\w*|words|long\w*|detail\w*|sentences?|length)\b"
    ),
    re.compile(r"表情|emoji|语气|正式|\b(?:emojis?|tone|formal\w*|polite\w*|casual)\b"),
)
_NAMED: Final = 2


def asks_something_else(message: str, fact: str) -> bool:  # noqa: PLR0911
    """Whether one of the two is a request, and the other neither takes it back nor asks for the same."""
    said, known = fold(message), fold(fact)
    if is_mistake(said):
        return False
    if _INSTRUCTION.search(said):
        return _INSTRUCTION.search(known) is None or _of_other_kind(said, known)
    if _INSTRUCTION.search(known) and not ends(said):
        return not changes(said)
    new, old = _REMINDER.search(said) is not None, _REMINDER.search(known) is not None
    if new and not old:
        return not (changes(said) or ends(said)) or not share_content(message, fact)
    if old and not new:
        return not (changes(said) or ends(said)) and not share_content(message, fact)
    asked = _REQUEST.search(said) is not None and len(content_words(message)) >= _NAMED
    if (new and old) or asked:
        return bool(content_words(message)) and not share_content(message, fact)
    return False


def _of_other_kind(said: str, known: str) -> bool:
    """Whether two instructions are about different things: the language, the length."""
    new = {number for number, kind in enumerate(_KINDS) if kind.search(said)}
    old = {number for number, kind in enumerate(_KINDS) if kind.search(known)}
    return bool(new) and bool(old) and not new & old
