"""Markdown into pieces to search by: along headings, paragraphs, list items, code fences and entries.

A piece never crosses a heading, never mixes an entry with anything else, and knows its lines. What is too long is cut
at lines, and a line that is too long at its sentences.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from jiyi.model.daily_note import daily_title, day_of, moment_of
from jiyi.notes import entries
from jiyi.notes.entries import NoteEntry, PlacedEntry
from jiyi.notes.unfilled import says_something
from jiyi.text import split_chunks
from jiyi.text.sentences import columns

PIECE_COLUMNS: Final = 1_000
"""The most of one piece, in columns (a Chinese character takes two): about 250 words or 500 characters."""

_HEADING: Final = re.compile(r" {0,3}(?P<level>#{1,6})(?:[ \t]+(?P<text>.*?))?(?:[ \t]+#+)?[ \t]*\Z")
_UNDERLINE: Final = re.compile(r" {0,3}(?P<mark>=+|-+)[ \t]*\Z")
_FENCE: Final = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<rest>.*)\Z")
_ITEM: Final = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]+\S|[ \t]*\Z)")
_BLOCK_START: Final = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|\Z)|`{3}|~{3}|>|[-*+][ \t]|\d{1,9}[.)][ \t])")
_BULLET: Final = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_FRONT_MATTER: Final = "---"
_TOML: Final = "+++"
_MAX_FRONT_MATTER_LINES: Final = 200


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file."""

    start_line: int
    """From 1."""
    end_line: int
    """Included."""
    headings: tuple[str, ...]
    """The headings it stands under, its own included."""
    above: tuple[str, ...]
    """Those of them that are not part of its text."""
    text: str
    entry: NoteEntry | None = None
    """The entry that it is (a part of)."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file taken apart."""

    pieces: tuple[Piece, ...]
    properties: Mapping[str, Any] = field(default_factory=dict)
    """Its front matter."""
    problem: str = ""
    """Why its front matter is not used."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """Lines that belong together."""

    start: int
    end: int
    """Not included; both count from 0."""
    kind: str = "text"
    level: int = 0
    title: str = ""
    entry: NoteEntry | None = None


def lines_of(text: str) -> list[str]:
    """The lines of a text; only a line feed ends one, and the last need not have one."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        del lines[-1]
    return lines


def take_apart(text: str, template: Container[str] = frozenset()) -> Document:
    """The pieces of a Markdown text and its front matter. A section of nothing but `template` lines is no piece."""
    lines = lines_of(text)
    placed = {entry.start_line - 1: entry for entry in entries.parse(lines)}
    clean = [entries.without_comment(line.removesuffix("\r")) for line in lines]
    front = _front_matter(clean)
    # Front matter describes the file; it is not an answer.
    pieces = tuple(_pieces(clean, list(_units(clean, front.lines, placed)), template))
    return Document(pieces, front.properties, front.problem)


def block_starts(lines: Sequence[str]) -> list[int]:
    """Where blocks of a file begin, counted from 0: places at which it can be cut without tearing anything apart."""
    placed = {entry.start_line - 1: entry for entry in entries.parse(lines)}
    return [unit.start for unit in _units(lines, 0, placed)]


# --- structure --------------------------------------------------------------------------------------------------------


class _FrontMatter(NamedTuple):
    lines: int = 0
    """How many it takes; 0 when there is none that can be read."""
    properties: Mapping[str, Any] = MappingProxyType({})
    problem: str = ""


def _front_matter(lines: Sequence[str]) -> _FrontMatter:
    mark = lines[0].rstrip() if lines else ""
    if mark not in {_FRONT_MATTER, _TOML}:
        return _FrontMatter()
    for number in range(1, min(len(lines), _MAX_FRONT_MATTER_LINES)):
        end = lines[number].rstrip()
        if mark == _TOML == end:
            return _toml_properties("\n".join(lines[1:number]), number + 1)
        if mark == _FRONT_MATTER and end in {_FRONT_MATTER, "..."}:
            return _properties("\n".join(lines[1:number]), number + 1)
    return _FrontMatter()


