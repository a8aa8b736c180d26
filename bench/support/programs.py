"""The arguments and the working directory of a benchmark program."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the arguments of every benchmark."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    made.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    made.add_argument("--results", type=Path, default=RESULTS, help="where the table is written")
    made.add_argument("--work", type=Path, help="where the stores are made (default: the system's temporary directory)")
    return made


@contextmanager
def work_directory(place: Path | None) -> Iterator[Path]:
    """A temporary directory. It should be on the disk that is to be measured."""
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="jiyi-bench-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
