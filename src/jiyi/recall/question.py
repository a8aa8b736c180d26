"""What a question asks: its words, its pairs of characters, its dates."""

from __future__ import annotations

from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING, Final, NamedTuple

from jiyi.model.bm25 import LENGTH_FLOOR
from jiyi.text import highlight
from jiyi.text.answer_kinds import answer_terms
from jiyi.text.attribute_forms import may_ask_for
from jiyi.text.date_prefilter import cannot_contain_date
from jiyi.text.interrogatives import without_interrogatives
from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.stopwords import ENGLISH

if TYPE_CHECKING:
    from jiyi.ports import TermStatistics
    from jiyi.text import Analyzer
    from jiyi.text.dates import DateSpan

_ALSO_WORDS = frozenset({"holiday", "season"})
SOFT_EDGE_DAYS = 10
"""Spans of at most this many days have soft edges: people misremember a date by a day, not a month by a day."""
_MIN_TEXTS: Final = 20
"""Among fewer texts, the share that has a word says nothing about the word."""


class Period(NamedTuple):
    """One concrete time a question names."""

    start: datetime
    end: datetime
    soft: bool


class Question(NamedTuple):
    """A question, taken apart."""

    text: str
    words: tuple[str, ...]
    bigrams: tuple[str, ...]
    """Empty for a question in a script with spaces: its words say it all."""
    dates: tuple[DateSpan, ...]
    answer_terms: tuple[str, ...] = ()
    """An answer has one of these; empty where the kind of answer is not known."""
    attributes: tuple[str, ...] = ()
    """The attributes of a person that it asks for, as terms."""
    only_dates: bool = False
    """Whether it asks for whatever was at a time; its words are those of the dates."""
    date_alone: bool = False
    """Whether it is nothing but a date, which may also stand in a text: "14 May"."""
    only_events: bool = False
    """Whether it asks what happened at a time, and not what was said or stored then."""
    when_words: frozenset[str] = frozenset()
    """Those of the words that only say when, or that something was said: what is of that time need not have them."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the texts that are compared with it."""
        return ("words", "bigrams") if self.bigrams else ("words",)

    def periods(self, first: datetime, last: datetime, zone: tzinfo) -> list[Period]:
        """The times it names between two moments; a missing year stands for every year."""
        return [
            Period(start, end, span.length_days <= SOFT_EDGE_DAYS)
            # Evidence for "last night" is often written down next morning: a part of a day asks for the day.
            for span in (named.whole_days() for named in self.dates)
            for start, end in span.intervals(first, last, zone)
        ]


def read_question(text: str, analyzer: Analyzer, *, now: datetime, zone: tzinfo) -> Question:
    """Take a question apart.

    Dates in numbers leave the words: they are compared with times, not with texts. "Last year" and 春节 are dates that
    people also write down, so they stay.
    """
    dates: list[DateSpan] = []
    rest, when_words = text, frozenset[str]()
    if not cannot_contain_date(text):
        from jiyi.text.dated_requests import SAYING, asks_for_anything, asks_what_was_said, is_date_alone
        from jiyi.text.dates import find_dates, without_dates

        dates = find_dates(text, now=now, tz=zone)
        numbers = [date for date in dates if not (date.relative or date.kind in _ALSO_WORDS)]
        rest = without_dates(text, numbers) if numbers else text
        ahead = _all_ahead(dates, now.astimezone(zone).date())
        if dates and not ahead and asks_for_anything(asked := without_dates(text, dates)):
            # "What did I do last week": texts of that time, and texts with the words "last week". A date alone may
            # stand in a text too.
            alone = is_date_alone(asked)
            sought = dates if alone else [span for span in dates if span not in numbers]
            named = analyzer.query(" ".join(span.text for span in sought))
            words = () if alone and ENGLISH.issuperset(named.words) else named.words
            pairs = named.bigrams if named.has_han else ()
            events = not asks_what_was_said(text)
            return Question(text, words, pairs, tuple(dates), only_dates=True, date_alone=alone, only_events=events)
        if dates and not ahead:
            when_words = SAYING.union(analyzer.query(" ".join(span.text for span in dates)).words)
    analysis = analyzer.query(rest)
    if dates and analysis.words and analyzer.analyze(rest).length == 0:
        # Nothing but words like "I", which are not to be looked for.
        return Question(text, (), (), tuple(dates), only_dates=True)
    if not analysis.words and not analysis.bigrams:
        # Nothing but a date: then it is asked for as words too, because it may stand in a text.
        analysis = analyzer.query(text)
    words = analysis.words
    bigrams = analysis.bigrams if analysis.has_han or not analysis.words else ()
    if analysis.has_han:
        stated, pairs = without_interrogatives(text, words, bigrams)
        # A question of interrogatives alone keeps them: nothing else could be looked for.
        words, bigrams = (stated, pairs) if stated or pairs else (words, bigrams)
    attributes: tuple[str, ...] = ()
    if not dates and (cued := may_ask_for(fold(text))):
        from jiyi.text.stated_attributes import asked_attributes

        attributes = asked_attributes(text, cued)
    when_words = when_words.intersection(words)
    return Question(text, words, bigrams, tuple(dates), answer_terms(text), attributes, when_words=when_words)


def _all_ahead(dates: list[DateSpan], today: date) -> bool:
    """Whether only days to come are named: what is planned for them was said before, in words."""
    return all(span.start is not None and span.start > today for span in dates)


def without_shouting(question: str) -> str:
    """A question that is written in capitals throughout, in small letters.

    Embedders have other pieces for "DENTIST" than for "dentist", and their vectors differ. One word may be a name.
    """
    shouted = question.isupper() and " " in question.strip() and not has_han(question)
    return question.lower() if shouted else question


def text_to_embed(question: Question, statistics: TermStatistics, analyzer: Analyzer, common_share: float) -> str:
    """The question without the words that this share of the visible texts has, such as the names of the speakers.

    A name draws the vector of a short question towards every text with that name. Its words are compared with the words
    of the texts anyway. The share is that of texts of `LENGTH_FLOOR` words: long texts have more words, and not because
    these are common.
    """
    if statistics.entries < _MIN_TEXTS:
        return question.text
    pieces = max(1.0, statistics.mean_length / LENGTH_FLOOR)
    min_df = (1 - (1 - common_share) ** pieces) * statistics.entries
    common = [word for word, df in zip(question.words, statistics.word_df, strict=True) if df >= min_df]
    if not common:
        return question.text
    left, end = [], 0
    for start, stop in highlight(question.text, common, analyzer):
        left.append(question.text[end:start])
        end = stop
        if question.text[end : end + 2].lower() in {"'s", "’s"}:
            end += 2
    rest = " ".join("".join([*left, question.text[end:]]).split())
    return rest if analyzer.analyze(rest).length else question.text
