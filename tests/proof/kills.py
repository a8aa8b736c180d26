"""Kill a process that writes to every room, again and again: what it was told is kept must be kept.

python -m tests.proof.kills --cycles 1000 --acknowledgements 50000
"""

import argparse
import itertools
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.proof.children import Listener, answer_of, fork, preload
from tests.proof.report import keep
from tests.proof.rooms import ROOMS, Act, Ledger, open_memory, random_act


def run(folder: Path, *, cycles: int, acknowledgements: int, seed: int = 1) -> dict[str, Any]:
    """So many cycles, with about as many acknowledgements in each; raises `AssertionError` for anything lost."""
    chance = random.Random(seed)
    ledger = Ledger()
    each = max(1, acknowledgements // cycles)
    kills = 0
    begun = time.monotonic()
    for cycle in range(cycles):
        worker = Listener(*fork(_worker(folder, f"{seed}c{cycle}")))
        acts: dict[int, Act] = {}
        done: set[int] = set()
        wanted = chance.randint(each, each + each // 5 + 1)

        def take(lines: list[dict[str, Any]], acts: dict[int, Act] = acts, done: set[int] = done) -> None:
            for line in lines:
                if "error" in line:
                    raise AssertionError(line["error"])
                if "begin" in line:
                    acts[line["begin"]] = Act(*line["act"])
                else:
                    done.add(line["done"])
                    ledger.acknowledge(acts[line["done"]], line["made"])

        while len(done) < wanted and not worker.ended:
            take(worker.lines())
        time.sleep(chance.uniform(0, 0.01))
        os.kill(worker.child, signal.SIGKILL)
        take(worker.rest())
        code = worker.wait()
        assert code == -signal.SIGKILL, f"the worker ended with {code}"
        kills += 1
        in_flight = [act for number, act in acts.items() if number not in done]
        whole = cycle % 100 == 99 or cycle == cycles - 1
        said = answer_of(_check(folder, ledger, in_flight, f"{seed}c{cycle}", whole=whole))
        assert not said["wrong"], said["wrong"][:5]
        _learn(ledger, said)
    return {
        "kills": kills,
        "acknowledgements": sum(ledger.acknowledged.values()),
        "rooms": len(ROOMS),
        "lost": 0,
        "in flight and kept": ledger.survivors,
        "seconds": round(time.monotonic() - begun),
    }


def _worker(folder: Path, actor: str) -> Callable[[Callable[..., None]], None]:
    def work(say: Callable[..., None]) -> None:
        memory = open_memory(folder)
        chance = random.Random(actor)
        for number in itertools.count():
            act = random_act(chance, actor, number)
            say(begin=number, act=[act.room, act.name, act.stamp])
            say(done=number, made=act.perform(memory))
            if number % 20 == 19:
                memory.drain()

    return work


def _check(
    folder: Path, ledger: Ledger, in_flight: list[Act], actor: str, *, whole: bool
) -> Callable[[Callable[..., None]], None]:
    def check(say: Callable[..., None]) -> None:
        with open_memory(folder, background=False) as memory:
            wrong = ledger.check(memory, in_flight, only=None if whole else {actor})
            if whole:
                wrong += memory.doctor()["store_problems"]
                memory.drain()
                wrong += [str(report.to_dict()) for report in memory.verify() if not report.sound]
        say(wrong=wrong, values=[[*slot, value] for slot, value in ledger.values.items()], survivors=ledger.survivors)

    return check


def _learn(ledger: Ledger, said: dict[str, Any]) -> None:
    """Take over what the child has found to be kept of the acts in flight."""
    ledger.values = {(room, name): value for room, name, value in said["values"]}
    ledger.survivors = said["survivors"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=1_000)
    parser.add_argument("--acknowledgements", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    preload()
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder), cycles=options.cycles, acknowledgements=options.acknowledgements, seed=options.seed)
    keep("kills", found)


if __name__ == "__main__":
    main()
