"""What the values of imported entries have to be, column by column; `codec.COLUMNS` says which check is for which.

The bounds are those of the API, so that whatever was taken in can be exported, merged, consolidated and indexed again
by every engine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from jiyi.backends.records.tables import BOOLEAN, INTEGER, REAL, TIME, Check, Column
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.category import MemoryCategory, check_word
from jiyi.model.claim import Claim
from jiyi.model.entry import MAX_NAME, TRUST_LEVELS, Source
from jiyi.model.limits import Limits, check_importance, check_whole
from jiyi.model.metadata import check_metadata
from jiyi.model.namespace import check_namespace
from jiyi.model.scope import check_scope

MAX_COUNT: Final = 1_000_000_000
"""Of every counter and number of a row: sums of many still fit into 64 bits."""
MAX_TEXT_BYTES: Final = 16 << 20
"""Of a message and of what the chat room keeps; other texts have the limit of the settings."""
MAX_REFERENCES: Final = 10_000
_MAX_REFERENCE_CHARACTERS: Final = 2_048
_MAX_DOMAINS: Final = 64
# UUIDs, and what other programs may use for ids: no sign that means something elsewhere, and short enough to index.
_ID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,63}")


def check_column(column: Column, limits: Limits, value: Any) -> None:
    """By the check of the column if it has one, otherwise by its type; a text is then free, and may be empty."""
    if column.check is not None:
        column.check(limits, value, column.name)
    elif column.type is TIME:
        clock.require_aware(value, column.name)
    elif column.type is BOOLEAN:
        check_bool(value, column.name)
    elif column.type is INTEGER:
        check_whole(value, column.name, 0, MAX_COUNT)
    elif column.type is REAL:
        check_importance(value)
    elif value != "":
        limits.check_content(value, column.name)


def long_texts(limits: Limits) -> Limits:
    """The limits of texts that were not stored by a caller: those of conversations and of what was made of them."""
    return replace(limits, max_content_bytes=max(MAX_TEXT_BYTES, limits.max_content_bytes))


def check_id(value: object, name: str) -> str:
    """An id of an entry, a message or a job."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise InvalidInputError(
            f"{name} {ascii(value)[:80]} is no id: letters, digits and '._-', at most 64, the first no sign"
        )
    return value


def check_bool(value: object, name: str) -> None:
    """A truth value."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} {ascii(value)[:80]} is neither true nor false")


# --- checks of columns ------------------------------------------------------------------------------------------------


def is_id(_limits: Limits, value: Any, name: str) -> None:
    """An id of an entry."""
    check_id(value, name)


def is_label(limits: Limits, value: Any, name: str) -> None:
    """A key, or an id of whatever kind."""
    limits.check_id(value, name)


def is_scope(_limits: Limits, value: Any, _name: str) -> None:
    """A scope."""
    check_scope(value)


def is_word(_limits: Limits, value: Any, name: str) -> None:
    """One word, such as a category."""
    check_word(str(value) if isinstance(value, MemoryCategory) else value, name)


def is_metadata(_limits: Limits, value: Any, name: str) -> None:
    """A JSON object."""
    check_metadata(value, name)


def is_namespace(_limits: Limits, value: Any, name: str) -> None:
    """The parts of a namespace."""
    check_namespace(value, name)


def is_whole(minimum: int, maximum: int = MAX_COUNT) -> Check:
    """A whole number from `minimum` to `maximum`."""
    return lambda _limits, value, name: check_whole(value, name, minimum, maximum)


def are_domains(_limits: Limits, domains: Sequence[object], name: str) -> None:
    """Domains: words."""
    for domain in domains:
        check_word(domain, name)
    if len(domains) > _MAX_DOMAINS:
        raise InvalidInputError(f"{name} has more than {_MAX_DOMAINS} domains")


def is_checked_elsewhere(_limits: Limits, _value: object, _name: str) -> None:
    """What depends on other columns: `ImportSchema.entry` checks it."""


def is_source(limits: Limits, source: Source, name: str) -> None:
    """Where an entry comes from."""
    limits.check_id(source.kind, f"{name}.kind")
    if source.name is not None and (not isinstance(source.name, str) or not 0 < len(source.name) <= MAX_NAME):
        raise InvalidInputError(f"{name}.name {ascii(source.name)[:80]} is no name of up to {MAX_NAME} characters")
    if source.role not in {None, "user", "assistant"}:
        raise InvalidInputError(f"{name}.role {ascii(source.role)[:80]} is neither user nor assistant")
    if source.trust not in TRUST_LEVELS:
        raise InvalidInputError(f"{name}.trust {ascii(source.trust)[:80]} is none of {', '.join(TRUST_LEVELS)}")
    long = long_texts(limits)
    for reference in source.references:
        if len(long.check_content(reference, f"{name}.references")) > _MAX_REFERENCE_CHARACTERS:
            raise InvalidInputError(f"a reference has more than {_MAX_REFERENCE_CHARACTERS:,} characters")
    if source.claim is not None:
        _check_claim(source.claim, limits)


def _check_claim(claim: Claim, limits: Limits) -> None:
    for name in ("subject", "attribute", "value", "when", "said_by", "lasting"):
        value = getattr(claim, name)
        if value != "":
            limits.check_content(value, f"claim.{name}")
    for name in ("negated", "single"):
        check_bool(getattr(claim, name), f"claim.{name}")
    if len(claim.conflicts_with) > MAX_REFERENCES:
        raise InvalidInputError(f"claim.conflicts_with has more than {MAX_REFERENCES:,} ids")
    for each in claim.conflicts_with:
        check_id(each, "claim.conflicts_with")
