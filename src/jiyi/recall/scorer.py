"""The one scorer: a pure function from term counts, places, times and similarities to an order.

For each candidate, over the terms of the question, with the weights w (`ScoringWeights`):

    tf'        = tf + w.spoken_neighbours · tf of the neighbours (records: w.timed_neighbours)
                 in a conversation + w.answer · tf of the previous one · share of it that is a bare question
    BM25       = Σ idf·(k1+1)·tf' / (tf' + k1·(1 − b + b·max(length, w.length_floor)/mean))
    lexical    = BM25 of the words; for a Chinese question (words + w.bigrams·bigrams)/(1 + w.bigrams)
               + w.conversation · BM25 of the whole conversation + w.date · idf of the question's dates · nearness
    matched    = BM25 of the words with idf·specificity / Σ idf·specificity: the share of the question's information
    confidence = min(1, best matched / w.information); of a standalone text with w.standalone_information instead, and
                 to the power of w.standalone_power
    dense      = (smoothed cosine − mean) / max(best − mean, w.spread); neighbours have w.near_dense of their weight
    related    = Σ specificity · how far the text has a word that stands for the missing one / Σ specificity
    own        = (confidence·lexical/best + w.dense·dense + w.related·related)
                 · (1 − w.question · share of bare questions; `_ASKED_BEFORE` for the same question, asked before)
                 of a standalone text w.standalone_dense·dense (w.standalone_dense_named where one has all words) +
                 w.standalone_related·related (w.standalone_related_named), for a word itself at least as much as for
                 the best other word; and beside others (1 + w.dense)/(1 + w.standalone_dense) of the sum
                 + w.answer_kind where it has a time, a number or a place that is asked for; not for records
                 + w.attribute (w.standalone_attribute) where it states the attribute of a person that is asked for
    score      = own + w.same_period · Σ (own/best)^w.same_period_power · exp(−days between / w.same_period_days)
                 / Σ (own/best)^w.same_period_power of all
                 of several kinds of texts in one order (`recall.kinds`)
                 + w.looked_up · information^w.looked_up_power, if the query is no question

The order goes by `score` (`ordering` says where relevance decides), or by the date alone for whatever was at a time
("what did I do last Wednesday"). `relevance` is what a reader can compare between questions: the probability that the
candidate answers, from `matched`², the cosine above the mean, the same of the most similar one, `related`, the distance
to the best score, and whether the question is about somebody's life or what anybody can look up; for a bare question
times 1 − w.question, if one is asked.

Neighbours in a conversation and dates raise recall more than the embedder does (docs/guides/recall).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from jiyi.recall.dated import information_with_date, of_that_time
from jiyi.recall.evidence import Evidence, best_answer, looked_up, relevance
from jiyi.recall.kinds import are_mixed, in_one_order, with_dated_facts
from jiyi.recall.periods import same_period
from jiyi.recall.settings import DECIMALS, ScoringWeights
from jiyi.text.bm25 import idf, length_norm, saturated

if TYPE_CHECKING:
    # Loading numpy.typing takes 20 ms, a tenth of a short command.
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

NOBODY = -1
_SAME_QUESTION: Final = 0.9
"""A bare question with this share of the question's information is the same question, asked before."""
_ASKED_BEFORE: Final = 0.99
"""So much of its score such a question loses."""
PARTS: Final = (
    *("words", "bigrams", "neighbours", "conversation", "date"),
    *("dense", "related", "question", "answer_kind", "attribute", "same_period"),
)
"""The parts of a score, in the order in which they are shown."""
_OWN = ("words", "bigrams", "dense", "related")
"""Parts that come from the text of the candidate, not from what stands around it."""
_BESIDE = ("answer_kind", "attribute", "same_period")
"""Parts that say nothing about how well the text fits."""


class FieldCounts(NamedTuple):
    """One field (words or bigrams) of the rows."""

    tf: Floats
    """Rows × terms."""
    length: Floats
    df: Floats
    mean_length: float
    """The mean length of all visible texts, each at least `length_floor`."""
    specificity: Floats
    """Term -> how specific it is in general language, 0..1."""


