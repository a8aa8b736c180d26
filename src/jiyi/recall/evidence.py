"""From the evidence for a candidate to the probability that it answers: what can be compared between questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from jiyi.recall.dated import of_that_time
from jiyi.recall.settings import DATED, WITH_MEANING, WORDS_ALONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jiyi.recall.scorer import Candidates, Floats

BARE: Final = 0.99
"""From this share on a text is nothing but a question."""
_MAX_SOUGHT: Final = 3
"""So many texts may have all words of a query before each is less likely to be the one that is looked for."""


class Evidence(NamedTuple):
    """What says of each candidate how well it answers, whatever it stands beside."""

    information: Floats
    """The share of the question's information that it has."""
    above_mean: Floats | None
    """The cosine above the mean, 0 where there is no vector; `None` where meaning was not asked."""
    related: Floats
    """The share of the question's words for which it has another word."""
    looked_up: Floats | None
    """How likely it is by words alone, as a logit, where it has all of a query that is no question."""


def best_answer(values: Floats, candidates: Candidates) -> float:
    """The value that the others are measured by: a bare question that was asked before is no answer."""
    stating = values[candidates.row_question_share[candidates.scored] < BARE]
    best = float(stating.max(initial=0.0))
    return best if best > 1e-9 else float(values.max(initial=0.0))


def looked_up(candidates: Candidates) -> Floats | None:
    """How likely each is by words alone, as a logit, where it has all words of a query; `None` where none has.

    Who types a name or a number wants the few texts that have it. The vector of such a word says little.
    """
    if candidates.query_is_question:
        return None
    words, pairs = candidates.words, candidates.bigrams
    has: NDArray[np.bool_] = np.zeros(len(candidates.scored), dtype=np.bool_)
    specificity = 0.0
    if candidates.maximal_words.any():
        has = np.all(words.tf[candidates.scored][:, candidates.maximal_words] > 0, axis=1)
        specificity = float(words.specificity[candidates.maximal_words].max())
    if pairs is not None and len(pairs.df):
        has = np.logical_or(has, (pairs.tf[candidates.scored] > 0).all(axis=1))
        specificity = max(specificity, float(pairs.specificity.max()))
    count = int(has.sum())
    if not count:
        return None
    logit = WORDS_ALONE.by_words(specificity, 0.0) - np.log(max(1.0, count / _MAX_SOUGHT))
    return np.where(has, logit, -np.inf)


def relevance(total: Floats, evidence: Evidence, questions: Floats, candidates: Candidates) -> Floats:
    """The probability that each answers, by itself; `questions`: how far each was asked before."""
    information, above_mean = evidence.information, evidence.above_mean
    best = best_answer(total, candidates)
    behind = np.clip(total / best - 1.0, -1.0, 0.0) if best > 1e-9 else np.zeros_like(total)
    known = WORDS_ALONE if above_mean is None else WITH_MEANING
    logit: Floats = known.by_words(information, behind)
    if above_mean is not None:
        logit += known.similarity * above_mean + known.best_similarity * best_answer(above_mean, candidates)
        logit += known.related * evidence.related
        # The kind of the question matters only as far as words of the question are missing.
        logit += known.personal * candidates.personal * (1.0 - information)
    if (states := candidates.states_attribute) is not None:
        # Of many texts that state it, each is less likely to be the one that was meant.
        logit += known.attribute * states / np.sqrt(max(1.0, float(states.sum())))
    if evidence.looked_up is not None:
        logit = np.maximum(logit, evidence.looked_up)
    # By words alone: an earlier question that is looked for, as its vector is unlike an answer's; what has no vector.
    bare = candidates.row_question_share[candidates.scored] >= BARE
    sought = candidates.query_is_question & bare & (questions <= 0)
    sought = sought if candidates.cosine is None else sought | np.isnan(candidates.cosine[candidates.scored])
    logit = np.where(sought, np.maximum(logit, WORDS_ALONE.by_words(information, behind)), logit)
    if above_mean is not None and (inside := of_that_time(candidates)) is not None:
        # "Who came on Friday": that it was on that day is evidence, however unlike the words are.
        dated = inside & ~bare
        if candidates.date_alone:
            # Of several events of that time none is the better answer.
            behind = np.where(dated, 0.0, behind)
        logit = np.where(dated, np.maximum(logit, DATED.by_words(information, behind)), logit)
    found = 1.0 / (1.0 + np.exp(-logit))
    found *= 1.0 - questions if candidates.query_is_question else 1.0
    return found


def absolute(evidence: Evidence, above_mean: Floats) -> Floats:
    """The part of the logit that differs between candidates and does not depend on the other ones."""
    known = WITH_MEANING
    found: Floats = known.information * evidence.information**known.power + known.similarity * above_mean
    found += known.related * evidence.related
    return found if evidence.looked_up is None else np.maximum(found, evidence.looked_up - known.constant)
