"""Every benchmark in its quick form, and how it compares with another checkout.

    python -m bench.quick                                       (the programs of this checkout, one after another)
    python -m bench.quick --against PATH                        (both checkouts in turn; ratios in results/quick.md)
    python -m bench.quick --against PATH --only store,chat --rounds 5

PATH is the root of another checkout. Its programs `bench/bench_*.py` run with its own `src`, in its own environment
`.venv` if it has one. The two checkouts take turns program by program, and every other round begins with the other one.
A ratio above 1 is worse than before; it is the median of the rounds. The last column shows the ratio to the baseline
that a program measures in the same run, which does not depend on the load of the machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.support import Report, console, parser
from bench.support.comparison import Comparison, Results, compare

ROOT = Path(__file__).parents[1]
MAX_RATIO = 1.05
"""The target: nothing is slower than before by more than this."""


@dataclass
class Checkout:
    """A source tree, and what its benchmarks have reported so far."""

    name: str
    root: Path
    results: Results = field(default_factory=Results)
    failed: list[str] = field(default_factory=list)

    def programs(self, only: Sequence[str] = ()) -> list[str]:
        """The names of its benchmark programs without the prefix `bench_`."""
        found = sorted(path.stem.removeprefix("bench_") for path in (self.root / "bench").glob("bench_*.py"))
        return [name for name in found if not only or name in only]

    @property
    def _python(self) -> str:
        # Resolving the symbolic link would leave the virtual environment.
        interpreter = self.root / ".venv" / "bin" / "python"
        return str(interpreter if interpreter.exists() else sys.executable)

    def compile(self) -> None:
        """Write the bytecode, as installing does: where it is missing or outdated, every start compiles the module."""
        sources = [str(self.root / "src"), str(self.root / "bench")]
        subprocess.run([self._python, "-m", "compileall", "-q", *sources], check=True)

    def run(self, program: str, work: Path | None) -> None:
        """Run the quick form of a program and read its table."""
        paths = os.pathsep.join([str(self.root / "src"), str(self.root)])
        with tempfile.TemporaryDirectory(prefix="jiyi-quick-") as folder:
            command = [self._python, "-m", f"bench.bench_{program}", "--quick", "--results", folder]
            done = subprocess.run(
                [*command, *(["--work", str(work)] if work is not None else [])],
                cwd=self.root,
                env={**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"},
                capture_output=True,
                text=True,
                encoding="utf-8",
                check=False,
            )
            if done.returncode != 0:
                self.failed.append(program)
                console.print(f"{program} of {self.name} failed:\n{(done.stdout + done.stderr)[-2_000:]}", markup=False)
            self.results.read(Path(folder))


def run_in_turn(checkouts: Sequence[Checkout], *, rounds: int, only: Sequence[str] = (), work: Path | None) -> None:
    """Run every program of every checkout `rounds` times, the checkouts in turn."""
    for checkout in checkouts:
        checkout.compile()
    programs = sorted({program for checkout in checkouts for program in checkout.programs(only)})
    for program in programs:
        having = [checkout for checkout in checkouts if program in checkout.programs(only)]
        for number in range(rounds):
            for checkout in reversed(having) if number % 2 else having:
                if program not in checkout.failed:
                    console.print(f"… {program}, {checkout.name}, round {number + 1} of {rounds}", highlight=False)
                    checkout.run(program, work)


def comparison_report(found: Sequence[Comparison], before: Checkout, now: Checkout) -> Report:
    """The table of ratios."""
    report = Report("quick", "Every benchmark in its quick form, before and after")
    for one in found:
        relative = "" if one.relative is None else f"; to the baseline {one.relative[0]} before, {one.relative[1]} now"
        report.at_most(
            f"{one.report}: {one.label}", str(one.now), f"{one.before}{relative}", value=one.ratio, target=MAX_RATIO
        )
    slower = sum(one.ratio > MAX_RATIO for one in found)
    report.note(f"{len(found)} metrics are in both checkouts, {slower} of them slower by more than {MAX_RATIO}×.")
    _note_failures(report, (before, now))
    return report


def single_report(checkout: Checkout) -> Report:
    """The values of one checkout."""
    report = Report("quick", "Every benchmark in its quick form")
    for (name, label), values in checkout.results.measured.items():
        report.fact(f"{name}: {label}", str(values[-1]))
    _note_failures(report, (checkout,))
    return report


def _note_failures(report: Report, checkouts: Sequence[Checkout]) -> None:
    for checkout in checkouts:
        if checkout.failed:
            report.note(f"Failed in the checkout {checkout.name}: {', '.join(checkout.failed)}.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    made = parser(__doc__)
    made.add_argument("--against", type=Path, help="the root of another checkout to compare with")
    made.add_argument("--rounds", type=_positive, help="how often each program runs (1; with --against 3)")
    made.add_argument("--only", type=lambda text: tuple(text.split(",")), default=(), help="programs, by commas")
    options = made.parse_args(arguments)
    now = Checkout("now", ROOT)
    if unknown := set(options.only) - set(now.programs()):
        made.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(now.programs())}")
    before = None if options.against is None else Checkout("before", options.against.absolute())
    if before is not None and not before.programs():
        made.error(f"there is no bench/bench_*.py in {options.against}")
    checkouts = [now] if before is None else [before, now]
    run_in_turn(checkouts, rounds=options.rounds or 2 * len(checkouts) - 1, only=options.only, work=options.work)
    if before is None:
        report = single_report(now)
    else:
        report = comparison_report(compare(before.results, now.results), before, now)
    report.finish(options.results)
    return 1 if any(checkout.failed for checkout in checkouts) else 0


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
