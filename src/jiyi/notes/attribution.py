"""Who wrote which lines of a note, from the marks of entries and from what was recorded about items of MEMORY.md."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from jiyi.model import clock
from jiyi.model.limits import check_whole
from jiyi.model.note import LineAttribution
from jiyi.notes.entries import without_comment
from jiyi.notes.markdown import item_text, items_of, lines_of
from jiyi.notes.memory_file import PROMOTED_MARK, comparable
from jiyi.notes.paths import CONTEXT_FILES, MEMORY_FILE, is_memory_file
from jiyi.notes.templates import TEMPLATES

if TYPE_CHECKING:
    from jiyi.notes.curation_ledger import CurationLedger
    from jiyi.notes.entries import PlacedEntry
    from jiyi.notes.service import NotesService

_MAX_LINE: Final = 2**31 - 1


def attribution(
    service: NotesService, path: str, from_line: int = 1, to_line: int | None = None, *, kind: str = "main"
) -> list[LineAttribution]:
    """Who wrote the lines from `from_line` to `to_line`, in order; lines without an author are left out."""
    check_whole(from_line, "from_line", 1, _MAX_LINE)
    last = _MAX_LINE if to_line is None else check_whole(to_line, "to_line", from_line, _MAX_LINE)
    service.appender.reconcile()
    checked, text = service.visible_text(path, kind)
    ledger = service.ledger() if is_memory_file(checked) else None
    found = _attributed(checked, text, ledger)
    return [each for each in found if each.end_line >= from_line and each.start_line <= last]


def _attributed(path: str, text: str, ledger: CurationLedger | None) -> Iterator[LineAttribution]:
    lines = lines_of(text)
    for placed in items_of(path, text):
        first, last, entry = placed.start_line, placed.end_line, placed.entry
        if not placed.by_hand:
            yield LineAttribution(first, last, "entry", entry.by, entry.source, entry.id, at=entry.at)
        elif comparable(entry.text) in _template_items(path):
            yield LineAttribution(first, last, "template")
        elif ledger is not None:
            yield from _long_term_item(placed, lines, ledger)
        else:
            yield LineAttribution(first, last, "hand")


def _long_term_item(placed: PlacedEntry, lines: list[str], ledger: CurationLedger) -> Iterator[LineAttribution]:
    """An item of MEMORY.md. What a person added below a recorded text is by hand, the text is not."""
    first, last = placed.start_line, placed.end_line
    origin, end = ledger.origin_of(placed.entry.text), last
    if origin is None and last > first:
        head = item_text([without_comment(lines[first - 1].removesuffix("\r"))])
        origin, count = ledger.origin_of_lines([head, *lines[first:last]])
        end = first + count - 1
    mark = PROMOTED_MARK.search(lines[first - 1])
    if origin is not None:
        at = clock.from_text(origin.at)
        yield LineAttribution(
            first, end, origin.origin, origin.by, origin.source, origin.entry_id, origin.note, origin.made_by, at
        )
        if end < last:
            yield LineAttribution(end + 1, last, "hand")
    elif mark is not None:
        yield LineAttribution(first, last, "promotion", entry_id=mark[1])
    else:
        yield LineAttribution(first, last, "hand")


def _template_items(path: str) -> frozenset[str]:
    name = MEMORY_FILE if is_memory_file(path) else path
    return _items_of_template(name) if name in (MEMORY_FILE, *CONTEXT_FILES) else frozenset()


@cache
def _items_of_template(name: str) -> frozenset[str]:
    """The items that this file has in a new workspace, in every language, for comparing."""
    texts = [files[name] for files in TEMPLATES.values()]
    return frozenset(comparable(placed.entry.text) for text in texts for placed in items_of(name, text))
