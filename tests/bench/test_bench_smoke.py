"""Every benchmark runs from end to end at a tiny size and leaves its table behind. No time is asserted."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.support import Report, Times, interleaved
from bench.texts import Texts

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "store": ("bench.bench_store", "--size", "60"),
    "recall_speed": ("bench.bench_recall_speed", "--size", "200", "--large", "400"),
    "writes": ("bench.bench_writes",),
    "surface": ("bench.bench_surface", "--size", "400"),
    "chat": ("bench.bench_chat", "--size", "300"),
    "import": ("bench.bench_import", "--size", "1"),
    "notes": ("bench.bench_notes", "--size", "5"),
    "console": ("bench.bench_console", "--memories", "300", "--rounds", "2"),
    "start": ("bench.bench_start", "--size", "60"),
    "longterm": ("bench.bench_longterm", "--size", "20", "--facts", "300", "--faded", "300"),
    "postgres": ("bench.bench_postgres",),
    "postgres_text": ("bench.bench_postgres_text", "--scopes", "2"),
    "runtime": ("bench.bench_runtime", "--tags", "600", "--small", "200", "--large", "400"),
    "milvus": ("bench.bench_milvus", "--size", "1500", "--lite", "1200"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_benchmark_prints_and_writes_its_table(name: str, tmp_path: Path) -> None:
    module, *arguments = PROGRAMS[name]
    places = ["--results", str(tmp_path / "results"), "--work", str(tmp_path / "work")]
    done = subprocess.run(
        [sys.executable, "-m", module, "--quick", *arguments, *places],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    table = (tmp_path / "results" / f"{name}.md").read_text("utf-8")
    assert f"`python -m {module} --quick" in table
    assert str(tmp_path) not in table
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")]
    assert {row[-1].strip(" |") for row in rows[1:]} <= {"ok", "MISSED", ""}
    assert any(row[-1].strip(" |") for row in rows[1:])
    assert not list((tmp_path / "work").iterdir())


def test_a_row_says_whether_its_target_is_met(tmp_path: Path) -> None:
    report = Report("shown", "Shown")
    report.at_most("fast", "1 ms", "1 ms", value=1.0, target=3)
    report.at_most("slow", "9 ms", "1 ms", value=9.0, target=3)
    report.at_least("few", "5/s", "", value=5, target=2_000, unit="/s")
    report.fact("neither", "1 MB")
    assert [row.verdict for row in report.rows] == ["ok", "MISSED", "MISSED", ""]
    lines = report.finish(tmp_path).read_text("utf-8").splitlines()
    assert "| slow | 9 ms | 1 ms | 9.00× | ≤ 3× | MISSED |" in lines


def test_things_measured_in_turn_each_run_once_in_a_round_and_warm_up_is_not_counted() -> None:
    seen: list[tuple[str, int]] = []

    async def waited(number: int) -> None:
        seen.append(("waited", number))

    actions = {"plain": lambda number: seen.append(("plain", number)), "waited": waited}
    times = asyncio.run(interleaved(2, actions, warm_up=1))
    assert seen == [("plain", 0), ("waited", 0), ("waited", 1), ("plain", 1), ("plain", 2), ("waited", 2)]
    assert {name: len(found.seconds) for name, found in times.items()} == {"plain": 2, "waited": 2}


def test_percentiles_lie_between_the_values_around_them() -> None:
    times = Times([4.0, 1.0, 3.0, 2.0])
    assert (times.p50, times.percentile(0), times.percentile(100)) == (2.5, 1.0, 4.0)


def test_the_same_seed_gives_the_same_texts_in_both_languages() -> None:
    first, second = list(Texts(seed=3).memories(50)), list(Texts(seed=3).memories(50))
    assert first == second != list(Texts(seed=4).memories(50))
    assert all(text.isascii() for text in first[::2])
    assert not any(text.isascii() for text in first[1::2])


def test_a_few_words_are_frequent_and_many_are_rare() -> None:
    words = [word for text in list(Texts().memories(4_000))[::2] for word in text.strip(".").split()]
    counts = sorted((words.count(word) for word in set(words)), reverse=True)
    assert counts[0] > 20 * counts[len(counts) // 2]


def test_no_question_is_asked_twice() -> None:
    questions = Texts().questions(200, "zh")
    assert len(set(questions)) == 200