class Candidates(NamedTuple):
    """Everything the formula needs. Rows are texts; only those in `scored` get a score, the others are neighbours."""

    scored: Rows
    """Row of each candidate."""
    neighbours: Rows
    """Candidates × 4: previous, next, previous but one, next but one, as rows; `NOBODY` where there is none."""
    entries: int
    """How many texts are visible in all."""
    words: FieldCounts
    bigrams: FieldCounts | None
    """Given for questions in scripts without spaces."""
    conversation: Rows
    """Candidate -> row of `conversation_counts`, or `NOBODY`."""
    conversation_counts: FieldCounts
    conversations: int
    date_nearness: Floats | None
    """Candidate -> 1 inside the question's dates, less near them; `None` when it names none."""
    inside_dates: int
    cosine: Floats | None
    """Row -> similarity, NaN where there is no vector; `None` when meaning was not asked."""
    only_dates: bool
    """Whether the question asks for whatever was at a time: then meanings say nothing."""
    mean_cosine: float
    question_share: Floats
    """Candidate -> share of its text that answers nothing; 0 where the rule does not apply."""
    query_is_question: bool
    """Whether the query is a question, not words to look for."""
    row_question_share: Floats
    """Row -> share of its text that asks or answers nothing; outside conversations only where that is all of it."""
    standalone: NDArray[np.bool_]
    """Candidate -> whether it is in no conversation and has no time of its own."""
    in_conversation: NDArray[np.bool_]
    """Candidate -> whether it stands in a conversation."""
    maximal_words: NDArray[np.bool_]
    """Word of the question -> whether it is not a part of another one (电影 in 电影院)."""
    related: Floats
    """Candidates × words of the question: how far the text has another word for it, 0..1; 0 where it has the word."""
    answers: Floats | None
    """Candidate -> 1 where it has a time, a number or a place, as the question asks for, 0 for records; `None` when it
    asks for none of them."""
    states_attribute: Floats | None
    """Candidate -> 1 where it states the attribute of a person that the question asks for; `None` without one."""
    personal: float
    """From −1, a question of general knowledge, to 1, one about somebody's life; 0 where that is not known."""
    day: Rows
    """Candidate -> the day on which it happened, for records of no conversation; `NOBODY` for the others."""
    date_alone: bool = False
    """Whether the question is nothing but a date: a text may name that date, and then meanings say something."""
    when_words: NDArray[np.bool_] | None = None
    """Word of the question -> whether it only says when: what is of that time need not have it."""

    @property
    def has_neighbours(self) -> bool:
        """Whether any candidate has neighbours."""
        return bool((self.neighbours != NOBODY).any())


class Scores(NamedTuple):
    """One value for each candidate, in the order of `Candidates.scored`."""

    total: Floats
    """By which they are put in order."""
    relevance: Floats
    """0..1: the probability that the candidate answers the question, by itself."""
    parts: dict[str, Floats]
    """What each rule added to `total`."""
    lexical: Floats
    information: Floats
    """0..1: the share of the question's information that the candidate has, with what its neighbours lend it."""
    similarity: Floats | None
    """The cosine, NaN where there is no vector; `None` when meaning was not asked."""
    above_mean: Floats | None
    """The cosine above the mean of the visible texts, 0 where there is no vector."""
    related: Floats
    """0..1: the share of the question's words for which the candidate has another word, weighted by specificity."""


