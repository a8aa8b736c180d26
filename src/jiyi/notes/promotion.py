"""From a daily note into MEMORY.md: entries that are named by id, and lines that are named by their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import InvalidInputError, NotesError
from jiyi.model import clock
from jiyi.notes import text_encoding
from jiyi.notes.curation_ledger import CurationLedger, ItemOrigin
from jiyi.notes.markdown import items_of
from jiyi.notes.memory_file import (
    Addition,
    MemoryFile,
    default_section,
    headings_of,
    new_sections,
    read_memory_file,
    replace_memory_file,
    with_additions,
)
from jiyi.notes.paths import check_path, is_memory_file, is_note
from jiyi.notes.sections import match_section

if TYPE_CHECKING:
    from jiyi.notes.entries import PlacedEntry
    from jiyi.notes.service import NotesService

_PLACE: Final = re.compile(r"(?P<path>.+):(?P<line>\d{1,7})(?:-\d{1,7})?\Z")


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was done to MEMORY.md."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    """Entries that were in it already."""
    backup: str = ""
    """Where the version before is, below the workspace; empty when there was none."""
    moved: tuple[str, ...] = field(default=())
    """Entries that left their daily note."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class _NamedEntry:
    """An entry or a block that was named."""

    path: str
    placed: PlacedEntry


def promote(
    service: NotesService, ids: str | Sequence[str], *, section: str | None = None, move: bool = False
) -> Accepted:
    """Put entries into a section of MEMORY.md, each once; with `move` they leave their daily note afterwards.

    An entry is named by its id, anything that people wrote by its place (`memory/2026-11-15.md:12`).
    """
    wanted = [ids] if isinstance(ids, str) else list(ids)
    if not wanted or not all(isinstance(each, str) and each.strip() for each in wanted):
        raise InvalidInputError(f"ids must name at least one entry of a daily note, not {ids!r}")
    if section is not None and (not isinstance(section, str) or not section.strip() or "\n" in section):
        raise InvalidInputError(f"section must be the text of a heading, not {section!r}")
    names = list(dict.fromkeys(each.strip() for each in wanted))
    found = _find(service, names)
    before = read_memory_file(service)
    known = service.ledger().promoted | before.promoted
    title = section or default_section(before.text, [each.placed.entry.text for each in found.values()])
    title = match_section(title, headings_of(before.text))
    named = _first_names(names, found)
    new = [name for name in names if name in named and _is_new(found[name].placed, known, before)]
    backup = ""
    if new:
        texts = [Addition(title, found[name].placed.entry.text) for name in new]
        backup = replace_memory_file(service, before, with_additions(before.text, texts))
        with service.lock.hold():
            ledger = service.ledger()
            ledger.promoted |= {found[name].placed.entry.id for name in new if not found[name].placed.by_hand}
            ledger.observe(read_memory_file(service).items)
            _record_origins(ledger, before, title, [found[name] for name in new])
            ledger.save()
    # Only now, when they are safe in their new place; after an interruption in between the call is repeated.
    moved = _remove(service, {name: found[name] for name in named}, read_memory_file(service)) if move else ()
    return Accepted(
        added=tuple(new), unchanged=tuple(name for name in names if name not in new), backup=backup, moved=moved
    )


def _first_names(names: Sequence[str], found: dict[str, _NamedEntry]) -> list[str]:
    """One name for each thing that was named: an entry has an id, and every line of it is a place."""
    first: dict[tuple[str, int], str] = {}
    for name in names:
        if name in found:
            first.setdefault((found[name].path, found[name].placed.start_line), name)
    return list(first.values())


def _is_new(placed: PlacedEntry, known: set[str], before: MemoryFile) -> bool:
    return (placed.by_hand or placed.entry.id not in known) and placed.entry.text not in before


