"""Messages that say what was corrected later: they stay as said, name the fact that holds now, and come after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry

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


def current_first(hits: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """The hits, each fact that holds now before the message that it corrects, and at least as relevant.

    Only a fact that has words of the question: not everything that ended with the same message is what was asked.
    """
    order = list(hits)
    for message in [hit for hit in hits if hit.corrected_by]:
        place = next(place for place, hit in enumerate(order) if hit.id == message.id)
        holding = {fact.id for fact in message.corrected_by}
        behind = [hit for hit in order[place + 1 :] if hit.id in holding and _has_words_of_question(hit)]
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


def _has_words_of_question(hit: MemoryEntry) -> bool:
    return hit.explanation is not None and bool(hit.explanation.matched_terms)


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
