"""Requests to forget something by naming it ("Forget what I told you about the loan"): the facts that they mean go.

What was said of it in the same conversation leaves recall when the request is stored; here go the facts of earlier
conversations, with the messages that they were made of. They are forgotten, not erased: their versions stay in the
history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from jiyi.longterm.dependencies import LongtermDeps
from jiyi.model.claim import Claim
from jiyi.model.entry import FACT_TYPE, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.message import Message
from jiyi.recall.request import Request
from jiyi.text.statements.about.persons import persons_of
from jiyi.text.statements.keeping.fact_kinds import IDENTITY, fact_kind
from jiyi.text.statements.keeping.forget_topics import Topic, forgotten_topics, speaks_of

_LOOKED_AT: Final = 200
_PASSES: Final = 5
"""A fact that goes brings back what it had replaced, which may speak of the same."""


def forget_named(deps: LongtermDeps, scope: str, messages: Sequence[tuple[str, Message, datetime]]) -> int:
    """Forget the facts that the user's messages ask to forget by naming them; returns how many."""
    count = 0
    for _, message, said_at in messages:
        topics = forgotten_topics(message.text) if message.role == "user" else ()
        for topic in topics:
            # "Don't save that number" means what was said just before, which is withdrawn already.
            if topic.only_last:
                continue
            for _ in range(_PASSES):
                meant = list(_meant(deps, scope, topic, message.name, said_at))
                for fact in meant:
                    count += deps.records.forget(scope, None, actor=deps.actor, entry_id=fact.id)
                if not meant:
                    break
    return count


def _meant(deps: LongtermDeps, scope: str, topic: Topic, name: str | None, said_at: datetime) -> Iterator[MemoryEntry]:
    """The facts that the same person has told of a topic; of a person not who that is."""
    filters = Filters((scope,), memory_types=(FACT_TYPE,))
    found = deps.similar.answer(Request(topic.text, filters, limit=_LOOKED_AT, mode="keyword", rerank=False))
    near = {fact.id: fact for fact in (*found, *deps.store.facts(scope, limit=_LOOKED_AT))}
    for fact in near.values():
        claim = fact.source.claim
        if claim is None or fact.pinned or (fact.scope, fact.source.name) != (scope, name) or fact.event_time > said_at:
            continue
        if speaks_of(fact.content, topic) and not _says_who_it_is(fact, claim, topic):
            yield fact


def _says_who_it_is(fact: MemoryEntry, claim: Claim, topic: Topic) -> bool:
    """Whether a topic is a name and a fact tells whose it is: "my husband Tom" stays when all about Tom is to go."""
    if len(topic.text.split()) > 1 or fact_kind(fact.content, claim.attribute) != IDENTITY:
        return False
    return bool(persons_of(fact.content).relations)
