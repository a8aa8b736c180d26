"""The lock between processes: who holds it, and what the others are told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jiyi.errors import NotesError, StoreBusyError
from jiyi.file_lock import FileLock, is_locked

_HOLD = """
import sys
from pathlib import Path
from jiyi.file_lock import FileLock

with FileLock(Path(sys.argv[1]), timeout=30).hold():
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_by_another_process(path: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.stdin.close()


def test_a_lock_of_another_process_is_reported_by_the_error_of_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    with held_by_another_process(path):
        with pytest.raises(StoreBusyError, match=r"the lock some\.lock was held by another process for 0 s"):
            FileLock(path, timeout=0).acquire()
        with pytest.raises(NotesError, match=r"the notes lock some\.lock"):
            FileLock(path, timeout=0, purpose="the notes lock", error=NotesError).acquire()
    with FileLock(path, timeout=30).hold():
        pass


def test_a_thread_may_take_its_lock_again_and_has_it_until_the_last_release(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    lock = FileLock(path, timeout=0)
    with lock.hold():
        with lock.hold():
            pass
        with pytest.raises(StoreBusyError):
            FileLock(path, timeout=0).acquire()
    FileLock(path, timeout=0).acquire()


def test_whether_a_file_is_locked_can_be_seen_without_waiting_for_it(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    assert not is_locked(path)
    with held_by_another_process(path):
        assert is_locked(path)
    assert not is_locked(path)
