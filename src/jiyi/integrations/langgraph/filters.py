"""Filters of a LangGraph store: what the memory answers itself with `where`, and the rest, which is compared here.

The meaning is that of `where`: numbers are compared with numbers and texts with texts, `True` is not `1`, and a field
that is missing is not null. `$ne` also holds where there is no such field.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from jiyi.errors import InvalidInputError
from jiyi.model.storable import is_storable
from jiyi.model.where import equal, is_number

OPERATORS: Final = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_MISSING: Final = object()
_MAX_PATH: Final = 6
"""Metadata have 8 levels, and the value of an item is at the third."""


def conditions(filter: Mapping[str, Any] | None) -> list[tuple[tuple[str, ...], str, Any]]:  # noqa: A002 - LangGraph's name
    """A filter as (path, operator, operand); raises for an operator that does not exist."""
    if filter is None:
        return []
    if not isinstance(filter, Mapping):
        raise InvalidInputError(f"filter must be a mapping, not {type(filter).__name__}: {ascii(filter)[:80]}")
    return list(_flattened((), filter))


def _flattened(path: tuple[str, ...], filters: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    for name, wanted in filters.items():
        if not isinstance(name, str):
            raise InvalidInputError(f"filter has the field {ascii(name)[:80]}, and names of fields are texts")
        here = (*path, name)
        if not isinstance(wanted, Mapping):
            yield here, "$eq", wanted
        elif any(str(key).startswith("$") for key in wanted):
            for key, operand in wanted.items():
                if key not in OPERATORS:
                    raise InvalidInputError(
                        f"Unsupported operator: {ascii(key)[:80]} in the filter of {ascii('.'.join(here))[:80]}; "
                        f"use some of {' '.join(OPERATORS)}"
                    )
                if key in _ORDERS and not (is_number(operand) or isinstance(operand, str)):
                    raise InvalidInputError(f"filter: {key} needs a number or a text, not {ascii(operand)[:80]}")
                yield here, key, operand
        elif wanted:
            yield from _flattened(here, wanted)
        else:
            yield here, "$object", None


def where_of(
    wanted: list[tuple[tuple[str, ...], str, Any]], root: str
) -> tuple[dict[str, Any], list[tuple[tuple[str, ...], str, Any]]]:
    """The conditions that `where` can express, below the path `root`, and those that it cannot."""
    where: dict[str, dict[str, Any]] = {}
    rest = []
    for condition in wanted:
        path, named, operand = condition
        plain = len(path) <= _MAX_PATH and not any(
            "." in name or not name or any(each in '"\\' or each < " " for each in name) for name in path
        )
        if not plain or named == "$object" or _has_object(operand) or _is_beyond(operand):
            rest.append(condition)
            continue
        of_path = where.setdefault(".".join((root, *path)), {})
        if named in of_path:
            rest.append(condition)
        else:
            of_path[named] = operand
    return dict(where), rest


def _has_object(operand: Any) -> bool:
    if isinstance(operand, list | tuple):
        return any(map(_has_object, operand))
    return isinstance(operand, Mapping)


def _is_beyond(operand: Any) -> bool:
    """Whether a number or text is one that metadata cannot have: it is compared with, but never stored."""
    if isinstance(operand, list | tuple):
        return any(map(_is_beyond, operand))
    if isinstance(operand, str):
        return not is_storable(operand)
    if isinstance(operand, float):
        return not math.isfinite(operand)
    return is_number(operand) and not -(2**63) <= operand < 2**63


def matches(value: Mapping[str, Any], wanted: list[tuple[tuple[str, ...], str, Any]]) -> bool:
    """Whether the value of an item meets all conditions."""
    return all(_holds(_find(value, path), named, operand) for path, named, operand in wanted)


def _find(value: Any, path: tuple[str, ...]) -> Any:
    """The value at a path. A name with periods is that name, or where there is none a path by itself."""
    for name in path:
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif "." in name:
            value = _find(value, tuple(name.split(".")))
        else:
            return _MISSING
    return value


def _holds(found: Any, named: str, operand: Any) -> bool:
    match named:
        case "$object":
            return isinstance(found, Mapping)
        case "$eq" | "$ne":
            return (found is not _MISSING and _same(found, _listed(operand))) == (named == "$eq")
        case _:
            numbers = is_number(found) and is_number(operand)
            texts = isinstance(found, str) and isinstance(operand, str)
            return (numbers or texts) and _ORDERS[named](found, operand)


def _same(found: Any, operand: Any) -> bool:
    try:
        return equal(found, operand)
    except OverflowError:
        # A whole number that no float can hold.
        return bool(found == operand)


def _listed(operand: Any) -> Any:
    """Tuples as the lists that JSON has."""
    if isinstance(operand, list | tuple):
        return [_listed(each) for each in operand]
    if isinstance(operand, Mapping):
        return {name: _listed(each) for name, each in operand.items()}
    return operand
