"""SubstringSet: finds which of very many short texts occur in a longer one, in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SubstringSet"]

_MAX_RECENT: Final = 128
"""Up to this number, recent texts are searched one by one; more are built into an automaton."""
_MAX_MATCHES: Final = 200_000
"""With more matches the text is repetitive, and searching for each text separately is faster."""


class SubstringSet:
    """A growing set of texts. Safe to query from several threads while one thread adds.

    It consists of Aho-Corasick automata, each at least twice the size of the next, and a list of the most recent texts.
    Adding therefore never rebuilds everything: a text is built into an automaton about a dozen times at most.
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._segments: tuple[_Segment, ...] = ()
        self._recent: tuple[str, ...] = ()
        self.add(words)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, words: Iterable[str]) -> None:
        """Add texts; empty and known texts are ignored."""
        new = [word for word in dict.fromkeys(words) if word and word not in self._known]
        self._known.update(new)
        recent = (*self._recent, *new)
        segments = self._segments
        if len(recent) > _MAX_RECENT:
            gathered = list(recent)
            while segments and len(segments[-1].words) < 2 * len(gathered):
                gathered = [*segments[-1].words, *gathered]
                segments = segments[:-1]
            # In this order a reader in another thread may see a text twice, but misses none.
            self._segments = (*segments, _Segment(gathered))
            recent = ()
        self._recent = recent

    def found_in(self, text: str) -> set[str]:
        """Returns the members that occur in the text."""
        # Recent texts first: a text that leaves them is in a segment already.
        found = {word for word in self._recent if word in text}
        for segment in self._segments:
            segment.search(text, found)
        return found


class _Segment:
    """Some of the texts, in one automaton."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self._automaton = _automaton()
        for word in words:
            self._automaton.add_word(_bytewise(word), word)
        self._automaton.make_automaton()

    def search(self, text: str, found: set[str]) -> None:
        for matches, (_end, word) in enumerate(self._automaton.iter(_bytewise(text))):
            found.add(word)
            if matches > _MAX_MATCHES:
                found.update(each for each in self.words if each in text)
                return


def _bytewise(text: str) -> str:
    """The UTF-8 bytes of a text, one character for each byte.

    The automaton searches the transitions of a state linearly. With bytes there are at most 256 of them, with Chinese
    characters there would be thousands.
    """
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


def _automaton() -> Any:
    try:
        import ahocorasick
    except ImportError as error:
        raise MissingDependencyError(
            "matching tags needs the package pyahocorasick, which cannot be loaded "
            f"({error}); install it: pip install pyahocorasick"
        ) from error
    return ahocorasick.Automaton()
