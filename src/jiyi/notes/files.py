"""The files of a workspace, and nothing else: every path is walked from the root, part by part, without links.

Paths come from models and are not trusted. A path is checked as text first; then each folder on the way is opened
relative to the one before, refusing symbolic links, so nothing that happens to the names meanwhile leads outside. Only
regular files are opened: a pipe would wait for ever and a device may do anything.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Final

from jiyi.errors import InvalidInputError, NotesError
from jiyi.model.note import FileStamp, NoteProblem
from jiyi.notes.identity import file_identity, file_origin

LONG_TERM: Final = "MEMORY.md"
FOLDER: Final = "memory"
SHARED_FOLDER: Final = "memory/shared"
CONTEXT_FILES: Final = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md")
_SUFFIX: Final = ".md"
_MAX_CHARACTERS: Final = 1_024
_MAX_NAME_BYTES: Final = 255
_MAX_DEPTH: Final = 16
_CAN_WALK: Final = os.open in os.supports_dir_fd
_FOLDER_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_FILE_FLAGS: Final = _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
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


def check_path(path: object) -> str:
    """A path below the workspace as it is written in notes: `memory/2026-11-15.md`."""
    if not isinstance(path, str):
        raise InvalidInputError(f"path must be text, not {type(path).__name__}: {ascii(path)[:80]}")
    problem = _path_problem(path)
    if problem is not None:
        shown = ascii(path) if len(path) <= 80 else ascii(path[:77]) + "…"
        raise InvalidInputError(f"path {shown} {problem}; name a note such as 'memory/2026-11-15.md' or 'MEMORY.md'")
    return "/".join(part for part in path.split("/") if part != ".")


@lru_cache(maxsize=1 << 15)
def _path_problem(path: str) -> str | None:  # noqa: PLR0911 - a list of refusals
    if not path.strip():
        return "is empty"
    if len(path) > _MAX_CHARACTERS:
        return f"has {len(path):,} characters (at most {_MAX_CHARACTERS:,})"
    for character in path:
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}:
            return f"contains the character U+{ord(character):04X}"
    if "\\" in path:
        return "contains a backslash; folders are separated by '/'"
    if path.startswith(("/", "~")) or path[1:2] == ":":
        return "is not below the workspace"
    parts = path.split("/")
    if ".." in parts:
        return "leads out of its folder ('..')"
    if "" in parts or not any(part != "." for part in parts):
        return "has an empty part"
    if any(len(part.encode("utf-8")) > _MAX_NAME_BYTES for part in parts):
        return f"has a part of more than {_MAX_NAME_BYTES} bytes"
    return None


@lru_cache(maxsize=1 << 15)
def is_note(path: str) -> bool:
    """Whether a path is one of those that are searched: `MEMORY.md`, and Markdown below `memory/`, hidden ones not."""
    parts = path.split("/")
    if any(part.startswith(".") for part in parts) or len(parts) > _MAX_DEPTH:
        return False
    if len(parts) == 1:
        return path.upper() == LONG_TERM.upper()
    return parts[0] == FOLDER and path.lower().endswith(_SUFFIX)


def is_long_term(path: str) -> bool:
    """Whether it is the curated file, which no group sees."""
    return path.upper() == LONG_TERM.upper()


class AppendTarget:
    """A file that was opened to append to it, and can stay open: no other file has its inode as long as it is."""

    def __init__(self, descriptor: int, place: str) -> None:
        self.descriptor = descriptor
        self.identity = file_identity(descriptor)
        self._place = place
        status = os.fstat(descriptor)
        self._inode, self._device = status.st_ino, status.st_dev

    def in_place(self) -> os.stat_result | None:
        """What the system says of the file if its path still leads to it; `None` when another, or none, is there."""
        # Whatever links are on the way by now: what is compared is the file that was reached without any.
        try:
            now = os.lstat(self._place)
        except OSError:
            return None
        return now if now.st_ino == self._inode and now.st_dev == self._device else None

    def close(self) -> None:
        """Let go of the file."""
        os.close(self.descriptor)


class Files:
    """The workspace directory. The root itself may be reached by a link; nothing below it is."""

    def __init__(self, root: Path) -> None:
        if not _CAN_WALK:
            raise NotesError("notes need a system that opens files relative to folders, such as Linux or macOS")
        self.root = root

    # --- looking --------------------------------------------------------------------------------------------------

    def listing(self) -> Listing:
        """Every note file with what the system says of it; `NotesError` when the workspace itself is not there."""
        found = Listing()
        with self._folder(()) as folder:
            for name, status in _names(folder):
                if is_note(name):
                    _sort(found, name, status)
                elif name == FOLDER:
                    if stat.S_ISDIR(status.st_mode):
                        self._list(folder, name, found)
                    else:
                        reason = f"it is {_kind(status.st_mode)} and no directory; {_REMEDY}"
                        found.problems.append(NoteProblem(name, reason))
                        found.unknown.append(name)
        return found

    def _list(self, parent: int, path: str, found: Listing) -> None:
        try:
            folder = os.open(path.rpartition("/")[2], _FOLDER_FLAGS | _NO_LINK, dir_fd=parent)
        except OSError as error:
            found.problems.append(NoteProblem(path, f"it cannot be listed: {error.strerror}"))
            found.unknown.append(path)
            return
        try:
            for name, status in _names(folder):
                below = f"{path}/{name}"
                if name.startswith("."):
                    continue
                if stat.S_ISDIR(status.st_mode):
                    if below.count("/") < _MAX_DEPTH - 1:
                        self._list(folder, below, found)
                    else:
                        found.problems.append(NoteProblem(below, f"it lies more than {_MAX_DEPTH} folders deep"))
                elif is_note(below):
                    _sort(found, below, status)
        except OSError as error:
            found.problems.append(NoteProblem(path, f"it cannot be listed: {error.strerror}"))
            found.unknown.append(path)
        finally:
            os.close(folder)

    def stamp(self, path: str) -> FileStamp | None:
        """What the system says of one file; `None` when there is none."""
        try:
            with self._parent(path) as (folder, name):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _failed(self.root, path, "read", error) from error
        return stamp_of(status)

    # --- reading --------------------------------------------------------------------------------------------------

    def read(self, path: str, *, most: int) -> tuple[bytes, FileStamp]:
        """The bytes of a file and its stamp from before they were read; `FileNotFoundError` when there is none."""
        with self.opened(path, os.O_RDONLY) as descriptor:
            status = os.fstat(descriptor)
            if status.st_size > most:
                raise NotesError(
                    f"{path} has {status.st_size:,} bytes and the limit is {most:,}; "
                    "split it, or raise the setting max_note_file_bytes"
                )
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(most + 1)
        return data, stamp_of(status)

    @contextmanager
    def opened(self, path: str, flags: int) -> Iterator[int]:
        """A descriptor of a regular file below the root. `FileNotFoundError` passes; other errors name the path."""
        try:
            with self._parent(path) as (folder, name):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                _refuse_others(path, status.st_mode)
                descriptor = os.open(name, flags | _FILE_FLAGS, dir_fd=folder)
            try:
                _refuse_others(path, os.fstat(descriptor).st_mode)
                yield descriptor
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            action = "read" if flags & os.O_ACCMODE == os.O_RDONLY else "written"
            raise _failed(self.root, path, action, error) from error

    def origin(self, path: str) -> tuple[str, int] | None:
        """Which file it is (see `identity`), and when it came to be, in nanoseconds; `None` when there is none."""
        try:
            with self.opened(path, os.O_RDONLY) as descriptor:
                return file_identity(descriptor), file_origin(descriptor)
        except FileNotFoundError:
            return None

    def open_to_append(self, path: str) -> AppendTarget:
        """A file to append to; `FileNotFoundError` when there is none."""
        with self.opened(path, os.O_RDWR | os.O_APPEND) as descriptor:
            # A second descriptor of the same: this one is closed when the block ends.
            return AppendTarget(os.dup(descriptor), f"{self.root}/{path}")

    def not_written(self, path: str, error: OSError) -> NotesError | InvalidInputError:
        """What an error of the system means for who wanted to write the file."""
        return _failed(self.root, path, "written", error)

    # --- writing --------------------------------------------------------------------------------------------------

    def create(self, path: str, data: bytes) -> bool:
        """Make a file with these bytes, whole or not at all; `False` when there is one already. On disk afterwards."""
        try:
            self._make_folders(path)
            with self._parent(path) as (folder, name):
                with _temporary(folder, name, data) as temporary:
                    try:
                        _give_name(folder, temporary, folder, name)
                    except FileExistsError:
                        return False
                os.fsync(folder)
        except OSError as error:
            raise _failed(self.root, path, "written", error) from error
        return True

    def replace(self, path: str, data: bytes) -> None:
        """Put these bytes in place of the file in one step; on disk afterwards."""
        try:
            with self._parent(path) as (folder, name):
                with _temporary(folder, name, data) as temporary:
                    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                os.fsync(folder)
        except OSError as error:
            raise _failed(self.root, path, "written", error) from error

    def keep_copy(self, path: str, copy: str) -> None:
        """Give the file as it is now a second name, on disk; whoever still writes to it writes there as well."""
        try:
            self._make_folders(copy)
            with self._parent(path) as (folder, name), self._parent(copy) as (target, copy_name):
                _give_name(folder, name, target, copy_name)
                os.fsync(target)
        except OSError as error:
            raise _failed(self.root, copy, "written", error) from error

    def move(self, path: str, target: str) -> None:
        """Give a file another name in one step, in place of what has that name."""
        try:
            with self._parent(path) as (folder, name), self._parent(target) as (other, other_name):
                os.replace(name, other_name, src_dir_fd=folder, dst_dir_fd=other)
                os.fsync(other)
        except OSError as error:
            raise _failed(self.root, target, "written", error) from error

    def names(self, folder: str) -> list[str]:
        """The names in a folder below the root, hidden ones too."""
        try:
            with self._folder(folder.split("/")) as descriptor:
                return [name for name, _ in _names(descriptor)]
        except OSError as error:
            raise _failed(self.root, folder, "read", error) from error

    def remove(self, path: str) -> None:
        """Take a file away; one that is not there is none to take."""
        try:
            with self._parent(path) as (folder, name), suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
        except OSError as error:
            raise _failed(self.root, path, "written", error) from error

    def _make_folders(self, path: str) -> None:
        made = Path()
        for part in path.split("/")[:-1]:
            with self._folder(made.parts) as folder, suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
                os.fsync(folder)
            made /= part

    # --- walking --------------------------------------------------------------------------------------------------

    @contextmanager
    def _folder(self, parts: Sequence[str]) -> Iterator[int]:
        descriptor = self._open_folder(parts)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _open_folder(self, parts: Sequence[str]) -> int:
        try:
            descriptor = os.open(self.root, _FOLDER_FLAGS)
        except OSError as error:
            raise NotesError(
                f"the workspace {self.root} cannot be read: {error.strerror}; "
                "make it with 'jiyi notes init', or point the setting workspace at the right directory"
            ) from error
        for part in parts:
            try:
                below = os.open(part, _FOLDER_FLAGS | _NO_LINK, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = below
        return descriptor

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        *folders, name = path.split("/")
        with self._folder(folders) as folder:
            yield folder, name


_REMEDY: Final = "links are not followed; put the files there, or point the setting workspace at where they are"


def stamp_of(status: os.stat_result) -> FileStamp:
    """The part of a file's status that changes when it is written or replaced."""
    return FileStamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _names(folder: int) -> list[tuple[str, os.stat_result]]:
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


