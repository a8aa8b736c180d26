"""Messages that say what was corrected later: they stay as said, name the fact that holds now, and come after it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jiyi.model.entry import MESSAGE_TYPE, Explanation, MemoryEntry
from jiyi.text.stated_attributes import asked_attributes, stated_attributes

if TYPE_CHECKING:
    from jiyi.ports import RecordStore
    from jiyi.text import Analyzer


def mark_corrected(hits: Sequence[MemoryEntry], store: RecordStore, analyzer: Analyzer) -> list[MemoryEntry]:
    """The hits, with `corrected_by` on each message whose facts were corrected.

    One look at the records for all of them, and none where no hit is a message.
    """
    said = [hit for hit in hits if hit.memory_type == MESSAGE_TYPE and hit.conversation_id is not None]
    if not said:
        return list(hits)
    conversations = list(dict.fromkeys(hit.conversation_id for hit in said if hit.conversation_id is not None))
    corrections = store.corrections(list(dict.fromkeys(hit.scope for hit in said)), conversations)
    if not corrections:
        return list(hits)
    return [_marked(hit, corrections, analyzer) if hit.memory_type == MESSAGE_TYPE else hit for hit in hits]


def current_first(
    hits: Sequence[MemoryEntry],
    question: str = "",
    admit: Callable[[Sequence[str]], Collection[str]] = frozenset,
) -> list[MemoryEntry]:
    """The hits, each fact that holds now before the message that it corrects, and at least as relevant.

    Only a fact that has words of the question, or states what it asks for: not everything that ended with the same
    message is what was asked. One that states it comes in even where it was too far behind to be a hit, if it is among
    those that may be seen: `admit` gives them out of ids.
    """
    asked = frozenset(asked_attributes(question))
    order = list(hits)
    for message in [hit for hit in hits if hit.corrected_by]:
        place = next(place for place, hit in enumerate(order) if hit.id == message.id)
        holding = {fact.id: fact for fact in message.corrected_by}
        shown = {hit.id for hit in order}
        stating = [fact for fact in holding.values() if fact.id not in shown and _states(fact, asked)]
        seen = admit([fact.id for fact in stating]) if stating else ()
        behind = [hit for hit in order[place + 1 :] if hit.id in holding and (_has_words(hit) or _states(hit, asked))]
        behind += [replace(fact, explanation=Explanation()) for fact in stating if fact.id in seen]
        if not behind:
            continue
        moved = {hit.id for hit in behind}
        raised = [
            replace(
                hit,
                relevance_score=max(hit.relevance_score or 0.0, message.relevance_score or 0.0),
                confident=hit.confident or message.confident,
            )
            for hit in behind
        ]
        order = [*order[:place], *raised, *(hit for hit in order[place:] if hit.id not in moved)]
    return order


def _has_words(hit: MemoryEntry) -> bool:
    """Whether it has words of the question."""
    return hit.explanation is not None and bool(hit.explanation.matched_terms)


def _states(fact: MemoryEntry, asked: frozenset[str]) -> bool:
    return bool(asked) and not asked.isdisjoint(stated_attributes(fact.content))


def _marked(
    hit: MemoryEntry, corrections: Sequence[tuple[MemoryEntry, MemoryEntry]], analyzer: Analyzer
) -> MemoryEntry:
    own = set(hit.source.references)
    found = {
        new.id: new
        for old, new in corrections
        if old.scope == hit.scope
        and not own.isdisjoint(old.source.references)
        # The message that corrects something may have been said in the same round.
        and own.isdisjoint(new.source.references)
        and _says(hit, old, analyzer)
    }
    return replace(hit, corrected_by=tuple(found.values())) if found else hit


def _says(hit: MemoryEntry, old: MemoryEntry, analyzer: Analyzer) -> bool:
    """Whether the message says what the fact said: a fact refers to all messages of its round, also to an "ok"."""
    if hit.role == "user" and old.source.trust == "user":
        return True
    return not set(analyzer.analyze(hit.content).words).isdisjoint(analyzer.analyze(old.content).words)
