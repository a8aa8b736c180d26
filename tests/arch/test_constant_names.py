"""A limit is named for what it is: `MAX_…` or `MIN_…`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_LIMIT = re.compile(
    r"(?:^|_)(?:MOST|LEAST|FEWEST|LONGEST|SHORTEST|LARGEST|SMALLEST|BIGGEST|ENOUGH|AT_MOST|AT_LEAST)(?:_|$)"
)
_COUNT = re.compile(r"^_?(?:FEW|MANY)(?:_|$)")

# Named before the rule.
_EXCEPTIONS = {"bench/judgement.py": {"_LONGEST_REPLY"}}


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr | None]]:
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.value
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield name.id, statement.value


def _is_limit(name: str, value: ast.expr | None) -> bool:
    number = isinstance(value, ast.Constant) and isinstance(value.value, int | float)
    return bool(_LIMIT.search(name) or (number and _COUNT.search(name)))


@pytest.mark.parametrize("folder", ["src", "scripts", "bench", "tests"])
def test_a_limit_is_named_max_or_min(folder: str) -> None:
    found = []
    for file in sorted((ROOT / folder).rglob("*.py")):
        path = file.relative_to(ROOT).as_posix()
        for name, value in _constants(ast.parse(file.read_text("utf-8"))):
            if name.isupper() and _is_limit(name, value) and name not in _EXCEPTIONS.get(path, set()):
                found.append(f"{path}: {name}")
    assert not found, "name a limit MAX_… or MIN_…"
