"""`where`: conditions on the metadata of entries, as a closed and checked form that every store understands the same.

A path names a value: `"tag.kind"` is the value of `kind` in the object `tag`. It goes through objects, not through
lists. What a comparison means:

- Values are equal if they are the same JSON: texts by their characters, lists element by element. Numbers are compared
  as numbers of double precision, so 1 equals 1.0. A truth value is not a number, and null equals only null.
- `$eq`, `$in`, and the comparisons by size need a value: none of them holds where there is none. `$ne` and `$nin` are
  the opposite of `$eq` and `$in`, so they hold there. A value that is null exists.
- `$gt`, `$gte`, `$lt`, `$lte` compare a number with a number and a text with a text (by code points). They do not hold
  for anything else.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from jiyi.errors import InvalidInputError
from jiyi.model.metadata import MAX_LEVELS, check_json, check_name

Operator: TypeAlias = Literal["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists"]
OPERATORS: Final[tuple[Operator, ...]] = get_args(Operator)
MAX_COMPARISONS: Final = 50
"""How many comparisons one `where` has at most."""
MAX_VALUES: Final = 200
"""How many values one comparison has at most, those of lists counted one by one."""

_MISSING: Final = object()
_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One condition on one value of the metadata."""

    path: tuple[str, ...]
    operator: Operator
    operand: str
    """The value to compare with, as JSON. The text tells `true` from `1`, which are equal in Python."""
    value: Any = field(compare=False)
    """The same, decoded."""

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Whether the metadata meet the condition: the meaning that every store has to give it."""
        found = self._find(metadata)
        match self.operator:
            case "$exists":
                return (found is not _MISSING) is bool(self.value)
            case "$eq" | "$ne":
                return equal(found, self.value) == (self.operator == "$eq")
            case "$in" | "$nin":
                return any(equal(found, each) for each in self.value) == (self.operator == "$in")
            case _:
                return _comparable(found, self.value) and _ORDERS[self.operator](
                    _sortable(found), _sortable(self.value)
                )

    def _find(self, metadata: Mapping[str, Any]) -> Any:
        found: Any = metadata
        for name in self.path:
            if not isinstance(found, Mapping) or name not in found:
                return _MISSING
            found = found[name]
        return found


Where: TypeAlias = tuple[Comparison, ...]
"""All of these."""


def matches(where: Where, metadata: Mapping[str, Any]) -> bool:
    """Whether the metadata meet every condition."""
    return all(comparison.matches(metadata) for comparison in where)


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal."""
    if is_number(one) and is_number(other):
        return float(one) == float(other)
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    return bool(one == other)


def is_number(value: object) -> bool:
    """Whether a JSON value is a number; `True` and `False` are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _comparable(found: object, value: object) -> bool:
    return (is_number(found) and is_number(value)) or (isinstance(found, str) and isinstance(value, str))


def _sortable(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)


def parse_where(where: object) -> Where:
    """Check the conditions of a caller; `None` and an empty mapping are no condition."""
    if where is None:
        return ()
    if not isinstance(where, Mapping):
        raise InvalidInputError(f"where must be a mapping, not {type(where).__name__}: {ascii(where)[:80]}")
    found = [comparison for path, condition in where.items() for comparison in _comparisons(path, condition)]
    if len(found) > MAX_COMPARISONS:
        raise InvalidInputError(f"where has {len(found)} comparisons and the limit is {MAX_COMPARISONS}")
    return tuple(found)


def _comparisons(path: object, condition: object) -> list[Comparison]:
    if isinstance(path, str) and path.startswith("$"):
        raise InvalidInputError(
            f"where has {ascii(path)[:80]} in the place of a path; operators go into the condition of a path"
        )
    parts = path.split(".") if isinstance(path, str) else [path]
    names = tuple(check_name(name, f"where[{ascii(path)[:80]}]") for name in parts)
    if len(names) > MAX_LEVELS:
        raise InvalidInputError(
            f"where: the path {ascii(path)[:80]} has {len(names)} parts, and metadata have {MAX_LEVELS} levels"
        )
    if not isinstance(condition, Mapping):
        return [_comparison(names, "$eq", condition)]
    unknown = [name for name in condition if name not in OPERATORS]
    if unknown or not condition:
        what = f"has {ascii(unknown[0])[:80]}" if unknown else "is empty"
        raise InvalidInputError(
            f"where: the condition of {ascii(path)[:80]} {what}; use some of {' '.join(OPERATORS)}, "
            "and a path such as 'a.b' for a value inside an object"
        )
    return [_comparison(names, cast("Operator", name), value) for name, value in condition.items()]


def _comparison(path: tuple[str, ...], named: Operator, value: object) -> Comparison:
    place = f"where: {named} of {ascii('.'.join(path))[:80]}"
    if named == "$exists":
        if not isinstance(value, bool):
            raise InvalidInputError(f"{place} must be True or False, not {ascii(value)[:80]}")
    elif named in {"$in", "$nin"}:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence | set | frozenset):
            raise InvalidInputError(f"{place} must be a list of values, not {ascii(value)[:80]}")
        value = list(value)
    elif named not in {"$eq", "$ne"} and not (is_number(value) or isinstance(value, str)):
        raise InvalidInputError(f"{place} must be a number or a text, not {ascii(value)[:80]}")
    checked = check_json(value, place)
    if _count(checked, place) > MAX_VALUES:
        raise InvalidInputError(f"{place} has more than {MAX_VALUES} values")
    return Comparison(path, named, json.dumps(checked, ensure_ascii=False), checked)


def _count(value: Any, place: str) -> int:
    if isinstance(value, dict):
        raise InvalidInputError(f"{place} contains an object; compare its values one by one, with a path for each")
    return 1 + sum(_count(each, place) for each in value) if isinstance(value, list) else 1
