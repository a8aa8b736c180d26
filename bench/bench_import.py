"""How long an import of a large export takes, and how much memory it needs.

    python -m bench.bench_import                       (200 MB of ChatGPT conversations and of JSON Lines)
    python -m bench.bench_import --size 200 1000       (and of 1 GB)
    python -m bench.bench_import --quick

The files are made up from texts in English and Chinese. Each import runs in a process of its own; the operating system
tells the peak of its resident memory, and that of a process that only opens a memory. Each import is run a second time
on the same memory, and has to add nothing. Indexing is not part of it: what was imported is searchable when the
background indexer has taken it in.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from bench.support import Report, console, parser, work_directory
from bench.texts import Texts
from jiyi import AgentMemory
from jiyi.importers import import_from

_MEGABYTE = 1_000_000
_LENGTHS = (40, 80, 150, 300, 600, 1_200, 2_400)
"""Characters of a message; what people and models write is of very different length."""
_MAX_GROWTH = 100 * _MEGABYTE
"""The target: how much more memory a file of any size may need than an empty memory."""


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, nargs="+", help="megabytes of each file")
    arguments.add_argument("--format", choices=sorted(_WRITERS), action="append", help="only this format")
    given = arguments.parse_args()
    sizes = given.size or ([5] if given.quick else [200])
    report = Report("import", f"Importing files of {' and '.join(f'{size:,}' for size in sizes)} MB")
    with work_directory(given.work) as folder:
        idle = _in_own_process(folder / "idle", "none", folder)
        report.fact("memory of a process that opens a memory", _megabytes(idle["peak"]))
        for size, name in product(sizes, given.format or sorted(_WRITERS)):
            path = folder / f"export.{'jsonl' if name == 'jsonl' else 'json'}"
            console.print(f"writing {size:,} MB for {name}")
            _write(path, size * _MEGABYTE, _WRITERS[name])
            _measure(report, name, path, folder / "memory", idle["peak"])
            path.unlink()
            shutil.rmtree(folder / "memory")
    report.note("Importing ends when everything is on disk. The indexes are brought up to date afterwards.")
    report.note("In parentheses: seconds of the processor, which depend less on what else the machine does.")
    report.finish(given.results)


def _measure(report: Report, name: str, path: Path, memory: Path, idle: int) -> None:
    read = _in_own_process(memory, name, path, "--dry-run")
    first = _in_own_process(memory, name, path)
    again = _in_own_process(memory, name, path)
    megabytes = path.stat().st_size / _MEGABYTE
    name = f"{name}, {megabytes:,.0f} MB"
    taken = first["entries"] + first["messages"]
    report.fact(f"{name}: reading and counting", _seconds(read), "", f"{megabytes / read['seconds']:.1f} MB/s")
    report.fact(
        f"{name}: importing {taken:,} memories and messages",
        _seconds(first),
        f"{taken / first['seconds']:,.0f} a second",
        f"{megabytes / first['seconds']:.1f} MB/s",
    )
    report.at_most(
        f"{name}: peak memory above that of an open memory",
        _megabytes(first["peak"]),
        _megabytes(idle),
        value=max(0, first["peak"] - idle) / _MEGABYTE,
        target=_MAX_GROWTH / _MEGABYTE,
        unit=" MB",
    )
    report.at_most(
        f"{name}: running it again adds",
        _seconds(again),
        f"{again['unchanged']:,} unchanged",
        value=again["entries"] + again["messages"],
        target=0,
        unit="",
    )


def _in_own_process(memory: Path, name: str, path: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.bench_import", "--child", str(memory), name, str(path), *options]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def _child(memory: str, name: str, path: str, *options: str) -> None:
    began = time.perf_counter()
    counts: dict[str, Any] = {}
    async with AgentMemory.open(memory, embedder="none", background_indexing=False) as opened:
        if name != "none":
            report = await import_from(opened, name, path, dry_run="--dry-run" in options)
            counts = report.to_dict()
    counts["seconds"] = time.perf_counter() - began
    # The unit is a kilobyte on Linux and a byte on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    used = resource.getrusage(resource.RUSAGE_SELF)
    counts["peak"] = used.ru_maxrss * unit
    counts["processor"] = used.ru_utime + used.ru_stime
    print(json.dumps(counts))


def _write(path: Path, size: int, write: Callable[[Iterator[str]], Iterator[str]]) -> None:
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for piece in write(_messages()):
            file.write(piece)
            written += len(piece.encode("utf-8"))
            if written >= size and piece.endswith("\n"):
                break
        if path.suffix == ".json":
            file.write("]")


def _messages() -> Iterator[str]:
    chance = random.Random(29)
    some = list(Texts(seed=29).memories(20_000))
    number = 0
    while True:
        length, text = chance.choice(_LENGTHS), ""
        while len(text) < length:
            text += some[chance.randrange(len(some))] + " "
        number += 1
        yield f"{text[:length].strip()} ({number})"


def _chatgpt(messages: Iterator[str]) -> Iterator[str]:
    chance = random.Random(31)
    number = 0
    while True:
        count = chance.choice((2, 4, 6, 10, 20, 60, 200))
        nodes: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": ["0"], "message": None}}
        for index in range(count):
            node = {
                "id": f"{number}-{index}",
                "author": {"role": ("user", "assistant")[index % 2]},
                "create_time": 1.6e9 + number * 3_000 + index,
                "recipient": "all",
                "content": {"content_type": "text", "parts": [next(messages)]},
                "metadata": {"model_slug": "some-model", "finish_details": {"type": "stop"}},
            }
            nodes[str(index)] = {
                "id": str(index),
                "parent": str(index - 1) if index else "root",
                "children": [str(index + 1)] if index + 1 < count else [],
                "message": node,
            }
        conversation = {
            "conversation_id": f"c{number}",
            "title": f"Conversation {number}",
            "create_time": 1.6e9 + number * 3_000,
            "current_node": str(count - 1),
            "mapping": nodes,
        }
        # Real exports escape what is not ASCII, too.
        yield ("[" if number == 0 else ",") + json.dumps(conversation) + "\n"
        number += 1


def _jsonl(messages: Iterator[str]) -> Iterator[str]:
    for number, text in enumerate(messages):
        author = f"u{number % 50}"
        row = {"id": number, "text": text, "created_at": 1.6e9 + number, "tags": ["imported"], "author": author}
        yield json.dumps(row, ensure_ascii=False) + "\n"


_WRITERS: dict[str, Callable[[Iterator[str]], Iterator[str]]] = {"chatgpt": _chatgpt, "jsonl": _jsonl}


def _seconds(measured: dict[str, Any]) -> str:
    return f"{measured['seconds']:.1f} s ({measured['processor']:.1f} s)"


def _megabytes(size: float) -> str:
    return f"{size / _MEGABYTE:.0f} MB"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        asyncio.run(_child(*sys.argv[2:]))
    else:
        main()
