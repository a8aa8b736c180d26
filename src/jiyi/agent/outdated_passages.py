"""Recalled messages that a later statement has changed, as far as two texts tell: they are marked, not left out.

A message whose fact was superseded names what holds now (`corrected_by`). Where a fact is only in an open conflict, or
a later statement that is shown speaks of the same, the mark needs more. Either both set the same attribute, of which
people have one; or the later one says that something has changed, and both have words in common that say what they are
about. A name alone is not enough: much is said of one person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from jiyi.agent.dependencies import AgentDeps
from jiyi.longterm.conflicts import OpenConflicts
from jiyi.model.entry import FACT_TYPE, MESSAGE_TYPE, REFLECTION_TYPE, MemoryEntry
from jiyi.text import fold
from jiyi.text.statements.about.content_words import content_words
from jiyi.text.statements.about.persons import persons_of
from jiyi.text.statements.keeping.fact_kinds import is_request
from jiyi.text.statements.replacing.change_words import (
    changes,
    ends,
    is_mistake,
    is_strong_change,
    is_temporary,
    is_wish,
)

_SHARED: Final = 2
"""So many words of two statements that no conflict links."""


def outdated_passages(
    deps: AgentDeps, passages: Sequence[MemoryEntry], shown: Iterable[MemoryEntry], conflicts: OpenConflicts
) -> set[str]:
    """The ids of the passages that something later has most likely changed. Facts are marked as in every block."""
    known = conflicts.with_reflections(passages)
    facts = {each.id for each in passages if each.memory_type in {FACT_TYPE, REFLECTION_TYPE} and each.id in known}
    said = [each for each in passages if each.memory_type == MESSAGE_TYPE and each.role == "user"]
    said = [each for each in said if not each.corrected_by]
    linked = _linked(deps, said, conflicts) if said else set()
    later = [each for each in chain(shown, passages) if _tells_change(each)] if said else []
    told = {older.id for older in said if any(_may_change(newer, older, _SHARED) for newer in later)}
    return facts | linked | told


def _linked(deps: AgentDeps, said: Sequence[MemoryEntry], conflicts: OpenConflicts) -> set[str]:
    """The ids of the messages of which a fact is in conflict with a newer one that most likely replaces it."""
    wanted = {each.id: each for each in said}
    found: set[str] = set()
    for older in deps.stores.store.by_ids(deps.scope, list(conflicts.newer)):
        for message in set(wanted).intersection(older.source.references):
            if any(
                _same_single_attribute(newer, older)
                or (_tells_change(newer) and _may_change(newer, wanted[message], 1))
                for newer in conflicts.newer_than(older)
            ):
                found.add(message)
    return found


def _same_single_attribute(newer: MemoryEntry, older: MemoryEntry) -> bool:
    new, old = newer.source.claim, older.source.claim
    return new is not None and old is not None and new.single and old.single and new.attribute == old.attribute != ""


def _tells_change(entry: MemoryEntry) -> bool:
    if entry.memory_type not in {FACT_TYPE, MESSAGE_TYPE} or (entry.role or "user") != "user":
        return False
    folded = fold(entry.content)
    told = any(says(folded) for says in (changes, ends, is_mistake, is_strong_change))
    return told and not is_wish(folded) and not is_temporary(folded) and not is_request(entry.content)


def _may_change(newer: MemoryEntry, older: MemoryEntry, min_shared: int) -> bool:
    if newer.event_time <= older.event_time or older.id in newer.source.references or newer.id == older.id:
        return False
    shared = content_words(newer.content) & content_words(older.content)
    if len(shared) < min_shared:
        return False
    names = {fold(name) for text in (newer.content, older.content) for name in persons_of(text).names}
    return len(shared - names) >= min_shared
