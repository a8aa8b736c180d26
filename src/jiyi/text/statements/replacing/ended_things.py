"""What a message ends by name: "We dropped Redis" says nothing of what is known of PostgreSQL."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.phrases_en import read_en
from jiyi.text.statements.about.phrases_zh import read_zh
from jiyi.text.statements.parts.claims import clauses_of
from jiyi.text.statements.replacing.change_words import is_mistake
from jiyi.text.statements.replacing.ended_objects import ends_only

__all__ = ["ends_something_else"]

_ENDED: Final = re.compile(
    r"\b(?:dropped|ditched|removed|retired|uninstalled|decommissioned|deprecated|stopped using|got rid of"
    r"|cancelled|canceled|unsubscribed from)"
    r" (?:the |our |my )?(?P<en>[A-Z][\w.+#-]*)"
    r"(?: (?:subscription|plan|app|server|account))?(?=$|[,.;!]| (?:and|last|today|this)\b)"
    r"|(?:弃用|下线|停用|卸载|去掉|不用|取消)了?\s*(?P<zh>[A-Za-z][\w.+#-]*)了?$"
)


def ends_something_else(message: str, fact: str) -> bool:
    """Whether a message ends something by name that a fact does not have, and speaks besides only of other things."""
    known = fold(fact)
    if is_mistake(fold(message)):
        return False
    if things := ends_only(message):
        return not any(thing.is_in(fact) for thing in things)
    ended = False
    for clause in clauses_of(message):
        over = _ENDED.search(clause)
        if over is not None:
            ended = True
            words = {fold(over["en"] or over["zh"])}
        else:
            phrase = read_zh(clause) if has_han(clause) else read_en(clause)
            if phrase is None or not phrase.named:
                return False
            words = set(phrase.words)
        if any(word in known for word in words):
            return False
    return ended
