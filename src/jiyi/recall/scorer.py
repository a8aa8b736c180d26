"""The one scorer: a pure function from term counts, places, times and similarities to an order.

For each candidate, over the terms of the question:

    tf'      = tf + 0.3·previous + 0.2·next + 0.1·previous but one + 0.1·next but one
    BM25     = Σ idf·(k1+1)·tf' / (tf' + k1·(1 − b + b·max(length, 25)/mean))
    lexical  = BM25 of the words; for a Chinese question (words + 0.4·bigrams)/1.4
             + 0.3 · BM25 of the whole conversation + 5 · idf of the question's dates · nearness to them
    dense    = (smoothed cosine − mean) / (best − mean)
    alone    = (lexical/best + 0.4·dense) · (1 − 0.5·share of bare questions)
    total    = alone + 0.2 · (Σ (alone/best)⁸ of the same day) / (Σ (alone/best)⁸ of all)

Who said it next to what, and when, is worth more than the embedder; docs/guides/recall says what each rule is worth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jiyi.recall.settings import DECIMALS, ScoringWeights

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

NOBODY = -1


@dataclass(frozen=True, slots=True)
class FieldCounts:
    """One field (words or bigrams) of the rows."""

    tf: Floats
    """Rows × terms."""
    length: Floats
    df: Floats
    mean_length: float
    """Of the floored lengths of all visible texts."""


@dataclass(frozen=True, slots=True)
class Candidates:
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
    mean_cosine: float
    question_share: Floats
    """Candidate -> share of its text in bare questions; 0 where the rule does not apply."""
    day: Rows
    """Candidate -> the day on which it happened, for records of no conversation; `NOBODY` for the others."""

    @property
    def in_company(self) -> bool:
        """Whether any candidate has neighbours."""
        return bool((self.neighbours != NOBODY).any())


@dataclass(frozen=True, slots=True)
class Scores:
    """One value for each candidate, in the order of `Candidates.scored`."""

    total: Floats
    relevance: Floats
    """0..1; the best attainable of the parts that were asked is 1."""
    parts: dict[str, Floats]
    """What each rule added to `relevance`; their sum is `relevance` wherever that is above 0."""
    lexical: Floats
    dense: Floats


def score(candidates: Candidates, weights: ScoringWeights, *, keyword: bool = True) -> Scores:
    """Score the candidates. Nothing but the arguments matters, so every engine gives the same order."""
    own, with_neighbours = _bm25(candidates, candidates.words, weights)
    own_pairs = near_pairs = np.zeros(len(candidates.scored))
    share = 1.0
    if candidates.bigrams is not None:
        share = 1.0 / (1.0 + weights.bigrams)
        own_pairs, near_pairs = _bm25(candidates, candidates.bigrams, weights)
    lexical_parts = {
        "words": own * share,
        "bigrams": own_pairs * weights.bigrams * share,
        "neighbours": (with_neighbours - own + weights.bigrams * (near_pairs - own_pairs)) * share,
        "conversation": weights.conversation * _conversation(candidates, weights),
        "date": weights.date * _date(candidates),
    }
    if not keyword:
        lexical_parts = {name: np.zeros_like(part) for name, part in lexical_parts.items()}
    lexical = np.sum(list(lexical_parts.values()), axis=0)
    best = float(lexical.max(initial=0.0))
    smoothed = _smoothed(candidates, weights)
    # Beside words a similarity counts by how much it stands out; alone it counts as it is.
    dense = _standing_out(candidates, smoothed) if keyword else smoothed
    dense_weight = 0.0 if candidates.cosine is None else (weights.dense if keyword else 1.0)
    company_weight = weights.company if keyword and (candidates.day >= 0).any() else 0.0
    whole = (1.0 if keyword else 0.0) + dense_weight + company_weight
    shown = {name: part / best / whole if best > 0 else part for name, part in lexical_parts.items()}
    shown["dense"] = dense_weight * dense / whole if whole else dense
    before = np.sum(list(shown.values()), axis=0)
    # What is already below the usual must not gain by being a question.
    shown["question"] = 0.0 - weights.question * candidates.question_share * np.maximum(before, 0.0)
    alone = before + shown["question"]
    shown["company"] = company_weight * _company(candidates, alone, weights) / whole if whole else np.zeros_like(alone)
    total = alone + shown["company"]
    return Scores(total, np.clip(total, 0.0, 1.0), shown, lexical, dense)


def rounded(values: Floats) -> list[float]:
    """As they are compared and shown."""
    found: list[float] = np.round(values, DECIMALS).tolist()
    return found


def _idf(entries: int, df: Floats) -> Floats:
    return np.log(1.0 + (np.maximum(entries - df, 0.0) + 0.5) / (df + 0.5))


def _saturated(tf: Floats, idf: Floats, norm: Floats, k1: float) -> Floats:
    saturated: Floats = (k1 + 1.0) * (tf * idf) / (tf + (k1 * norm)[:, None])
    return np.asarray(saturated.sum(axis=1))


def _norm(length: Floats, mean: float, weights: ScoringWeights) -> Floats:
    floored = np.maximum(length, weights.length_floor)
    return 1.0 - weights.b + weights.b * floored / max(mean, 1.0)


def _bm25(candidates: Candidates, field: FieldCounts, weights: ScoringWeights) -> tuple[Floats, Floats]:
    """By the text alone, and with its neighbours."""
    tf = field.tf[candidates.scored]
    norm = _norm(field.length[candidates.scored], field.mean_length, weights)
    idf = _idf(candidates.entries, field.df)
    own = _saturated(tf, idf, norm, weights.k1)
    if not candidates.in_company:
        return own, own
    # One row of zeros at the end stands for nobody.
    padded = np.vstack((field.tf, np.zeros((1, field.tf.shape[1]))))
    for place, weight in enumerate(weights.neighbours):
        tf += weight * padded[candidates.neighbours[:, place]]
    return own, _saturated(tf, idf, norm, weights.k1)


def _conversation(candidates: Candidates, weights: ScoringWeights) -> Floats:
    field = candidates.conversation_counts
    if not len(field.length):
        return np.zeros(len(candidates.scored))
    norm = _norm(field.length, field.mean_length, weights)
    values = _saturated(field.tf, _idf(candidates.conversations, field.df), norm, weights.k1)
    return np.where(candidates.conversation >= 0, values[candidates.conversation], 0.0)


def _date(candidates: Candidates) -> Floats:
    if candidates.date_nearness is None:
        return np.zeros(len(candidates.scored))
    rarity = _idf(candidates.entries, np.asarray(float(candidates.inside_dates)))
    return candidates.date_nearness * rarity


def _smoothed(candidates: Candidates, weights: ScoringWeights) -> Floats:
    """Similarities, shared with the neighbours; a text without a vector is as similar as usual."""
    if candidates.cosine is None:
        return np.zeros(len(candidates.scored))
    known = np.isfinite(candidates.cosine)
    cosine = np.append(np.where(known, candidates.cosine, 0.0), 0.0)
    present = np.append(known, False).astype(np.float64)
    total = cosine[candidates.scored].copy()
    weight_sum = np.ones(len(candidates.scored))
    for place, weight in enumerate(weights.neighbours if candidates.in_company else ()):
        near = candidates.neighbours[:, place]
        total += weight * cosine[near]
        weight_sum += weight * present[near]
    has_own = present[candidates.scored] > 0
    return np.where(has_own, total / weight_sum, candidates.mean_cosine)


def _standing_out(candidates: Candidates, smoothed: Floats) -> Floats:
    spread = float(smoothed.max(initial=candidates.mean_cosine)) - candidates.mean_cosine
    if candidates.cosine is None or spread <= 1e-9:
        return np.zeros(len(smoothed))
    # Where hardly anything stands out, something must not be lost for being a little less alike: its words still count.
    return np.maximum((smoothed - candidates.mean_cosine) / spread, -1.0)


def _company(candidates: Candidates, alone: Floats, weights: ScoringWeights) -> Floats:
    """Several good candidates of one day: that is the day. Which share of all that is good does each one's day have?"""
    best = float(alone.max(initial=0.0))
    if best <= 0:
        return np.zeros_like(alone)
    if not (candidates.day >= 0).any():
        return np.zeros_like(alone)
    good = np.maximum(alone / best, 0.0) ** weights.company_power
    days, which = np.unique(candidates.day, return_inverse=True)
    shares = np.bincount(which, weights=good, minlength=len(days)) / good.sum()
    return np.where(candidates.day >= 0, shares[which], 0.0)
