"""Flip and truncate every kind of derived file at random places, under open and closed memories.

python -m tests.proof.damage --rounds 2000

The work is done by children that must not die by a signal; see `tests.crash.damaged`.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.crash.damaged import fill
from tests.proof.report import keep
from tests.proof.shim import ROOT

_PER_CHILD = 50


def run(folder: Path, *, rounds: int) -> dict[str, Any]:
    begun = time.monotonic()
    done = 0
    for seed in range(1, rounds // _PER_CHILD + 2):
        number = min(_PER_CHILD, rounds - done)
        if number <= 0:
            break
        data = folder / f"data{seed}"
        fill(data)
        how = "open" if seed % 2 else "closed"
        command = [sys.executable, "-m", "tests.crash.damaged", str(data), str(seed), str(number), how]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, (
            f"seed {seed}, {how}: {ended.returncode}\n{ended.stdout[-500:]}{ended.stderr[-2000:]}"
        )
        done += number
    return {
        "damaged files": done,
        "ended by a signal": 0,
        "wrong after repair": 0,
        "seconds": round(time.monotonic() - begun),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        keep("damage", run(Path(folder), rounds=options.rounds))


if __name__ == "__main__":
    main()
