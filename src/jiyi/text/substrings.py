"""Which of very many short texts stand in a longer one, found in one pass over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SubstringSet"]

_FEW: Final = 128
"""So many are looked for one by one; more of them are worth an automaton."""
_MAX_MATCHES: Final = 200_000
"""Beyond this the text repeats itself, and looking for each one separately is quicker."""


class SubstringSet:
    """A growing set of texts. Safe to ask from several threads while one adds.

    It is kept in Aho-Corasick automata whose sizes at least double from one to the next, with the latest few texts
    beside them: adding one never builds everything anew, and a text is built into an automaton a dozen times at most.
    """

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._segments: tuple[_Segment, ...] = ()
        self._recent: tuple[str, ...] = ()
        self.add(words)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, words: Iterable[str]) -> None:
        """Add texts; the empty one and those that are there already are ignored."""
        new = [word for word in dict.fromkeys(words) if word and word not in self._known]
        self._known.update(new)
        recent = (*self._recent, *new)
        segments = self._segments
        if len(recent) > _FEW:
            gathered = list(recent)
            while segments and len(segments[-1].words) < 2 * len(gathered):
                gathered = [*segments[-1].words, *gathered]
                segments = segments[:-1]
            # In this order a reader in another thread may see a text twice, and none of them never.
            self._segments = (*segments, _Segment(gathered))
            recent = ()
        self._recent = recent

    def found_in(self, text: str) -> set[str]:
        """Those that stand in the text."""
        # The few first: what has just left them is in a segment by now.
        found = {word for word in self._recent if word in text}
        for segment in self._segments:
            segment.look(text, found)
        return found


class _Segment:
    """Some of the texts, in an automaton of their own."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self._automaton = _automaton()
        for word in words:
            self._automaton.add_word(_bytewise(word), word)
        self._automaton.make_automaton()

    def look(self, text: str, found: set[str]) -> None:
        for matches, (_end, word) in enumerate(self._automaton.iter(_bytewise(text))):
            found.add(word)
            if matches > _MAX_MATCHES:
                found.update(each for each in self.words if each in text)
                return


def _bytewise(text: str) -> str:
    """One character for each byte of UTF-8, in which a text stands exactly where its bytes stand.

    The automaton looks through the branches of a state one by one: there are thousands of Chinese characters, and
    never more than 256 bytes.
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
