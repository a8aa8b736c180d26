"""MEMORY.md as text: where a section ends, what is added to it, and how the file is replaced without losing a word."""

from __future__ import annotations

import codecs
import difflib
import hashlib
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jiyi.errors import InvalidInputError, NoteConflictError, NotesError
from jiyi.model import clock
from jiyi.notes import text_encoding
from jiyi.notes.entries import without_comment
from jiyi.notes.listing import BACKUPS
from jiyi.notes.markdown import headings_in
from jiyi.notes.paths import MEMORY_FILE
from jiyi.text import detect_language, fold

if TYPE_CHECKING:
    from jiyi.notes.service import NotesService

_log = logging.getLogger("jiyi.notes")

KEPT_BACKUPS: Final = 20
"""How many backups are kept, the newest ones; older ones are deleted when another is made."""
_BACKUP: Final = re.compile(r"MEMORY\.\d{8}T\d{6}\.\d{6}Z\.md")
PROMOTED_MARK: Final = re.compile(r"<!-- jiyi from=(\S+)")
"""What earlier versions of this package wrote behind an item: the entry that it was."""
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_DEFAULT_SECTION: Final = {"en": "From the daily notes", "zh": "来自每日笔记"}
_BOMS: Final = {
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
# Signs that make another word or number of it: C++ is not C, and 1.5 is not 15.
_WORD: Final = re.compile(r"[+-]?\d+(?:[.,:/]\d+)*%?|[^\W\d_]+[+#]*")
# What would begin a block of its own if it stood behind the sign of a list item.
_STRUCTURE: Final = re.compile(r"\s*(?:#|>|```|~~~|[-*+]\s|\d+[.)]\s|---|===|<!--)")


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """MEMORY.md as it was read."""

    data: bytes
    text: str
    encoding: str

    @property
    def digest(self) -> str:
        """By which it is seen whether it has changed since."""
        return digest_of(self.data)

    @property
    def promoted(self) -> set[str]:
        """Ids of the entries that were put into it, as earlier versions of this package wrote them."""
        return set(PROMOTED_MARK.findall(self.text))

    @property
    def item_lines(self) -> list[tuple[str, str]]:
        """(line, text) of each list item that is one line."""
        found = []
        for line in self.text.split("\n"):
            bare = line.rstrip("\r")
            match = _ITEM.match(bare)
            if match is not None:
                found.append((bare, without_comment(bare[match.end() :])))
        return found

    @property
    def items(self) -> list[str]:
        """The texts of its list items."""
        return [text for _, text in self.item_lines]

    def __contains__(self, text: str) -> bool:
        """Whether it says this already, as an item or as lines of their own."""
        wanted = _plain_lines(text)
        lines = _plain_lines(self.text)
        return any(lines[start : start + len(wanted)] == wanted for start in range(len(lines)))

    def encoded(self, text: str) -> bytes:
        """Another text in the same encoding, with the same mark at its beginning."""
        mark = _BOMS.get(self.encoding, b"")
        if self.data.startswith(codecs.BOM_UTF8):
            mark = codecs.BOM_UTF8
        return mark + text.encode(self.encoding)


@dataclass(frozen=True, slots=True)
class Addition:
    """Something to be put into a section of MEMORY.md."""

    section: str
    text: str
    entry_id: str = ""
    """The entry that it is, if it is a whole one."""
    by: str = ""
    source: str = ""
    note: str = ""
    """The daily note that it was taken from; `by` and `source` are those of the entry there."""


def comparable(text: str) -> str:
    """A text for comparing: its letters and digits alone, folded."""
    return "".join(character for character in fold(text) if character.isalnum())


def words_of(text: str) -> str:
    """A text for looking for it in others: its words and numbers in order, with a blank before and behind each."""
    found = _WORD.findall(fold(text)) or text.split()
    return f" {' '.join(found)} "


def _plain_lines(text: str) -> list[str]:
    """The lines that say something, without the sign of an item; blanks and large letters make no difference."""
    bare = (_ITEM.sub("", without_comment(line), count=1) for line in text.split("\n"))
    return [plain for line in bare if (plain := " ".join(fold(line).split()))]


def headings_of(text: str) -> list[str]:
    """The titles of the sections; not the title of the file, unless it is the only one."""
    found = headings_in(text.split("\n"))
    sections = [title for _, level, title in found if level > 1]
    return sections or [title for _, _, title in found]


def new_sections(text: str, sections: Sequence[str]) -> list[str]:
    """Those sections that the text has no heading for."""
    present = {title.strip().casefold() for _, _, title in headings_in(text.split("\n"))}
    return [section for section in dict.fromkeys(sections) if section.strip().casefold() not in present]


def default_section(text: str, others: Sequence[str]) -> str:
    """The section for what has no other one, in the language of the file or else of what is added."""
    return _DEFAULT_SECTION[detect_language(text if any(c.isalpha() for c in text) else "\n".join(others))]


def digest_of(data: bytes) -> str:
    """Of the bytes of a file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def read_memory_file(service: NotesService) -> MemoryFile:
    """MEMORY.md; empty when there is none. What cannot be read is an error, never empty."""
    try:
        data, _ = service.files.read(service.files.memory_file(), max_bytes=service.settings.append.file_bytes)
    except FileNotFoundError:
        return MemoryFile(b"", "", text_encoding.UTF_8)
    try:
        text, encoding = text_encoding.decode(data)
    except text_encoding.UndecodableError as error:
        raise NotesError(f"{MEMORY_FILE} cannot be read: {error}") from None
    return MemoryFile(data, text, encoding)


def with_additions(text: str, additions: Sequence[Addition]) -> str:
    """The text with each addition at the end of its section; sections that are not there are made."""
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    by_section: dict[str, list[str]] = {}
    for addition in additions:
        by_section.setdefault(addition.section, []).extend(_item(addition))
    for section, items in by_section.items():
        _insert(lines, section, items)
    return end.join(lines) + end


def without_lines(text: str, gone: Sequence[str]) -> str:
    """The text without these lines, each taken out once."""
    left = list(gone)
    kept = []
    for line in text.split("\n"):
        bare = line.rstrip("\r")
        if bare in left:
            left.remove(bare)
        else:
            kept.append(line)
    return "\n".join(kept)


def diff_of(before: str, after: str) -> str:
    """What changes, as a unified diff."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{MEMORY_FILE}", f"b/{MEMORY_FILE}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def replace_memory_file(service: NotesService, before: MemoryFile, text: str) -> str:
    """Put the text in place of what was read, after a backup; returns where that is.

    `NoteConflictError`, and nothing overwritten, when the file is not what was read any more.
    """
    data = before.encoded(text)
    name = service.files.memory_file()
    if not before.data and service.files.create(name, data):
        return ""
    with service.lock.hold():
        backup = _new_backup()
        # The file itself gets a second name: also what is written to it in this very moment is in the backup.
        service.files.keep_copy(name, backup)
        if _read(service, backup) != before.data:
            with suppress(NotesError, InvalidInputError):
                service.files.remove(backup)
            raise _conflict()
        service.files.replace(name, data)
        if _read(service, backup) != before.data:
            service.files.move(backup, name)
            raise _conflict()
        _delete_old_backups(service)
    return backup


def _delete_old_backups(service: NotesService) -> None:
    """Delete all backups but the newest. What people have put beside them stays."""
    try:
        own = sorted(name for name in service.files.names(BACKUPS) if _BACKUP.fullmatch(name))
        for name in own[:-KEPT_BACKUPS]:
            service.files.remove(f"{BACKUPS}/{name}")
    except (NotesError, InvalidInputError) as error:
        # The change itself is done: too many backups are no reason to say that it is not.
        _log.warning("old backups could not be deleted: %s", error)


def _conflict() -> NoteConflictError:
    return NoteConflictError(
        f"{MEMORY_FILE} was changed by somebody else meanwhile; nothing was overwritten, begin again"
    )


def _new_backup() -> str:
    stamp = clock.to_text(clock.utc_now()).replace(":", "").replace("-", "")
    return f"{BACKUPS}/MEMORY.{stamp}.md"


def _read(service: NotesService, path: str) -> bytes:
    return service.files.read(path, max_bytes=2 * service.settings.append.file_bytes)[0]


def _item(addition: Addition) -> list[str]:
    """A list item; its text is indented like that of an entry, so nothing in it is structure of the file."""
    lines = addition.text.strip("\n").split("\n")
    if not _STRUCTURE.match(lines[0]):
        first, *rest = lines
        return [f"- {first.strip()}", *(f"  {line}" if line else "" for line in rest)]
    return ["-", *(f"  {line}" if line else "" for line in lines)]


def _insert(lines: list[str], section: str, items: Sequence[str]) -> None:
    found = headings_in(lines)
    wanted = section.strip().casefold()
    for place, (number, level, title) in enumerate(found):
        if title.strip().casefold() != wanted:
            continue
        end = next((later for later, other, _ in found[place + 1 :] if other <= level), len(lines))
        # Sub-sections come after what belongs to the section itself.
        end = min([end, *(later for later, _, _ in found[place + 1 :] if later < end)])
        while end > number + 1 and not lines[end - 1].strip():
            end -= 1
        new = [*([""] if end == number + 1 else []), *items, *([""] if end < len(lines) and lines[end].strip() else [])]
        lines[end:end] = new
        return
    lines += [*([""] if lines else []), f"## {section.strip()}", "", *items]
