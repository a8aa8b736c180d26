"""Filters of mem0: what the memory answers with `where`, and the rest, which is compared here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jiyi.errors import InvalidInputError
from jiyi.model.where import matches, parse_where

_OPERATORS: Final = {name: f"${name}" for name in ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte")}
_TEXT: Final = ("contains", "icontains")
_LOGIC: Final = ("AND", "OR", "NOT")


class Mem0Filter:
    """A filter of mem0: `where` is the part that the memory answers, `holds` tests the rest."""

    def __init__(self, filters: Mapping[str, Any] | None) -> None:
        self.where: dict[str, dict[str, Any]] = {}
        self.texts: list[tuple[str, str, str]] = []
        self.any_of: list[list[Mem0Filter]] = []
        self.none_of: list[Mem0Filter] = []
        if filters is not None and not isinstance(filters, Mapping):
            raise InvalidInputError(f"filters must be a dict, not {type(filters).__name__}")
        for name, wanted in (filters or {}).items():
            if name in _LOGIC:
                self._take_logic(name, wanted)
            else:
                self._take(name, wanted)

    @property
    def exact(self) -> bool:
        """Whether `where` says everything."""
        return not (self.texts or self.any_of or self.none_of)

    def holds(self, metadata: Mapping[str, Any]) -> bool:
        """Whether metadata meet the whole filter."""
        return (
            matches(parse_where(self.where), metadata)
            and all(_contains(metadata.get(name), kind, text) for name, kind, text in self.texts)
            and all(any(each.holds(metadata) for each in some) for some in self.any_of)
            and not any(each.holds(metadata) for each in self.none_of)
        )

    def _take_logic(self, name: str, wanted: Any) -> None:
        if not isinstance(wanted, list) or (not wanted and name != "AND"):
            raise InvalidInputError(f"{name} operator requires a list of conditions that is not empty")
        parts = [Mem0Filter(each) for each in wanted]
        if name == "OR":
            self.any_of.append(parts)
        elif name == "NOT":
            self.none_of += parts
        else:
            for part in parts:
                for path, conditions in part.where.items():
                    for operator, operand in conditions.items():
                        self._add(path, operator, operand)
                self.texts += part.texts
                self.any_of += part.any_of
                self.none_of += part.none_of

    def _take(self, name: str, wanted: Any) -> None:
        if not isinstance(wanted, Mapping):
            if wanted == "*":
                self._add(name, "$exists", operand=True)
            else:
                self._add(name, "$eq", wanted)
            return
        if not wanted:
            # As a condition that everything meets it would open the memories of every user.
            raise InvalidInputError(f"the condition on {name!r} is empty; give a value or an operator such as eq")
        for operator, operand in wanted.items():
            if operator in _OPERATORS:
                self._add(name, _OPERATORS[operator], operand)
            elif operator in _TEXT and isinstance(operand, str):
                self.texts.append((name, operator, operand))
            else:
                known = ", ".join((*_OPERATORS, *_TEXT))
                raise InvalidInputError(f"Unsupported metadata filter operator: {operator}; known are {known}")

    def _add(self, path: str, operator: str, operand: Any) -> None:
        conditions = self.where.setdefault(path, {})
        if operator in conditions and conditions[operator] != operand:
            # The same comparison twice: one of them is tested here.
            again = Mem0Filter(None)
            again.where[path] = {operator: operand}
            self.any_of.append([again])
        else:
            conditions[operator] = operand


def _contains(found: object, kind: str, text: str) -> bool:
    if isinstance(found, list):
        return any(_contains(each, kind, text) for each in found)
    if not isinstance(found, str):
        return False
    return text in found if kind == "contains" else text.casefold() in found.casefold()
