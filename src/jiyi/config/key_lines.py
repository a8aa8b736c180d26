"""The lines of the keys of a YAML file, for error messages; a key that stands twice is refused."""

from __future__ import annotations

from typing import Any


class DuplicateKeyError(ValueError):
    """A key that stands twice in a mapping: YAML would silently take the last one."""

    def __init__(self, key: str, line: int, first: int) -> None:
        super().__init__(f"line {line}: {key} was set in line {first} already; keep one of the two")


def lines_of(node: Any, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
    """Line numbers of the keys of a composed YAML document."""
    found: dict[tuple[str, ...], int] = {}
    if type(node).__name__ == "MappingNode":
        for key, value in node.value:
            place = (*above, str(key.value))
            if place in found:
                raise DuplicateKeyError(".".join(place), key.start_mark.line + 1, found[place])
            found[place] = key.start_mark.line + 1
            found.update(lines_of(value, place))
    return found
