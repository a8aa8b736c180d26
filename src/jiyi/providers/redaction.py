"""The API key is kept out of everything that a server sends back: errors, replies and streams.

A server may quote the key, whole or cut off, and a message may be cut in the middle of it. So not only the key is
replaced, but every part of it that is long enough to be worth hiding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

__all__ = ["Redaction"]

_PART: Final = 8
_MASK: Final = "***"


class Redaction:
    """Replaces one key, and parts of it of eight characters and more, by `***`."""

    def __init__(self, key: str | None) -> None:
        forms = {key, quote(key, safe="")} if key else set()
        self._width = min(_PART, *map(len, forms)) if forms else 0
        self._parts = frozenset(
            form[start : start + self._width] for form in forms for start in range(len(form) - self._width + 1)
        )
        self._beginnings = frozenset(part[:length] for part in self._parts for length in range(1, self._width))

    def __call__(self, text: str) -> str:
        """The text without the key."""
        return "".join(self.stream(iter((text,))))

    def stream(self, pieces: Iterator[str]) -> Iterator[str]:
        """Pieces of a reply without the key, also where it is spread over several: what may become one is held."""
        if not self._parts:
            yield from pieces
            return
        held, hidden, after_mask = "", 0, False
        for piece in pieces:
            held += piece
            ends = self._hidden(held, hidden)
            ready = len(held) - self._open_end(held)
            shown, after_mask = _masked(held[:ready], ends, after_mask)
            held, hidden = held[ready:], max((end - ready for _, end in ends), default=0)
            if shown:
                yield shown
        shown, _ = _masked(held, self._hidden(held, hidden), after_mask)
        if shown:
            yield shown

    def _hidden(self, text: str, hidden: int) -> list[tuple[int, int]]:
        """The stretches that are parts of the key; the first `hidden` characters belong to one that was begun."""
        width, parts = self._width, self._parts
        found = [(0, hidden)] if hidden > 0 else []
        for start in range(len(text) - width + 1):
            if text[start : start + width] in parts:
                if found and start <= found[-1][1]:
                    found[-1] = (found[-1][0], start + width)
                else:
                    found.append((start, start + width))
        return found

    def _open_end(self, text: str) -> int:
        """How many characters at the end may be the beginning of a part."""
        for length in range(min(len(text), self._width - 1), 0, -1):
            if text[-length:] in self._beginnings:
                return length
        return 0


def _masked(text: str, hidden: list[tuple[int, int]], after_mask: bool) -> tuple[str, bool]:  # noqa: FBT001
    """The text with a mask for each stretch, and whether it ends with one; the first may go on from before."""
    shown: list[str] = []
    done = 0
    for start, end in hidden:
        if start >= len(text):
            break
        if not (start == 0 and after_mask):
            shown += [text[done:start], _MASK]
        done = min(end, len(text))
    shown.append(text[done:])
    return "".join(shown), (bool(text) and done == len(text)) or (not text and after_mask)