def score(candidates: Candidates, weights: ScoringWeights, *, keyword: bool = True) -> Scores:
    """Score the candidates. Nothing but the arguments matters, so every engine gives the same order."""
    nothing = np.zeros(len(candidates.scored))
    mixed = keyword and are_mixed(candidates)
    if mixed and candidates.cosine is not None:
        candidates = with_dated_facts(candidates, weights)
    near = _neighbour_weights(candidates, weights)
    lexical_parts, information, confidence = _lexical(candidates, weights, near)
    lexical = _sum(lexical_parts)
    related = _related(candidates)
    by_time = keyword and candidates.only_dates and not candidates.date_alone
    smoothed = None if by_time else _smoothed(candidates, None if near is None else weights.near_dense * near)
    # Only the parts that this question has: each is several calls of numpy, which few candidates do not repay.
    parts: dict[str, Floats] = {}
    if keyword:
        best = best_answer(lexical, candidates)
        if best > 0:
            factor = confidence / np.maximum(best, lexical)
            parts = {name: part * factor for name, part in lexical_parts.items()}
        if smoothed is not None:
            if (information >= 1.0).any():
                weights = replace(
                    weights,
                    standalone_dense=weights.standalone_dense_named,
                    standalone_related=weights.standalone_related_named,
                )
            parts = _with_meaning(parts, candidates, weights, smoothed, related)
    elif smoothed is not None:
        # Beside words a similarity counts by how much it stands out; alone it counts as it is.
        parts["dense"] = smoothed
    own_score = _sum(parts) if parts else nothing
    questions = _asked_before(candidates, information, weights)
    if questions.any():
        # A negative score would rise by a share that is taken from it.
        parts["question"] = 0.0 - questions * np.maximum(own_score, 0.0)
        own_score = own_score + parts["question"]
    total = own_score
    if keyword:
        parts |= _beside_its_fit(parts, candidates, own_score, weights, mixed=mixed)
        for name in _BESIDE:
            total = total + parts[name] if name in parts else total
    similarity, above_mean = _similarity(candidates)
    related = nothing if related is None else related
    sought = looked_up(candidates) if keyword and not by_time else None
    evidence = Evidence(information, None if by_time else above_mean, related, sought)
    if mixed and above_mean is not None:
        factors = in_one_order(total, evidence, candidates)
        parts, total = {name: part * factors for name, part in parts.items()}, total * factors
    order = total
    if keyword and smoothed is not None and not candidates.query_is_question:
        has_words = sum(lexical_parts[name] for name in ("words", "bigrams") if name in lexical_parts) > 0
        found_by_words = weights.looked_up * information**weights.looked_up_power * has_words * (1.0 - questions)
        parts["words"] = parts.get("words", nothing) + found_by_words
        order = total + found_by_words
    found = relevance(total, evidence, questions, candidates)
    named = {name: parts.get(name, nothing) for name in PARTS}
    return Scores(order, found, named, lexical if keyword else nothing, information, similarity, above_mean, related)


def _asked_before(candidates: Candidates, information: Floats, weights: ScoringWeights) -> Floats:
    """Which share of its score each loses, because it asks itself."""
    if not candidates.question_share.any():
        return candidates.question_share
    same = candidates.query_is_question & (information >= _SAME_QUESTION)
    return np.where(same, _ASKED_BEFORE, weights.question) * candidates.question_share


def _similarity(candidates: Candidates) -> tuple[Floats | None, Floats | None]:
    """The cosine of each candidate, and how far it is above the mean."""
    if candidates.cosine is None:
        return None, None
    similarity = candidates.cosine[candidates.scored]
    return similarity, np.where(np.isfinite(similarity), similarity - candidates.mean_cosine, 0.0)


def _beside_its_fit(
    parts: Mapping[str, Floats], candidates: Candidates, own_score: Floats, weights: ScoringWeights, *, mixed: bool
) -> dict[str, Floats]:
    """What a candidate gets for what it holds and when it was, beside how well it fits."""
    found: dict[str, Floats] = {}
    # What fits neither by words nor by meaning is no answer, whatever stands in it and whenever it was.
    fits = own_score > 0
    if candidates.answers is not None:
        # Only where the text itself fits: a number or place in a mere neighbour of the answer is none.
        own = sum(parts[name] for name in _OWN if name in parts) > 0
        found["answer_kind"] = weights.answer_kind * candidates.answers * (fits & own)
        own_score = own_score + found["answer_kind"]
    if (states := candidates.states_attribute) is not None:
        found["attribute"] = np.where(candidates.standalone, weights.standalone_attribute, weights.attribute) * states
        own_score = own_score + found["attribute"]
    around = same_period(candidates, own_score, weights, mixed=mixed)
    if around is not None:
        found["same_period"] = weights.same_period * around * fits
    return found


