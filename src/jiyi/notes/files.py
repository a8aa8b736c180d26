"""Access to the files of a workspace. Every path is opened from the root, folder by folder, without following links.

Paths come from models and are not trusted. A path is checked as text first. Then each folder on the way is opened
relative to the one before, and symbolic links are refused, so that a rename in between cannot lead outside. Only
regular files are opened: reading a pipe may block for ever, and opening a device may have side effects.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from jiyi.contexts import on_error
from jiyi.errors import InvalidInputError, NotesError
from jiyi.model.note import FileStamp
from jiyi.notes.file_identity import ContentDigest, file_identity
from jiyi.notes.listing import (
    BACKUPS,
    FOLDER_FLAGS,
    HARD_LINK,
    LINK_REMEDY,
    NO_LINK,
    Listing,
    entries_of,
    is_linked,
    kind_of,
    list_notes,
    stamp_of,
)
from jiyi.notes.paths import MEMORY_FILE, is_memory_file

_CAN_WALK: Final = os.open in os.supports_dir_fd
_FILE_FLAGS: Final = NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)


class AppendTarget:
    """A file that was opened to append to it, and can stay open: no other file has its inode as long as it is."""

    def __init__(self, descriptor: int, place: str) -> None:
        self.descriptor = descriptor
        self.identity = file_identity(descriptor)
        self._place = place
        status = os.fstat(descriptor)
        self._inode, self._device = status.st_ino, status.st_dev
        self._digest = ContentDigest()

    def end(self) -> int:
        """Where the last write ended."""
        return os.lseek(self.descriptor, 0, os.SEEK_CUR)

    def digest_before(self, end: int) -> str:
        """The digest of the bytes up to there; only what was added since the last call is read."""
        if end < self._digest.size:
            self._digest = ContentDigest()
        return self._digest.add(os.pread(self.descriptor, end - self._digest.size, self._digest.size))

    def in_place(self) -> os.stat_result | None:
        """What the system says of the file if its path still leads to it; `None` when another, or none, is there."""
        # Whatever links are on the way by now: what is compared is the file that was reached without any.
        try:
            now = os.lstat(self._place)
        except OSError:
            return None
        same = now.st_ino == self._inode and now.st_dev == self._device
        # With a second name it is looked at again before it is written to.
        return now if same and now.st_nlink == 1 else None

    def close(self) -> None:
        """Close the file."""
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
        with self._folder(()) as folder:
            return list_notes(folder)

    def memory_file(self) -> str:
        """The name of the long-term memory as it is written here: `MEMORY.md`, or `memory.md` where that is there."""
        with self._folder(()) as folder:
            names = [name for name, _ in entries_of(folder) if is_memory_file(name)]
        return MEMORY_FILE if MEMORY_FILE in names or not names else names[0]

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

    def read(self, path: str, *, max_bytes: int) -> tuple[bytes, FileStamp]:
        """The bytes of a file and its stamp from before they were read; `FileNotFoundError` when there is none."""
        with self.opened(path, os.O_RDONLY) as descriptor:
            status = os.fstat(descriptor)
            if status.st_size > max_bytes:
                raise NotesError(
                    f"{path} has {status.st_size:,} bytes and the limit is {max_bytes:,}; "
                    "split it, or raise the setting max_note_file_bytes"
                )
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(max_bytes + 1)
        return data, stamp_of(status)

    @contextmanager
    def opened(self, path: str, flags: int) -> Iterator[int]:
        """A descriptor of a regular file below the root. `FileNotFoundError` passes; other errors name the path."""
        try:
            with self._parent(path) as (folder, name):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                _refuse_irregular(path, status.st_mode)
                descriptor = os.open(name, flags | _FILE_FLAGS, dir_fd=folder)
                with on_error(lambda: os.close(descriptor)):
                    status = os.fstat(descriptor)
                    # A backup is a second name that jiyi gave; its path is never named by a caller.
                    own = path.startswith(f"{BACKUPS}/")
                    _refuse_irregular(path, status.st_mode, linked=not own and is_linked(folder, name, status))
            try:
                yield descriptor
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            action = "read" if flags & os.O_ACCMODE == os.O_RDONLY else "written"
            raise _failed(self.root, path, action, error) from error

    def identity(self, path: str) -> str | None:
        """Which file it is (see `file_identity`); `None` when there is none."""
        try:
            with self.opened(path, os.O_RDONLY) as descriptor:
                return file_identity(descriptor)
        except FileNotFoundError:
            return None

    def open_to_append(self, path: str) -> AppendTarget:
        """A file to append to; `FileNotFoundError` when there is none."""
        with self.opened(path, os.O_RDWR | os.O_APPEND) as descriptor:
            # A second descriptor of the same: this one is closed when the block ends.
            return AppendTarget(os.dup(descriptor), f"{self.root}/{path}")

    def write_error(self, path: str, error: OSError) -> NotesError | InvalidInputError:
        """The error to raise when the system refuses to write a file."""
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
        """Give the file a second name, synced. A program that still writes to the file writes to both names."""
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
                return [name for name, _ in entries_of(descriptor)]
        except OSError as error:
            raise _failed(self.root, folder, "read", error) from error

    def remove(self, path: str) -> None:
        """Delete a file, if there is one."""
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
            descriptor = os.open(self.root, FOLDER_FLAGS)
        except OSError as error:
            raise NotesError(
                f"the workspace {self.root} cannot be read: {error.strerror}; "
                "make it with 'jiyi notes init', or point the setting workspace at the right directory"
            ) from error
        for part in parts:
            try:
                below = os.open(part, FOLDER_FLAGS | NO_LINK, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = below
        return descriptor

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        *folders, name = path.split("/")
        with self._folder(folders) as folder:
            yield folder, name


def _refuse_irregular(path: str, mode: int, *, linked: bool = False) -> None:
    if linked:
        raise InvalidInputError(f"{path} {HARD_LINK}")
    if not stat.S_ISREG(mode):
        raise InvalidInputError(f"{path} is {kind_of(mode)}; only plain files of the workspace are read and written")


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
        return InvalidInputError(f"{path} leads through something that is no folder of the workspace; {LINK_REMEDY}")
    if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM} and action == "written":
        return NotesError(
            f"{path} cannot be written: {error.strerror}; the workspace {root} is read-only for this user "
            "(searching goes on working)"
        )
    if error.errno == errno.ENAMETOOLONG:
        return InvalidInputError(f"{path[:80]} cannot be opened: its name is too long")
    return NotesError(f"{path} cannot be {action}: {error.strerror or error}")
