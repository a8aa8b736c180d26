"""The entries that `memory_append` writes into a daily note, as text and back.

    - **14:32** The first line of the text <!-- jiyi 1hqk3v2q77fk3m9a -->
      and the second.

An entry is a list item for people with one short comment for programs at the end of its first line. The comment holds
the id, which contains the moment in UTC to the millisecond; the offset of local time follows from the time that is
shown. What differs from the usual is named: `by=user`, `source=…`, and `lines=3` where empty lines end the text. All
further lines are indented by two blanks, so that nothing in them (`---`, headings, fences, another entry) can be taken
for structure of the file.

Entries of the first format (`- **14:32** <!-- jiyi id=… at=… -->` and the whole text below) are still read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from jiyi.model import clock
from jiyi.model.entry import TRUST_LEVELS
from jiyi.model.identity import text_hash

_INDENT: Final = "  "
_DEFAULT_BY: Final = "agent"
_DIGITS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUES: Final = {digit: value for value, digit in enumerate(_DIGITS)}
_TIME_DIGITS: Final = 9
_RANDOM_DIGITS: Final = 7
_RANDOM_BITS: Final = 5 * _RANDOM_DIGITS
_PAIRS: Final = tuple(first + second for first in _DIGITS for second in _DIGITS)
_PAIR_PLACES: Final = tuple(range(5 * (_TIME_DIGITS + _RANDOM_DIGITS - 2), -1, -10))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_ID_PATTERN: Final = rf"[{_DIGITS}]{{{_TIME_DIGITS + _RANDOM_DIGITS}}}"
_ITEM: Final = r"[-*+] (?P<mark>\*\*|__)(?P<time>[^*_\n]{1,20})(?P=mark)"
_FIRST_LINE: Final = re.compile(
    rf"{_ITEM} (?P<text>.*) <!-- jiyi (?P<id>{_ID_PATTERN})(?P<attributes>(?: [a-z]+=\S*)*) -->(?P<after>.*?)\r?\Z"
)
_OLD_FIRST_LINE: Final = re.compile(rf"{_ITEM} <!-- jiyi (?P<attributes>id=[^\n]*?) -->\r?\Z")
_ID: Final = re.compile(rf"<!-- jiyi (?:id=(\S+)|({_ID_PATTERN}))(?= )")
_COMMENT: Final = re.compile(rf" ?<!-- jiyi (?:(?:id|from)=\S+|{_ID_PATTERN})(?: [a-z]+=\S*)* -->")
_CLOCK_TIME: Final = re.compile(r"(\d\d):(\d\d)\Z")
_OFFSET: Final = re.compile(r"[+-]\d\d:\d\d(?::\d\d)?\Z")
_MINUTES_OF_DAY: Final = 24 * 60
_MAX_OFFSET: Final = 14 * 60


class NoteEntry(NamedTuple):
    """One entry of a daily note."""

    id: str
    at: datetime
    """In UTC, to the millisecond."""
    offset: timedelta
    """Of local time where it was written."""
    text: str
    by: str = _DEFAULT_BY
    """How far its origin is trusted: `user`, `agent`, `tool` or `import`."""
    source: str = ""
    """Where it came from, e.g. a session and its messages."""


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry and its lines."""

    entry: NoteEntry
    start_line: int
    end_line: int
    """Included; empty lines after the text do not belong to it."""
    by_hand: bool = False
    """Whether a person wrote it without `memory_append`; its id is then `path:line-line`, and its time the day."""


class LocalMinute(NamedTuple):
    """What all entries of a minute have in common."""

    offset: timedelta
    opening: str


def local_minute(at: datetime, offset: timedelta) -> LocalMinute:
    """The minute of a moment in UTC."""
    local = at + offset
    return LocalMinute(offset, f"\n- **{local.hour:02}:{local.minute:02}** ")


def new_entry_id(at: datetime, name: str | None = None) -> str:
    """An id for an entry of this moment; with a name always the same one."""
    seed = int.from_bytes(os.urandom(5)) if name is None else int(text_hash(name)[:10], 16)
    number = (at - _EPOCH) // _MILLISECOND << _RANDOM_BITS | seed & (1 << _RANDOM_BITS) - 1
    # Two digits at once: every append makes an id.
    return "".join([_PAIRS[number >> place & 1023] for place in _PAIR_PLACES])


def moment_of_id(entry_id: str) -> datetime:
    """The moment that an id contains."""
    number = 0
    for digit in entry_id[:_TIME_DIGITS]:
        number = number << 5 | _VALUES[digit]
    return _EPOCH + timedelta(milliseconds=number)


def render(entry: NoteEntry, minute: LocalMinute | None = None) -> str:
    """The entry as it is appended: on a line of its own, whatever the file ends with.

    Callers with several entries of a minute pass `minute`, which every append needs.
    """
    entry_id, at, offset, text, by, source = entry
    opening = (minute or local_minute(at, offset)).opening
    attributes = "" if by == _DEFAULT_BY else f" by={by}"
    if source:
        attributes += f" source={_quoted(source)}"
    if "\n" not in text:
        return f"{opening}{text} <!-- jiyi {entry_id}{attributes} -->\n"
    first, *rest = text.split("\n")
    if not rest[-1].strip():
        attributes += f" lines={len(rest) + 1}"
    body = "\n".join([_INDENT + line if line else "" for line in rest])
    return f"{opening}{first} <!-- jiyi {entry_id}{attributes} -->\n{body}\n"


