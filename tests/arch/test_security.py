"""SECURITY.md: every threat that is said to be defended names tests that exist; every other one says what to do."""

import re
from pathlib import Path

import pytest

from tests.arch.test_promises import names_in

ROOT = Path(__file__).parents[2]
_TEST = re.compile(r"`(?P<file>tests/[\w./]+\.py)::(?P<name>\w+)`")


def _rows(heading: str) -> list[list[str]]:
    part = (ROOT / "SECURITY.md").read_text("utf-8").partition(f"### {heading}\n")[2].partition("\n### ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


DEFENDED = _rows("Defended")


def test_the_threat_model_has_both_sides() -> None:
    assert len(DEFENDED) >= 20
    assert len(_rows("Not defended")) >= 10


@pytest.mark.parametrize("row", DEFENDED, ids=[re.sub(r"\W+", "-", row[0])[:50] for row in DEFENDED])
def test_a_threat_that_is_defended_names_tests_that_exist(row: list[str]) -> None:
    assert len(row) == 3, row
    threat, defence, tests = row
    assert threat
    assert defence
    found = list(_TEST.finditer(tests))
    assert found, "no test keeps it"
    assert _TEST.sub("", tests).replace(",", "").strip() == "", "something else than tests"
    for test in found:
        assert test["name"] in names_in(test["file"]), test[0]


def test_a_threat_that_is_not_defended_says_what_to_do_about_it() -> None:
    for row in _rows("Not defended"):
        assert len(row) == 2, row
        assert all(row), row
