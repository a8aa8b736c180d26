"""Every statement names its parameters: `:name`, which is translated to what a driver takes in one place."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

_STATEMENT = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|WHERE|VALUES|LIMIT|FROM|set_config)\b")
# `(?:` and the like are of a regular expression.
_OTHER_NOTATION = re.compile(r"%s|%\(\w*\)s|\$\d|[=<>,(]\s*\?(?![:=!<P])|\bLIMIT \?")


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the text of every literal, without what an f-string fills in."""
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.lineno, node.value


def test_a_statement_has_named_parameters() -> None:
    found = [
        f"{file.relative_to(SOURCE)}:{line}"
        for file in sorted(SOURCE.rglob("*.py"))
        for line, text in _texts(ast.parse(file.read_text("utf-8")))
        if _STATEMENT.search(text) and _OTHER_NOTATION.search(text)
    ]
    assert not found, "write parameters as :name (docs/ARCHITECTURE.md, One way to run SQL)"