def comment_of(entry_id: str) -> str:
    """The beginning of the comment by which a file is seen to contain the entry."""
    return f"<!-- jiyi {entry_id} "


def places_in(text: str) -> dict[str, int]:
    """Where the comment of each entry begins in the text of a file, by id."""
    return {match[1] or match[2]: match.start() for match in _ID.finditer(text)}


def without_comment(line: str) -> str:
    """A line of a note for readers: without its comment for programs."""
    if "<!-- jiyi " not in line:
        return line
    # The last one is ours; comments of the same form before it belong to the text.
    last = next(reversed(list(_COMMENT.finditer(line))), None)
    return line if last is None else line[: last.start()] + line[last.end() :]


def parse(lines: Sequence[str]) -> list[PlacedEntry]:
    """The entries of a file, given as its lines, in order. What is no entry is left out."""
    found: list[PlacedEntry] = []
    number = 0
    while number < len(lines):
        head = _first_line(lines[number])
        if head is None:
            number += 1
            continue
        end = _end(lines, number + 1, head.lines)
        body = lines[number + 1 : end]
        if lines[number].endswith("\r"):
            # The whole file was given other line ends since.
            body = [line.removesuffix("\r") for line in body]
        texts = [*head.text, *(line.removeprefix(_INDENT) for line in body)]
        entry = NoteEntry(head.id, head.at, head.offset, "\n".join(texts), head.by, head.source)
        found.append(PlacedEntry(entry, number + 1, max(end, number + 1)))
        number = max(end, number + 1)
    return found


@dataclass(frozen=True, slots=True)
class _FirstLine:
    """What the first line of an entry says."""

    id: str
    at: datetime
    offset: timedelta
    by: str
    source: str
    text: tuple[str, ...]
    """The text on this line; none in the first format."""
    lines: int | None
    """How many lines follow, if that is written."""


def _first_line(line: str) -> _FirstLine | None:
    """What a line says if an entry begins with it."""
    if "<!-- jiyi " not in line:
        return None
    match = _FIRST_LINE.match(line)
    if match is not None:
        return _current_format(match)
    match = _OLD_FIRST_LINE.match(line)
    return _old_format(match["attributes"]) if match is not None else None


def _current_format(match: re.Match[str]) -> _FirstLine | None:
    values = _attributes(match["attributes"])
    at = moment_of_id(match["id"])
    try:
        count = int(values["lines"]) - 1 if "lines" in values else None
    except ValueError:
        return None
    return _FirstLine(
        id=match["id"],
        at=at,
        offset=_offset_of(at, match["time"]),
        by=_trust(values.get("by", _DEFAULT_BY)),
        source=unquote(values.get("source", "")),
        text=(match["text"] + match["after"],),
        lines=count,
    )


def _old_format(attributes: str) -> _FirstLine | None:
    values = _attributes(attributes)
    try:
        return _FirstLine(
            id=values["id"],
            at=clock.from_text(values["at"]),
            offset=_offset(values.get("offset", "+00:00")),
            by=_trust(values.get("by", "user")),
            source=unquote(values.get("source", "")),
            text=(),
            lines=int(values.get("lines", "0")),
        )
    except (KeyError, ValueError, OverflowError):
        return None


def _attributes(text: str) -> dict[str, str]:
    return dict(part.partition("=")[::2] for part in text.split(" ") if part)


def _trust(level: str) -> str:
    """A trust level that is not known is the one of text that people wrote by hand."""
    return level if level in TRUST_LEVELS else "user"


def _end(lines: Sequence[str], start: int, count: int | None) -> int:
    """Where the body ends: after so many lines, or, if people have changed it, where the indented lines end."""
    end = start
    while end < len(lines) and _belongs(lines[end]):
        end += 1
    if count is not None and start + count <= end and (start + count == end or not _indented(lines[start + count])):
        return start + count
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _indented(line: str) -> bool:
    return line.startswith(_INDENT) and bool(line.strip())


def _belongs(line: str) -> bool:
    return line.startswith(_INDENT) or not line.rstrip("\r")


def _offset_of(at: datetime, shown: str) -> timedelta:
    """The offset of local time by the time that is shown; +12:00 to +14:00 where -12:00 to -10:00 would fit as well."""
    match = _CLOCK_TIME.match(shown)
    if match is None:
        return timedelta()
    minutes = (int(match[1]) * 60 + int(match[2]) - at.hour * 60 - at.minute) % _MINUTES_OF_DAY
    return timedelta(minutes=minutes - _MINUTES_OF_DAY if minutes > _MAX_OFFSET else minutes)


def _offset(text: str) -> timedelta:
    if not _OFFSET.match(text):
        raise ValueError(f"{text!r} is no offset")
    hours, minutes, *seconds = (int(part) for part in text[1:].split(":"))
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds[0] if seconds else 0)
    return -offset if text[0] == "-" else offset


def _quoted(text: str) -> str:
    # Two hyphens would end the comment for some readers.
    return quote(text, safe="/:,.+_#").replace("--", "-%2D")
