"""The memories of a prompt: those that fit each question of the message, and facts in the place of reflections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import tzinfo
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from jiyi.longterm.dependencies import MADE_BY_RULES
from jiyi.longterm.reflection import says
from jiyi.longterm.retrieval import RelevantMemories, Retriever
from jiyi.model.entry import REFLECTION_TYPE, MemoryEntry
from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.model.scoring import ALPHA, BETA, DECAY_RATE, GAMMA, final_weights
from jiyi.text.question_parts import question_parts

if TYPE_CHECKING:
    from datetime import datetime

    from jiyi.longterm.api import Longterm
    from jiyi.ports.longterm import LongtermStore

_CANDIDATES = 50


async def retrieve_for_prompt(
    room: Longterm, user_id: str, query: str, *, zone: tzinfo | None, beside_facts: bool
) -> RelevantMemories:
    """The memories that a prompt shows for a message; their access is noted."""
    # No method of the room, because callers see all memories: they leave out by themselves what does not fit.
    return await room._retrieve_for_prompt(user_id, query, zone=zone, beside_facts=beside_facts)  # noqa: SLF001


def memories_for_prompt(
    retriever: Retriever,
    facts_of: Callable[[MemoryEntry], list[MemoryEntry]],
    scope: str,
    query: str,
    *,
    limit: int,
    zone: tzinfo | None,
    beside_facts: bool,
) -> RelevantMemories:
    """The best memories of those that fit; several questions in one message are asked part by part as well.

    With `beside_facts` the prompt shows facts elsewhere too, and a reflection stands only in the words of its facts.
    """
    weights = final_weights((ALPHA, BETA, GAMMA), DECAY_RATE)

    def ask(question: str, domains: tuple[str, ...] | None = None) -> RelevantMemories:
        return retriever.retrieve(
            scope,
            question,
            weights,
            candidates=_CANDIDATES,
            limit=limit,
            domains=domains,
            zone=zone,
            min_relevance=MIN_RELEVANCE,
        )

    found = ask(query)
    if found.skipped:
        return found
    # A router that is a model is asked once.
    domains = None if found.routed_by == MADE_BY_RULES else found.domains
    answers = [found, *(ask(part, domains) for part in question_parts(query))]
    best: dict[str, MemoryEntry] = {}
    for hit in filter(None, chain.from_iterable(zip_longest(*answers))):
        best.setdefault(hit.id, hit)
    covered = {fact.id for hit in best.values() for fact in hit.context}
    hits = [hit for hit in best.values() if hit.id not in covered]
    return RelevantMemories(
        _with_facts(hits[:limit], facts_of, limit, found.domains, beside_facts=beside_facts),
        domains=found.domains,
        routed_by=found.routed_by,
        notes=found.notes,
    )


def _with_facts(
    hits: Sequence[MemoryEntry],
    facts_of: Callable[[MemoryEntry], list[MemoryEntry]],
    limit: int,
    domains: Sequence[str],
    *,
    beside_facts: bool,
) -> list[MemoryEntry]:
    """The hits, with the facts of each reflection that does not speak for them in its place, as many as have room."""
    known = {hit.id for hit in hits}
    room = limit - sum(hit.memory_type != REFLECTION_TYPE for hit in hits)
    shown: list[MemoryEntry] = []
    for hit in hits:
        if hit.memory_type != REFLECTION_TYPE:
            shown.append(hit)
            continue
        facts = facts_of(hit)
        if any(fact.id in known for fact in facts):
            continue
        # The facts of the domains that the question is about come first.
        nearest = sorted(facts, key=lambda fact: not set(fact.domains) & set(domains))
        chosen = [hit] if speaks_for(hit, facts, beside_facts=beside_facts) else nearest
        shown += [each if each is hit else replace(each, relevance_score=hit.relevance_score) for each in chosen[:room]]
        room -= len(chosen[:room])
        known |= {fact.id for fact in facts}
    return shown


def speaks_for(reflection: MemoryEntry, facts: Sequence[MemoryEntry], *, beside_facts: bool) -> bool:
    """Whether a prompt shows a reflection and not its facts.

    The rules only put words in a row, without whom they are about. Of several people in a group no reflection says who
    said what. Where facts are shown elsewhere too, only its facts word for word tell that they are not to be repeated.
    """
    if reflection.source.kind == MADE_BY_RULES or not facts or any(fact.name is not None for fact in facts):
        return False
    return not beside_facts or all(says(reflection.content, fact.content) for fact in facts)


def current_facts(store: LongtermStore, reflection: MemoryEntry, now: datetime) -> list[MemoryEntry]:
    """The facts of a reflection, if all of them still hold; otherwise none."""
    ids = reflection.source.references
    by_id = {fact.id: fact for fact in store.by_ids(reflection.scope, ids)}
    facts = [by_id[each] for each in ids if each in by_id]
    current = len(facts) == len(ids) and all(fact.is_active and not fact.has_expired(now) for fact in facts)
    return facts if current else []
