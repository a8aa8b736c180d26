"""Rows of any program: JSON Lines or CSV, with a mapping from our names to theirs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from jiyi.errors import ImportFormatError, InvalidInputError
from jiyi.importers.records import (
    ImportedConversation,
    ImportedEntry,
    LeftOut,
    Stream,
    digest,
    entries_of_text,
    imported_message,
    origin,
    time_of,
)
from jiyi.importers.sources import Source
from jiyi.model.storable import storable

NAMES: Final = ("content", "key", "occurred_at", "tags", "role", "conversation", "scope")
"""What a mapping may name."""
JSONL: Final = 'JSON Lines with an object in each line; {"content": …} or a mapping such as --map content=text'
CSV: Final = "CSV with a line of names; a column content or a mapping such as --map content=text"
_UNREADABLE_TIME: Final = "times of rows that are neither ISO 8601 nor seconds; the rows came in without"
_GUESSES: Final[Mapping[str, tuple[str, ...]]] = {
    "content": ("content", "text", "memory", "message", "body"),
    "key": ("key", "id", "uuid"),
    "occurred_at": ("occurred_at", "created_at", "timestamp", "date", "time"),
    "tags": ("tags",),
    "role": ("role", "sender"),
    "conversation": ("conversation", "conversation_id", "session_id", "thread_id"),
    "scope": (),
}


def read_jsonl(source: Source, mapping: Mapping[str, str]) -> Stream:
    """A memory for each line, or the messages of conversations where lines have a role and a conversation."""
    yield from _read("jsonl", source, _json_rows(source), mapping, JSONL)


def read_csv(source: Source, mapping: Mapping[str, str]) -> Stream:
    """The same for the rows of a table."""
    yield from _read("csv", source, _csv_rows(source, check_mapping(mapping)), mapping, CSV)


def check_mapping(mapping: Mapping[str, str]) -> dict[str, str]:
    """A mapping from our names to theirs."""
    unknown = sorted(set(mapping) - set(NAMES))
    if unknown:
        raise InvalidInputError(f"a mapping cannot name {unknown[0]!r}; it may name {', '.join(NAMES)}")
    return dict(mapping)


def _read(
    kind: str, source: Source, rows: Iterator[dict[str, Any]], mapping: Mapping[str, str], expected: str
) -> Stream:
    given = check_mapping(mapping)
    said: list[Mapping[str, Any]] = []
    current: tuple[str, str | None] | None = None
    for number, row in enumerate(rows, 1):
        place = f"{source.path.name}, row {number}"
        names = _names(row, given, place, expected)
        content = row.get(names["content"])
        if not isinstance(content, str):
            raise ImportFormatError(f"{place}: {names['content']} is no text; expected is {expected}")
        if not content.strip():
            yield LeftOut("a row without text")
            continue
        if _value(row, names, "occurred_at") is not None and _time(row, names) is None:
            yield LeftOut(_UNREADABLE_TIME)
        conversation, role = _value(row, names, "conversation"), storable(_value(row, names, "role") or "").strip()
        if conversation is None or not role:
            yield from _entry(kind, row, names, content)
            continue
        if current is not None and current != (conversation, _value(row, names, "scope")):
            yield ImportedConversation(f"{kind}:{current[0]}", tuple(said), scope=current[1])
            said = []
        current = (conversation, _value(row, names, "scope"))
        said.append(_message(row, names, content, role, conversation))
    if current is not None:
        yield ImportedConversation(f"{kind}:{current[0]}", tuple(said), scope=current[1])


def _names(row: Mapping[str, Any], given: Mapping[str, str], place: str, expected: str) -> dict[str, str]:
    """Under which names this row has what we look for."""
    missing = [theirs for theirs in given.values() if theirs not in row]
    if missing:
        raise ImportFormatError(
            f"{place} has no {missing[0]!r}, which the mapping names; it has {', '.join(row)[:200]}"
        )
    found = dict(given)
    for ours, guesses in _GUESSES.items():
        theirs = next((guess for guess in guesses if guess in row), None)
        if ours not in found and theirs is not None:
            found[ours] = theirs
    if "content" not in found:
        raise ImportFormatError(f"{place} has no content; it has {', '.join(row)[:200]}; expected is {expected}")
    return found


def _value(row: Mapping[str, Any], names: Mapping[str, str], ours: str) -> str | None:
    value = row.get(names[ours]) if ours in names else None
    return None if value is None or not str(value).strip() else str(value).strip()


def _entry(kind: str, row: Mapping[str, Any], names: Mapping[str, str], content: str) -> Iterator[ImportedEntry]:
    tags = row.get(names["tags"]) if "tags" in names else None
    listed = tags.replace(";", ",").split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else []
    when = _time(row, names)
    # A time that cannot be read is kept as it was written.
    used = {theirs for ours, theirs in names.items() if ours != "occurred_at" or when is not None}
    rest = {name: value for name, value in row.items() if name and name not in used and value not in (None, "")}
    own = _value(row, names, "key")
    yield from entries_of_text(
        f"{kind}/{own or digest(content, str(_value(row, names, 'occurred_at')))}",
        content,
        scope=_value(row, names, "scope"),
        tags=tuple(dict.fromkeys(str(tag).strip() for tag in listed if str(tag).strip())),
        metadata={**rest, **origin(kind, id=own)},
        occurred_at=when,
    )


def _message(
    row: Mapping[str, Any], names: Mapping[str, str], content: str, role: str, conversation: str
) -> dict[str, Any]:
    when = _time(row, names)
    own = _value(row, names, "key") or digest(conversation, role, content, str(when))
    return imported_message({"human": "user", "ai": "assistant"}.get(role, role), content, own, when)


def _time(row: Mapping[str, Any], names: Mapping[str, str]) -> datetime | None:
    return time_of(_number(_value(row, names, "occurred_at")))


def _number(value: str | None) -> str | float | None:
    """Seconds that are written as text."""
    try:
        return float(value) if value is not None else None
    except ValueError:
        return value


def _json_rows(source: Source) -> Iterator[dict[str, Any]]:
    _check_file(source, JSONL)
    for number, row in source.json_lines(JSONL):
        if not isinstance(row, dict):
            raise ImportFormatError(f"{source.path.name}, line {number} is no object; expected is {JSONL}")
        yield row


def _csv_rows(source: Source, given: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    _check_file(source, CSV)
    with source.text(source.path.name) as stream:
        try:
            reader = csv.DictReader(stream, strict=True)
            _names(dict.fromkeys(reader.fieldnames or (), ""), given, f"{source.path.name}, line 1", CSV)
            for number, row in enumerate(reader, 2):
                if None in row:
                    raise ImportFormatError(f"{source.path.name}, line {number} has more columns than names")
                yield row
        except csv.Error as error:
            raise ImportFormatError(f"{source.path.name} is not CSV: {error}; expected is {CSV}") from None


def _check_file(source: Source, expected: str) -> None:
    if not source.is_file:
        raise ImportFormatError(f"{source.path} is no file; expected is {expected}")
