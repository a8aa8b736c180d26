"""The quick benchmarks of two checkouts: both run in turn, and rows with the same label are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.quick import Checkout, comparison_report, main, run_in_turn
from bench.support import Report, Row
from bench.support.comparison import Results, Value, compare, markdown_rows, slowdown

PROGRAM = """
import sys
from pathlib import Path
folder = Path(sys.argv[sys.argv.index("--results") + 1])
assert "--quick" in sys.argv
with Path({log!r}).open("a") as log:
    log.write({name!r} + "\\n")
rows = {rows!r}
head = "| what | measured | compared with | result | target | verdict |\\n|---|---:|---|---:|---:|---|\\n"
body = "".join("| " + " | ".join(row) + " |\\n" for row in rows)
(folder / {report!r}).write_text("# Title\\n\\n" + head + body, "utf-8")
sys.exit({code})
"""


def checkout(
    root: Path, name: str, rows: list[tuple[str, ...]], *, report: str = "speed.md", code: int = 0
) -> Checkout:
    folder = root / name / "bench"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    program = PROGRAM.format(log=str(root / "log"), name=name, rows=rows, report=report, code=code)
    (folder / "bench_speed.py").write_text(program, "utf-8")
    return Checkout(name, root / name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("12.34 ms", "12.34 ms"),
        ("1,234/s (store_many 2,000/s)", "1,234/s"),
        ("p50 1.20 ms p95 3.00 ms", "1.20 ms"),
        ("server 3.10 ms a recall", "3.10 ms"),
        ("210 MB", "210 MB"),
        ("1.98×", "1.98×"),
    ],
)
def test_the_first_number_with_a_unit_is_the_value(text: str, shown: str) -> None:
    assert str(Value.parse(text)) == shown


@pytest.mark.parametrize("text", ["", "300 messages", "1.2 speed", "none"])
def test_what_has_no_unit_has_no_value(text: str) -> None:
    assert Value.parse(text) is None


def test_a_longer_time_and_a_lower_rate_are_worse() -> None:
    assert slowdown(Value(1, "ms"), Value(2, "ms")) == 2
    assert slowdown(Value(100, "/s"), Value(50, "/s")) == 2
    assert slowdown(Value(500, "ms"), Value(1, "s")) == 2
    assert slowdown(Value(1, "MB"), Value(1, "s")) is None
    assert slowdown(Value(0, "ms"), Value(1, "ms")) is None


def test_the_rows_of_a_table_are_read_back() -> None:
    report = Report("speed", "Speed")
    report.at_most("store: p50", "2.00 ms", "bare 1.00 ms", value=2.0, target=3)
    report.fact("    indented", "5 s")
    assert markdown_rows(report.markdown()) == [report.rows[0], Row("indented", "5 s")]


def test_the_rows_are_also_written_as_json(tmp_path: Path) -> None:
    report = Report("speed", "Speed")
    report.fact("store | recall", "5 s")
    report.finish(tmp_path)
    results = Results()
    results.read(tmp_path)
    assert results.measured == {("speed", "store | recall"): [Value(5, "s")]}


def test_rows_of_a_renamed_report_are_found_by_their_label() -> None:
    before, now = Results(), Results()
    before.add("old", [Row("store", "1 ms"), Row("twice", "1 s"), Row("twice", "2 s"), Row("gone", "1 s")])
    now.add("new", [Row("store", "2 ms"), Row("twice", "1 s"), Row("twice", "3 s"), Row("added", "1 s")])
    found = {one.label: one.ratio for one in compare(before, now)}
    assert found == {"store": 2.0, "twice": 1.0, "twice (2)": 1.5}


def test_two_checkouts_take_turns_and_their_ratios_are_reported(tmp_path: Path) -> None:
    before = checkout(tmp_path, "before", [("store", "1.00 ms", "bare", "2.00×", "", "")], report="old.md")
    now = checkout(tmp_path, "now", [("store", "3.00 ms", "bare", "2.50×", "", ""), ("new", "1 s", "", "", "", "")])
    run_in_turn([before, now], rounds=2, work=None)
    assert (tmp_path / "log").read_text().split() == ["before", "now", "now", "before"]
    report = comparison_report(compare(before.results, now.results), before, now)
    shown = "1.00 ms; to the baseline 2.00× before, 2.50× now"
    assert report.rows == [Row("speed: store", "3.00 ms", shown, "3.00×", "≤ 1.05×", "MISSED")]
    assert report.notes == ["1 metrics are in both checkouts, 1 of them slower by more than 1.05×."]


def test_a_program_that_fails_is_named_and_not_run_again(tmp_path: Path) -> None:
    before = checkout(tmp_path, "before", [])
    now = checkout(tmp_path, "now", [], code=3)
    run_in_turn([before, now], rounds=3, work=None)
    assert (tmp_path / "log").read_text().split().count("now") == 1
    report = comparison_report([], before, now)
    assert report.notes[-1] == "Failed in the checkout now: speed."


def test_a_folder_without_benchmarks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--against", str(tmp_path)])
    assert stopped.value.code == 2
