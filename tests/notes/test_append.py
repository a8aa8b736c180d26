"""Appending: every acknowledged entry is in its file once, whoever else writes."""

import errno
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.errors import InvalidInputError, NoteConflictError, NotesError
from jiyi.file_lock import FileLock
from jiyi.notes import entries
from jiyi.notes.append import Appender
from jiyi.notes.file_identity import file_clock, file_origin
from jiyi.notes.files import AppendTarget, Files
from jiyi.notes.journal import Journal, Record
from jiyi.notes.markdown import lines_of
from jiyi.sync import AgentMemory
from tests.notes import appending
from tests.notes.conftest import Desk, OpenDesk, make_entry
from tests.support import QUICK, examples

ROOT = Path(__file__).parents[2]
NEAR_MIDNIGHT = datetime(2026, 11, 15, 16, 30, tzinfo=UTC)  # half past midnight of the 16th in Shanghai


def entries_in(file: Path) -> list[entries.NoteEntry]:
    return [placed.entry for placed in entries.parse(lines_of(file.read_bytes().decode("utf-8")))]


class Editor(threading.Thread):
    """Saves a file by renaming, again and again, each time with a line of its own on top."""

    def __init__(self, file: Path, *, pause: float = 0.002) -> None:
        super().__init__(daemon=True)
        self.file = file
        self.saves = 0
        self._pause = pause
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            # Read in the middle of a write it may end inside a character: an editor does not open that.
            with suppress(FileNotFoundError, UnicodeDecodeError):
                text = self.file.read_text("utf-8")
                self._over.wait(self._pause)
                temporary = self.file.with_name(".saving")
                temporary.write_text(f"edit {self.saves}\n{text}", "utf-8")
                temporary.replace(self.file)
                self.saves += 1
            self._over.wait(0.05)

    def stop(self) -> None:
        self._over.set()
        self.join()


