"""One order of several kinds of texts: facts that stand alone, dated ones, and messages that explain one another.

Each kind has weights of its own, so that a score says how far a text fits among its like, and nothing beside another
kind. Where several kinds are found for a question:

- A short dated text without neighbours is a fact as well: it is scored like those that stand alone.
- By words alone the words of all kinds are trusted alike.
- With meanings each kind keeps its own order, and the two are merged by what is absolute about a candidate, the
  evidence that also makes its relevance (`Calibration`): the share of the question's information, the cosine above the
  mean, other words for those of the question. A message may owe its meaning to the one beside it, so that half of its
  cosine is the best of its neighbours and its own. Less of `_BEHIND` for each score behind the best of its kind.

A question that names a date is answered by what was then, and the kinds are not merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from jiyi.recall.evidence import Evidence, absolute
from jiyi.recall.settings import DECIMALS, WITH_MEANING, ScoringWeights

if TYPE_CHECKING:
    from jiyi.recall.scorer import Candidates, Floats

_BEHIND: Final = 3.0
"""How much evidence it costs to be behind the best of one's kind by the whole score."""
_OWN_ORDER: Final = 1e-6
"""So much of its own score keeps a candidate before the next of its kind, where both have the same evidence."""


def are_mixed(candidates: Candidates) -> bool:
    """Whether texts of several kinds are found, for a question that names no date."""
    if candidates.date_nearness is not None:
        return False
    alone, dated = candidates.standalone, candidates.day >= 0
    return int(alone.any()) + int(dated.any()) + int((~alone & ~dated).any()) > 1


def with_dated_facts(candidates: Candidates, weights: ScoringWeights) -> Candidates:
    """The candidates, with dated facts among those that stand alone."""
    apart = (candidates.neighbours < 0).all(axis=1)
    short = candidates.words.length[candidates.scored] <= weights.length_floor
    return candidates._replace(standalone=candidates.standalone | ((candidates.day >= 0) & apart & short))


def in_one_order(total: Floats, evidence: Evidence, candidates: Candidates) -> Floats:
    """By which factor each score has to be taken so that the scores of all kinds are one order."""
    factors = np.ones_like(total)
    alone, fits = candidates.standalone, total > 0
    if not (alone & fits).any() or not (~alone & fits).any():
        return factors
    merged = _absolute(evidence, candidates)
    for kind in (alone & fits, ~alone & fits):
        own = total[kind]
        merged[kind] = _falling(merged[kind] + _BEHIND * (own / own.max() - 1.0), own)
    scores = np.exp((merged[fits] - merged[fits].max()) / WITH_MEANING.behind) * total.max() + _OWN_ORDER * total[fits]
    factors[fits] = scores / total[fits]
    return factors


def _absolute(evidence: Evidence, candidates: Candidates) -> Floats:
    above = np.zeros_like(evidence.information) if evidence.above_mean is None else evidence.above_mean
    if candidates.cosine is not None and candidates.has_neighbours:
        cosine = np.append(np.where(np.isfinite(candidates.cosine), candidates.cosine, -np.inf), -np.inf)
        near = cosine[candidates.neighbours].max(axis=1) - candidates.mean_cosine
        above = (above + np.maximum(above, near)) / 2
    return absolute(evidence, above)


def _falling(values: Floats, scores: Floats) -> Floats:
    """The values, none above that of a better score. Equal scores get the least of their group, in whatever order."""
    ascending = np.argsort(compared := scores.round(DECIMALS))
    ordered = compared[ascending]
    lowest = np.minimum.accumulate(values[ascending][::-1])[::-1]
    found = np.empty_like(values)
    found[ascending] = lowest[ordered.searchsorted(ordered)]
    return found
