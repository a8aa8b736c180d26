"""Erasing what the data directory keeps about the notes of a scope; the files of the user are named, not deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from jiyi.errors import NotesError
from jiyi.file_lock import FileLock
from jiyi.notes.files import Files
from jiyi.notes.listing import BACKUPS
from jiyi.notes.paths import CONTEXT_FILES
from jiyi.notes.workspaces import (
    CURATION,
    JOURNAL,
    PROPOSALS,
    REGISTRY,
    SESSIONS,
    WorkspaceRegistry,
    sessions_file,
    short_id,
    workspace_id,
)


@dataclass(frozen=True, slots=True)
class ErasedNotes:
    """What was removed from the data directory, and which files of the user still hold notes."""

    removed: dict[str, int] = field(default_factory=dict)
    """How many files, by folder of the data directory."""
    workspaces: tuple[str, ...] = ()
    """Where the notes are. Of a workspace that was opened on another machine only the id is known."""
    files: tuple[str, ...] = ()
    """The files in these workspaces."""


def erase_notes(
    data: Path, scope: str, workspaces: Iterable[str], own: Path | None, *, lock_timeout: float
) -> ErasedNotes:
    """Erase what is kept about the notes of a scope: journals, proposals, what was curated, kinds of sessions.

    `workspaces` are ids that the database knew, `own` is the workspace that the caller has open for the scope. What is
    kept about a workspace that another scope uses too stays.
    """
    registry = WorkspaceRegistry(data / REGISTRY)
    roots = registry.roots(scope)
    if own is not None and own.is_dir():
        roots[workspace_id(own)] = str(own.resolve())
    others = registry.others(scope)
    removed: dict[str, int] = {}
    for workspace in {*roots, *workspaces} - others:
        name = short_id(workspace)
        if not any((data / part).exists() for part in (f"{JOURNAL}/{name}", f"{PROPOSALS}/{name}", CURATION)):
            continue
        with FileLock(data / f"notes-{name}.lock", timeout=lock_timeout, error=NotesError).hold():
            _count(removed, JOURNAL, _empty(data / JOURNAL / name))
            _count(removed, PROPOSALS, _delete(data / PROPOSALS / name))
            _count(removed, CURATION, _delete(data / CURATION / f"{name}.json"))
    _count(removed, SESSIONS, _delete(sessions_file(data, scope)))
    _count(removed, REGISTRY, registry.remove(scope))
    places = [roots.get(each) or f"workspace {short_id(each)} of another machine" for each in {*roots, *workspaces}]
    files = [file for root in roots.values() for file in _files_of(Path(root))]
    return ErasedNotes(removed, tuple(sorted(places)), tuple(sorted(files)))


def _count(removed: dict[str, int], name: str, count: int) -> None:
    if count:
        removed[name] = removed.get(name, 0) + count


def _empty(folder: Path) -> int:
    """Empty the journals: a process that has one open goes on writing to it."""
    emptied = 0
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        with suppress(FileNotFoundError):
            emptied += bool(path.stat().st_size)
            os.truncate(path, 0)
    return emptied


def _delete(path: Path) -> int:
    try:
        if path.is_dir():
            count = sum(each.is_file() for each in path.rglob("*"))
            shutil.rmtree(path)
            return count
        path.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise NotesError(f"{path} cannot be deleted: {error.strerror}") from error
    return 1


def _files_of(root: Path) -> Iterator[str]:
    """The notes of a workspace that is there, the files that go into prompts, and the backups of MEMORY.md."""
    if not root.is_dir():
        return
    yield from (str(root / path) for path in Files(root).listing().files)
    backups = root / BACKUPS
    found = [*(root / name for name in CONTEXT_FILES), *(backups.rglob("*") if backups.is_dir() else ())]
    yield from (str(path) for path in found if path.is_file())
