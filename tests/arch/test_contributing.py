"""CONTRIBUTING.md says where to make a change: every file that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
SECTION = DOCUMENT.partition("## Where do I change …")[2].partition("\n## ")[0]
ROWS = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| ")][1:]
_PATH = re.compile(r"`([^`]+)`")


def test_at_least_twenty_changes_are_placed_and_none_twice() -> None:
    changes = [row[0] for row in ROWS]
    assert len(changes) >= 20
    assert len(set(changes)) == len(changes)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_change_names_one_to_four_files_that_exist(row: list[str]) -> None:
    named = _PATH.findall(row[1])
    assert 1 <= len(named) <= 4
    missing = [path for path in named if not (ROOT / "src/jiyi" / path).is_file() and not (ROOT / path).is_file()]
    assert missing == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_files_that_the_advice_names_exist(row: list[str]) -> None:
    advice = _PATH.findall(" ".join(row[2:]))
    named = [path for path in advice if "/" in path and "*" not in path and path.endswith((".py", ".md"))]
    missing = [path for path in named if not (ROOT / "src/jiyi" / path).is_file() and not (ROOT / path).is_file()]
    assert missing == []


def test_modules_of_the_package_have_at_most_450_lines() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in (ROOT / "src/jiyi").rglob("*.py")}
    assert {str(path.relative_to(ROOT)): count for path, count in lengths.items() if count > 450} == {}