def _sort(found: Listing, path: str, status: os.stat_result) -> None:
    problem = _path_problem(path)
    if problem is not None:
        found.problems.append(NoteProblem(ascii(path), f"its name {problem}; rename it"))
        return
    if stat.S_ISREG(status.st_mode):
        found.files[path] = stamp_of(status)
    else:
        remedy = f"; {_REMEDY}" if stat.S_ISLNK(status.st_mode) else "; only plain files are read"
        found.problems.append(NoteProblem(path, f"it is {_kind(status.st_mode)}{remedy}"))


def _kind(mode: int) -> str:
    return next((name for test, name in _KINDS if test(mode)), "no plain file")


def _refuse_others(path: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise InvalidInputError(f"{path} is {_kind(mode)}; only plain files of the workspace are read and written")


@contextmanager
def _temporary(folder: int, name: str, data: bytes) -> Iterator[str]:
    """A file beside the one that is meant, with these bytes on disk."""
    temporary = f".{name[:100]}.{os.getpid()}.{os.urandom(4).hex()}.jiyi"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, 0o644, dir_fd=folder)
    try:
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield temporary
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def _give_name(folder: int, name: str, target_folder: int, target: str) -> None:
    """Let a file have a second name; where the file system knows no such thing, a copy. Nothing is overwritten."""
    try:
        os.link(name, target, src_dir_fd=folder, dst_dir_fd=target_folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK}:
            raise
        source = os.open(name, os.O_RDONLY | _FILE_FLAGS, dir_fd=folder)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE_FLAGS
            copy = os.open(target, flags, 0o644, dir_fd=target_folder)
            try:
                while data := os.read(source, 1 << 20):
                    write_all(copy, data)
                os.fsync(copy)
            finally:
                os.close(copy)
        finally:
            os.close(source)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; one call nearly always does."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _failed(root: Path, path: str, action: str, error: OSError) -> NotesError | InvalidInputError:
    if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
        return InvalidInputError(f"{path} leads through something that is no folder of the workspace; {_REMEDY}")
    if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM} and action == "written":
        return NotesError(
            f"{path} cannot be written: {error.strerror}; the workspace {root} is read-only for this user "
            "(searching goes on working)"
        )
    if error.errno == errno.ENAMETOOLONG:
        return InvalidInputError(f"{path[:80]} cannot be opened: its name is too long")
    return NotesError(f"{path} cannot be {action}: {error.strerror or error}")
