"""From scored candidates to hits: order, records, the formula on top, explanations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from unicodedata import category, normalize

from jiyi.model import clock
from jiyi.model.entry import MESSAGE_TYPE, REFLECTION_TYPE, Explanation, IndexCoverage, MemoryEntry
from jiyi.model.relevance import CONFIDENT
from jiyi.model.scoring import FinalWeights, time_decay
from jiyi.recall.duplicates import DuplicateFilter, DuplicateGroup
from jiyi.recall.ordering import Key, by_relevance, by_score
from jiyi.recall.settings import DECIMALS, NO_LIKENESS, NO_WORDS, WITH_MEANING, WORDS_ALONE
from jiyi.text import highlight
from jiyi.text.gibberish import is_gibberish
from jiyi.text.identifiers import has_another, identifiers
from jiyi.text.patterns import has_han
from jiyi.text.questions import asks_about_texts, hands_over_text, is_question
from jiyi.text.rarity import share_unknown
from jiyi.text.stopwords import CHINESE, ENGLISH

if TYPE_CHECKING:
    from jiyi.model.filters import Filters
    from jiyi.recall.gather import CandidateSet
    from jiyi.recall.question import Question
    from jiyi.recall.scorer import Candidates, Floats, Scores
    from jiyi.recall.search import Search
    from jiyi.text import Analyzer


_EQUAL_TEXTS: Final = 3
"""So many more than are returned are read where only equal texts may be folded."""


_ANOTHER_THING: Final = 0.02
"""What is left of the relevance of a text that has another identifier of the same form: CN-A10293 for CN-A10294."""


_HANDED_OVER_FACTOR: Final = 0.2
"""Of the relevance of a text that was given to be translated or corrected so much is left: nobody is told by it."""


_MIN_STOP_WORDS: Final = 4
"""So many different stop words tell a text from others."""


_UNLIKE: Final = 1.0
"""By so much the logit of what is only similar to a single character is lower."""
_HAS_CHARACTER: Final = 0.05
"""The least relevance of what has it."""


class _ScoredEntry(NamedTuple):
    """An entry on its way to being a hit."""

    entry: MemoryEntry
    place: int
    """Among the candidates."""
    relevance: float
    score: float
    """By which it is put in order."""
    weight: float
    """The relevance of the formula on top."""
    parts: Mapping[str, float] = {}
    others: tuple[MemoryEntry, ...] = ()
    """Entries that say the same."""


class EntryFetcher(Protocol):
    """Where the entries behind the candidates come from: the records."""

    def fetch(self, ids: Sequence[str], filters: Filters | None) -> dict[str, MemoryEntry]:
        """Those of these entries that the filters admit, by id."""
        ...


def rank(
    search: Search,
    found: CandidateSet,
    coverage: tuple[IndexCoverage, ...],
    now: datetime,
    store: EntryFetcher,
    analyzer: Analyzer,
) -> list[MemoryEntry]:
    """The best candidates as hits, best first; the records drop what is not to be seen."""
    # The scorer brings numpy, which a program that only writes need not load.
    from jiyi.recall.scorer import rounded, score

    request = search.request
    if _is_gibberish(search, found):
        return []
    scores = score(found.candidates, search.settings.weights, keyword=request.mode != "semantic")
    scores = _of_one_character(search.question, _without_stop_words(search.question, scores))
    weighed = _in_order(search, found, scores, store)
    if request.weights is not None:
        weighed = sorted((_final(each, request.weights, now) for each in weighed), key=_order)
    # Only what is returned is made a hit: copying an entry takes longer than weighing it.
    returned = weighed[: request.limit]
    rows = [each.place for each in returned]
    shown = _shown(scores, rows, found.candidates.personal)
    similarities = None if scores.similarity is None else rounded(scores.similarity[rows])
    hits = []
    for line, each in enumerate(returned):
        parts = shown[line]
        matched = _each_once(_matched(found.candidates, each.place, search.question))
        explanation = Explanation({**parts, **each.parts}, matched, coverage)
        similarity = None if similarities is None or similarities[line] != similarities[line] else similarities[line]
        hit = each.entry.as_hit(
            each.relevance,
            explanation,
            similarity=similarity,
            confident=each.relevance >= CONFIDENT,
            other_sources=each.others,
        )
        hits.append(hit)
    return [_highlighted(hit, analyzer) for hit in hits] if request.highlights else hits


def _shown(scores: Scores, places: Sequence[int], personal: float) -> list[dict[str, float]]:
    """For each of these candidates the parts of its score by name, rounded."""
    import numpy as np

    columns = {**scores.parts, "score": scores.total, "information": scores.information}
    best: dict[str, float] = {}
    if scores.above_mean is not None:
        columns["above_mean"] = scores.above_mean
        columns["related_share"] = scores.related
        best["best_above_mean"] = float(scores.above_mean.max(initial=0.0).round(DECIMALS))
        best["personal"] = round(personal, DECIMALS)
    # Rounded as one array, which takes less time than a dozen small ones.
    rows = np.round(np.array(list(columns.values()))[:, places], DECIMALS).T.tolist()
    names, same = (*columns, *best), list(best.values())
    return [dict(zip(names, row + same, strict=True)) for row in rows]


def _is_gibberish(search: Search, found: CandidateSet) -> bool:
    """Whether the question has letters that are no words, and nothing with them is stored: no text answers it.

    Something that is clearly similar is shown all the same: it may be a word that is misspelled or very rare.
    """
    question, candidates = search.question, found.candidates
    fields = [each for each in (candidates.words, candidates.bigrams) if each is not None]
    if not question.words or question.dates or any(field.df.any() for field in fields):
        return False
    if _character(question) and any(field.tf.any() for field in fields):
        # A character of a longer word has no statistics, but stands in a text.
        return False
    if candidates.cosine is not None:
        best = max(filter(math.isfinite, candidates.cosine.tolist()), default=0.0)
        if best - candidates.mean_cosine >= NO_LIKENESS:
            return False
    return share_unknown(question.words) >= NO_WORDS or is_gibberish(question.text, question.words)


def _without_stop_words(question: Question, scores: Scores) -> Scores:
    """Less relevant, if the question is nothing but "is" or 的: one such word has no information, and four have all.

    "To be or not to be" is looked for in these words.
    """
    words = set(question.words)
    if not 0 < len(words) < _MIN_STOP_WORDS or not all(word in ENGLISH or word in CHINESE for word in words):
        return scores
    import numpy as np

    known = WORDS_ALONE if scores.above_mean is None else WITH_MEANING
    missing = (_MIN_STOP_WORDS - len(words)) / (_MIN_STOP_WORDS - 1)
    return _less_likely(scores, np.full(len(scores.relevance), known.information * missing))


def _character(question: Question) -> str:
    """The Chinese character that is the whole question, or nothing."""
    text = question.text.strip()
    return text if len(text) == 1 and has_han(text) else ""


def _of_one_character(question: Question, scores: Scores) -> Scores:
    """One Chinese character says little by its meaning: what has it is shown, and what does not is less relevant."""
    character = _character(question)
    if not character or character in CHINESE:
        return scores
    import numpy as np

    found = _less_likely(scores, np.where(scores.information > 0, 0.0, _UNLIKE))
    least = np.where(scores.information > 0, _HAS_CHARACTER * scores.information, 0.0)
    return found._replace(relevance=np.maximum(found.relevance, least))


def _less_likely(scores: Scores, by: Floats) -> Scores:
    import numpy as np

    odds = scores.relevance / np.maximum(1.0 - scores.relevance, 1e-12) * np.exp(-by)
    return scores._replace(relevance=odds / (1.0 + odds))


def _in_order(search: Search, found: CandidateSet, scores: Scores, store: EntryFetcher) -> list[_ScoredEntry]:
    """The most relevant candidates that the records admit, each thing once."""
    import numpy as np

    from jiyi.recall.scorer import rounded

    request = search.request
    totals, relevances = rounded(scores.total), rounded(scores.relevance)
    weighing: Sequence[float] | None = None
    by_words = (scores.lexical > 0).tolist()
    # A candidate that matches neither by words nor by meaning is not an answer.
    places = [place for place, total in enumerate(totals) if total > 0 or by_words[place]]
    if request.mode == "semantic" and (cosine := found.candidates.cosine) is not None:
        # Only what the vector index holds: it may not have taken in an entry yet.
        scored = found.candidates.scored
        places = [place for place in places if cosine[scored[place]] == cosine[scored[place]]]
    if request.by_similarity and (vectors := search.sources.vectors) is not None and scores.similarity is not None:
        similar = set(search.most_similar(vectors))
        # An entry that the vector index has not taken in yet is found by its words, and counts by its share of them.
        compared = np.isfinite(scores.similarity)
        found_by_words = {place for place in places if not compared[place]}
        # The most similar ones are all weighed: importance and time of access may tell for what is a little less so.
        places = [place for place, each in enumerate(found.ids) if each in similar or place in found_by_words]
        totals = weighing = rounded(np.where(compared, scores.similarity, scores.information).clip(0.0, 1.0))
    keys = [Key(-total, -own, -time) for total, own, time in zip(totals, relevances, found.times, strict=True)]
    # The nearest in meaning, whatever was at a time, and what has the words that are looked for were asked for, however
    # likely they are to answer.
    asked_for = found.candidates.only_dates or not found.candidates.query_is_question
    if request.mode == "semantic" or request.by_similarity or asked_for:
        order = by_score(places, keys)
    else:
        order = by_relevance(places, keys, found.candidates.standalone.tolist())
    places = [place for place in order.places if order.relevance[place] >= request.min_relevance]
    max_hits = max(request.limit, request.candidates if request.weights is not None else 0)
    folding = None
    if not request.duplicates and found.terms:
        folding = DuplicateFilter(lambda place: _matched(found.candidates, place, search.question), found.terms)
    answers = _Answers(search, found)
    weighed: list[_ScoredEntry] = []
    folded: dict[str, list[MemoryEntry]] = {}
    # The records may drop what an index still holds: go on down the order until there is enough.
    size = max_hits + _lookahead(found, places, max_hits, folding)
    for chunk in _chunks(places, size, order.ranks.__getitem__):
        entries = store.fetch([found.ids[place] for place in chunk], request.filters)
        known = [
            _ScoredEntry(
                entries[found.ids[place]],
                place,
                relevance := order.relevance[place],
                score=-order.ranks[place],
                weight=relevance if weighing is None else weighing[place],
            )
            for place in chunk
            if found.ids[place] in entries
        ]
        if len({each.score for each in known}) < len(known):
            known.sort(key=_order)
        for each in known:
            if not answers.admit(each):
                continue
            if folding is not None:
                same = folding.add(each.entry, each.place)
                if same is not None and not _fold(same, each, weighed, folded):
                    continue
            answers.add(each, weighed)
        if len(weighed) >= max_hits:
            break
    kept = answers.with_less_likely(weighed)[:max_hits]
    return [each._replace(others=tuple(folded.get(each.entry.id, ()))) for each in kept] if folded else kept


def _fold(
    same: DuplicateGroup, each: _ScoredEntry, weighed: list[_ScoredEntry], folded: dict[str, list[MemoryEntry]]
) -> bool:
    """Put what says the same below the one that is kept; whether the entry itself stays a hit."""
    kept = folded.setdefault(same.kept, [])
    for entry_id in same.folded:
        if entry_id == each.entry.id:
            kept.append(each.entry)
            continue
        gone = next((hit for hit in weighed if hit.entry.id == entry_id), None)
        if gone is not None:
            weighed.remove(gone)
            kept += (gone.entry, *folded.pop(entry_id, ()))
    return each.entry.id not in same.folded


class _Answers:
    """Sorts out what is found for a question and does not answer it."""

    def __init__(self, search: Search, found: CandidateSet) -> None:
        self._search = search
        self._found = found
        query = search.request.query
        self._compares = search.request.by_similarity
        """Whether the similarity itself is the answer."""
        self._asked = is_question(query) and not self._compares
        self._about_texts = self._asked and asks_about_texts(query)
        self._identifiers = {} if self._compares else identifiers(query)
        self._less_likely: list[_ScoredEntry] = []
        """Those that were given to be worked on, or are about another thing of the same kind."""

    def admit(self, each: _ScoredEntry) -> bool:
        """Whether it may be an answer."""
        if self._compares or not (self._out_of_time(each.entry) or _only_assents(each.entry)):
            return True
        # What shares words with the question is an answer all the same ("did she say thanks?").
        return bool(_matched(self._found.candidates, each.place, self._search.question))

    def _out_of_time(self, entry: MemoryEntry) -> bool:
        """Whether it was asked what happened at a time, and this is a reflection: its time is when it was made."""
        return bool(self._search.question.dates) and entry.memory_type == REFLECTION_TYPE

    def add(self, each: _ScoredEntry, weighed: list[_ScoredEntry]) -> None:
        """Add it to the answers, or to what is less likely to be one."""
        share = self._share(each.entry)
        if share >= 1.0:
            weighed.append(each)
        elif each.relevance * share >= self._search.request.min_relevance:
            self._less_likely.append(each._replace(relevance=each.relevance * share, weight=each.weight * share))

    def _share(self, entry: MemoryEntry) -> float:
        """What is left of its relevance."""
        if self._identifiers and has_another(entry.content, self._identifiers):
            return _ANOTHER_THING
        if not self._asked or self._about_texts or not _is_text_to_work_on(entry):
            return 1.0
        return _HANDED_OVER_FACTOR

    def with_less_likely(self, weighed: list[_ScoredEntry]) -> list[_ScoredEntry]:
        """The answers, and what is less likely to be one where its lower relevance puts it."""
        for less in self._less_likely:
            behind = (place for place, each in enumerate(weighed) if each.relevance < less.relevance)
            weighed.insert(next(behind, len(weighed)), less)
        return weighed


def _is_text_to_work_on(entry: MemoryEntry) -> bool:
    """Whether it is a message, or a fact made of one, in which a text is given to be translated, corrected, posted."""
    if entry.memory_type != MESSAGE_TYPE and entry.source.claim is None:
        return False
    return entry.role != "assistant" and hands_over_text(entry.content)


def _only_assents(entry: MemoryEntry) -> bool:
    """Whether it is a message of nothing but "OK" or "Let me check": found for what was said before it."""
    if entry.memory_type != MESSAGE_TYPE:
        return False
    from jiyi.text.empty_replies import is_empty_reply

    return is_empty_reply(entry.content)


def _lookahead(found: CandidateSet, places: Sequence[int], max_hits: int, folding: DuplicateFilter | None) -> int:
    """How many more to read than are returned: some are folded into others, and those behind the last are named too.

    Equal texts are ranked side by side; a fact and the message it was made of may be far apart.
    """
    if folding is None:
        return 0
    window = places[: 2 * max_hits]
    return max_hits if found.candidates.in_conversation[window].any() else min(max_hits, _EQUAL_TEXTS)


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


def _each_once(terms: tuple[str, ...]) -> tuple[str, ...]:
    """Without the second form of a word with accents: "réka" is compared as "reka" too."""
    plain = {form for term in terms if not term.isascii() and (form := _plain(term)).isascii()}
    return tuple(term for term in terms if term not in plain) if plain else terms


def _plain(term: str) -> str:
    return "".join(each for each in normalize("NFD", term) if category(each) != "Mn")


def _chunks(places: Sequence[int], size: int, tie: Callable[[int], object]) -> Iterator[Sequence[int]]:
    """Pieces of at least this size that do not part equals: which of them comes first, only the records tell."""
    start = 0
    while start < len(places):
        end = start + size
        while end < len(places) and tie(places[end]) == tie(places[end - 1]):
            end += 1
        yield places[start:end]
        start = end


def _order(each: _ScoredEntry) -> tuple[float, int, str, str, str, int]:
    entry = each.entry
    place = (entry.conversation_id or "", -1 if entry.position is None else entry.position)
    return (-each.score, -clock.microseconds(entry.event_time), entry.key or "", entry.content, *place)


def _final(each: _ScoredEntry, weights: FinalWeights, now: datetime) -> _ScoredEntry:
    """S_final = α·relevance + β·decay + γ·importance."""
    entry = each.entry
    decay = time_decay(entry.last_accessed_at, now, weights.decay_rate)
    final = round(weights.final_score(each.weight, decay, entry.importance_score), DECIMALS)
    parts = {"relevance": each.weight, "decay": decay, "importance": entry.importance_score, "final": final}
    return each._replace(score=final, parts=parts)
