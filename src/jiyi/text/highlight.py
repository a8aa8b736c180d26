"""Where in a text the terms of a query stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jiyi.text.normalize import fold_aligned

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from jiyi.text.analysis import Analyzer

__all__ = ["highlight"]


def highlight(text: str, terms: Collection[str], analyzer: Analyzer) -> list[tuple[int, int]]:
    """The character ranges of `text` that match `terms` (those of `Analyzer.query`), disjoint and in order.

    A single character is marked where it is a word of its own, and inside other words only if it is nowhere one.
    """
    wanted = frozenset(terms)
    if not wanted:
        return []
    folded = fold_aligned(text)
    placed = [term for term in analyzer.place(folded.text) if term.term in wanted]
    standing_alone = {term.term for term in placed if term.role != "character"}
    return _merged(
        folded.origin(term.start, term.end)
        for term in placed
        if term.role != "character" or term.term not in standing_alone
    )


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same places as disjoint ranges; what touches becomes one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