def _record_origins(ledger: CurationLedger, before: MemoryFile, section: str, added: Sequence[_NamedEntry]) -> None:
    at = clock.to_text(clock.utc_now())
    for title in new_sections(before.text, [section]):
        ledger.record(title, ItemOrigin("promotion", at))
    for each in added:
        entry = each.placed.entry
        entry_id = "" if each.placed.by_hand else entry.id
        ledger.record(entry.text, ItemOrigin("promotion", at, entry.by, entry.source, entry_id, each.path))


def _find(service: NotesService, names: Sequence[str]) -> dict[str, _NamedEntry]:
    """What was named; all of it or an error."""
    found: dict[str, _NamedEntry] = {}
    ids = []
    for name in names:
        match = _PLACE.match(name)
        if match is None:
            ids.append(name)
        else:
            found[name] = _find_line(service, match["path"], int(match["line"]))
    for path in service.files.listing().files if ids else ():
        if is_memory_file(path):
            continue
        for placed in _items(service, path):
            if placed.entry.id in ids and not placed.by_hand:
                found.setdefault(placed.entry.id, _NamedEntry(path, placed))
    promoted = service.ledger().promoted | read_memory_file(service).promoted
    missing = [name for name in names if name not in found and name not in promoted]
    if missing:
        raise InvalidInputError(
            f"no note has an entry with the id {', '.join(missing)[:200]}; 'jiyi notes today' shows ids and places"
        )
    return found


def _find_line(service: NotesService, path: str, line: int) -> _NamedEntry:
    """The entry, list item, paragraph or heading at a line of a note."""
    checked = check_path(path)
    if not is_note(checked) or is_memory_file(checked):
        raise InvalidInputError(f"{checked} is no daily note; name a line as memory/2026-11-15.md:12")
    text = service.read_text(checked)
    if text is None:
        raise InvalidInputError(f"there is no note {checked!r} here")
    for placed in items_of(checked, text):
        if placed.start_line <= line <= placed.end_line:
            return _NamedEntry(checked, placed)
    raise InvalidInputError(f"there is nothing to promote at line {line} of {checked}")


def _items(service: NotesService, path: str) -> list[PlacedEntry]:
    try:
        return items_of(path, service.read_text(path) or "")
    except (NotesError, InvalidInputError):
        # Every scan reports a file that cannot be read; the entry may be in another one.
        return []


def _remove(service: NotesService, found: dict[str, _NamedEntry], after: MemoryFile) -> tuple[str, ...]:
    """Take entries that MEMORY.md has now out of their daily notes."""
    moved: list[str] = []
    safe = {name: each for name, each in found.items() if each.placed.entry.text in after}
    with service.lock.hold():
        for path in dict.fromkeys(each.path for each in safe.values()):
            data, _ = service.files.read(path, max_bytes=service.settings.append.file_bytes)
            file = MemoryFile(data, *text_encoding.decode(data))
            lines = file.text.split("\n")
            present = items_of(path, file.text)
            gone: list[tuple[str, PlacedEntry]] = []
            for name, each in safe.items():
                place = _place_now(each.placed, present) if each.path == path else None
                if place is not None:
                    gone.append((name, present.pop(place)))
            for _, placed in sorted(gone, key=lambda one: one[1].start_line, reverse=True):
                # The empty line before an entry belongs to it.
                start = placed.start_line - 1
                start -= start > 0 and not lines[start - 1].strip()
                del lines[start : placed.end_line]
            for _, placed in gone:
                if not placed.by_hand:
                    service.journal.removed(placed.entry.id)
            if gone:
                service.appender.rewrite(path, data, file.encoded("\n".join(lines)))
            moved += [name for name, _ in gone]
    return tuple(dict.fromkeys(moved))


def _place_now(wanted: PlacedEntry, present: Sequence[PlacedEntry]) -> int | None:
    """Which of these is the one that was found before: the lines may have moved since, and a text may stand twice."""
    same = [
        number
        for number, placed in enumerate(present)
        if placed.entry.text == wanted.entry.text
        and placed.by_hand == wanted.by_hand
        and (placed.by_hand or placed.entry.id == wanted.entry.id)
    ]
    return min(same, key=lambda number: abs(present[number].start_line - wanted.start_line), default=None)
