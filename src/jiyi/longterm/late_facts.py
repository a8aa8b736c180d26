"""Facts that are told late: of an older round that is looked through after newer ones, as after an import.

A newer fact that would have replaced such a fact, had it been known, replaces it now, so that it becomes history; one
that may contradict it is linked with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jiyi.longterm.claim_reading import attribute_of
from jiyi.longterm.corrections import REPLACES, Finding, KnownFact, judge
from jiyi.longterm.replacement import ReplacementModel
from jiyi.longterm.residue import residue_without_attribute
from jiyi.longterm.vetoes import forbids
from jiyi.model.claim import Claim
from jiyi.model.entry import MemoryEntry
from jiyi.ports import Amendment
from jiyi.text import fold
from jiyi.text.statements.about.subject_phrases import about_different_things
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
        if sets_the_same(fact, old):
            residue = residue_without_attribute(old.content)
            return [(fact, Finding(late, REPLACES, 1.0, residue, "the same attribute"))]
        for finding in judge(fact.content, [late], model):
            if finding.verdict == REPLACES:
                return [(fact, finding)]
            doubts.append((fact, finding))
    return doubts


def with_conflict(fact: MemoryEntry, late: MemoryEntry) -> Amendment:
    """The change by which a fact names an older one, which was told late, as a possible conflict."""
    claim = fact.source.claim or Claim()
    linked = replace(claim, conflicts_with=(*claim.conflicts_with, late.id))
    return Amendment(fact.id, {"source": replace(fact.source, claim=linked)}, because=late.id)


def sets_the_same(new: MemoryEntry, old: MemoryEntry) -> bool:
    """Whether two facts set the same attribute of the same subject, in forms that leave no doubt."""
    attribute = attribute_of(new.content)
    return attribute is not None and attribute_of(old.content) == attribute and _is_one_thing(new, old)


def _is_one_thing(new: MemoryEntry, old: MemoryEntry) -> bool:
    """Whether nothing in their words says that two facts are about different things."""
    return not about_different_things(new.content, old.content) and not forbids(new.content, old.content)
