"""`Filters` as a list of conditions, in one order and one form for every engine.

An engine renders each kind of condition in its own language and joins them with "and". A kind of condition that an
engine does not know is a type error (`assert_never`), not a filter that is silently ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from jiyi.model.filters import Filters

Word: TypeAlias = Literal["category", "memory_type", "conversation"]
"""A property of which an entry has at most one value."""


class AnyOf(NamedTuple):
    """The word is one of these values."""

    word: Word
    values: tuple[str, ...]


class NoneOf(NamedTuple):
    """The word is none of these values."""

    word: Word
    values: tuple[str, ...]


class AnyDomain(NamedTuple):
    """The entry belongs to at least one of these domains."""

    domains: tuple[str, ...]


class EveryTag(NamedTuple):
    """The entry has all of these tags."""

    tags: tuple[str, ...]


class InPeriods(NamedTuple):
    """`start <= event_time < end` for at least one of these periods; `None` is an open end."""

    periods: tuple[tuple[datetime | None, datetime | None], ...]


class AnyId(NamedTuple):
    """The entry is one of these, at least one."""

    ids: frozenset[str]


Condition: TypeAlias = AnyOf | NoneOf | AnyDomain | EveryTag | InPeriods | AnyId


def conditions(filters: Filters) -> Iterator[Condition]:
    """What an entry of the scopes must meet, as far as an index can tell.

    The scopes themselves are not here: each engine isolates by its own means. Nor are those of `has_unindexed`: an
    index proposes without them, and the records drop what does not meet them, or they have named the `exact_ids`.
    """
    if filters.exact_ids is not None:
        yield AnyId(filters.exact_ids)
    if filters.categories:
        yield AnyOf("category", tuple(map(str, filters.categories)))
    if filters.memory_types:
        yield AnyOf("memory_type", filters.memory_types)
    if filters.without_types:
        yield NoneOf("memory_type", filters.without_types)
    if filters.domains:
        yield AnyDomain(filters.domains)
    if filters.conversations:
        yield AnyOf("conversation", filters.conversations)
    if filters.since is not None or filters.until is not None:
        yield InPeriods(((filters.since, filters.until),))
    if filters.periods:
        yield InPeriods(filters.periods)
    if filters.tags:
        yield EveryTag(filters.tags)
