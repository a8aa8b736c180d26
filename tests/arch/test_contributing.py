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
_FILE = re.compile(r"[\w./-]+\.(?:py|pyi|md|html|css|js|json|toml|txt)")


def test_at_least_twenty_changes_are_placed_and_none_twice() -> None:
    changes = [row[0] for row in ROWS]
    assert len(changes) >= 20
    assert len(set(changes)) == len(changes)


def files_of(row: list[str]) -> list[str]:
    """The files that a row names in any column, each once; without a folder, a file that stands in the row with one."""
    named = [path for path in _PATH.findall(" ".join(row)) if _FILE.fullmatch(path)]
    return [path for path in dict.fromkeys(named) if not any(other.endswith(f"/{path}") for other in named)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_change_names_one_to_four_files_in_all_columns_and_they_exist(row: list[str]) -> None:
    named = files_of(row)
    assert 1 <= len([path for path in named if not path.startswith("bench/")]) <= 4
    missing = [path for path in named if not (ROOT / "src/jiyi" / path).is_file() and not (ROOT / path).is_file()]
    assert missing == []


def test_modules_of_the_package_have_at_most_450_lines() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in (ROOT / "src/jiyi").rglob("*.py")}
    assert {str(path.relative_to(ROOT)): count for path, count in lengths.items() if count > 450} == {}
