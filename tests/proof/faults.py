"""Disk full, I/O errors and missing descriptors, at every write of every room.

python -m tests.proof.faults --every 1

For each room an act is done once to count the operations on files that it needs, and then once for each of them with
that operation failing. The act must succeed or end with an error of the tree; afterwards, without the fault, everything
that was acknowledged is there, and the act that failed is there whole or not at all.
"""

import argparse
import errno
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jiyi.errors import JiyiError
from tests.proof import shim
from tests.proof.children import answer_of, preload
from tests.proof.report import keep
from tests.proof.rooms import ROOMS, Act, Ledger, open_memory, random_act

FAULTS = {
    "disk full": (errno.ENOSPC, shim.WRITE | shim.NAME),
    "write error": (errno.EIO, shim.WRITE | shim.SYNC | shim.NAME),
    "no descriptor": (errno.EMFILE, shim.OPEN),
}
STEPS = (*ROOMS, "drain", "recall", "open")
_FOR_EVER = 1 << 40


def prepare(folder: Path) -> Ledger:
    """A memory with something in every room."""
    ledger = Ledger()
    acts = [random_act(random.Random(number), "before", number, [room]) for number, room in enumerate(ROOMS * 3)]
    said = answer_of(lambda say: say(made=_perform(folder, acts)))
    for act, made in zip(acts, said["made"], strict=True):
        ledger.acknowledge(act, made)
    return ledger


def _perform(folder: Path, acts: list[Act]) -> list[str]:
    with open_memory(folder, background=False) as memory:
        made = [act.perform(memory) for act in acts]
        memory.drain()
    return made


def attempt(folder: Path, step: str, at: int, error: int, kinds: int, *, lasting: bool) -> dict[str, Any]:
    """Do a step with one operation failing (at = 0: none, only counted), or with all from there on."""
    act = random_act(random.Random(step), "during", 1, [step]) if step in ROOMS else None
    faults = shim.Shim()
    faults.begin(folder)
    number = _FOR_EVER if lasting else 1

    def arm() -> None:
        faults.fail(at, number, error, kinds) if at else faults.count(kinds)

    made, failure = "", ""
    if step == "open":
        arm()
    try:
        memory = open_memory(folder, background=False, busy_timeout=1)
    except JiyiError as problem:
        return {"failure": type(problem).__name__, "made": "", "counted": faults.counted, "act": None}
    try:
        if step in ("drain", "recall"):
            memory.store("later", "zebra crossing")
        if step != "open":
            arm()
        made = _step(memory, step, act)
    except JiyiError as problem:
        failure = type(problem).__name__
    counted = faults.counted
    faults.count(0)
    memory.close()
    done = None if act is None else [act.room, act.name, act.stamp]
    return {"failure": failure, "made": made, "counted": counted, "act": done}


def _step(memory: Any, step: str, act: Act | None) -> str:
    if act is not None:
        return act.perform(memory)
    if step == "drain":
        memory.drain()
    elif step == "recall":
        memory.recall("zebra crossing", 3)
    return ""


def look(folder: Path, ledger: Ledger, act: Act | None) -> dict[str, Any]:
    with open_memory(folder, background=False) as memory:
        wrong = ledger.check(memory, [act] if act else [])
        memory.drain()
        wrong += memory.doctor()["store_problems"]
        wrong += [str(report.to_dict()) for report in memory.verify() if not report.sound]
    return {"wrong": wrong}


def run(base: Path, *, every: int = 1, steps: tuple[str, ...] = STEPS, seed: int = 1) -> dict[str, Any]:
    """Every operation of every step, or each `every`-th."""
    begun = time.monotonic()
    folder = base / "prepared"
    ledger = prepare(folder)
    counts = {"faults": 0, "calls refused": 0, "calls that succeeded": 0, "lost or damaged": 0}
    chance = random.Random(seed)
    for step in steps:
        for error, kinds in FAULTS.values():
            total = _tried(base, folder, step, 0, error, kinds)["counted"]
            for at in range(1 + chance.randrange(every), total + 1, every):
                said = _tried(base, folder, step, at, error, kinds, ledger=ledger, lasting=chance.random() < 0.5)
                counts["faults"] += 1
                counts["calls refused" if said["failure"] else "calls that succeeded"] += 1
    return {**counts, "steps": len(steps), "seconds": round(time.monotonic() - begun)}


def _tried(
    base: Path,
    prepared: Path,
    step: str,
    at: int,
    error: int,
    kinds: int,
    *,
    ledger: Ledger | None = None,
    lasting: bool = False,
) -> dict[str, Any]:
    folder = Path(shutil.copytree(prepared, base / "tried"))
    work: Callable[[Callable[..., None]], None] = lambda say: say(  # noqa: E731
        **attempt(folder, step, at, error, kinds, lasting=lasting)
    )
    said = answer_of(work)
    if ledger is not None:
        act = Act(*said["act"]) if said["act"] else None
        if act is not None and not said["failure"]:
            after = _copy(ledger)
            after.acknowledge(act, said["made"])
            found = answer_of(lambda say: say(**look(folder, after, None)))
        else:
            found = answer_of(lambda say: say(**look(folder, ledger, act)))
        assert not found["wrong"], f"{step}, operation {at}, {errno.errorcode[error]}: {found['wrong'][:3]}"
    shutil.rmtree(folder)
    return said


def _copy(ledger: Ledger) -> Ledger:
    added = {room: dict(acts) for room, acts in ledger.added.items()}
    return Ledger(values=dict(ledger.values), added=added, ids=dict(ledger.ids))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="try only each n-th operation")
    options = parser.parse_args()
    if not shim.is_loaded():
        sys.exit(shim.run_under("tests.proof.faults", *sys.argv[1:]))
    preload()
    with tempfile.TemporaryDirectory() as folder:
        keep("faults", run(Path(folder).resolve(), every=options.every))


if __name__ == "__main__":
    main()