def _with_meaning(
    words: dict[str, Floats], candidates: Candidates, weights: ScoringWeights, smoothed: Floats, related: Floats | None
) -> dict[str, Floats]:
    """What the words say together with the meaning. Other words say what similarities say."""
    standalone, standalone_dense = candidates.standalone, weights.standalone_dense
    dense_weight = np.where(standalone, standalone_dense, weights.dense)
    dense = dense_weight * _standing_out(candidates, smoothed, weights.spread)
    if candidates.date_alone and (inside := of_that_time(candidates)) is not None:
        # What is of that time answers by its time; a text that names the date may be similar.
        dense = np.where(inside, 0.0, dense)
    parts = words | {"dense": dense}
    if related is not None:
        related_weight = np.where(standalone, weights.standalone_related, weights.related)
        by_words = sum(words[name] for name in ("words", "bigrams") if name in words)
        of_itself = np.maximum(0.0, related_weight * _instead_of_itself(candidates) - by_words)
        parts["related"] = related_weight * related + of_itself
    if standalone.all() or not standalone.any():
        return parts
    # A standalone text that fits in full gets as much as any other text that fits in full.
    level = np.where(standalone, (1.0 + weights.dense) / (1.0 + standalone_dense), 1.0)
    return {name: part * level for name, part in parts.items()}


def rounded(values: Floats) -> list[float]:
    """As they are compared and shown."""
    found: list[float] = np.round(values, DECIMALS).tolist()
    return found


def _norms(lengths: Floats, mean_length: float, weights: ScoringWeights) -> Floats:
    """As a column beside the terms of each text."""
    return length_norm(lengths, mean_length, k1=weights.k1, b=weights.b, floor=weights.length_floor)[:, None]


class _Bm25(NamedTuple):
    """BM25 of one field."""

    own: Floats
    """By the text alone."""
    near: Floats
    """With its neighbours."""
    by_specificity: Floats
    """With its neighbours, each term weighted by its specificity."""


def _sum(parts: Mapping[str, Floats]) -> Floats:
    return reduce(np.add, parts.values())


def _lexical(
    candidates: Candidates, weights: ScoringWeights, near: Floats | None
) -> tuple[dict[str, Floats], Floats, Floats]:
    """What the words say, by part; the share of the question's information; and how far words are to be trusted."""
    words = _bm25(candidates, candidates.words, weights, near)
    pairs, share, parts = None, 1.0, {"words": words.own}
    if candidates.bigrams is not None:
        pairs, share = _bm25(candidates, candidates.bigrams, weights, near), 1.0 / (1.0 + weights.bigrams)
        parts = {"words": words.own * share, "bigrams": pairs.own * weights.bigrams * share}
    if near is not None:
        lent = words.near - words.own
        parts["neighbours"] = (lent if pairs is None else lent + weights.bigrams * (pairs.near - pairs.own)) * share
    if len(candidates.conversation_counts.length):
        parts["conversation"] = weights.conversation * _conversation(candidates, weights)
    if candidates.date_nearness is not None:
        parts["date"] = weights.date * _date(candidates, candidates.date_nearness)
    return parts, *_information(candidates, words, pairs, parts.get("date"), weights)


def _neighbour_weights(candidates: Candidates, weights: ScoringWeights) -> Floats | None:
    """Candidates × 4; `None` where nobody has neighbours."""
    if not candidates.has_neighbours:
        return None
    found = np.where(
        candidates.in_conversation[:, None], np.asarray(weights.spoken_neighbours), np.asarray(weights.timed_neighbours)
    )
    # What follows a bare question may be its answer, unless it answers nothing itself.
    row_question_share = np.append(candidates.row_question_share, 0.0)
    itself = np.minimum(1.0, 2.0 * row_question_share[candidates.scored])
    answers = weights.answer * row_question_share[candidates.neighbours[:, 0]] * (1.0 - itself)
    found[:, 0] += np.where(candidates.in_conversation, answers, 0.0)
    return found


def _bm25(candidates: Candidates, field: FieldCounts, weights: ScoringWeights, near: Floats | None) -> _Bm25:
    tf = field.tf[candidates.scored]
    norms = _norms(field.length[candidates.scored], field.mean_length, weights)
    rarity = idf(candidates.entries, field.df)
    values = saturated(tf, norms, k1=weights.k1)
    own = values @ rarity
    if near is None:
        return _Bm25(own, own, values @ (rarity * field.specificity))
    # One row of zeros at the end stands for nobody.
    padded = np.vstack((field.tf, np.zeros((1, field.tf.shape[1]))))
    for place in range(near.shape[1]):
        tf += near[:, place, None] * padded[candidates.neighbours[:, place]]
    values = saturated(tf, norms, k1=weights.k1)
    return _Bm25(own, values @ rarity, values @ (rarity * field.specificity))


