"""Many processes write to one data directory at the same time; every write is there, once, and is found.

python -m tests.proof.writers --processes 16 --writes 2000
"""

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.proof.children import Listener, answer_of, fork, preload
from tests.proof.report import keep
from tests.proof.rooms import open_memory, text_of


def run(folder: Path, *, processes: int, writes: int) -> dict[str, Any]:
    begun = time.monotonic()
    answer_of(_made(folder))
    workers = [Listener(*fork(_writer(folder, number, writes))) for number in range(processes)]
    for worker in workers:
        said = worker.rest()
        assert worker.wait() == 0, said
        assert said[-1] == {"written": writes}, said[-1]
    found = answer_of(lambda say: say(**_look(folder, processes, writes)))
    assert not found["wrong"], found["wrong"][:5]
    seconds = time.monotonic() - begun
    return {
        "processes": processes,
        "writes": processes * writes,
        "lost or twice": 0,
        "writes a second": round(processes * writes / seconds),
        "seconds": round(seconds),
    }


def _made(folder: Path) -> Callable[[Callable[..., None]], None]:
    def make(say: Callable[..., None]) -> None:
        open_memory(folder).close()
        say(made=True)

    return make


def _writer(folder: Path, number: int, writes: int) -> Callable[[Callable[..., None]], None]:
    def write(say: Callable[..., None]) -> None:
        with open_memory(folder, busy_timeout=300) as memory:
            for i in range(writes):
                stamp = f"w{number}.{i}"
                match i % 4:
                    case 0:
                        memory.store(f"key-{number}-{i}", text_of(stamp))
                    case 1:
                        memory.add(text_of(stamp))
                    case 2:
                        memory.chat(f"together-{i % 8}").put({"role": "user", "content": text_of(stamp)})
                    case _:
                        memory.notes.memory_append(text_of(stamp))
        say(written=writes)

    return write


def _look(folder: Path, processes: int, writes: int) -> dict[str, Any]:
    stamps = [f"w{number}.{i}" for number in range(processes) for i in range(writes)]
    seen: Counter[str] = Counter()
    with open_memory(folder, background=False) as memory:
        page, offset = memory.list(limit=1_000), 0
        while page:
            seen.update(entry.content for entry in page)
            offset += len(page)
            page = memory.list(limit=1_000, offset=offset)
        for i in range(8):
            seen.update(message.text for message in memory.chat(f"together-{i}").get_all())
        notes = "\n".join(file.read_text("utf-8") for file in (folder / "workspace").rglob("*.md"))
        for stamp in stamps[3::4]:
            seen[text_of(stamp)] += notes.count(text_of(stamp))
        wrong = [f"{stamp} is there {seen[text_of(stamp)]} times" for stamp in stamps if seen[text_of(stamp)] != 1]
        wrong += memory.doctor()["store_problems"]
        memory.drain()
        wrong += [str(report.to_dict()) for report in memory.verify() if not report.sound]
        for stamp in random.Random(1).sample(stamps[::4], min(20, len(stamps) // 4)):
            if text_of(stamp) not in [hit.content for hit in memory.recall(stamp, 5, mode="keyword")]:
                wrong.append(f"{stamp} is not found")
    return {"wrong": wrong}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--writes", type=int, default=2_000)
    options = parser.parse_args()
    preload()
    with tempfile.TemporaryDirectory() as folder:
        keep("writers", run(Path(folder), processes=options.processes, writes=options.writes))


if __name__ == "__main__":
    main()
