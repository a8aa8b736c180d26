"""What has changed between two texts, line by line. Values only: templates escape and draw them."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Final, NamedTuple

_MAX_LINES: Final = 2_000
_AROUND: Final = 2


class Difference(NamedTuple):
    """One line of a comparison."""

    kind: str
    """`same`, `added`, `removed`, or `gap` where lines that are equal are left out."""
    text: str


def differences(before: str, after: str) -> list[Difference]:
    """The lines that differ, with a few equal ones around them."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _MAX_LINES:
        # Comparing takes time by the square of the lines.
        return [Difference("removed", before), Difference("added", after)]
    found: list[Difference] = []
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(_AROUND):
        if found:
            found.append(Difference("gap", "…"))
        for tag, first, last, start, stop in group:
            if tag == "equal":
                found += [Difference("same", line) for line in old[first:last]]
                continue
            found += [Difference("removed", line) for line in old[first:last]]
            found += [Difference("added", line) for line in new[start:stop]]
    return found
