"""Filters: a closed set of conditions that every store and index understands the same way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.category import check_word
from jiyi.model.entry import MemoryEntry
from jiyi.model.namespace import check_namespace
from jiyi.model.where import Where, matches, parse_where


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on entries; an empty tuple means no condition. Built by `make_filters` only."""

    scopes: tuple[str, ...]
    """The visible scopes; never empty."""
    categories: tuple[str, ...] = ()
    memory_types: tuple[str, ...] = ()
    without_types: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """All of these."""
    conversations: tuple[str, ...] = ()
    """In any of these conversations; the pieces of a note file are one."""
    since: datetime | None = None
    until: datetime | None = None
    """`since <= event_time < until`."""
    periods: tuple[tuple[datetime, datetime], ...] = ()
    """Inside any of these: start included, end not."""
    where: Where = ()
    """Conditions on the metadata."""
    key_prefix: str = ""
    """The key begins with this."""
    namespace: tuple[str, ...] = ()
    """The namespace is this or below it."""
    exact_ids: frozenset[str] | None = None
    """Only these: all that meet the conditions which no index can check, where the records have named them."""
    superset_ids: frozenset[str] | None = None
    """No other entries meet the conditions which no index can check; these have to be checked. `None`: any may."""
    estimate: int | None = None
    """About how many entries meet these conditions, where that is known."""
    alive_at: datetime | None = None
    """What had expired at this moment is left out; `None` means now. Of what was archived because it had expired later,
    nothing is left out."""
    known_at: datetime | None = None
    """What was neither stored nor happened by this moment is left out; `None` admits everything."""
    also_active: frozenset[str] = frozenset()
    """Ids of inactive entries that are admitted like active ones: they were active at the time that is asked about."""
    beyond_expired: bool = False
    """Indexes are to look beyond what has expired: there is so much of it that the rest might be missed."""

    def __post_init__(self) -> None:
        if not self.scopes:
            raise InvalidInputError("a filter without scopes would see nothing or everything; pass the visible scopes")

    @property
    def only_scopes(self) -> bool:
        """Whether the scopes are the only condition."""
        return not (
            self.categories
            or self.memory_types
            or self.without_types
            or self.domains
            or self.tags
            or self.conversations
            or self.since
            or self.until
            or self.periods
            or self.has_unindexed
            or self.exact_ids is not None
        )

    @property
    def has_unindexed(self) -> bool:
        """Whether there are conditions that only the record store can check: no index holds what they ask for."""
        of_a_time = self.known_at is not None or bool(self.also_active)
        return of_a_time or bool(self.where or self.key_prefix or self.namespace or self.beyond_expired)

    @property
    def needs_record_check(self) -> bool:
        """Whether an index proposes what the records have to check: they have not named what meets the conditions."""
        return self.has_unindexed and self.exact_ids is None

    def admits(self, entry: MemoryEntry) -> bool:
        """Whether the entry is active and meets every condition. The last word of every recall."""
        return (
            (
                entry.is_active
                or entry.id in self.also_active
                or (self.alive_at is not None and entry.archived_by_expiry)
            )
            and entry.scope in self.scopes
            and (not self.categories or entry.category in self.categories)
            and (not self.memory_types or entry.memory_type in self.memory_types)
            and entry.memory_type not in self.without_types
            and (not self.domains or any(domain in self.domains for domain in entry.domains))
            and all(tag in entry.tags for tag in self.tags)
            and (not self.conversations or entry.conversation_id in self.conversations)
            and (self.since is None or entry.event_time >= self.since)
            and (self.until is None or entry.event_time < self.until)
            and (not self.periods or any(start <= entry.event_time < end for start, end in self.periods))
            and (self.exact_ids is None or entry.id in self.exact_ids)
            and (not self.where or matches(self.where, entry.metadata))
            and (not self.key_prefix or (entry.key is not None and entry.key.startswith(self.key_prefix)))
            and (not self.namespace or entry.namespace[: len(self.namespace)] == self.namespace)
            and (self.known_at is None or min(entry.created_at, entry.event_time) <= self.known_at)
            and (entry.expires_at is None or not entry.has_expired(self.alive_at or clock.utc_now()))
        )


def words(value: object, name: str) -> tuple[str, ...]:
    """One word or several, checked, without repetition."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (check_word(value, name),)
    if not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} must be a word or a list of words, not {type(value).__name__}: {value!r}")
    return tuple(dict.fromkeys(check_word(item, name) for item in value))


def make_filters(
    scopes: tuple[str, ...],
    *,
    category: object = None,
    memory_types: object = None,
    without_types: tuple[str, ...] = (),
    domains: object = None,
    tags: tuple[str, ...] = (),
    conversations: tuple[str, ...] = (),
    since: object = None,
    until: object = None,
    where: object = None,
    key_prefix: str = "",
    namespace: object = None,
    alive_at: datetime | None = None,
) -> Filters:
    """Check the caller's conditions and freeze them."""
    start = clock.require_aware(since, "since") if since is not None else None
    end = clock.require_aware(until, "until") if until is not None else None
    if start is not None and end is not None and start >= end:
        raise InvalidInputError(f"since {start.isoformat()} is not before until {end.isoformat()}; swap them")
    return Filters(
        scopes=scopes,
        categories=words(category, "category"),
        memory_types=words(memory_types, "memory_types"),
        without_types=without_types,
        domains=words(domains, "domains"),
        tags=tags,
        conversations=conversations,
        since=start,
        until=end,
        where=parse_where(where),
        key_prefix=key_prefix,
        namespace=() if namespace is None else check_namespace(namespace),
        alive_at=alive_at,
    )
