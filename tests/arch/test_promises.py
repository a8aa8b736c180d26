"""docs/PROMISES.md names tests that exist, for every promise."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_PROMISE = re.compile(r"^## (?P<id>\S+)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_NODE = re.compile(r"^- `(?P<file>[\w./-]+\.py)::(?P<names>[\w:]+)`$", re.MULTILINE)


def promises() -> dict[str, str]:
    text = (ROOT / "docs/PROMISES.md").read_text("utf-8")
    found = [(match["id"], match["body"]) for match in _PROMISE.finditer(text)]
    assert len(found) == len(dict(found)), "an id stands twice"
    return dict(found)


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


def test_the_ids_are_numbered_without_gaps() -> None:
    assert list(promises()) == [f"P{number}" for number in range(1, len(promises()) + 1)]


@pytest.mark.parametrize("promise", promises())
def test_a_promise_says_what_and_why_and_is_kept_by_tests(promise: str) -> None:
    body = promises()[promise]
    assert body.strip().startswith("**")
    assert re.search(r"^Source: \S", body, re.MULTILINE)
    listed = _NODE.findall(body)
    assert listed, "no test keeps it"
    assert len(listed) == len(re.findall(r"^- ", body, re.MULTILINE)), "a line of the list is not a test"
    assert len(set(listed)) == len(listed)
    for file, name in listed:
        assert (ROOT / file).is_file(), f"there is no {file}"
        assert name in names_in(file), f"{file} has no {name}"


def test_every_promise_that_a_document_names_exists() -> None:
    known = set(promises())
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        named = set(re.findall(r"PROMISES\.md#(p\d+)", document.read_text("utf-8")))
        assert {name.upper() for name in named} <= known, document.name
