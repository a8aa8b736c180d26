"""A process that damages the files of its own indexes, again and again, and goes on working.

python -m tests.crash.damaged DATA SEED ROUNDS [open|closed]

Each round flips a bit of one file below `search_index` or truncates it, in place, at a random position. Then it stores,
recalls and drains, so that tantivy commits and merges. It prints a line for each round. Every answer must be right: at
once, or, if SQLite has not noticed a flipped byte, after `repair`, which compares checksums.
"""

import itertools
import os
import random
import sys
from pathlib import Path
from typing import Any

from jiyi.backends.embedded.text import files
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder

_ENTRIES = 40


def open_memory(path: Path) -> AgentMemory:
    return AgentMemory.open(path, embedder=HashEmbedder(), background_indexing=False, freshness_seconds=600)


def fill(path: Path) -> None:
    """A store whose text index has several segments, deletions among them."""
    with open_memory(path) as memory:
        for start in range(0, _ENTRIES, 8):
            memory.store_many(
                {"key": f"animal-{i}", "content": f"第{i}只 walrus{i} 在海边晒太阳"} for i in range(start, start + 8)
            )
            memory.drain()


def derived_files(path: Path) -> list[Path]:
    return sorted(file for file in (path / "search_index").rglob("*") if file.is_file())


def damage_any(path: Path, chance: random.Random) -> str:
    """Damage one of the files; a merge in an open memory may remove the chosen one first, and then another is taken."""
    while True:
        try:
            return damage(chance.choice(derived_files(path)), chance)
        except FileNotFoundError:
            continue


def damage(file: Path, chance: random.Random) -> str:
    size = file.stat().st_size
    place = chance.randrange(size) if size else 0
    if chance.random() < 0.4 or not size:
        os.truncate(file, place)
        return f"{file.name} cut at {place} of {size}"
    with file.open("r+b", buffering=0) as opened:
        opened.seek(place)
        byte = opened.read(1)[0]
        opened.seek(place)
        opened.write(bytes([byte ^ (1 << chance.randrange(8))]))
    return f"{file.name} flipped at {place} of {size}"


def check(memory: AgentMemory, chance: random.Random, newest: str | None) -> list[str]:
    """What is answered wrong."""
    wrong = []
    for number in chance.sample(range(_ENTRIES), 3):
        for mode in ("keyword", "semantic"):
            hits = memory.recall(f"第{number}只 walrus{number} 在海边晒太阳", 1, mode=mode)
            if [hit.key for hit in hits] != [f"animal-{number}"]:
                wrong.append(f"animal-{number} by {mode}")
    if newest is not None and newest not in [hit.key for hit in memory.recall(newest, 3, mode="keyword")]:
        wrong.append(newest)
    return wrong


def main() -> None:
    path, seed, rounds, how = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    chance = random.Random(seed)
    # What is damaged by this very process is used at once.
    files._MOMENT = 0
    counts: dict[str, Any] = {"rounds": 0, "wrong before repair": 0}
    memory = open_memory(path)
    for number in itertools.count():
        if number == rounds:
            break
        if how == "closed":
            memory.close()
        print(number, damage_any(path, chance), flush=True)
        if how == "closed":
            memory = open_memory(path)
        key = f"zebra{seed}x{number}"
        memory.store(key, f"{key} crossing")
        for again in range(chance.randrange(9)):
            memory.store(f"animal-{_ENTRIES + again % 7}", f"{key} again")
            memory.drain()
        wrong = check(memory, chance, key)
        if wrong:
            counts["wrong before repair"] += 1
            reports = memory.repair()
            assert all(report.sound for report in reports), reports
            wrong = check(memory, chance, key)
            assert not wrong, wrong
        counts["rounds"] += 1
    assert all(report.sound for report in memory.repair())
    assert memory.doctor()["store_problems"] == []
    memory.close()
    print(counts, flush=True)


if __name__ == "__main__":
    main()