def _properties(text: str, lines: int) -> _FrontMatter:
    import yaml

    from jiyi.notes.front_matter import DuplicateKeyError, load_front_matter

    try:
        data = load_front_matter(text)
    except DuplicateKeyError as error:
        return _FrontMatter(lines, problem=f"its front matter is not used: {error}; keep one of them")
    except (yaml.YAMLError, ValueError, RecursionError):
        return _FrontMatter()
    if data is None:
        return _FrontMatter(lines)
    if not isinstance(data, dict):
        return _FrontMatter()
    return _FrontMatter(lines, {str(key): value for key, value in data.items()})


def _toml_properties(text: str, lines: int) -> _FrontMatter:
    import tomllib

    try:
        return _FrontMatter(lines, tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return _FrontMatter()


def _units(lines: Sequence[str], begin: int, placed: Mapping[int, entries.PlacedEntry]) -> Iterator[_Unit]:
    """The blocks of a file: headings, entries, fences, list items, paragraphs."""
    number = begin
    while number < len(lines):
        line = lines[number]
        found = placed.get(number)
        if found is not None:
            yield _Unit(number, found.end_line, "entry", entry=found.entry)
            number = found.end_line
        elif not line.strip():
            number += 1
        elif heading := _HEADING.match(line):
            yield _Unit(number, number + 1, "heading", len(heading["level"]), (heading["text"] or "").strip())
            number += 1
        elif fence := _FENCE.match(line):
            end = _fence_end(lines, number, fence["mark"], placed)
            yield _Unit(number, end)
            number = end
        else:
            end = _block_end(lines, number, placed)
            yield _underlined(lines, number, end) or _Unit(number, end)
            number = end


def _fence_end(lines: Sequence[str], start: int, mark: str, placed: Mapping[int, entries.PlacedEntry]) -> int:
    """Behind the closing fence. One that is never closed ends at the next entry, which is certainly no code."""
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\Z")
    for number in range(start + 1, len(lines)):
        if closing.match(lines[number]):
            return number + 1
        if number in placed:
            return number
    return len(lines)


def _block_end(lines: Sequence[str], start: int, placed: Mapping[int, entries.PlacedEntry]) -> int:
    """Behind a paragraph, or behind a list item with everything that is indented under it."""
    item = bool(_ITEM.match(lines[start]))
    number = start + 1
    while number < len(lines) and number not in placed:
        line = lines[number]
        if item and line.startswith(("  ", "\t")):
            number += 1
        elif not line.strip():
            following = number + 1
            while following < len(lines) and not lines[following].strip():
                following += 1
            if not (item and following < len(lines) and lines[following].startswith(("  ", "\t"))):
                break
            number = following
        elif _BLOCK_START.match(line):
            break
        else:
            number += 1
            if _UNDERLINE.match(line) and not item:
                break
    return number


def _underlined(lines: Sequence[str], start: int, end: int) -> _Unit | None:
    """A heading of the form that is underlined with `===` or `---`."""
    match = _UNDERLINE.match(lines[end - 1]) if end - start == 2 else None
    if match is None or _ITEM.match(lines[start]):
        return None
    return _Unit(start, end, "heading", 1 if match["mark"][0] == "=" else 2, lines[start].strip())


# --- pieces -----------------------------------------------------------------------------------------------------------


def _pieces(lines: Sequence[str], units: Sequence[_Unit], template: Container[str]) -> Iterator[Piece]:
    path: list[tuple[int, str]] = []
    waiting: list[_Unit] = []

    def flush() -> Iterator[Piece]:
        # A heading is the context of what stands below it. With nothing below it, it answers nothing.
        below = [line for unit in waiting if unit.kind != "heading" for line in lines[unit.start : unit.end]]
        if says_something(below, template):
            yield from _packed(lines, waiting, tuple(title for _, title in path))
        waiting.clear()

    for unit in units:
        if unit.kind == "heading":
            yield from flush()
            while path and path[-1][0] >= unit.level:
                path.pop()
            path.append((unit.level, unit.title))
            waiting.append(unit)
        elif unit.kind == "entry" and unit.entry is not None:
            yield from flush()
            yield from _entry_pieces(unit, unit.entry, tuple(title for _, title in path))
        else:
            waiting.append(unit)
    yield from flush()


def _packed(lines: Sequence[str], units: Sequence[_Unit], headings: tuple[str, ...]) -> Iterator[Piece]:
    """Blocks of one section, as many together as fit."""
    headings = tuple(title for title in headings if title)
    own = units[0].title if units[0].kind == "heading" else ""
    start, end, width = units[0].start, units[0].start, 0
    for unit in units:
        room = sum(columns(line) for line in lines[end : unit.end])
        if width and width + room > PIECE_COLUMNS and not (own and end - start <= 2):
            yield from _cut(lines, start, end, headings, own)
            start, width, own = unit.start, 0, ""
            room = sum(columns(line) for line in lines[unit.start : unit.end])
        end, width = unit.end, width + room
    yield from _cut(lines, start, end, headings, own)


def _cut(lines: Sequence[str], start: int, end: int, headings: tuple[str, ...], own: str) -> Iterator[Piece]:
    """Lines as one piece, or as several when they are too long; only the first has the section's own heading."""
    for first, last, text in _parts(lines, start, end):
        above = headings[:-1] if own and headings and first == start else headings
        yield Piece(first + 1, last, headings, above, text)


def _entry_pieces(unit: _Unit, entry: NoteEntry, headings: tuple[str, ...]) -> Iterator[Piece]:
    headings = tuple(title for title in headings if title)
    if columns(entry.text) <= PIECE_COLUMNS:
        if entry.text.strip():
            yield Piece(unit.start + 1, unit.end, headings, headings, entry.text, entry)
        return
    body = entry.text.split("\n")
    # In the first format of entries the text begins on the line after the comment.
    shift = unit.start + max(unit.end - unit.start - len(body), 0)
    for first, last, text in _parts(body, 0, len(body)):
        begin = unit.start if first == 0 else shift + first
        yield Piece(begin + 1, shift + last, headings, headings, text, entry)


def _parts(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """(first line, line after the last, text), each within the limit."""
    first, width = start, 0
    for number in range(start, end):
        room = columns(lines[number])
        if width and width + room > PIECE_COLUMNS:
            yield from _part(lines, first, number)
            first, width = number, 0
        if room > PIECE_COLUMNS:
            yield from _part(lines, first, number)
            yield from ((number, number + 1, text) for text in split_chunks(lines[number], PIECE_COLUMNS))
            first, width = number + 1, 0
        else:
            width += room
    yield from _part(lines, first, end)


def _part(lines: Sequence[str], first: int, end: int) -> Iterator[tuple[int, int, str]]:
    while first < end and not lines[first].strip():
        first += 1
    while end > first and not lines[end - 1].strip():
        end -= 1
    if first < end:
        yield first, end, "\n".join(lines[first:end])


def items_of(path: str, text: str) -> list[PlacedEntry]:
    """The entries of a daily note together with the list items, paragraphs and headings that people wrote, in order.

    The title of the day is no item.
    """
    lines = lines_of(text)
    clean = [entries.without_comment(line.removesuffix("\r")) for line in lines]
    placed = {entry.start_line - 1: entry for entry in entries.parse(lines)}
    begin = _front_matter(clean).lines
    day = day_of(path)
    title = "" if day is None else daily_title(day)
    moment = moment_of(day, UTC) or datetime.min.replace(tzinfo=UTC)
    found: list[PlacedEntry] = []
    for unit in _units(clean, begin, placed):
        if unit.entry is not None:
            found.append(placed[unit.start])
        elif unit.kind != "heading" or (unit.title and unit.title != title):
            own = unit.title if unit.kind == "heading" else item_text(clean[unit.start : unit.end])
            place = f"{path}:{unit.start + 1}-{unit.end}"
            entry = NoteEntry(place, moment, timedelta(), own, by="user")
            found.append(PlacedEntry(entry, unit.start + 1, unit.end, by_hand=True))
    return found


def item_text(lines: Sequence[str]) -> str:
    """The text of a block: of a list item without its bullet and its indentation."""
    match = _BULLET.match(lines[0])
    if match is None:
        return "\n".join(lines).strip("\n")
    rest = textwrap.dedent("\n".join(lines[1:]))
    return f"{lines[0][match.end() :]}\n{rest}".strip("\n")


def headings_in(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """(line counted from 0, level, title) of every heading."""
    placed = {entry.start_line - 1: entry for entry in entries.parse(lines)}
    begin = _front_matter(lines).lines
    return [(unit.start, unit.level, unit.title) for unit in _units(lines, begin, placed) if unit.kind == "heading"]
