"""Taking the notes of another directory into the workspace. Nothing is overwritten."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jiyi.errors import InvalidInputError, NotesError
from jiyi.model.daily_note import IMPORTED_FOLDER, NOTES_FOLDER
from jiyi.model.note import NoteProblem
from jiyi.notes import text_encoding
from jiyi.notes.files import Files
from jiyi.notes.markdown import take_apart
from jiyi.notes.paths import CONTEXT_FILES, is_note
from jiyi.notes.templates import TEMPLATES
from jiyi.notes.visibility import is_shared

if TYPE_CHECKING:
    from jiyi.notes.service import NotesService


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, by path."""

    copied: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    """There already, byte for byte."""
    beside: dict[str, str] = field(default_factory=dict)
    """Another file has the name here, or a group would have seen it: path there -> path under which it was taken in."""
    problems: list[NoteProblem] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "copied": self.copied,
            "unchanged": self.unchanged,
            "beside": self.beside,
            "problems": [problem.to_dict() for problem in self.problems],
        }


def import_workspace(service: NotesService, path: str | os.PathLike[str]) -> Imported:
    """Copy MEMORY.md, `memory/` and the context files of a directory, as they are."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise InvalidInputError(f"a directory is needed, not {path!r}")
    there = Path(path).expanduser().resolve()
    if not there.is_dir():
        raise InvalidInputError(f"{there} is no directory; name a workspace with MEMORY.md or {NOTES_FOLDER}/")
    if there == service.root:
        raise InvalidInputError(f"{there} is the workspace itself: its notes are used as they are")
    if not service.root.is_dir():
        raise NotesError(f"the workspace {service.root} does not exist; make it with 'jiyi notes init'")
    source = Files(there)
    listing = source.listing()
    report = Imported(problems=list(listing.problems))
    for name in (*CONTEXT_FILES, *listing.files):
        try:
            data, _ = source.read(name, max_bytes=service.settings.append.file_bytes)
            _import_file(service, name, data, report)
        except FileNotFoundError:
            continue
        except (NotesError, InvalidInputError) as error:
            report.problems.append(NoteProblem(name, str(error)))
    return report


def _import_file(service: NotesService, name: str, data: bytes, report: Imported) -> None:
    if _same(service, name, data):
        report.unchanged.append(name)
        return
    # A file does not decide that a group of this workspace sees it.
    if not _would_be_shared(name, data):
        if service.files.create(name, data):
            report.copied.append(name)
            return
        if _is_template(service, name):
            service.files.replace(name, data)
            report.copied.append(name)
            return
    # The same name for the same bytes each time: importing twice is importing once.
    digest = hashlib.blake2b(data, digest_size=4).hexdigest()
    stem = name.removeprefix(f"{NOTES_FOLDER}/").removesuffix(".md")
    target = f"{IMPORTED_FOLDER}/{stem}.{digest}.md"
    if service.files.create(target, data):
        report.beside[name] = target
    elif _same(service, target, data):
        report.unchanged.append(name)
    else:
        raise NotesError(f"{target} exists and holds something else; move it away")


def _would_be_shared(name: str, data: bytes) -> bool:
    try:
        text, _ = text_encoding.decode(data)
    except text_encoding.UndecodableError:
        text = ""
    return is_note(name) and is_shared(name, take_apart(text))


def _is_template(service: NotesService, name: str) -> bool:
    """Whether a file is what `init` made and has not changed since."""
    texts = [texts[name].encode("utf-8") for texts in TEMPLATES.values() if name in texts]
    return any(_same(service, name, text) for text in texts)


def _same(service: NotesService, path: str, data: bytes) -> bool:
    try:
        return service.files.read(path, max_bytes=len(data))[0] == data
    except (FileNotFoundError, NotesError):
        return False
