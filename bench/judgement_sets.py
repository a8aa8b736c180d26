"""The sets of bench.judgement: where they are, and when a text holds a labelled fact."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jiyi.text import fold

SETS = Path(__file__).parent / "sets" / "judgement"
WRITERS = ("a", "b", "c")
LANGUAGES = ("zh", "en")
SPLITS = ("dev", "held_out")


def load(what: str, split: str, writers: Sequence[str], language: str) -> list[dict[str, Any]]:
    """The items of a set: `rounds` or `sequences`; `all` splits or one."""
    found: list[dict[str, Any]] = []
    for writer in writers:
        for each in SPLITS if split == "all" else (split,):
            lines = (SETS / writer / f"{what}.{language}.{each}.jsonl").read_text("utf-8").splitlines()
            found += [json.loads(line) for line in lines if line.strip()]
    return found


def holds(must: Sequence[str | Sequence[str]], text: str) -> bool:
    """Whether a text has every part, or one of its alternatives; figures must stand alone."""
    folded = fold(text)
    return all(any(_has(part, folded) for part in ([each] if isinstance(each, str) else each)) for each in must)


def _has(part: str, folded: str) -> bool:
    wanted = fold(part)
    if wanted.isdecimal():
        return re.search(rf"(?<!\d){wanted}(?!\d)", folded) is not None
    return wanted in folded
