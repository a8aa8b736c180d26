"""Boolean expressions of Milvus. Values are always quoted: nothing that a person typed is parsed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import assert_never

from jiyi.backends.shared.filters import (
    AnyDomain,
    AnyId,
    AnyOf,
    Condition,
    EveryTag,
    InPeriods,
    NoneOf,
    Word,
    conditions,
)
from jiyi.model import clock
from jiyi.model.filters import Filters

_FIELD_OF: dict[Word, str] = {
    "category": "category",
    "memory_type": "memory_type",
    "conversation": "conversation_id",
}


def quoted(text: str) -> str:
    """A text as a literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def any_of(field: str, values: Iterable[str]) -> str:
    """The field has one of these values."""
    return f"{field} in {_list(values)}"


def in_scope(scope: str) -> str:
    """The rows of a scope; Milvus reads only its partition."""
    return f"scope == {quoted(scope)}"


def in_periods(periods: Sequence[tuple[datetime | None, datetime | None]]) -> str:
    """The event time is inside one of these periods: start included, end not."""
    spans = []
    for start, end in periods:
        after = [] if start is None else [f"event_time >= {clock.microseconds(start)}"]
        before = [] if end is None else [f"event_time < {clock.microseconds(end)}"]
        spans.append(f"({' and '.join(after + before)})")
    return f"({' or '.join(spans)})"


def in_filters(filters: Filters) -> str:
    """The rows that meet the filters."""
    scopes = any_of("scope", filters.scopes) if len(filters.scopes) > 1 else in_scope(filters.scopes[0])
    return " and ".join([scopes, *map(_expression, conditions(filters))])


def _expression(condition: Condition) -> str:
    match condition:
        case AnyOf(word, values):
            return any_of(_FIELD_OF[word], values)
        case NoneOf(word, values):
            return f"not ({any_of(_FIELD_OF[word], values)})"
        case AnyDomain(domains):
            return f"array_contains_any(domains, {_list(domains)})"
        case EveryTag(tags):
            return f"array_contains_all(tags, {_list(tags)})"
        case InPeriods(periods):
            return in_periods(periods)
        case AnyId(ids):
            return any_of("entry_id", sorted(ids))
        case _:
            assert_never(condition)


def _list(values: Iterable[str]) -> str:
    return f"[{', '.join(map(quoted, values))}]"
