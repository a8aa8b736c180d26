"""`Filters` as conditions on `memory_records`, in the SQL that every engine of the record store runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias, assert_never

from jiyi.backends.records.overlays import IS_HIDDEN, IS_SHOWN, reading_scope
from jiyi.backends.records.schema import ACTIVE, ARCHIVED_BY_EXPIRY, INACTIVE, NOT_EXPIRED
from jiyi.backends.records.sql import Dialect
from jiyi.backends.shared.filters import AnyDomain, AnyId, AnyOf, Condition, EveryTag, InPeriods, NoneOf, conditions
from jiyi.model import clock
from jiyi.model.filters import Filters
from jiyi.model.namespace import AFTER_END, END, namespace_text
from jiyi.model.scope import PUBLIC

_COLUMNS: Final = {"category": "category", "memory_type": "memory_type", "conversation": "conversation_id"}
_TAGGED: Final = (
    "EXISTS (SELECT 1 FROM memory_tag_rel r JOIN memory_tags t ON t.id = r.tag_id "
    "WHERE r.memory_id = memory_records.id AND t.name = :{})"
)
_LAST_CHARACTER: Final = "\U0010ffff"
_SURROGATES: Final = range(0xD800, 0xE000)
Period: TypeAlias = tuple[datetime | None, datetime | None]


def where(
    filters: Filters, dialect: Dialect, *, by_id: bool = False, reader: str | None = None
) -> tuple[str, dict[str, Any]]:
    """The filters as a condition with its parameters; the same meaning as `Filters.admits`.

    `by_id` is for entries that are looked up by id, see `in_scopes`. Public memories that the reading scope has merged
    into its own are left out; `reader` names it where the filters do not have all of its scopes.
    """
    renderer = _ConditionRenderer()
    # Rows of one scope come in the order of an index.
    in_scope = "scope = :scope" if len(filters.scopes) == 1 and not by_id else in_scopes(by_id=by_id)
    # As of an earlier time what was archived later is to be seen.
    present = [ACTIVE]
    if filters.alive_at is not None:
        present.append(f"({ARCHIVED_BY_EXPIRY})")
    if filters.also_active:
        present.append(f"id IN :{renderer.add(sorted(filters.also_active))}")
    parts = [
        f"({' OR '.join(present)})" if len(present) > 1 else ACTIVE,
        in_scope,
        *map(renderer.condition, conditions(filters)),
        NOT_EXPIRED,
    ]
    if filters.has_unindexed:
        parts += renderer.unindexed(filters, dialect)
    params: dict[str, Any] = {"scope": filters.scopes[0], "scopes": filters.scopes, "alive_at": moment_of(filters)}
    if PUBLIC in filters.scopes and (reading := reader or reading_scope(filters.scopes)) not in {None, PUBLIC}:
        parts.append(IS_SHOWN)
        params["overlay_scope"] = reading
    return " AND ".join(parts), {**params, **renderer.params}


def count_sql(filters: Filters, dialect: Dialect) -> tuple[str, dict[str, Any]]:
    """A statement that counts what the filters admit, with its parameters.

    By scope and time PostgreSQL counts all entries in the index of times, which is ten times as fast as looking at each
    of them, and takes off the few that are not to be seen. SQLite does not know how few these are.
    """
    condition, params = where(filters, dialect)
    of_all = "SELECT count(*) FROM memory_records WHERE"
    timed = all(isinstance(each, InPeriods) for each in conditions(filters))
    if dialect == "sqlite" or not timed or filters.has_unindexed or filters.alive_at is not None:
        return f"{of_all} {condition}", params
    renderer = _ConditionRenderer()
    inside = " AND ".join([in_scopes(), *map(renderer.condition, conditions(filters))])
    hidden = [INACTIVE, f"{ACTIVE} AND expires_at <= :alive_at"]
    if "overlay_scope" in params:
        hidden.append(f"{ACTIVE} AND {NOT_EXPIRED} AND {IS_HIDDEN}")
    taken_off = "".join(f" - ({of_all} {inside} AND {each})" for each in hidden)
    return f"SELECT ({of_all} {inside}){taken_off}", {**params, **renderer.params}


def moment_of(filters: Filters) -> datetime:
    """The value of the parameter `alive_at`."""
    return filters.alive_at or clock.utc_now()


def after_prefix(prefix: str) -> str | None:
    """The least text that is greater than every text with this prefix; `None` if there is none."""
    prefix = prefix.rstrip(_LAST_CHARACTER)
    if not prefix:
        return None
    following = ord(prefix[-1]) + 1
    return prefix[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def in_scopes(*, by_id: bool = False) -> str:
    """The condition on the parameter `scopes`.

    By id the scope is compared as an expression: by the index of scopes SQLite would walk through the whole scope
    instead of looking up a few ids.
    """
    return "scope || '' IN :scopes" if by_id else "scope IN :scopes"


class _ConditionRenderer:
    """Renders conditions and collects their parameters."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}

    def condition(self, condition: Condition) -> str:
        match condition:
            case AnyOf(word, values):
                return f"{_COLUMNS[word]} IN :{self.add(values)}"
            case NoneOf(word, values):
                return f"{_COLUMNS[word]} NOT IN :{self.add(values)}"
            case AnyDomain(domains):
                return self._domains(domains)
            case EveryTag(tags):
                return " AND ".join(_TAGGED.format(self.add(tag)) for tag in tags)
            case InPeriods(periods):
                return f"({' OR '.join(map(self._period, periods))})"
            case AnyId():
                # The conditions that the ids were found by are checked instead: that is shorter.
                return "TRUE"
            case _:
                assert_never(condition)

    def unindexed(self, filters: Filters, dialect: Dialect) -> list[str]:
        """The conditions that no index can check."""
        parts = []
        if filters.known_at is not None:
            name = self.add(filters.known_at)
            parts.append(f"(created_at <= :{name} OR event_time <= :{name})")
        if filters.key_prefix:
            # As a range, which the index of keys can answer; NULL is in none.
            parts.append(f"key >= :{self.add(filters.key_prefix)}")
            end = after_prefix(filters.key_prefix)
            parts += [f"key < :{self.add(end)}"] if end is not None else []
        if filters.namespace:
            first = namespace_text(filters.namespace)
            end = first.removesuffix(END) + AFTER_END
            # The index holds only entries with a namespace.
            parts.append(f"namespace != '' AND namespace >= :{self.add(first)} AND namespace < :{self.add(end)}")
        if filters.where:
            # Only who asks for metadata needs to know how.
            from jiyi.backends.records.where import comparison_sql

            parts += [comparison_sql(each, dialect, self.add) for each in filters.where]
        return parts

    def _domains(self, domains: Sequence[str]) -> str:
        # Not LIKE, which does not tell capitals from small letters in SQLite.
        more = (f"replace(more_domains, :{self.add(f'|{each}|')}, '') != more_domains" for each in domains)
        return f"(domain IN :{self.add(domains)} OR (more_domains != '' AND ({' OR '.join(more)})))"

    def _period(self, period: Period) -> str:
        start, end = period
        parts = [f"event_time >= :{self.add(start)}"] if start is not None else []
        parts += [f"event_time < :{self.add(end)}"] if end is not None else []
        return f"({' AND '.join(parts)})"

    def add(self, value: Any) -> str:
        """The name of a new parameter."""
        name = f"filter_{len(self.params)}"
        self.params[name] = value
        return name
