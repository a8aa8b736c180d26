"""From scored candidates to hits: order, records, the formula on top, explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from jiyi.model import clock
from jiyi.model.entry import Explanation, IndexCoverage, MemoryEntry
from jiyi.model.scoring import FinalWeights, time_decay
from jiyi.recall.settings import DECIMALS
from jiyi.text import highlight

if TYPE_CHECKING:
    from jiyi.ports import RecordStore
    from jiyi.recall.gather import Gathered
    from jiyi.recall.question import Question
    from jiyi.recall.scorer import Candidates, Scores
    from jiyi.recall.search import Search
    from jiyi.text import Analyzer


class _Weighed(NamedTuple):
    """An entry on its way to being a hit."""

    entry: MemoryEntry
    place: int
    """Among the candidates."""
    relevance: float
    score: float
    """By which it is put in order."""
    parts: Mapping[str, float] = {}


def rank(
    search: Search,
    found: Gathered,
    coverage: tuple[IndexCoverage, ...],
    now: datetime,
    store: RecordStore,
    analyzer: Analyzer,
) -> list[MemoryEntry]:
    """The best candidates as hits, best first; the records drop what is not to be seen."""
    # The scorer brings numpy, which a program that only writes need not load.
    from jiyi.recall.scorer import rounded, score

    request = search.request
    scores = score(found.candidates, search.settings.weights, keyword=request.mode != "semantic")
    weighed = _in_order(search, found, scores, store)
    if request.weights is not None:
        weighed = sorted((_final(each, request.weights, now) for each in weighed), key=_order)
    # Only what is returned is made a hit: copying an entry takes longer than weighing it.
    returned = weighed[: request.limit]
    rows = [each.place for each in returned]
    shown = {name: rounded(part[rows]) for name, part in scores.parts.items()}
    hits = []
    for line, each in enumerate(returned):
        parts = {name: part[line] for name, part in shown.items()}
        matched = _matched(found.candidates, each.place, search.question)
        explanation = Explanation({**parts, **each.parts}, matched, coverage)
        hits.append(each.entry.as_hit(each.relevance, explanation))
    return [_highlighted(hit, analyzer) for hit in hits] if request.highlights else hits


def _in_order(search: Search, found: Gathered, scores: Scores, store: RecordStore) -> list[_Weighed]:
    """The most relevant candidates that the records admit."""
    from jiyi.recall.scorer import rounded

    request = search.request
    totals, relevances = rounded(scores.total), rounded(scores.relevance)
    # A candidate that neither its words nor its meaning speak for is not an answer.
    by_words = (scores.lexical > 0).tolist()
    places = [place for place, total in enumerate(totals) if total > 0 or by_words[place]]
    if request.mode == "semantic" and (cosine := found.candidates.cosine) is not None:
        # Only what has a vector of its own: not a fact that a reflection stands for, however near it is to a hit.
        scored = found.candidates.scored
        places = [place for place in places if cosine[scored[place]] == cosine[scored[place]]]
    places.sort(key=lambda place: (-totals[place], -found.times[place], found.ids[place]))

    def tie(place: int) -> tuple[float, int]:
        # A total below 0 is shown as 0: among those only the times decide, in any order.
        return (totals[place], found.times[place]) if relevances[place] == totals[place] else (relevances[place], 0)

    most = max(request.limit, request.candidates if request.weights is not None else 0)
    weighed: list[_Weighed] = []
    # The records may drop what an index still holds: go on down the order until there is enough.
    for chunk in _chunks(places, most, tie):
        entries = store.fetch([found.ids[place] for place in chunk], request.filters)
        for place in chunk:
            entry = entries.get(found.ids[place])
            if entry is not None:
                weighed.append(_Weighed(entry, place, relevances[place], relevances[place]))
        if len(weighed) >= most:
            break
    weighed.sort(key=_order)
    return weighed[:most]


def _highlighted(hit: MemoryEntry, analyzer: Analyzer) -> MemoryEntry:
    explanation = hit.explanation or Explanation()
    ranges = tuple(highlight(hit.content, explanation.matched_terms, analyzer))
    return replace(hit, explanation=replace(explanation, highlights=ranges))


def _matched(candidates: Candidates, place: int, question: Question) -> tuple[str, ...]:
    """The question's words that stand in the text; where there are none, its pairs of characters."""
    row = candidates.scored[place]
    for field, terms in ((candidates.words, question.words), (candidates.bigrams, question.bigrams)):
        if field is not None and field.tf.shape[1] and (matched := field.tf[row].nonzero()[0].tolist()):
            return tuple(terms[term] for term in matched)
    return ()


def _chunks(places: Sequence[int], size: int, tie: Callable[[int], object]) -> Iterator[Sequence[int]]:
    """Pieces of at least this size that do not part equals: which of them comes first, only the records tell."""
    start = 0
    while start < len(places):
        end = start + size
        while end < len(places) and tie(places[end]) == tie(places[end - 1]):
            end += 1
        yield places[start:end]
        start = end


def _order(each: _Weighed) -> tuple[float, int, str, str, str, int]:
    entry = each.entry
    place = (entry.conversation_id or "", -1 if entry.position is None else entry.position)
    return (-each.score, -clock.microseconds(entry.event_time), entry.key or "", entry.content, *place)


def _final(each: _Weighed, weights: FinalWeights, now: datetime) -> _Weighed:
    """S_final = α·relevance + β·decay + γ·importance."""
    entry = each.entry
    decay = time_decay(entry.last_accessed_at, now, weights.decay_rate)
    final = round(weights.final_score(each.relevance, decay, entry.importance_score), DECIMALS)
    parts = {"relevance": each.relevance, "decay": decay, "importance": entry.importance_score, "final": final}
    return _Weighed(entry, each.place, each.relevance, final, parts)
