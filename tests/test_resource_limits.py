"""No descriptors or threads left, a read-only directory, an emptied store, a fork, Ctrl-C, a clock that was ahead."""

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.backends.embedded.text.writer import guarded
from jiyi.backends.records.jobs import SqlJobStore
from jiyi.errors import (
    IndexDamagedError,
    IndexingError,
    IndexUnavailableError,
    ResourceLimitError,
    StoreDamagedError,
)
from jiyi.jobs import JobRunner
from jiyi.model.job import Job, JobDraft
from tests.crash.damaged import fill, open_memory
from tests.crash.harness import ROOT
from tests.support import keys

DESCRIPTORS = """
import logging, os, resource, sys
from pathlib import Path
from jiyi.errors import JiyiError
from tests.crash.damaged import open_memory
from tests.support import keys

logging.basicConfig(level=logging.WARNING)
data = Path(sys.argv[1])
with open_memory(data) as memory:  # everything is imported
    memory.recall("walrus7")
plenty = resource.getrlimit(resource.RLIMIT_NOFILE)
used = max(int(name) for name in os.listdir("/proc/self/fd")) + 1
refused = 0
for more in range(int(sys.argv[2])):
    steps = [
        lambda memory: memory.store(f"zebra{more}", f"zebra{more} crossing"),
        lambda memory: memory.recall(f"walrus{more}", 1),
        lambda memory: memory.drain(),
    ]
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, plenty[1]))
    memory = None
    try:
        memory = open_memory(data)
    except JiyiError as error:
        assert error.retryable, repr(error)
        assert "ulimit -n" in str(error), error
        refused += 1
    for step in steps if memory is not None else ():
        try:
            step(memory)
        except JiyiError as error:
            assert error.retryable or "no index could answer" in str(error), repr(error)
            assert "ulimit -n" in str(error), error
            refused += 1
    resource.setrlimit(resource.RLIMIT_NOFILE, plenty)
    if memory is not None:
        assert keys(memory.recall(f"walrus{more}", 1, mode="keyword")) == [f"animal-{more}"]
        memory.close()
print("refused", refused)
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "data"
    fill(path)
    return path


@pytest.fixture
def data(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "data"))


def _run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def _generations(data: Path) -> list[str]:
    return sorted(folder.name for folder in (data / "search_index").glob("*-*"))


# --- descriptors and threads --------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors by /proc")
def test_without_descriptors_calls_are_refused_and_no_index_is_taken_for_damaged(data: Path) -> None:
    before = _generations(data)
    ended = _run(DESCRIPTORS, data, 24)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout.split()[-1]) > 5
    assert "damaged" not in ended.stderr
    assert "rebuilt" not in ended.stderr
    assert _generations(data) == before


@pytest.mark.parametrize(
    "said",
    [
        "Failed to open file for read: Too many open files (os error 24)",
        "IoError { io_error: Os { code: 28, kind: StorageFull } }",
        'called `Result::unwrap()` on an `Err` value: Os { code: 11, kind: WouldBlock, message: "try again" }',
    ],
)
def test_an_error_of_the_system_is_not_taken_for_damage(said: str) -> None:
    def fail(words: str) -> None:
        with guarded("write"):
            raise ValueError(words)

    with pytest.raises(IndexingError, match="text index failed") as caught:
        fail(said)
    assert not isinstance(caught.value, IndexDamagedError)
    with pytest.raises(IndexDamagedError):
        fail("Data corrupted: the footer does not fit")


class _NoThreads:
    """No thread can be started while this is in force."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

    def begin(self) -> None:
        def refuse(_thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        self._patch.setattr(threading.Thread, "start", refuse)


def test_without_threads_a_memory_that_is_open_goes_on_and_a_new_one_is_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_memory(data) as memory:
        memory.store("zebra", "zebra crossing")
        memory.recall("zebra")
        with monkeypatch.context() as patch:
            _NoThreads(patch).begin()
            for number in range(12):
                memory.store(f"zebra{number}", f"zebra{number} crossing")
                assert keys(memory.recall(f"zebra{number}", 1)) == [f"zebra{number}"]
            with pytest.raises(ResourceLimitError, match=r"no further thread can be started.*try again"):
                open_memory(data.with_name("other"))
        assert keys(memory.recall("zebra11", 1)) == ["zebra11"]
        assert all(report.sound for report in memory.verify())


def test_a_job_that_met_a_limit_of_the_system_is_never_dead(tmp_path: Path) -> None:
    moment = datetime(2026, 5, 1, tzinfo=UTC)
    now = [moment]
    with closing(SqliteDatabase(tmp_path / "memory.db", busy_timeout=5)) as database:
        jobs = SqlJobStore(database, lambda: now[0])
        runner = JobRunner(jobs, now=lambda: now[0])
        failures: list[Exception] = [
            OSError(errno.EMFILE, "Too many open files"),
            RuntimeError("can't start new thread"),
        ]
        failures += [ResourceLimitError("no file descriptor is left"), IndexUnavailableError("Too many open files")]
        done: list[int] = []

        def handle(job: Any) -> bool:
            if len(done) < 30:
                done.append(job.attempt)
                raise failures[len(done) % len(failures)]
            return False

        runner.handle({"work": handle})
        jobs.add(JobDraft(kind="work", scope="main", payload={}))
        while jobs.counts() == {"queued": 1}:
            assert runner.run_due() == 1
            now[0] += timedelta(hours=1)
        assert jobs.counts() == {"done": 1}
        assert set(done) == {1}


# --- directories and files ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs another user")
@pytest.mark.parametrize("existing", [True, False])
def test_a_directory_that_may_only_be_read_is_an_error_with_a_remedy(data: Path, existing: bool) -> None:
    program = """
import os, sys
from pathlib import Path
from tests.crash.damaged import open_memory
import jiyi.backends.embedded.database, jiyi.wiring, jiyi.backends.records.store
data = Path(sys.argv[1])
for each in (data, *data.rglob("*")):
    each.chmod(0o555 if each.is_dir() else 0o444)
if os.getuid() == 0:
    os.chmod(data.parent, 0o755)
    os.setuid(65534)
try:
    open_memory(data)
except Exception as error:
    print(type(error).__name__, error)
"""
    # Every start of pytest closes the parents of its own temporary folders to other users.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        locked = Path(folder) / "data"
        if existing:
            shutil.copytree(data, locked)
        else:
            locked.mkdir()
        ended = _run(program, locked)
        for each in (locked, *locked.rglob("*")):
            each.chmod(0o755)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("StorageError ")
    assert "check" in ended.stdout
    assert "permissions" in ended.stdout


def test_an_empty_database_beside_an_index_is_not_taken_for_a_new_store(data: Path) -> None:
    (data / "memory.db").write_bytes(b"")
    with pytest.raises(StoreDamagedError, match=r"is empty, and .*search_index.*restore it from a backup"):
        open_memory(data)
    assert (data / "memory.db").stat().st_size == 0
    shutil.rmtree(data / "search_index")
    with open_memory(data) as memory:
        assert memory.count() == 0


def test_an_empty_database_beside_its_log_is_not_taken_for_a_new_store(data: Path) -> None:
    shutil.rmtree(data / "search_index")
    with open_memory(data) as memory:
        memory.store("zebra", "crossing")
        copy = Path(shutil.copytree(data, data.with_name("copy")))
    (copy / "memory.db").write_bytes(b"")
    with pytest.raises(StoreDamagedError, match=r"is empty, and .*memory\.db-wal"):
        open_memory(copy)
    assert (copy / "memory.db-wal").stat().st_size > 0


@pytest.mark.parametrize("table", ["store_meta", "schema_migrations"])
def test_a_store_whose_bookkeeping_was_emptied_is_refused_with_a_remedy(data: Path, table: str) -> None:
    with closing(sqlite3.connect(data / "memory.db")) as connection:
        connection.execute(f"DELETE FROM {table}")
        connection.commit()
    with pytest.raises(StoreDamagedError, match=r"has lost .* restore the database from a backup"):
        open_memory(data)


# --- fork, signals, clocks ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_memory_that_was_inherited_by_fork_is_refused_and_can_be_opened_again(data: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from jiyi.errors import MemoryClosedError
from tests.crash.damaged import open_memory
data = Path(sys.argv[1])
memory = open_memory(data)
memory.store("before", "zebra")
child = os.fork()
if not child:
    chat = memory.chat("s")
    for call in (memory.count, lambda: memory.recall("zebra"), lambda: memory.store("x", "y"), chat.get):
        try:
            call()
        except MemoryClosedError as error:
            assert "open it again in this process" in str(error), error
        else:
            os._exit(3)
    memory.close()
    with open_memory(data) as own:
        own.store("child", "zebra")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
memory.store("after", "zebra")
assert memory.get("child") is not None
memory.close()
"""
    ended = _run(program, data)
    assert ended.returncode == 0, ended.stderr


def test_ctrl_c_ends_a_command_at_any_moment_with_130_and_no_traceback(data: Path) -> None:
    program = """
import sys
from jiyi.apps.cli import main
print("ready", flush=True)
main()
"""
    ends = set()
    for command in (["recall", "walrus7"], ["store", "k", "zebra"], ["doctor", "--json"]):
        for wait in (0, 0.01, 0.04, 0.1):
            process = subprocess.Popen(
                [sys.executable, "-c", program, *command, "--data", str(data)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            # `main` installs the handler in its first statements.
            time.sleep(0.003 + wait)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
            assert "Traceback" not in said
            ends.add(process.returncode)
    assert ends <= {0, 130}
    assert 130 in ends
    with open_memory(data) as memory:
        assert keys(memory.recall("walrus7", 1)) == ["animal-7"]


def test_a_clock_that_was_ahead_does_not_block_later_jobs(tmp_path: Path) -> None:
    right = datetime(2026, 5, 1, tzinfo=UTC)
    now = [right + timedelta(days=400)]
    with closing(SqliteDatabase(tmp_path / "memory.db", busy_timeout=5)) as database:
        jobs = SqlJobStore(database, lambda: now[0])
        jobs.add(JobDraft(kind="queued", scope="main", payload={}))
        jobs.add(JobDraft(kind="queued", scope="other", payload={}))
        claimed = jobs.claim("dead", now=now[0], lease_until=now[0] + timedelta(minutes=10), scopes=("other",))
        assert claimed is not None
        now[0] = right
        jobs.add(JobDraft(kind="later", scope="main", payload={}))
        jobs.add(JobDraft(kind="later", scope="other", payload={}))
        done: list[tuple[str, str]] = []
        runner = JobRunner(jobs, now=lambda: now[0])

        def handle(job: Job) -> bool:
            done.append((job.scope, job.kind))
            return False

        runner.handle({"queued": handle, "later": handle})
        assert runner.run_due() == 4
        assert sorted(done) == [("main", "later"), ("main", "queued"), ("other", "later"), ("other", "queued")]
