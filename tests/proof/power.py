"""Power cuts: every write of a working process is traced, then the disk of a machine that lost power is made from it.

python -m tests.proof.power --points 1000

What was not synced at the moment of the cut is kept, dropped or torn at random. Names (creating, renaming, deleting)
are kept in their order up to a random one, as a journaling file system does; a sync makes all earlier ones durable.
Every act that was acknowledged before the cut must be there.
"""

import argparse
import json
import os
import random
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.proof import shim
from tests.proof.children import answer_of, preload
from tests.proof.report import keep
from tests.proof.rooms import Act, Ledger, open_memory, random_act

CREATE, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, LINK = range(1, 8)
_HEAD = struct.Struct("<IIQIIII")
_SECTOR = 512
_ACKS = "acknowledged"


@dataclass(frozen=True, slots=True)
class Operation:
    kind: int
    offset: int
    path: str
    other: str
    data: bytes


def operations(trace: Path) -> Iterator[Operation]:
    with trace.open("rb") as file:
        while head := file.read(_HEAD.size):
            magic, kind, offset, path, other, data, _ = _HEAD.unpack(head)
            assert magic == 0x4A495949
            yield Operation(kind, offset, file.read(path).decode(), file.read(other).decode(), file.read(data))


@dataclass
class _File:
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Operation] = field(default_factory=list)

    def sync(self) -> None:
        for operation in self.pending:
            _apply(self.durable, operation, len(operation.data))
        self.pending.clear()


def _apply(content: bytearray, operation: Operation, size: int) -> None:
    if operation.kind == TRUNCATE:
        del content[operation.offset :]
        content.extend(bytes(operation.offset - len(content)))
        return
    end = operation.offset + size
    content.extend(bytes(max(0, end - len(content))))
    content[operation.offset : end] = operation.data[:size]


