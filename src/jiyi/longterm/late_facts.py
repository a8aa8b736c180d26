"""Facts that are told late: of an older round that is looked through after newer ones, as after an import.

A newer fact that would have replaced such a fact, had it been known, replaces it now, so that it becomes history; one
that may contradict it is linked with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jiyi.longterm.corrections import CONFLICTS, REPLACES, Finding, KnownFact, judge
from jiyi.longterm.replacement import ReplacementModel
from jiyi.longterm.set_attributes import (
    attributes_set_by,
    part_that_sets,
    residue_without_attributes,
    said_by_the_same,
)
from jiyi.longterm.vetoes import forbids
from jiyi.model.claim import Claim
from jiyi.model.entry import MemoryEntry
from jiyi.ports import Amendment
from jiyi.text import fold
from jiyi.text.stated_attributes import stated_attributes
from jiyi.text.statements.about.subject_phrases import about_different_things, phrases_of
from jiyi.text.statements.about.subjects import starts_with_subject, subject_of
from jiyi.text.statements.parts.claims import only_asks
from jiyi.text.statements.replacing.change_words import is_temporary


def told_since(
    late: KnownFact, facts: Iterable[MemoryEntry], model: ReplacementModel
) -> list[tuple[MemoryEntry, Finding]]:
    """The first of the newer facts that replaces the late one; otherwise those that may contradict it."""
    old = late.entry
    newer = [fact for fact in facts if fact.event_time > old.event_time and not only_asks(fact.content)]
    doubts: list[tuple[MemoryEntry, Finding]] = []
    for fact in sorted(newer, key=lambda each: each.event_time):
        if is_temporary(fold(fact.content)):
            continue
        same = sets_the_same(fact, late)
        if same is not None and same.verdict == REPLACES:
            return [(fact, same)]
        if same is not None:
            doubts.append((fact, same))
            continue
        for finding in judge(fact.content, [late], model):
            if finding.verdict == REPLACES and not _may_correct(fact, old):
                continue
            if finding.verdict == REPLACES:
                return [(fact, finding)]
            doubts.append((fact, finding))
    return doubts


def _may_correct(new: MemoryEntry, old: MemoryEntry) -> bool:
    """Whether a fact may correct an older one by what the model says.

    What was stored by key was judged by nobody, and says nothing of a change: it has to be about the same person or
    thing in so many words, or to state the same attribute.
    """
    if new.source.claim is not None:
        return True
    said, told = fold(new.content), fold(old.content)
    if starts_with_subject(said) and starts_with_subject(told) and subject_of(said) == subject_of(told):
        return True
    if not set(stated_attributes(new.content)).isdisjoint(stated_attributes(old.content)):
        return True
    named, known = ({each.head for each in phrases_of(fact.content) if each.named} for fact in (new, old))
    return not named.isdisjoint(known)


def with_conflict(fact: MemoryEntry, late: MemoryEntry) -> Amendment:
    """The change by which a fact names an older one, which was told late, as a possible conflict."""
    claim = fact.source.claim or Claim()
    linked = replace(claim, conflicts_with=(*claim.conflicts_with, late.id))
    return Amendment(fact.id, {"source": replace(fact.source, claim=linked)}, because=late.id)


def sets_the_same(new: MemoryEntry, known: KnownFact) -> Finding | None:
    """What it means for an older fact that a new one sets the same attribute of the same subject, without doubt.

    It loses the part that sets it. Both stay where that part cannot be told from the others, or where one of the two is
    what somebody else says.
    """
    old = known.entry
    shared = [
        attribute
        for attribute in attributes_set_by(new.content)
        if (part := part_that_sets(old.content, attribute)) and _is_one_thing(new.content, part)
    ]
    if not shared:
        return None
    residue = residue_without_attributes(old.content, new.content, shared)
    if residue is None or not said_by_the_same(new, old):
        return Finding(known, CONFLICTS, 1.0, reason="the same attribute, and a part of it has changed")
    return Finding(known, REPLACES, 1.0, residue, "the same attribute")


def _is_one_thing(new: str, old: str) -> bool:
    """Whether nothing in their words says that two facts are about different things."""
    return not about_different_things(new, old) and not forbids(new, old)
