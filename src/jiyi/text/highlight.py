"""The positions of query terms in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jiyi.text.normalize import fold_aligned

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from jiyi.text.analysis import Analyzer

__all__ = ["highlight"]


def highlight(text: str, terms: Collection[str], analyzer: Analyzer) -> list[tuple[int, int]]:
    """Returns the character ranges of `text` that match `terms` (those of `Analyzer.query`), disjoint and in order.

    A single character is highlighted where it is a word. Inside longer words it is highlighted only if it occurs
    nowhere as a word.
    """
    wanted = frozenset(terms)
    if not wanted:
        return []
    folded = fold_aligned(text)
    placed = [term for term in analyzer.locate(folded.text) if term.term in wanted]
    standing_alone = {term.term for term in placed if term.role != "character"}
    return _merged(
        folded.origin(term.start, term.end)
        for term in placed
        if term.role != "character" or term.term not in standing_alone
    )


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges in order; overlapping and adjacent ranges are merged."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
