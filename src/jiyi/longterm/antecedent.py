"""Whom the pronoun of a message means, where an older fact of the same conversation tells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jiyi.longterm.extraction_reply import Proposal
from jiyi.model.claim import USER
from jiyi.model.entry import MemoryEntry
from jiyi.text import detect_language
from jiyi.text.statements.about.pronouns import may_mean, mentions_somebody
from jiyi.text.statements.about.subjects import subject_words

__all__ = ["with_antecedent"]


def with_antecedent(proposal: Proposal, message: str, conversation_id: str, facts: Iterable[MemoryEntry]) -> Proposal:
    """A claim that begins with a pronoun with the person or animal that the user spoke of last, if it fits.

    `facts` are the newest first. Only those of the same conversation count, and only where the message itself names
    nobody before the pronoun. Where the last fact that speaks of anybody does not tell who is meant, the claim stays
    as it was said.
    """
    claim = proposal.claim
    if claim is None or not claim.pronoun or mentions_somebody(message.partition(claim.text)[0]):
        return proposal
    for fact in facts:
        if fact.conversation_id != conversation_id:
            return proposal
        of_other = fact.source.claim is not None and fact.source.claim.subject != USER
        if not of_other and not mentions_somebody(fact.content):
            continue
        who = subject_words(fact.content)
        if not of_other or not who or not may_mean(proposal.text, fact.content):
            return proposal
        sign = "：" if detect_language(proposal.text) == "zh" else ": "
        return replace(proposal, text=f"{who}{sign}{proposal.text}")
    return proposal
