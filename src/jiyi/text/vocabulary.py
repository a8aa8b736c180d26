"""Vocabulary: an analyzer whose user words can change while it is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jiyi.model.searched_text import CONTENT_ONLY, SearchedText
from jiyi.text.analysis import Analysis, Analyzer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jiyi.text.tokens import TermSpan

__all__ = ["Vocabulary"]


class Vocabulary(Analyzer):
    """Reads the user words again on `refresh`. A change gives another `identity`, and indexes are rebuilt.

    The same goes for the fields of metadata that are searched.
    """

    def __init__(self, words: Callable[[], Iterable[str]], searched: SearchedText = CONTENT_ONLY) -> None:
        """`words` returns the current user words."""
        self._words = words
        self._current = Analyzer(words())
        self.searched = searched

    @property
    def identity(self) -> str:
        """The id of the rules, the current words and the searched fields."""
        return self._current.identity + self.searched.identity

    def refresh(self) -> bool:
        """Read the current words and the searched fields; returns whether they have changed."""
        other_fields = self.searched.refresh()
        fresh = Analyzer(self._words())
        if fresh.identity == self._current.identity:
            return other_fields
        self._current = fresh
        return True

    def analyze(self, text: str) -> Analysis:
        """The terms of a document."""
        return self._current.analyze(text)

    def query(self, text: str) -> Analysis:
        """The terms of a query."""
        return self._current.query(text)

    def locate(self, folded: str) -> Iterator[TermSpan]:
        """Every term of a folded text with its position."""
        return self._current.locate(folded)
