"""Vocabulary: an analyzer whose user words can change while it is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jiyi.text.analysis import Analysis, Analyzer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jiyi.text.tokens import PlacedTerm

__all__ = ["Vocabulary"]


class Vocabulary(Analyzer):
    """Asks for the user words again when told to; a change shows in `identity`, and indexes are rebuilt."""

    def __init__(self, words: Callable[[], Iterable[str]]) -> None:
        """`words` gives the user words as they are now."""
        self._words = words
        self._current = Analyzer(words())

    @property
    def identity(self) -> str:
        """The id of the rules and the words in force."""
        return self._current.identity

    def refresh(self) -> bool:
        """Take the words as they are now; whether that changed anything."""
        fresh = Analyzer(self._words())
        if fresh.identity == self._current.identity:
            return False
        self._current = fresh
        return True

    def analyze(self, text: str) -> Analysis:
        """The terms of a text that is stored."""
        return self._current.analyze(text)

    def query(self, text: str) -> Analysis:
        """The terms to look for."""
        return self._current.query(text)

    def place(self, folded: str) -> Iterator[PlacedTerm]:
        """Every term of a folded text with its place."""
        return self._current.place(folded)
