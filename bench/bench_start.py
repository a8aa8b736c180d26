"""How long programs wait before they can begin: importing jiyi, and one keyword recall from the command line.

    python -m bench.bench_start
    python -m bench.bench_start --quick

Every run is a new process. The bare interpreter and the import take turns, and so do the commands; the files have been
read before, so it is a cold process on a warm disk.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.support import Report, interleaved, milliseconds, parser, progress, work_directory
from bench.texts import Texts
from jiyi import AgentMemory

_QUESTIONS = {"en": "garden", "zh": "花园"}


def process(arguments: Sequence[str]) -> None:
    """Run a process to its end; its output is shown only if it fails."""
    # Byte code is written, as after an installation.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(arguments, capture_output=True, text=True, encoding="utf-8", check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)} failed with {done.returncode}:\n{done.stdout}{done.stderr}")


def command_line(folder: Path) -> list[str]:
    """`jiyi` as it was installed beside this interpreter, or as a module where there is no such script."""
    script = Path(sys.executable).with_name("jiyi.exe" if os.name == "nt" else "jiyi")
    begin = [str(script)] if script.exists() else [sys.executable, "-m", "jiyi.apps.cli"]
    return [*begin, "recall", "--data", str(folder), "--mode", "keyword"]


async def importing(turns: int, report: Report) -> None:
    """`import jiyi` against the interpreter alone."""
    actions = {
        "bare": lambda _number: process([sys.executable, "-c", "pass"]),
        "import": lambda _number: process([sys.executable, "-c", "import jiyi"]),
        "use": lambda _number: process([sys.executable, "-c", "from jiyi import AgentMemory"]),
    }
    times = await interleaved(turns, actions, warm_up=1, label="starting Python, with and without jiyi")
    bare = times["bare"].p50
    report.at_most(
        "import jiyi",
        milliseconds(times["import"].p50),
        f"bare Python {milliseconds(bare)}",
        value=times["import"].p50 - bare,
        target=0.15,
        unit=" s",
    )
    used = times["use"].p50
    report.fact(
        "from jiyi import AgentMemory", milliseconds(used), "the names are loaded when used", f"{used - bare:.2f} s"
    )


async def asking(folder: Path, count: int, turns: int, report: Report) -> None:
    """`jiyi recall --mode keyword`, the whole process."""
    with progress(f"storing and indexing {count:,} memories", None):
        async with AgentMemory.open(folder, background_indexing=False) as memory:
            texts = enumerate(Texts().memories(count))
            await memory.store_many({"key": f"note {number}", "content": text} for number, text in texts)
            await memory.drain()
    base = command_line(folder)
    actions = {
        language: (lambda _number, question=question: process([*base, question]))
        for language, question in _QUESTIONS.items()
    }
    times = await interleaved(turns, actions, warm_up=1, label="jiyi recall --mode keyword")
    for language, question in _QUESTIONS.items():
        spent = times[language]
        report.at_most(
            f"jiyi recall --mode keyword {question}, {count:,} memories",
            milliseconds(spent.p50),
            f"p95 {milliseconds(spent.p95)}",
            value=spent.p50,
            target=0.6,
            unit=" s",
        )


async def run(options: argparse.Namespace) -> Path:
    """All measurements."""
    turns = 2 if options.quick else 15
    count = options.size or (200 if options.quick else 10_000)
    report = Report("start", "Starting")
    await importing(turns, report)
    with work_directory(options.work) as folder:
        await asking(folder / "data", count, turns, report)
    report.note(f"Medians of {turns} processes each.")
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, help="memories in the store that is asked (10,000)")
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()
