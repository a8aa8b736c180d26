"""The entries that `memory_append` writes into a daily note, as text and back.

    - **14:32** <!-- jiyi id=… at=2026-11-15T06:32:11.123456Z offset=+08:00 by=agent lines=2 -->
      The first line of the text
      and the second.

A list item for people, and one comment for programs. Each line of the text is indented by two blanks, so nothing that
it contains (`---`, headings, fences, another entry) can be taken for structure of the file: the comment of an entry
stands on a line that begins with `-`. `lines` tells empty lines at the end of the text from empty lines after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from jiyi.model import clock
from jiyi.model.entry import TRUST_LEVELS

_INDENT: Final = "  "
_MARKER: Final = re.compile(r"- \*\*[^*\n]{1,20}\*\* <!-- jiyi (?P<attributes>id=[^\n]*?) -->\r?\Z")
_ID: Final = re.compile(r"<!-- jiyi id=(\S+) ")
_OFFSET: Final = re.compile(r"[+-]\d\d:\d\d(?::\d\d)?\Z")


class NoteEntry(NamedTuple):
    """One entry of a daily note."""

    id: str
    at: datetime
    """In UTC."""
    offset: timedelta
    """Of local time where it was written."""
    text: str
    by: str = "user"
    """How far its origin is trusted: `user`, `agent`, `tool` or `import`."""
    source: str = ""
    """Where it came from, e.g. a session and its messages."""


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry and where it stands."""

    entry: NoteEntry
    start_line: int
    end_line: int
    """Included; empty lines after the text do not belong to it."""


class Minute(NamedTuple):
    """What is the same for all entries of a minute, as it is written."""

    opening: str
    at: str
    closing: str


def minute_of(at: datetime, offset: timedelta) -> Minute:
    """The minute of a moment in UTC."""
    local = at + offset
    return Minute(
        f"\n- **{local.hour:02}:{local.minute:02}** <!-- jiyi id=",
        f" at={clock.to_text(at)[:17]}",
        f"Z offset={_offset_text(offset)} by=",
    )


def render(entry: NoteEntry, minute: Minute | None = None) -> str:
    """The entry as it is appended: a line of its own before it, whatever the file ended with.

    Every append waits for this: who has several of the same minute works that out once.
    """
    entry_id, at, offset, text, by, source = entry
    opening, day_and_minute, closing = minute or minute_of(at, offset)
    quoted = f" source={_quoted(source)}" if source else ""
    if text and "\n" not in text:
        count, body = 1, _INDENT + text
    else:
        lines = text.split("\n")
        count, body = len(lines), "\n".join([_INDENT + line if line else "" for line in lines])
    return (
        f"{opening}{entry_id}{day_and_minute}{at.second:02}.{at.microsecond:06}{closing}{by}{quoted}"
        f" lines={count} -->\n{body}\n"
    )


def marker_of(entry_id: str) -> str:
    """What a file contains if it has the entry with this id."""
    return f"<!-- jiyi id={entry_id} "


def places_in(text: str) -> dict[str, int]:
    """Where the comment of each entry begins in the text of a file, by id."""
    return {match[1]: match.start() for match in _ID.finditer(text)}


def parse(lines: Sequence[str]) -> list[PlacedEntry]:
    """The entries of a file, given as its lines, in order. What is no entry is left out."""
    found: list[PlacedEntry] = []
    number = 0
    while number < len(lines):
        match = _MARKER.match(lines[number])
        attributes = _attributes(match["attributes"]) if match else None
        if attributes is None:
            number += 1
            continue
        end = _end(lines, number + 1, attributes.lines)
        body = lines[number + 1 : end]
        if lines[number].endswith("\r"):
            # The whole file was given other line ends since.
            body = [line.removesuffix("\r") for line in body]
        text = "\n".join(line.removeprefix(_INDENT) for line in body)
        entry = NoteEntry(attributes.id, attributes.at, attributes.offset, text, attributes.by, attributes.source)
        found.append(PlacedEntry(entry, number + 1, max(end, number + 1)))
        number = max(end, number + 1)
    return found


@dataclass(frozen=True, slots=True)
class _Attributes:
    id: str
    at: datetime
    offset: timedelta
    by: str
    source: str
    lines: int


def _attributes(text: str) -> _Attributes | None:
    """What the comment says; `None` when it is not one of ours."""
    values = dict(part.partition("=")[::2] for part in text.split(" "))
    try:
        return _Attributes(
            id=values["id"],
            at=clock.from_text(values["at"]),
            offset=_offset(values.get("offset", "+00:00")),
            by=values["by"] if values.get("by") in TRUST_LEVELS else "user",
            source=unquote(values.get("source", "")),
            lines=int(values.get("lines", "0")),
        )
    except (KeyError, ValueError, OverflowError):
        return None


def _end(lines: Sequence[str], start: int, count: int) -> int:
    """Where the body ends: after so many lines, or, if people have changed it, where the indented lines end."""
    end = start
    while end < len(lines) and _belongs(lines[end]):
        end += 1
    if start + count <= end and (start + count == end or not _indented(lines[start + count])):
        return start + count
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _indented(line: str) -> bool:
    return line.startswith(_INDENT) and bool(line.strip())


def _belongs(line: str) -> bool:
    return line.startswith(_INDENT) or not line.rstrip("\r")


def _offset_text(offset: timedelta) -> str:
    seconds = round(offset.total_seconds())
    sign, seconds = ("-" if seconds < 0 else "+"), abs(seconds)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{sign}{hours:02}:{minutes:02}" + (f":{seconds:02}" if seconds else "")


def _offset(text: str) -> timedelta:
    if not _OFFSET.match(text):
        raise ValueError(f"{text!r} is no offset")
    hours, minutes, *seconds = (int(part) for part in text[1:].split(":"))
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds[0] if seconds else 0)
    return -offset if text[0] == "-" else offset


def _quoted(text: str) -> str:
    # Two hyphens would end the comment for some readers.
    return quote(text, safe="/:,.+_").replace("--", "-%2D")
