"""Messages that say what was corrected later: they stay as said, name the fact that holds now, and come after it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from jiyi.model.entry import MESSAGE_TYPE, Explanation, MemoryEntry
from jiyi.model.relevance import CONFIDENT
from jiyi.text.normalize import fold

if TYPE_CHECKING:
    from jiyi.ports import RecordStore
    from jiyi.text import Analyzer


_WITHOUT_WORDS: Final = 0.5
"""So much of its relevance a fact does not get from the message that it corrects, if it has no word of the question
that the message has: what was corrected may be another part of it."""


class CorrectedHits(NamedTuple):
    """Hits with what was corrected of them."""

    hits: list[MemoryEntry]
    instead: frozenset[tuple[str, str]] = frozenset()
    """Message and fact, by id, where the fact took the place of what has all words of the question that the message
    has."""


def mark_corrected(hits: Sequence[MemoryEntry], store: RecordStore, analyzer: Analyzer) -> CorrectedHits:
    """The hits, with `corrected_by` on each message whose facts were corrected.

    One look at the records for all of them, and none where no hit is a message.
    """
    said = [hit for hit in hits if hit.memory_type == MESSAGE_TYPE and hit.conversation_id is not None]
    if not said:
        return CorrectedHits(list(hits))
    conversations = list(dict.fromkeys(hit.conversation_id for hit in said if hit.conversation_id is not None))
    corrections = store.corrections(list(dict.fromkeys(hit.scope for hit in said)), conversations)
    if not corrections:
        return CorrectedHits(list(hits))
    found = {hit.id: _of_message(hit, corrections, analyzer) for hit in said}
    marked = [
        replace(hit, corrected_by=tuple({new.id: new for _, new in pairs}.values()))
        if (pairs := found.get(hit.id))
        else hit
        for hit in hits
    ]
    instead = {(hit.id, new.id) for hit in said for old, new in found[hit.id] if _was_meant(hit, old, analyzer)}
    return CorrectedHits(marked, frozenset(instead))


def current_first(
    hits: Sequence[MemoryEntry],
    question: str = "",
    admit: Callable[[Sequence[str]], Collection[str]] = frozenset,
    instead: Collection[tuple[str, str]] = (),
) -> list[MemoryEntry]:
    """The hits, each fact that holds now before the message that it corrects, which is then no more relevant.

    Such a fact is as likely to answer as the message, so far as it has its words of the question, or states what is
    asked for. A message that says the fact stands for it: one thing is one hit.

    Only a fact that has words of the question, or states what it asks for, or took the place of what has the words of
    the question: not everything that ended with the same message is what was asked. The last two come in even where
    they were too far behind to be hits, if they are among those that may be seen: `admit` gives them out of ids.
    """
    order = list(hits)
    corrected = [hit for hit in hits if hit.corrected_by]
    asked = _asked(question) if corrected else frozenset()
    for message_id in [hit.id for hit in corrected]:
        place = next(place for place, hit in enumerate(order) if hit.id == message_id)
        message = order[place]
        holding = {fact.id: fact for fact in message.corrected_by}
        shown = {each.id for hit in order for each in (hit, *hit.other_sources)}
        meant = {fact.id for fact in holding.values() if (message.id, fact.id) in instead or _states(fact, asked)}
        missing = [each for each in holding if each in meant and each not in shown]
        seen = admit(missing) if missing else ()
        behind = [
            hit
            for hit in order[place + 1 :]
            if (told := holding.keys() & _told_by(hit)) and (told & meant or _has_words(hit))
        ]
        behind += [replace(holding[each], explanation=Explanation()) for each in missing if each in seen]
        if not behind:
            continue
        moved = {hit.id for hit in behind}
        raised = sorted((_raised(hit, message, asked) for hit in behind), key=_relevance, reverse=True)
        least = _relevance(raised[-1])
        rest = [hit for hit in order[place + 1 :] if hit.id not in moved]
        # A reranker gives an order along which relevance need not fall.
        falls = all(_relevance(one) >= _relevance(other) for one, other in pairwise(order))
        block = [*raised, _at_most(message, least) if falls else message]
        tail = sorted([*block, *rest], key=_relevance, reverse=True) if falls else [*block, *rest]
        order = [*order[:place], *tail]
    return order


def _told_by(hit: MemoryEntry) -> set[str]:
    """The ids of what a hit stands for."""
    return {hit.id, *(other.id for other in hit.other_sources)}


def _relevance(hit: MemoryEntry) -> float:
    return hit.relevance_score or 0.0


def _raised(hit: MemoryEntry, message: MemoryEntry, asked: frozenset[str]) -> MemoryEntry:
    """A hit that holds now, as likely to answer as the message that it corrects, so far as it is about the same."""
    wanted = _matched(message)
    share = 1.0
    if wanted and not _states(hit, asked):
        share -= _WITHOUT_WORDS * len(wanted - _matched(hit)) / len(wanted)
    relevance = max(_relevance(hit), _relevance(message) * share)
    return replace(hit, relevance_score=relevance, confident=relevance >= CONFIDENT)


def _at_most(hit: MemoryEntry, relevance: float) -> MemoryEntry:
    if _relevance(hit) <= relevance:
        return hit
    return replace(hit, relevance_score=relevance, confident=relevance >= CONFIDENT)


def _matched(hit: MemoryEntry) -> set[str]:
    return set() if hit.explanation is None else set(hit.explanation.matched_terms)


def _has_words(hit: MemoryEntry) -> bool:
    """Whether it has words of the question."""
    return hit.explanation is not None and bool(hit.explanation.matched_terms)


def _asked(question: str) -> frozenset[str]:
    from jiyi.text.stated_attributes import asked_attributes

    return frozenset(asked_attributes(question))


def _states(fact: MemoryEntry, asked: frozenset[str]) -> bool:
    if not asked:
        return False
    from jiyi.text.stated_attributes import stated_attributes

    return not asked.isdisjoint(stated_attributes(fact.content))


def _of_message(
    hit: MemoryEntry, corrections: Sequence[tuple[MemoryEntry, MemoryEntry]], analyzer: Analyzer
) -> list[tuple[MemoryEntry, MemoryEntry]]:
    own = set(hit.source.references)
    return [
        (old, new)
        for old, new in corrections
        if old.scope == hit.scope
        and not own.isdisjoint(old.source.references)
        # The message that corrects something may have been said in the same round.
        and own.isdisjoint(new.source.references)
        and _says(hit, old, analyzer)
    ]


def _was_meant(hit: MemoryEntry, old: MemoryEntry, analyzer: Analyzer) -> bool:
    """Whether what was corrected has all words of the question that the message has; without any, it is all of it."""
    matched = hit.explanation.matched_terms if hit.explanation is not None else ()
    if not matched:
        return fold(old.content) == fold(hit.content)
    known = analyzer.analyze(old.content)
    return set(matched) <= {*known.words, *known.bigrams}


def _says(hit: MemoryEntry, old: MemoryEntry, analyzer: Analyzer) -> bool:
    """Whether the message says what the fact said: a fact refers to all messages of its round, also to an "ok"."""
    if hit.role == "user" and old.source.said_by_user:
        return True
    return not set(analyzer.analyze(hit.content).words).isdisjoint(analyzer.analyze(old.content).words)
