"""How recall goes about it. The defaults were measured: bench/results has the tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from jiyi.model import bm25
from jiyi.model.limits import RecallLimits

DECIMALS = 9
"""To which scores are rounded: what differs by less is a matter of the order of additions."""


@dataclass(frozen=True, slots=True)
class ScoringWeights:
    """The numbers of the formula. One set for all texts and languages."""

    k1: float = bm25.K1
    b: float = bm25.B
    length_floor: int = bm25.LENGTH_FLOOR
    spoken_neighbours: tuple[float, float, float, float] = (0.4, 0.2, 0.15, 0.1)
    """In a conversation: previous, next, previous but one, next but one."""
    timed_neighbours: tuple[float, float, float, float] = (0.3, 0.2, 0.1, 0.1)
    """The same for records in order of time."""
    answer: float = 0.7
    """How much more the previous turn counts when it is a bare question: this one may be its answer."""
    conversation: float = 0.7
    bigrams: float = 0.4
    date: float = 5.0
    dense: float = 0.6
    near_dense: float = 0.75
    """How much of their weight neighbours have in the similarity."""
    question: float = 0.8
    same_period: float = 0.7
    same_period_power: float = 8.0
    """Each candidate adds its share of the best score to this power: so those far below the best add nearly nothing."""
    same_period_days: float = 3.0
    """After so many days what a candidate adds to the days around its own has fallen to 1/e."""
    question_length: int = 25
    """A longer text is not a bare question."""
    information: float = 0.3
    """The share of the question's information that has to be matched before words count in full."""
    spread: float = 0.3
    """Similarities that differ by less than this do not tell candidates apart."""
    related: float = 0.2
    """For other words that mean the same as, or a kind of, those of the question."""
    answer_kind: float = 0.2
    """For a text with a time, a number or a place in it, where the question asks for one. Not for records: they have a
    time of their own."""
    attribute: float = 1.0
    """For a text that states the attribute of a person that the question asks for: "where do I live?"."""
    standalone_dense: float = 1.35
    standalone_dense_named: float = 0.8
    """The first where no text has every word of the question, the second where one has: it comes before what is only
    similar."""
    standalone_related: float = 1.1
    standalone_related_named: float = 0.8
    """Likewise for other words: no other word says more than the word itself."""
    looked_up: float = 1.0
    looked_up_power: float = 3.0
    """For the share of its information, to this power, that a text has of a query that is no question: who types words
    wants texts with nearly all of them. For the order alone, not for the relevance."""
    standalone_attribute: float = 0.7
    standalone_information: float = 1.0
    standalone_power: float = 5.0
    """For texts without conversation, neighbours or time: they are judged more by meaning, and words count in full only
    when they match everything; below that by this power of the share. Beside other texts the sum is brought to their
    level."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """From absolute evidence to the probability that a hit answers: a logistic curve. `bench.knowing --fit` fits it."""

    information: float
    """For the share of the question's information that the hit has, to the power of `power`."""
    similarity: float
    """For the cosine above the mean cosine of the visible texts."""
    best_similarity: float
    """For the same of the most similar candidate: whether anything here is like the question."""
    behind: float
    """For how far its score is behind the best, as a share of it."""
    constant: float
    related: float = 0.0
    """For the share of the question's words for which the hit has another word."""
    personal: float = 0.0
    """For a question about somebody's life (1) or of general knowledge (−1), as far as its words are missing."""
    attribute: float = 2.9
    """For a hit that states the attribute of a person that was asked for."""
    power: float = 1.0
    """Above 1 a few words of the question count for less than their share, as they have to beside similarities."""

    def by_words(self, information: Any, behind: Any) -> Any:
        """The logit without what meaning says."""
        return self.constant + self.information * information**self.power + self.behind * behind


WITH_MEANING: Final = Calibration(2.8, 8.7, 1.8, 7.0, -6.85, related=2.6, personal=1.3, power=2.0)
"""The fit gives 1.2 for `information`, 0.9 for `personal` and −7.6 for the constant, with which on unread sets of facts
more hits are right than their relevance says. With these, a text that has every word of the question is not below what
is shown to a person, and questions off topic are told apart by an AUC of at least 0.95 on nearly every set of facts."""
WORDS_ALONE: Final = Calibration(4.9, 0.0, 0.0, 5.7, -4.4)
"""Where meaning was not asked."""
DATED: Final = Calibration(4.9, 0.0, 0.0, 5.7, -4.4, power=2.0)
"""For what is of the time that the question names, whatever the similarities say."""
NO_WORDS: Final = 0.75
"""From this share of terms that are no words on, a question has no answer unless one of them is stored."""
NO_LIKENESS: Final = 0.5
"""Such a question has an answer all the same if a text is more similar to it than the mean, by at least this."""


@dataclass(frozen=True, slots=True)
class RecallSettings(RecallLimits):
    """What recall is opened with."""

    common_share: float = 0.2
    """A word that this share of the visible texts has does not tell them apart: it is left out of what is embedded.

    Counted for short texts; among longer ones the share is larger (`recall.question.text_to_embed`)."""
    adapts_questions: bool = True
    """Whether a question is compared with texts as its embedder wants it."""
    overlaid_changes: int = 0
    """So many changes of the visible scopes are compared beside an index that lacks them; more are taken in first.

    0 where no background indexer would take them in later.
    """
    parallel_from: int = 0
    """In scopes of so many texts or more, the text proposers run in another thread while the question is embedded and
    compared."""
    weights: ScoringWeights = field(default_factory=ScoringWeights)

    @property
    def min_candidates(self) -> int:
        """An answer with fewer candidates has left none out."""
        return min(self.word_candidates, self.bigram_candidates, self.dense_candidates)
