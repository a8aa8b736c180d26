"""The note files of a workspace, with what the system says of each. Links are reported, not followed.

A hard link is a second name of a file, and the other name may be anywhere: such a file is neither read nor written.
Only second names that jiyi itself gives for a moment are allowed: that of a file being made, and that of a backup.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from jiyi.model.daily_note import NOTES_FOLDER
from jiyi.model.note import FileStamp, NoteProblem
from jiyi.notes.paths import MAX_DEPTH, MEMORY_FILE, is_memory_file, is_note, path_problem

FOLDER_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
BACKUPS: Final = ".jiyi/backups"
HARD_LINK: Final = "has a second name elsewhere (a hard link), so it may be no file of the workspace; copy it instead"
LINK_REMEDY: Final = "links are not followed; put the files there, or point the setting workspace at where they are"
_KINDS: Final = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True, slots=True)
class Listing:
    """The note files there are, and what looks like one and cannot be used."""

    files: dict[str, FileStamp] = field(default_factory=dict)
    problems: list[NoteProblem] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Folders that could not be listed: nothing is known of what is in them."""


def list_notes(root: int) -> Listing:
    """Every note file below an open folder."""
    found = Listing()
    memory_file = [name for name, status in entries_of(root) if is_note(name) and stat.S_ISREG(status.st_mode)]
    if len(memory_file) > 1:
        used = MEMORY_FILE if MEMORY_FILE in memory_file else memory_file[0]
        found.problems.extend(
            NoteProblem(name, f"{used} is the long-term memory; move what is in this file there")
            for name in memory_file
            if name != used
        )
    for name, status in entries_of(root):
        if is_note(name):
            _add(root, found, name, status)
        elif name == NOTES_FOLDER:
            if stat.S_ISDIR(status.st_mode):
                _list_folder(root, name, found)
            else:
                reason = f"it is {kind_of(status.st_mode)} and no directory; {LINK_REMEDY}"
                found.problems.append(NoteProblem(name, reason))
                found.unknown.append(name)
    return found


def _list_folder(parent: int, path: str, found: Listing) -> None:
    try:
        folder = os.open(path.rpartition("/")[2], FOLDER_FLAGS | NO_LINK, dir_fd=parent)
    except OSError as error:
        found.problems.append(NoteProblem(path, f"it cannot be listed: {error.strerror}"))
        found.unknown.append(path)
        return
    try:
        for name, status in entries_of(folder):
            below = f"{path}/{name}"
            if name.startswith("."):
                continue
            if stat.S_ISDIR(status.st_mode):
                if below.count("/") < MAX_DEPTH - 1:
                    _list_folder(folder, below, found)
                else:
                    found.problems.append(NoteProblem(below, f"it lies more than {MAX_DEPTH} folders deep"))
            elif is_note(below):
                _add(folder, found, below, status)
            elif stat.S_ISLNK(status.st_mode) and _leads_to_folder(folder, name):
                found.problems.append(NoteProblem(below, f"it is a symbolic link to a folder; {LINK_REMEDY}"))
    except OSError as error:
        found.problems.append(NoteProblem(path, f"it cannot be listed: {error.strerror}"))
        found.unknown.append(path)
    finally:
        os.close(folder)


def _leads_to_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder).st_mode)
    except OSError:
        return False


def stamp_of(status: os.stat_result) -> FileStamp:
    """The part of a file's status that changes when it is written or replaced."""
    return FileStamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def entries_of(folder: int) -> list[tuple[str, os.stat_result]]:
    """The names in an open folder with their status, in order."""
    found = []
    with os.scandir(folder) as names:
        for entry in names:
            try:
                found.append((entry.name, entry.stat(follow_symlinks=False)))
            except FileNotFoundError:
                # It may be gone by now: then it is no file of the workspace.
                continue
    found.sort(key=itemgetter(0))
    return found


def is_linked(folder: int, name: str, status: os.stat_result) -> bool:
    """Whether a file in an open folder has a name that is neither this one nor one that jiyi gave it."""
    while status.st_nlink > 1:
        own = [s.st_ino for other, s in entries_of(folder) if other.startswith(".") and other.endswith(".jiyi")]
        names = 1 + [*own, *_backups(folder, name)].count(status.st_ino)
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if now.st_nlink == status.st_nlink:
            return now.st_nlink > names
        # It was given or lost a name meanwhile.
        status = now
    return False


def _backups(folder: int, name: str) -> list[int]:
    """The inodes of the backups of the long-term memory, where the folder is its own."""
    if not is_memory_file(name):
        return []
    opened = [folder]
    try:
        for part in BACKUPS.split("/"):
            opened.append(os.open(part, FOLDER_FLAGS | NO_LINK, dir_fd=opened[-1]))
        return [status.st_ino for _, status in entries_of(opened[-1])]
    except OSError:
        return []
    finally:
        for descriptor in opened[1:]:
            os.close(descriptor)


def _add(folder: int, found: Listing, path: str, status: os.stat_result) -> None:
    problem = path_problem(path)
    if problem is not None:
        found.problems.append(NoteProblem(ascii(path), f"its name {problem}; rename it"))
        return
    if stat.S_ISREG(status.st_mode) and not is_linked(folder, path.rpartition("/")[2], status):
        found.files[path] = stamp_of(status)
    elif stat.S_ISREG(status.st_mode):
        found.problems.append(NoteProblem(path, f"it {HARD_LINK}"))
    else:
        remedy = f"; {LINK_REMEDY}" if stat.S_ISLNK(status.st_mode) else "; only plain files are read"
        found.problems.append(NoteProblem(path, f"it is {kind_of(status.st_mode)}{remedy}"))


def kind_of(mode: int) -> str:
    """What a file that is no plain file is."""
    return next((name for test, name in _KINDS if test(mode)), "no plain file")
