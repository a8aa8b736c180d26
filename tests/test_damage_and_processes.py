"""A damaged file of an index never ends a process: it costs a rebuild."""

import json
import logging
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jiyi.backends.embedded.text.files import SegmentFiles, read_segments, segment_files
from jiyi.errors import IndexDamagedError
from tests.crash.damaged import derived_files, fill, open_memory
from tests.crash.harness import ROOT
from tests.support import flip_byte, keys

UNDER_AN_OPEN_INDEX = """
import os, sys
from pathlib import Path
from jiyi.backends.embedded.text.files import SegmentFiles
from tests.crash.damaged import open_memory

def unchecked(*_args, **_settings): pass
if sys.argv[2] == "unchecked":
    for name in ("check_at_opening", "check_unchanged", "check_segments"):
        setattr(SegmentFiles, name, unchecked)
from jiyi.backends.embedded.text import files
files._MOMENT = 0
data = Path(sys.argv[1])
memory = open_memory(data)
assert [hit.key for hit in memory.recall("walrus7", 1, mode="keyword")] == ["animal-7"]
for file in data.glob("search_index/text-*/tantivy/*.*"):
    if file.suffix != ".json":
        os.truncate(file, 0)
assert [hit.key for hit in memory.recall("walrus7", 1, mode="keyword")] == ["animal-7"]
for number in range(9):
    memory.store(f"later-{number}", f"zebra{number}")
    memory.drain()
assert [hit.key for hit in memory.recall("walrus7", 1, mode="keyword")] == ["animal-7"]
assert all(report.sound for report in memory.verify())
memory.close()
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "data"
    fill(path)
    return path


@pytest.fixture
def data(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "data"))


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def _tantivy(data: Path) -> Path:
    [folder] = data.glob("search_index/text-*/tantivy")
    return folder


@pytest.mark.parametrize("how", ["open", "closed"])
def test_a_process_survives_damage_at_random_places_of_its_indexes(data: Path, how: str) -> None:
    ended = _run("-m", "tests.crash.damaged", data, 7, 12, how)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1].startswith("{'rounds': 12")


def test_files_that_are_truncated_under_an_open_index_do_not_end_the_process(data: Path) -> None:
    unchecked = _run("-c", UNDER_AN_OPEN_INDEX, shutil.copytree(data, data.with_name("copy")), "unchecked")
    assert unchecked.returncode == -signal.SIGBUS, "a process that does not look is ended by this"
    checked = _run("-c", UNDER_AN_OPEN_INDEX, data, "checked")
    assert checked.returncode == 0, checked.stderr


def test_damage_that_left_no_trace_in_size_and_times_is_found_after_a_process_has_died_of_it(data: Path) -> None:
    """An index above the budget is not read whole at every opening."""
    folder = _tantivy(data)
    files = SegmentFiles(folder, budget=0)
    files.check_at_opening()
    names = segment_files(read_segments(folder / "meta.json"))
    record = json.loads((folder / "jiyi-checked.json").read_bytes())
    assert set(record["files"]) == set(names)
    SegmentFiles(folder, budget=0).check_at_opening()
    flip_byte(folder / names[0], 0.5)
    with pytest.raises(IndexDamagedError, match="does not match its checksum"):
        SegmentFiles(folder, budget=0).check_at_opening()
    # A byte that has rotted on the disk: nothing has changed but the content.
    forged = SegmentFiles(folder, budget=0)
    forged._verify = lambda names: None  # type: ignore[method-assign]
    forged._sound = {name: (forged._stat(name) or (0, 0, 0, 0), 1) for name in names}
    forged._save(names)
    SegmentFiles(folder, budget=0).check_at_opening()
    with pytest.raises(IndexDamagedError, match="does not match its checksum"):
        SegmentFiles(folder, budget=0).check_at_opening(everything=True)
    with pytest.raises(IndexDamagedError, match="does not match its checksum"):
        SegmentFiles(folder).check_at_opening()


def test_a_crash_loop_ends_in_one_rebuild_that_is_said_once(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    (_tantivy(data) / "jiyi-writing.json").write_text('{"deaths": 2}', "utf-8")
    before = _tantivy(data)
    with caplog.at_level(logging.WARNING), open_memory(data) as memory:
        for number in range(3):
            memory.store(f"later-{number}", f"zebra{number}")
            assert keys(memory.recall(f"zebra{number}", 1, mode="keyword")) == [f"later-{number}"]
    assert len([each for each in caplog.messages if "died" in each]) == 1
    assert _tantivy(data) != before
    assert not (_tantivy(data) / "jiyi-writing.json").exists()


def test_one_killed_process_does_not_cost_a_rebuild(data: Path) -> None:
    (_tantivy(data) / "jiyi-writing.json").write_text('{"deaths": 0}', "utf-8")
    before = _tantivy(data)
    with open_memory(data) as memory:
        memory.store("later", "zebra")
        assert keys(memory.recall("zebra", 1, mode="keyword")) == ["later"]
    assert _tantivy(data) == before
    assert not (before / "jiyi-writing.json").exists()


def test_every_derived_file_can_be_empty(filled: Path, tmp_path: Path) -> None:
    for file in {file.suffix: file for file in derived_files(filled)}.values():
        data = Path(shutil.copytree(filled, tmp_path / "data"))
        (data / file.relative_to(filled)).write_bytes(b"")
        with open_memory(data) as memory:
            assert keys(memory.recall("walrus7", 1, mode="keyword")) == ["animal-7"], file.name
        shutil.rmtree(data)


@pytest.mark.parametrize("name", ["memory.db-shm", "terms.db-shm", "vectors.db-shm"])
def test_the_mapped_log_index_of_a_database_may_be_truncated_under_an_open_memory(data: Path, name: str) -> None:
    program = f"""
import os, random
from pathlib import Path
from tests.crash.damaged import open_memory
data = Path({str(data)!r})
memory = open_memory(data)
for number in range(4):
    memory.store(f"later-{{number}}", f"zebra{{number}}")
    memory.recall("zebra")
    [file] = data.rglob({name!r})
    os.truncate(file, number * 4000)
    if number == 3:
        break
    assert [hit.key for hit in memory.recall(f"zebra{{number}}", 1, mode="keyword")] == [f"later-{{number}}"]
    assert memory.count() == 41 + number
memory.close()
memory = open_memory(data)
assert memory.count() == 44 and memory.doctor()["store_problems"] == []
"""
    ended = _run("-c", program)
    assert ended.returncode == 0, ended.stderr
