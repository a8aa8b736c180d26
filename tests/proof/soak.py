"""A process works for long; memory, open files, the log of the database and the segments of the index stay bounded.

python -m tests.proof.soak --minutes 20

The same slots are written again and again, so that nothing grows because there is more to keep.
"""

import argparse
import os
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from jiyi.backends.embedded.text.files import read_segments
from tests.proof.children import preload
from tests.proof.report import keep
from tests.proof.rooms import Act, open_memory

MAX_GROWTH = 96 << 20
"""Bytes of memory that a process may have more at the end than after its first tenth: caches are filled by then."""
MAX_FILES = 12
MAX_LOG = 80 << 20
MAX_SEGMENTS = 24
_SLOTS = 400


def run(folder: Path, *, seconds: float, seed: int = 1) -> dict[str, Any]:
    memory = open_memory(folder)
    chance = random.Random(seed)
    begun = time.monotonic()
    acts = recalls = 0
    samples: list[dict[str, int]] = []
    next_sample = 0.0
    while (elapsed := time.monotonic() - begun) < seconds or len(samples) < 12:
        slot = chance.randrange(_SLOTS)
        kind = chance.choice(("store", "store", "forget", "bulk", "history", "recall", "recall", "semantic"))
        if kind in ("recall", "semantic"):
            memory.recall(f"soak-{slot} zebra 杭州", 5, mode="hybrid" if kind == "recall" else kind)
            recalls += 1
        else:
            Act(kind, f"{'store' if kind == 'forget' else kind}-{slot}", f"s{slot}.{acts % 50}").perform(memory)
            acts += 1
        if acts % 500 == 499:
            memory.chat(f"soak-{acts % 3}").reset()
            memory.maintain()
        if elapsed >= next_sample:
            samples.append(sample(folder))
            next_sample = elapsed + seconds / 40
    samples.append(sample(folder))
    sound = all(report.sound for report in (memory.drain(), memory.verify())[1])
    memory.close()
    assert sound, "an index does not agree with the records"
    settled, last = samples[len(samples) // 10 + 1], samples[-1]
    most = {name: max(each[name] for each in samples) for name in last}
    grown = last["memory"] - settled["memory"]
    assert grown < MAX_GROWTH, f"memory has grown by {grown >> 20} MB"
    assert most["files"] - settled["files"] <= MAX_FILES, f"open files: {settled['files']}, then {most['files']}"
    assert most["threads"] - settled["threads"] <= MAX_FILES
    assert most["log"] < MAX_LOG, f"the log of the database has {most['log']} bytes"
    assert most["segments"] <= MAX_SEGMENTS, f"the text index has {most['segments']} segments"
    return {
        "minutes": round((time.monotonic() - begun) / 60, 1),
        "writes": acts,
        "recalls": recalls,
        "MB of memory at the end": last["memory"] >> 20,
        "MB of growth": grown >> 20,
        "open files at most": most["files"],
        "MB of log at most": most["log"] >> 20,
        "segments at most": most["segments"],
    }


def sample(folder: Path) -> dict[str, int]:
    """What the process and its files take."""
    segments = 0
    for meta in folder.glob("data/search_index/text-*/tantivy/meta.json"):
        segments = max(segments, len(read_segments(meta)))
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("utf-8").splitlines())
    log = folder / "data" / "memory.db-wal"
    return {
        "memory": int(status["VmRSS"].split()[0]) << 10,
        "files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "threads": threading.active_count(),
        "log": log.stat().st_size if log.exists() else 0,
        "segments": segments,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    options = parser.parse_args()
    preload()
    with tempfile.TemporaryDirectory() as folder:
        keep("soak", run(Path(folder), seconds=60 * options.minutes))


if __name__ == "__main__":
    main()
