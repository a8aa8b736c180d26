"""tests/promises.toml names tests that exist for every promise, and docs/PROMISES.md shows promises of it."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMISES: dict[str, dict[str, object]] = tomllib.loads((ROOT / "tests/promises.toml").read_text("utf-8"))
DOCUMENT = (ROOT / "docs/PROMISES.md").read_text("utf-8")
_NODE = re.compile(r"(?P<file>[\w./-]+\.py)::(?P<names>[\w:]+)")
_SHOWN = re.compile(r"^- \*\*(?P<id>P\d+) (?P<promise>.+?)\*\*", re.MULTILINE | re.DOTALL)


@cache
def names_in(file: str) -> frozenset[str]:
    """The tests of a file as pytest names them: functions, classes, and methods as `Class::method`."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
            found |= {f"{node.name}::{name}" for name in _tests(node.body)}
    return frozenset(found | _tests(tree.body))


def _tests(body: list[ast.stmt]) -> set[str]:
    return {part.name for part in body if isinstance(part, ast.FunctionDef) and part.name.startswith("test_")}


def one_line(text: object) -> str:
    assert isinstance(text, str)
    return " ".join(text.split())


def test_the_ids_are_numbered_without_gaps() -> None:
    assert list(PROMISES) == [f"P{number}" for number in range(1, len(PROMISES) + 1)]


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_says_what_and_why_and_is_kept_by_tests(promise: str) -> None:
    fields = PROMISES[promise]
    assert set(fields) == {"promise", "source", "tests"}
    assert one_line(fields["promise"])
    assert one_line(fields["source"])
    listed = fields["tests"]
    assert isinstance(listed, list)
    assert listed, "no test keeps it"
    assert len(set(listed)) == len(listed)
    for test in listed:
        node = _NODE.fullmatch(test)
        assert node, f"{test} is not a test"
        assert (ROOT / node["file"]).is_file(), f"there is no {node['file']}"
        assert node["names"] in names_in(node["file"]), f"{node['file']} has no {node['names']}"


def test_the_document_shows_twenty_promises_in_the_words_of_the_register() -> None:
    shown = {match["id"]: one_line(match["promise"]) for match in _SHOWN.finditer(DOCUMENT)}
    assert len(shown) == 20
    assert sorted(set(re.findall(r"\bP\d+\b", DOCUMENT))) == sorted(shown), "an id stands outside the list"
    assert [each for each in shown if not one_line(PROMISES[each]["promise"]).startswith(shown[each].rstrip("."))] == []


def test_the_document_fits_on_two_screens() -> None:
    assert len(DOCUMENT.splitlines()) <= 80


def test_every_promise_that_a_document_names_exists() -> None:
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        named = set(re.findall(r"\bP\d+\b", document.read_text("utf-8")))
        assert named <= set(PROMISES), document.name
