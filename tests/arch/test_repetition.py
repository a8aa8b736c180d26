"""No stretch of six or more lines stands in two places of `src`; signatures, imports and generated files aside."""

import ast
import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/jiyi"
LINES = 6


def counted_lines(file: Path) -> list[tuple[int, str]]:
    """The lines of a module that count, with their numbers."""
    text = file.read_text("utf-8")
    passed_over: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            passed_over.update(range(first, max(node.body[0].lineno, node.lineno + 1)))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            passed_over.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    folded = ((number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), start=1))
    return [
        (number, line)
        for number, line in folded
        if number not in passed_over and not line.startswith("#") and re.search(r"\w", line)
    ]


def test_no_six_lines_stand_in_two_places() -> None:
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        if file.parent.name == "interfaces":
            continue
        lines = counted_lines(file)
        for start in range(len(lines) - LINES + 1):
            stretch = tuple(line for _, line in lines[start : start + LINES])
            places[stretch].append(f"{file.relative_to(SOURCE)}:{lines[start][0]}")
    assert [found for found in places.values() if len(found) > 1] == []