def _information(
    candidates: Candidates, words: _Bm25, pairs: _Bm25 | None, date: Floats | None, weights: ScoringWeights
) -> tuple[Floats, Floats]:
    """Which share of the question's information each candidate has, and how far words are to be trusted at all.

    The whole is the BM25 of a text of usual length that has every word of the question once. Pairs of characters speak
    where the words were cut otherwise.
    """
    whole = _whole(candidates.entries, candidates.words, candidates.maximal_words)
    share = np.minimum(1.0, words.by_specificity / whole) if whole > 0 else np.zeros_like(words.own)
    if candidates.bigrams is not None and pairs is not None:
        of_pairs = _whole(candidates.entries, candidates.bigrams, 1.0)
        if of_pairs > 0:
            share = np.maximum(share, np.minimum(1.0, pairs.by_specificity / of_pairs))
            whole = whole or of_pairs
    information = share
    if candidates.date_nearness is not None:
        dated = float(idf(candidates.entries, np.asarray(float(candidates.inside_dates))))
        telling = candidates.maximal_words if candidates.when_words is None else ~candidates.when_words
        asked = _whole(candidates.entries, candidates.words, candidates.maximal_words & telling)
        information = information_with_date(candidates, share, whole, asked, dated)
    if whole <= 0:
        return information, np.ones_like(share)
    best = float(share.max(initial=0.0))
    if date is not None:
        best += float(date.max(initial=0.0)) / whole
    together = min(1.0, best / weights.information)
    if candidates.cosine is None and are_mixed(candidates):
        return information, np.full_like(share, together)
    by_itself = min(1.0, best / weights.standalone_information) ** weights.standalone_power
    return information, np.where(candidates.standalone, by_itself, together)


def _whole(entries: int, field: FieldCounts, counted: NDArray[np.bool_] | float) -> float:
    return float((idf(entries, field.df) * field.specificity * counted).sum())


def _related(candidates: Candidates) -> Floats | None:
    specificity = candidates.words.specificity
    if candidates.cosine is None or not candidates.related.any():
        return None
    return candidates.related @ specificity / float(specificity.sum())


def _instead_of_itself(candidates: Candidates) -> Floats:
    """What each would get for its words of the question, if they were the best of the other words for them.

    No other word says more than the word itself; of an everyday word, which may be there by chance, it is not so sure.
    """
    field = candidates.words
    said = (field.tf[candidates.scored] > 0) * candidates.related.max(axis=0)
    found: Floats = said @ field.specificity**2 / float(field.specificity.sum())
    return found


def _conversation(candidates: Candidates, weights: ScoringWeights) -> Floats:
    field = candidates.conversation_counts
    norms = _norms(field.length, field.mean_length, weights)
    values = saturated(field.tf, norms, k1=weights.k1) @ idf(candidates.conversations, field.df)
    return np.where(candidates.conversation >= 0, values[candidates.conversation], 0.0)


def _date(candidates: Candidates, nearness: Floats) -> Floats:
    return nearness * idf(candidates.entries, np.asarray(float(candidates.inside_dates)))


def _smoothed(candidates: Candidates, near: Floats | None) -> Floats | None:
    """Similarities, shared with the neighbours; a text without a vector is as similar as usual."""
    if candidates.cosine is None:
        return None
    known = np.isfinite(candidates.cosine)
    if near is None:
        own = candidates.cosine[candidates.scored]
        return own if known.all() else np.where(known[candidates.scored], own, candidates.mean_cosine)
    cosine = np.append(np.where(known, candidates.cosine, 0.0), 0.0)
    present = np.append(known, False).astype(np.float64)
    total = cosine[candidates.scored].copy()
    weight_sum = np.ones(len(candidates.scored))
    for place in range(near.shape[1]):
        row, weight = candidates.neighbours[:, place], near[:, place]
        total += weight * cosine[row]
        weight_sum += weight * present[row]
    has_own = present[candidates.scored] > 0
    return np.where(has_own, total / weight_sum, candidates.mean_cosine)


def _standing_out(candidates: Candidates, smoothed: Floats, minimum: float) -> Floats:
    """How far each is above the usual similarity, as a share of how far the best is, which is at least `minimum`."""
    above = smoothed - candidates.mean_cosine
    return np.clip(above / max(best_answer(above, candidates), minimum), -1.0, 1.0)
