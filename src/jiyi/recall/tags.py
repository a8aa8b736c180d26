"""Recall by tags: every tag that stands in the question brings its entries."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import cache
from typing import Final

from jiyi.model import clock
from jiyi.model.entry import Explanation, IndexCoverage, MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.relevance import CONFIDENT, MIN_RELEVANCE
from jiyi.ports import RecordStore, TagPosition
from jiyi.recall.request import Answer, Request
from jiyi.recall.settings import DECIMALS, WORDS_ALONE
from jiyi.text import fold, tag_form
from jiyi.text.stopwords import CHINESE, ENGLISH
from jiyi.text.substrings import SubstringSet
from jiyi.text.tokens import stands_in_word


@dataclass(frozen=True, slots=True)
class TagHits:
    """An answer by tags."""

    hits: list[MemoryEntry]
    candidates: int
    """How many visible entries have any of the tags."""


class TagMirror:
    """Every tag of the store, in memory, ready to be looked for in a text; up to date at every call, in every process.

    It asks the store for what was added each time, which is nothing as a rule, and begins anew after tags were
    collected. A tag of which nothing is left in its folded form is never found.
    """

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._position: TagPosition | None = None
        self._state = _State()

    def refresh(self) -> int:
        """Take in what was added or collected; returns how many tags there are to look for."""
        return len(self._current().forms)

    def matches(self, text: str) -> list[int]:
        """Ids of the tags that stand in the text."""
        return self.matches_folded(fold(text))

    def matches_folded(self, folded: str) -> list[int]:
        """The same for a text that was folded already."""
        state = self._current()
        return [
            tag_id for form in state.forms.found_in(folded) if stands_in(form, folded) for tag_id in state.ids[form]
        ]

    def ids_of(self, tags: Collection[str]) -> list[int]:
        """Ids of the tags that are spelled like one of these but for case and width."""
        state = self._current()
        return [tag_id for form in {tag_form(tag) for tag in tags} for tag_id in state.ids.get(form, ())]

    def _current(self) -> _State:
        with self._lock:
            page = self._store.tags_since(self._position)
            if page.whole:
                self._state = _State()
            if page.tags:
                self._state.add(page.tags)
            self._position = page.log_position
            return self._state


def stands_in(form: str, folded: str) -> bool:
    """Whether a tag stands in a text: in a script that separates words by blanks only as a whole word.

    "ai" is not in "said", "кот" not in "который", "c" not in "c++" or "c#", and "node" not in "node.js"; "ai" is in
    "学ai" and in "ai工具", where no blank divides words.
    """
    return next(_places_of(form, folded), None) is not None


def _places_of(form: str, folded: str) -> Iterator[int]:
    """Where a tag stands in a text."""
    # Not by a regular expression: each tag would be a new one to compile.
    start = folded.find(form)
    while start >= 0:
        end = start + len(form)
        if _begins_word(folded, start) and _ends_word(folded, end):
            yield start
        start = folded.find(form, start + 1)


def _begins_word(folded: str, start: int) -> bool:
    """Whether the word before has ended where a tag begins."""
    if start == 0:
        return True
    first, before = folded[start], folded[start - 1]
    if first == ".":  # .net
        return not (_is_letter(before) and _is_letter(folded[start + 1 : start + 2]))
    if not stands_in_word(first):
        return True
    dotted = before == "." and start > 1 and _is_letter(first) and _is_letter(folded[start - 2])
    return not (stands_in_word(before) or dotted)


def _ends_word(folded: str, end: int) -> bool:
    """Whether the word has ended where a tag ends; c++, c# and node.js are one word each."""
    last, rest = folded[end - 1], folded[end : end + 2]
    if not (rest and stands_in_word(last)):
        return True
    if stands_in_word(rest[0]):
        return False
    if not _is_letter(last):
        return True
    if rest[0] == "+":  # "a+b" and "ai+医疗" are two words with a plus between them
        return rest[1:].isalnum()
    if rest[0] == "#":  # only a single letter has one: "ai#打卡" and "#维生素c#" are hashtags
        return (end > 1 and stands_in_word(folded[end - 2])) or _closes_hashtag(folded, end)
    return not (rest[0] == "." and _is_letter(rest[1:]))


def _closes_hashtag(folded: str, place: int) -> bool:
    """Whether the sign at this place ends what another one has begun: not that of "c#和f#"."""
    opening = folded.rfind("#", 0, place)
    if opening < 0 or (opening and _is_letter(folded[opening - 1])):
        return False
    return len(folded[opening:place].split()) == 1