def test_eight_processes_and_an_editor_that_saves_by_renaming_lose_nothing(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    (workspace / "memory").mkdir(parents=True)
    file = workspace / "memory" / f"{appending.AT.date()}.md"
    command = [sys.executable, "-m", "tests.notes.appending", str(tmp_path / "data"), str(workspace)]
    workers = [
        subprocess.Popen(
            [*command, f"worker{n}", "100"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        for n in range(8)
    ]
    editor = Editor(file)
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    editor.start()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    ended = [(*worker.communicate(timeout=120), worker.returncode) for worker in workers]
    editor.stop()
    acknowledged = [line for printed, _, _ in ended for line in printed.split()]
    assert {n: (code, said[-2_000:]) for n, (_, said, code) in enumerate(ended) if code != 0} == {}
    with AgentMemory.open(tmp_path / "data", workspace=workspace, **QUICK) as memory:
        memory.notes.scan()
        found = Counter(entry.id for path in (workspace / "memory").glob("*.md") for entry in entries_in(path))
    assert len(acknowledged) == 800
    assert editor.saves > 0
    assert {entry_id: found[entry_id] for entry_id in acknowledged if found[entry_id] != 1} == {}
    assert list((workspace / "memory").glob("*.md")) == [file]
    assert f"edit {editor.saves - 1}\n" in file.read_text("utf-8")
    assert {e.text.split("\n")[0] for e in entries_in(file)} == {
        f"worker{n} 第 {i} 条" for n in range(8) for i in range(100)
    }


@pytest.mark.date_sensitive
def test_an_entry_goes_to_the_note_of_the_local_day_with_its_time_in_utc(desk: Desk) -> None:
    done = desk.notes.memory_append("刚过午夜", at=NEAR_MIDNIGHT)
    assert done.path == "memory/2026-11-16.md"
    assert desk.read(done.path).startswith("# 2026-11-16\n\n- **00:30** 刚过午夜 <!-- jiyi ")
    [entry] = entries_in(desk.root / done.path)
    assert entry.at == done.at == NEAR_MIDNIGHT
    assert entry.offset.total_seconds() == 8 * 3600


@pytest.mark.date_sensitive
def test_source_and_trust_are_kept(desk: Desk) -> None:
    done = desk.notes.memory_append("x", by="tool", source="搜索 --> <b>")
    [entry] = entries_in(desk.root / done.path)
    assert (entry.by, entry.source) == ("tool", "搜索 --> <b>")


@pytest.mark.parametrize("ending", ["", "no newline at the end", "two\n\n\n"])
def test_whatever_the_file_ends_with_an_entry_begins_on_a_line_of_its_own(desk: Desk, ending: str) -> None:
    file = desk.write("memory/2026-11-16.md", f"by hand {ending}")
    desk.notes.memory_append("kept", at=NEAR_MIDNIGHT)
    assert [entry.text for entry in entries_in(file)] == ["kept"]
    assert file.read_text("utf-8").startswith(f"by hand {ending}")


@settings(max_examples=examples(4))
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1))
def test_any_text_through_append_parse_search_and_get_is_unchanged(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.mktemp("law")
    with AgentMemory.open(folder / "data", workspace=folder, **QUICK | {"time_zone": "Asia/Shanghai"}) as memory:
        if text.isspace():
            with pytest.raises(InvalidInputError):
                memory.notes.memory_append(text)
            return
        done = memory.notes.memory_append(f"zebra {text}", at=NEAR_MIDNIGHT)
        [entry] = entries_in(folder / done.path)
        assert entry.text == f"zebra {text}"
        [hit] = memory.notes.memory_search("zebra", mode="keyword")
        assert hit.content == f"zebra {text}"
        shown = memory.notes.memory_get(hit.path, hit.start_line, hit.end_line).text
        first, *rest = shown.removesuffix("\n").split("\n")
        read = [first.removeprefix("- **00:30** "), *(line.removeprefix("  ") for line in rest)]
        assert "\n".join(read) == f"zebra {text}"


def test_files_that_are_not_utf_8_get_entries_in_their_own_encoding(desk: Desk) -> None:
    for path, encoding in (("memory/2026-11-16.md", "utf-16"), ("memory/2026-11-17.md", "gb18030")):
        file = desk.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_bytes("我在杭州，今天见了老朋友。\n".encode(encoding))
        at = NEAR_MIDNIGHT if "16" in path else datetime(2026, 11, 17, 4, tzinfo=UTC)
        done = desk.notes.memory_append("又写了一条笔记", at=at)
        text = file.read_bytes().decode(encoding)
        assert text.startswith("我在杭州")
        assert text.endswith(f"又写了一条笔记 <!-- jiyi {done.id} -->\n")
        assert desk.found("笔记", path=path)[0] == "又写了一条笔记"


def test_a_file_that_is_no_text_is_not_written_to(desk: Desk) -> None:
    file = desk.root / "memory/2026-11-16.md"
    file.parent.mkdir()
    file.write_bytes(b"caf\xe9 \xff\xfe latin\n")
    with pytest.raises(NotesError, match=r"2026-11-16.md.*UTF-8"):
        desk.notes.memory_append("lost?", at=NEAR_MIDNIGHT)
    assert file.read_bytes() == b"caf\xe9 \xff\xfe latin\n"


# --- limits -----------------------------------------------------------------------------------------------------------


def test_an_entry_that_is_too_long_is_refused_and_nothing_is_written(open_desk: OpenDesk) -> None:
    desk = open_desk(max_note_entry_bytes=100)
    desk.notes.memory_append("字" * 33, at=NEAR_MIDNIGHT)
    before = desk.read("memory/2026-11-16.md")
    with pytest.raises(InvalidInputError, match=r"102 bytes.*100.*max_note_entry_bytes"):
        desk.notes.memory_append("字" * 34, at=NEAR_MIDNIGHT)
    assert desk.read("memory/2026-11-16.md") == before


def test_a_day_that_is_full_says_so(open_desk: OpenDesk) -> None:
    desk = open_desk(max_note_day_bytes=400)
    desk.notes.memory_append("a" * 100, at=NEAR_MIDNIGHT)
    desk.notes.memory_append("b" * 100, at=NEAR_MIDNIGHT)
    with pytest.raises(InvalidInputError, match=r"memory/2026-11-16.md.*400.*max_note_day_bytes"):
        desk.notes.memory_append("c" * 100, at=NEAR_MIDNIGHT)
    assert "ccc" not in desk.read("memory/2026-11-16.md")


@pytest.mark.parametrize(
    "text",
    ["", "  \n", "nul\x00", "\ud800", 7, None, b"bytes"],
    ids=["empty", "blank", "nul", "half", "7", "None", "bytes"],
)
def test_what_is_no_text_is_refused(desk: Desk, text: object) -> None:
    with pytest.raises(InvalidInputError, match="text"):
        desk.notes.memory_append(text)
    assert not (desk.root / "memory").exists()


@pytest.mark.parametrize(
    "wrong",
    [{"by": "nobody"}, {"source": "two\nlines"}, {"kind": "party"}, {"at": datetime(2026, 1, 1)}],  # noqa: DTZ001
)
def test_wrong_words_about_an_entry_are_refused(desk: Desk, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        desk.notes.memory_append("text", **wrong)
    assert not (desk.root / "memory").exists()


# --- what others do to the file ---------------------------------------------------------------------------------------


class Racing(Files):
    """Files of a workspace in which something happens right after an entry was written."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.meanwhile: list[Callable[[], object]] = []

    def open_to_append(self, path: str) -> AppendTarget:
        target = super().open_to_append(path)
        in_place = target.in_place

        def after_something() -> os.stat_result | None:
            if self.meanwhile:
                self.meanwhile.pop(0)()
            return in_place()

        target.in_place = after_something  # type: ignore[method-assign]
        return target


def racing(desk: Desk) -> tuple[Appender, Racing]:
    room = desk.memory._target._notes_service()
    files = Racing(room.root)
    return Appender(files, room.journal, room.lock, room.settings.append), files


def saved_by_rename(file: Path, text: str) -> None:
    temporary = file.with_suffix(".new")
    temporary.write_text(text, "utf-8")
    temporary.replace(file)


def entry(text: str, name: str = "e-1") -> entries.NoteEntry:
    return make_entry(entries.new_entry_id(NEAR_MIDNIGHT, name), text, NEAR_MIDNIGHT, UTC, by="user", source="")


def test_a_file_that_is_replaced_under_the_write_gets_the_entry_again_and_the_conflict_is_told(desk: Desk) -> None:
    file = desk.write("memory/day.md", "old\n")
    appender, files = racing(desk)
    files.meanwhile = [lambda: saved_by_rename(file, "the editor's text\n")]
    done = appender.append(entry("ours"), "memory/day.md", lambda: "#")
    assert done.conflict
    assert [e.text for e in entries_in(file)] == ["ours"]
    assert file.read_text("utf-8").startswith("the editor's text\n")


def test_an_editor_that_had_seen_the_entry_does_not_double_it(desk: Desk) -> None:
    file = desk.write("memory/day.md", "old\n")
    appender, files = racing(desk)
    files.meanwhile = [lambda: saved_by_rename(file, file.read_text("utf-8") + "\nand an edit\n")]
    appender.append(entry("ours"), "memory/day.md", lambda: "#")
    assert [e.text for e in entries_in(file)] == ["ours"]


def test_a_file_that_is_deleted_under_the_write_is_made_again(desk: Desk) -> None:
    file = desk.write("memory/day.md", "old\n")
    appender, files = racing(desk)
    files.meanwhile = [file.unlink]
    appender.append(entry("ours"), "memory/day.md", lambda: "# day")
    assert [e.text for e in entries_in(file)] == ["ours"]


def test_what_is_done_to_the_file_between_two_appends_is_noticed_before_the_second(desk: Desk, tmp_path: Path) -> None:
    day = desk.root / "memory/2026-11-16.md"
    desk.notes.memory_append("first", at=NEAR_MIDNIGHT)
    saved_by_rename(day, day.read_text("utf-8") + "\nan edit\n")
    assert not desk.notes.memory_append("second", at=NEAR_MIDNIGHT).conflict
    assert [e.text for e in entries_in(day)] == ["first", "second"]
    day.unlink()
    assert not desk.notes.memory_append("third", at=NEAR_MIDNIGHT).conflict
    # What was in a file that is deleted is deleted with it.
    assert [e.text for e in entries_in(day)] == ["third"]
    elsewhere = tmp_path / "elsewhere"
    (desk.root / "memory").rename(elsewhere)
    (desk.root / "memory").mkdir()
    desk.notes.memory_append("fourth", at=NEAR_MIDNIGHT)
    assert "fourth" in [e.text for e in entries_in(day)]
    assert "fourth" not in [e.text for e in entries_in(elsewhere / day.name)]


def test_a_folder_that_becomes_a_link_between_two_appends_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    desk.notes.memory_append("first", at=NEAR_MIDNIGHT)
    (desk.root / "memory").rename(desk.root / "old")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "2026-11-16.md").write_text("not ours\n", "utf-8")
    (desk.root / "memory").symlink_to(outside)
    with pytest.raises(InvalidInputError, match="link"):
        desk.notes.memory_append("second", at=NEAR_MIDNIGHT)
    assert (outside / "2026-11-16.md").read_text("utf-8") == "not ours\n"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list what a process has open")
def test_few_files_stay_open_between_appends_and_none_after_the_end(desk: Desk) -> None:
    def held() -> list[Path]:
        links = []
        for number in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):
                links.append(number.readlink())
        return [link for link in links if link.is_relative_to(desk.root)]

    with ThreadPoolExecutor(4) as pool:
        done = list(
            pool.map(
                lambda n: desk.notes.memory_append(f"number {n}", at=NEAR_MIDNIGHT + timedelta(days=n % 5)), range(40)
            )
        )
    assert len({each.path for each in done}) == 5
    found = [e.text for each in sorted({note.path for note in done}) for e in entries_in(desk.root / each)]
    assert sorted(found) == sorted(f"number {n}" for n in range(40))
    assert 1 <= len(held()) <= 2
    desk.memory.close()
    assert held() == []


def test_a_stale_save_after_the_acknowledgement_is_noticed_and_both_texts_are_kept(
    desk: Desk, open_desk: OpenDesk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.notes.memory_append("first", at=NEAR_MIDNIGHT)
    file = desk.root / "memory/2026-11-16.md"
    read_by_editor = file.read_text("utf-8")
    second = desk.notes.memory_append("second", at=NEAR_MIDNIGHT)
    saved_by_rename(file, f"an edit\n{read_by_editor}")
    # Another process than the one that wrote it looks next.
    report = open_desk().notes.scan()
    assert report.restored == (second.id,)
    assert [e.text for e in entries_in(file)] == ["first", "second"]
    assert file.read_text("utf-8").startswith("an edit\n")
    assert "overwritten" in caplog.text


def test_what_was_written_again_once_and_is_deleted_again_stays_deleted(desk: Desk) -> None:
    desk.notes.memory_append("unwanted", at=NEAR_MIDNIGHT)
    file = desk.root / "memory/2026-11-16.md"
    saved_by_rename(file, "another program\n")
    assert len(desk.notes.scan().restored) == 1
    for _ in range(2):
        saved_by_rename(file, "another program\n")
        assert desk.notes.scan().restored == ()
        assert desk.found("unwanted") == []


def test_an_entry_that_is_deleted_in_the_file_itself_stays_deleted(desk: Desk) -> None:
    desk.notes.memory_append("unwanted", at=NEAR_MIDNIGHT)
    desk.write("memory/2026-11-16.md", "# 2026-11-16\n")
    assert desk.notes.scan().restored == ()
    assert desk.found("unwanted") == []


@pytest.mark.date_sensitive
def test_half_an_entry_of_a_process_that_was_killed_is_made_whole(tmp_path: Path, open_desk: OpenDesk) -> None:
    """A kill can stop a write between two pages, even in the middle of a character."""
    program = (
        "import os, sys\n"
        "from datetime import datetime\n"
        "from jiyi.sync import AgentMemory\n"
        "from jiyi.notes import append\n"
        "def torn(descriptor, data, path):\n"
        "    os.write(descriptor, data[:int(sys.argv[3])])\n"
        "    os.kill(os.getpid(), 9)\n"
        "append._write_once = torn\n"
        "memory = AgentMemory.open(sys.argv[1], workspace=sys.argv[2], embedder='none', background_indexing=False,\n"
        "                          time_zone='Asia/Shanghai')\n"
        "memory.notes.memory_append('很长的一条笔记 ' * 50, at=datetime.fromisoformat(sys.argv[4]))\n"
    )
    (tmp_path / "ws/memory").mkdir(parents=True)
    data, workspace, at = str(tmp_path / "data"), str(tmp_path / "ws"), NEAR_MIDNIGHT.isoformat()
    for length in (1_001, 40, 9):
        done = subprocess.run([sys.executable, "-c", program, data, workspace, str(length), at], check=False)
        assert done.returncode == -9
    desk = open_desk()
    desk.notes.memory_append("after the crash", at=NEAR_MIDNIGHT)
    desk.notes.scan()
    texts = [e.text for e in entries_in(desk.root / "memory/2026-11-16.md")]
    assert texts == ["很长的一条笔记 " * 50] * 3 + ["after the crash"]


def test_a_disk_that_is_full_leaves_no_half_entry(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.notes.memory_append("before", at=NEAR_MIDNIGHT)
    before = desk.read("memory/2026-11-16.md")
    write = os.write

    def short(descriptor: int, data: bytes) -> int:
        return write(descriptor, data[:20] if b"no room" in data and data.startswith(b"\n- ") else data)

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(NotesError, match="no room left"):
        desk.notes.memory_append("no room", at=NEAR_MIDNIGHT)
    assert desk.read("memory/2026-11-16.md") == before


def test_a_file_that_never_holds_still_is_an_error_and_not_a_silence(desk: Desk) -> None:
    file = desk.write("memory/day.md", "old\n")
    appender, files = racing(desk)
    files.meanwhile = [lambda: saved_by_rename(file, "again\n")] * 200
    with pytest.raises(NoteConflictError, match=r"memory/day.md was replaced"):
        appender.append(entry("ours"), "memory/day.md", lambda: "#")


def test_an_entry_of_which_an_editor_saw_only_the_beginning_is_made_whole(desk: Desk) -> None:
    desk.notes.memory_append("first", at=NEAR_MIDNIGHT)
    second = desk.notes.memory_append("很长的一条笔记 " * 50, at=NEAR_MIDNIGHT)
    file = desk.root / "memory/2026-11-16.md"
    saved_by_rename(file, "an edit\n" + file.read_text("utf-8")[:-200])
    desk.notes.memory_append("third", at=NEAR_MIDNIGHT)
    assert [e.text for e in entries_in(file)] == ["first", "很长的一条笔记 " * 50, "third"]
    assert desk.read("memory/2026-11-16.md").count(second.id) == 1
    assert file.read_text("utf-8").startswith("an edit\n")


def test_an_editor_that_takes_blanks_at_the_end_away_is_left_alone(desk: Desk) -> None:
    desk.notes.memory_append("blanks   ", at=NEAR_MIDNIGHT)
    file = desk.root / "memory/2026-11-16.md"
    saved_by_rename(file, trimmed := file.read_text("utf-8").rstrip())
    assert desk.notes.scan().restored == ()
    assert file.read_text("utf-8") == trimmed


def test_a_file_that_ends_inside_a_character_because_another_process_is_writing_is_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = desk.root / "memory/2026-11-16.md"
    file.parent.mkdir()
    half, rest = "by hand\n记".encode()[:-1], "记\n".encode()[-2:]
    file.write_bytes(half)
    monkeypatch.setattr("jiyi.notes.append.time.sleep", lambda _: file.write_bytes(half + rest))
    desk.notes.memory_append("ours", at=NEAR_MIDNIGHT)
    assert [e.text for e in entries_in(file)] == ["ours"]
    assert file.read_text("utf-8").startswith("by hand\n记\n")


def test_what_was_overwritten_is_noticed_however_late_somebody_looks(desk: Desk, open_desk: OpenDesk) -> None:
    done = desk.notes.memory_append("overwritten", at=NEAR_MIDNIGHT)
    file = desk.root / "memory/2026-11-16.md"
    saved_by_rename(file, "stale\n")
    for journal in (file.parents[2] / "data/notes_journal").rglob("*.jsonl"):
        os.utime(journal, (0, 0))
    assert open_desk().notes.scan().restored == (done.id,)
    assert [e.text for e in entries_in(file)] == ["overwritten"]


def test_an_entry_for_which_the_disk_took_long_is_protected_from_the_moment_it_was_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = desk.write("memory/2026-11-16.md", "stale\n")
    real_time, real_sync = file_clock, os.fsync
    slow = 20 * 10**9

    def sync(descriptor: int) -> None:
        nonlocal slow
        real_sync(descriptor)
        slow = 0

    for module in ("append", "journal"):
        monkeypatch.setattr(f"jiyi.notes.{module}.file_clock", lambda: real_time() - slow)
    monkeypatch.setattr("jiyi.notes.append.os.fsync", sync)
    done = desk.notes.memory_append("written slowly", at=NEAR_MIDNIGHT)
    assert slow == 0
    saved_by_rename(file, "stale and edited\n")
    assert desk.notes.scan().restored == (done.id,)


def test_an_entry_that_the_disk_refuses_is_an_error_and_is_not_in_the_way_of_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    desk.notes.memory_append("before", at=NEAR_MIDNIGHT)
    with monkeypatch.context() as patched:
        patched.setattr("jiyi.notes.append.os.fsync", refuse)
        with pytest.raises(NotesError, match=r"memory/2026-11-16\.md cannot be written: Input/output error"):
            desk.notes.memory_append("refused", at=NEAR_MIDNIGHT)
    desk.notes.memory_append("after", at=NEAR_MIDNIGHT)
    texts = [e.text for e in entries_in(desk.root / "memory/2026-11-16.md")]
    assert texts[0] == "before"
    assert texts[-1] == "after"


@pytest.mark.date_sensitive
@pytest.mark.parametrize(
    ("zone", "moments", "offsets", "times"),
    [
        # Summer time ends in Berlin at one o'clock in UTC.
        ("Europe/Berlin", ("2026-10-25T00:59:59+00:00", "2026-10-25T01:00:00+00:00"), (2, 1), ("02:59", "02:00")),
        # The clock of the machine is put back.
        ("UTC", ("2026-10-25T12:00:00+00:00", "2026-10-25T11:59:59+00:00"), (0, 0), ("12:00", "11:59")),
        ("Asia/Shanghai", ("2026-11-15T15:59:59+00:00", "2026-11-15T16:00:00+00:00"), (8, 8), ("23:59", "00:00")),
    ],
)
def test_each_entry_has_the_local_time_of_its_own_minute(
    open_desk: OpenDesk,
    monkeypatch: pytest.MonkeyPatch,
    zone: str,
    moments: tuple[str, ...],
    offsets: tuple[int, ...],
    times: tuple[str, ...],
) -> None:
    desk = open_desk(time_zone=zone)
    for moment, hours, shown in zip(moments, offsets, times, strict=True):
        at = datetime.fromisoformat(moment).astimezone(UTC)
        monkeypatch.setattr("jiyi.model.clock.utc_now", lambda at=at: at)
        local = at + timedelta(hours=hours)
        for text in (f"{shown} first", f"{shown} second"):
            done = desk.notes.memory_append(text)
            assert done.path == f"memory/{local.date()}.md"
            [entry] = [e for e in entries_in(desk.root / done.path) if e.id == done.id]
            assert (entry.at, entry.offset, entry.text) == (at, timedelta(hours=hours), text)
            assert f"- **{shown}** {text} <!-- jiyi {done.id} " in desk.read(done.path)


def test_a_zone_whose_minutes_are_not_those_of_utc_is_worked_out_for_each_entry(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = desk.memory._target._notes_service()
    odd = timezone(timedelta(seconds=30))
    monkeypatch.setattr(room, "settings", replace(room.settings, zone=odd))
    for second, shown in ((10, "12:00"), (40, "12:01")):
        at = datetime(2026, 11, 15, 12, 0, second, tzinfo=UTC)
        monkeypatch.setattr("jiyi.model.clock.utc_now", lambda at=at: at)
        done = desk.notes.memory_append("text")
        assert f"- **{shown}** text <!-- jiyi {done.id} " in desk.read(done.path)


def test_a_journal_that_another_process_is_just_making_is_not_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "1-new.jsonl").touch()
    looking = Journal(tmp_path)
    looking.mark_checked(time.time_ns())
    assert looking.recent() == ([], [])
    assert (tmp_path / "1-new.jsonl").exists()


def test_journals_of_ended_processes_are_cleared_away_once_somebody_has_looked(tmp_path: Path) -> None:
    ended = Journal(tmp_path)
    ended.intend(Record("a", "memory/day.md", "text", time.time_ns()))
    ended.done("a", "file", 0)
    ended.close()
    [journal] = tmp_path.glob("*.jsonl")
    os.utime(journal, (0, 0))
    looking = Journal(tmp_path)
    assert [record.id for record in looking.recent()[0]] == ["a"]
    assert journal.exists()
    looking.mark_checked(time.time_ns())
    looking.recent()
    assert not journal.exists()


def test_appending_does_not_make_a_file_look_newly_replaced(tmp_path: Path) -> None:
    file = tmp_path / "day.md"
    with file.open("wb", buffering=0) as opened:
        born = file_origin(opened.fileno())
        status = file.stat()
        opened.write(b"more")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 60 * 10**9))
        assert file_origin(opened.fileno()) == born


def test_an_entry_that_is_in_its_file_is_acknowledged_even_if_others_cannot_be_restored_yet(desk: Desk) -> None:
    room = desk.memory._target._notes_service()
    appender = Appender(
        room.files, room.journal, FileLock(room.lock._path, timeout=0, error=NotesError), room.settings.append
    )
    file = desk.write("memory/day.md", "old\n")
    appender.append(entry("lost", "e-1"), "memory/day.md", lambda: "#")
    saved_by_rename(file, "stale\n")
    with ThreadPoolExecutor(1) as elsewhere, room.lock.hold():
        done = elsewhere.submit(appender.append, entry("ours", "e-2"), "memory/day.md", lambda: "#").result()
    assert [e.text for e in entries_in(file)] == ["ours"]
    assert done.id == entry("ours", "e-2").id
    assert desk.notes.scan().restored == (entry("lost", "e-1").id,)
    assert [e.text for e in entries_in(file)] == ["ours", "lost"]