class Disk:
    """What a disk holds for certain, and what only the machine's memory knows."""

    def __init__(self) -> None:
        self.names: dict[str, _File] = {}
        """As the running machine sees it."""
        self._durable: dict[str, _File] = {}
        self._pending: list[tuple[int, str, str, _File]] = []

    def apply(self, operation: Operation) -> None:
        path = operation.path
        if operation.kind == CREATE:
            self.names[path] = _File()
            self._pending.append((CREATE, path, "", self.names[path]))
        elif operation.kind in (WRITE, TRUNCATE):
            if path in self.names:
                self.names[path].pending.append(operation)
        elif operation.kind == RENAME:
            # A folder takes what is in it along.
            for old in [name for name in self.names if name == path or name.startswith(f"{path}/")]:
                new = operation.other + old[len(path) :]
                self.names[new] = self.names.pop(old)
                self._pending.append((RENAME, old, new, self.names[new]))
        elif operation.kind == LINK and path in self.names:
            self.names[operation.other] = self.names[path]
            self._pending.append((CREATE, operation.other, "", self.names[path]))
        elif operation.kind == UNLINK:
            file = self.names.pop(path, None)
            if file is not None:
                self._pending.append((UNLINK, path, "", file))
        elif operation.kind == SYNC:
            for change in self._pending:
                _rename(self._durable, change)
            self._pending.clear()
            if path in self.names:
                self.names[path].sync()

    def after_power_cut(self, chance: random.Random) -> tuple[dict[str, bytes], int]:
        """One of the states in which the machine may find its disk, and how many operations were lost or torn."""
        names = dict(self._durable)
        for change in self._pending[: chance.randint(0, len(self._pending))]:
            _rename(names, change)
        mood, lost = chance.choice(("keep", "drop", "mix", "mix")), 0
        found = {}
        for path, file in names.items():
            content = bytearray(file.durable)
            for operation in file.pending:
                fate = mood if mood != "mix" else chance.choice(("keep", "drop", "tear"))
                size = len(operation.data)
                if fate == "tear" and operation.kind == WRITE:
                    size = min(size, chance.randrange(0, size + 1) // _SECTOR * _SECTOR)
                if fate == "drop" or (fate == "tear" and operation.kind == TRUNCATE):
                    lost += 1
                    continue
                lost += size != len(operation.data)
                if size or operation.kind == TRUNCATE:
                    _apply(content, operation, size)
            found[path] = bytes(content)
        return found, lost


def _rename(names: dict[str, _File], change: tuple[int, str, str, _File]) -> None:
    kind, path, other, file = change
    if kind == CREATE:
        names[path] = file
    elif kind == UNLINK:
        names.pop(path, None)
    else:
        names.pop(path, None)
        names[other] = file


def trace_of(folder: Path, seed: int, acts: int) -> Path:
    """Let a child work on a memory in this folder; returns the trace of its writes."""
    trace = folder.with_name(f"{folder.name}.trace")

    def work(say: Callable[..., None]) -> None:
        shim.Shim().begin(folder, trace)
        said = os.open(folder / _ACKS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        chance = random.Random(seed)
        with open_memory(folder) as memory:
            for number in range(acts):
                act = random_act(chance, f"p{seed}", number)
                os.write(said, (json.dumps([number, act.room, act.name, act.stamp]) + "\n").encode())
                made = act.perform(memory)
                os.write(said, (json.dumps([number, made]) + "\n").encode())
                if number % 12 == 11:
                    memory.drain()
        say(done=acts)

    folder.mkdir()
    answer_of(work)
    return trace


def cut(
    folder: Path, disk: Disk, began: dict[int, Act], done: dict[int, str], at: int, chance: random.Random, *, root: str
) -> tuple[dict[str, Any], int]:
    """Restore a state after a cut into this folder, and look at what is there."""
    found, lost = disk.after_power_cut(chance)
    folder.mkdir()
    for path, content in found.items():
        relative = path.removeprefix(root).lstrip("/")
        if relative.endswith("-shm") or relative == _ACKS:
            continue
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    ledger = Ledger()
    for number, made in done.items():
        ledger.acknowledge(began[number], made)
    in_flight = [act for number, act in began.items() if number not in done]
    return answer_of(lambda say: say(**_look(folder, ledger, in_flight, random.Random(at)))), lost


def _look(folder: Path, ledger: Ledger, in_flight: list[Act], chance: random.Random) -> dict[str, Any]:
    with open_memory(folder, background=False) as memory:
        wrong = ledger.check(memory, in_flight)
        wrong += memory.doctor()["store_problems"]
        repaired = 0
        known = [stamp for stamp in ledger.added["add"] if stamp in ledger.ids]
        for stamp in chance.sample(known, min(2, len(known))):
            if not _is_found(memory, stamp, ledger.ids[stamp]):
                memory.repair()
                repaired += 1
                if not _is_found(memory, stamp, ledger.ids[stamp]):
                    wrong.append(f"{stamp} is not found")
    return {"wrong": wrong, "repaired": repaired}


def _is_found(memory: Any, stamp: str, entry_id: str) -> bool:
    return entry_id in [hit.id for hit in memory.recall(stamp, 5, mode="keyword")]


def run(base: Path, *, points: int, acts: int = 40, per_trace: int = 50, seed: int = 1) -> dict[str, Any]:
    """So many power cuts, some in each of several traces."""
    chance = random.Random(seed)
    counts = {"power cuts": 0, "acknowledgements looked at": 0, "lost": 0, "writes lost or torn": 0}
    counts |= {"indexes repaired": 0}
    begun = time.monotonic()
    number = 0
    while counts["power cuts"] < points:
        number += 1
        folder = base / f"run{number}"
        every = list(operations(trace_of(folder, seed * 1_000 + number, acts)))
        wanted = min(per_trace, points - counts["power cuts"])
        places = set(chance.sample(range(1, len(every)), min(wanted, len(every) - 1)))
        disk, began, done = Disk(), dict[int, Act](), dict[int, str]()
        for place, operation in enumerate(every):
            if place in places:
                found, lost = cut(base / "cut", disk, began, done, place, chance, root=str(folder))
                _remove(base / "cut")
                assert not found["wrong"], f"run {number}, operation {place}: {found['wrong'][:4]}"
                counts["power cuts"] += 1
                counts["acknowledgements looked at"] += len(done)
                counts["writes lost or torn"] += lost
                counts["indexes repaired"] += found["repaired"]
            disk.apply(operation)
            if operation.path.endswith(f"/{_ACKS}") and operation.kind == WRITE:
                line = json.loads(operation.data)
                if len(line) == 4:
                    began[line[0]] = Act(*line[1:])
                else:
                    done[line[0]] = line[1]
        _remove(folder)
        folder.with_name(f"{folder.name}.trace").unlink()
    return {**counts, "seconds": round(time.monotonic() - begun)}


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not shim.is_loaded():
        sys.exit(shim.run_under("tests.proof.power", *sys.argv[1:]))
    preload()
    with tempfile.TemporaryDirectory() as folder:
        keep("power", run(Path(folder).resolve(), points=options.points, seed=options.seed))


if __name__ == "__main__":
    main()