def _is_letter(character: str) -> bool:
    return character.isalpha() and stands_in_word(character)


class _State:
    """The tags of one generation."""

    def __init__(self) -> None:
        self.forms = SubstringSet()
        self.ids: dict[str, tuple[int, ...]] = {}

    def add(self, tags: Sequence[tuple[int, str]]) -> None:
        for tag_id, name in tags:
            form = tag_form(name)
            self.ids[form] = (*self.ids.get(form, ()), tag_id)
        # After the ids: whoever finds a form needs them.
        self.forms.add(tag_form(name) for _, name in tags)


_WORDS: Final = re.compile(r"[a-z]+(?:'(?!s\b)[a-z]+)?")
_SIGNS: Final = re.compile(r"'s\b|[\W_]+")


@cache
def _chinese_stop_words() -> re.Pattern[str]:
    words = sorted(CHINESE, key=len, reverse=True)
    return re.compile(rf"(?=[{''.join({word[0] for word in words})}])(?:{'|'.join(words)})")


def _specific_characters(folded: str) -> int:
    """How many characters a text has without its stop words and signs."""
    # No loop over the places: questions have up to thousands of characters.
    english = sum(len(word) for word in _WORDS.findall(folded) if word in ENGLISH)
    return len(_SIGNS.sub("", _chinese_stop_words().sub("", folded))) - english


def _share_covered(forms: Sequence[str], folded: str, specific: int) -> float:
    """Which share of what the question says its tags are, by characters; a tag of stop words counts as well."""
    covered: set[int] = set()
    unspecific = 0
    for form in forms:
        before = len(covered)
        for start in _places_of(form, folded):
            covered.update(range(start, start + len(form)))
        unspecific += round((len(covered) - before) * (1 - _specific_characters(form) / len(form)))
    return min(len(covered) / (specific + unspecific), 1.0)


def recall_by_tags(
    store: RecordStore,
    mirror: TagMirror,
    query: str,
    filters: Filters,
    limit: int,
    *,
    each_type: bool = False,
    day_shift: int = 0,
    min_relevance: float = 0.0,
    coverage: tuple[IndexCoverage, ...] = (),
) -> TagHits:
    """Most tags first; then the newer day, the greater strength, the newer entry. Case and width do not matter.

    The relevance is that of words which cover as much of the question, and never above that of the hit before. A tag
    was given to be found by: no hit is below the usual floor.
    """
    folded = fold(query)
    tag_ids = mirror.matches_folded(folded)
    if not tag_ids:
        return TagHits([], 0)
    answer = store.tagged(tag_ids, filters, limit=limit, each_type=each_type, day_shift=day_shift)
    # Against the best of the answer, and not against all tags that matched: other scopes must not be disclosed.
    max_hits = max((hits for _, hits in answer.found), default=1)
    specific = _specific_characters(folded)
    relevance = 1.0
    found = []
    for entry, hits in answer.found:
        matched = tuple(tag for tag in entry.tags if (form := tag_form(tag)) and stands_in(form, folded))
        information = _share_covered([tag_form(tag) for tag in matched], folded, specific)
        by_words = 1.0 / (1.0 + math.exp(-WORDS_ALONE.by_words(information, 0.0)))
        relevance = min(relevance, max(MIN_RELEVANCE, round(by_words, DECIMALS)))
        if relevance < min_relevance:
            break
        parts = {"tags": hits / max_hits, "information": round(information, DECIMALS)}
        explanation = Explanation(parts, matched_terms=matched, coverage=coverage)
        found.append(entry.as_hit(relevance, explanation, confident=relevance >= CONFIDENT))
    return TagHits(found, answer.candidates)


def answer_by_tags(
    store: RecordStore,
    mirror: TagMirror,
    request: Request,
    zone: tzinfo,
    coverage: tuple[IndexCoverage, ...] = (),
) -> Answer:
    """The answer to a request, with the days of whoever asks."""
    found = recall_by_tags(
        store,
        mirror,
        request.query,
        request.filters,
        request.limit,
        day_shift=clock.minutes_ahead(request.zone or zone, request.now or clock.utc_now()),
        min_relevance=request.min_relevance,
        coverage=coverage,
    )
    return Answer(found.hits, found.candidates)
