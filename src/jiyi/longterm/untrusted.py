"""What people say is data. Sentences that try to steer the memory itself are not looked at for facts."""

from __future__ import annotations

import re
from typing import Final

from jiyi.model.storable import storable

MAX_LOOKED_AT: Final = 24_000
"""Characters of one message that are looked at: its beginning and its end. The message itself is kept whole."""

_TAKEN_BACK: Final = re.compile(
    r"^(?:please )?(?:ignore|disregard|forget|scrap) (?:the above|what i (?:said|wrote|told you)|the previous one)"
    r" (?:about|regarding|on|for) (?P<topic>[^:,.;\n]{1,40})[:,.;] *(?=\w)"
    r"|^(?:忽略|不要理会|忘掉)(?:上面|之前|刚才)(?:说的|关于)(?P<about>[^：:，,。\n]{1,12}?)的?[：:，,。](?=\w)",
    re.IGNORECASE,
)
"""Before the right value: "ignore the above about the TTL: it should be 30 minutes"."""
_REFERS: Final = re.compile(r"(?:it|they|that|this)\b", re.IGNORECASE)
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
    # Their patterns take a while to load: whoever only shows or compares texts does without.
    from jiyi.text.statements.keeping.forget_requests import without_forget_requests
    from jiyi.text.statements.keeping.forget_topics import forgotten_topics, without_topic_requests
    from jiyi.text.statements.keeping.off_record import without_off_record
    from jiyi.text.statements.keeping.steering import without_steering
    from jiyi.text.statements.parts.pasted_output import without_pasted_output

    clean = readable(text)
    if len(clean) > MAX_LOOKED_AT:
        half = MAX_LOOKED_AT // 2
        clean = f"{clean[:half]}\n…\n{clean[-half:]}"
    clean = without_topic_requests(clean) if forgotten_topics(clean) else clean
    clean = _TAKEN_BACK.sub(_correcting, without_off_record(without_pasted_output(clean)))
    return without_steering(without_forget_requests(clean))


def _correcting(lead: re.Match[str]) -> str:
    if _RULES.search(lead[0]):
        return lead[0]
    if lead["about"] is not None:
        return f"更正：{lead['about']}"
    # "it should be 30 minutes" says nothing without what it is.
    refers = _REFERS.match(lead.string, lead.end()) is not None
    return f"Correction: {lead['topic']}: " if refers else "Correction: "
