"""What several tests share: looking at a whole store from outside, and at its file underneath."""

import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings

from jiyi.model.entry import MemoryEntry
from jiyi.sync import AgentMemory

# Every call of a test says what it needs; what it does not say is quick and the same each time.
QUICK: dict[str, Any] = {
    "embedder": "none",
    "background_indexing": False,
    "background_jobs": False,
    "llm_retries": 0,
    "time_zone": "UTC",
}


T = TypeVar("T")


def present(value: T | None) -> T:
    """The value, which must be there."""
    assert value is not None
    return value


def contents_of(memory: AgentMemory, *, scope: str | None = None) -> list[dict[str, Any]]:
    """Everything the memory holds (entries, versions, conversations) as rows, without the time of looking."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "export.jsonl")
        memory.export_jsonl(file, scope=scope)
        return rows_of(file)


def rows_of(export: Path) -> list[dict[str, Any]]:
    """The rows of an export file after its header, which holds the time of the export."""
    with export.open(encoding="utf-8") as lines:  # not splitlines: it splits at more than line ends
        return [json.loads(line) for line in lines][1:]


def examples(share: int) -> int:
    """A share of the examples of the hypothesis profile, for laws whose examples take long."""
    profile = settings.default
    assert profile is not None
    return max(1, profile.max_examples // share)


def keys(entries: Iterable[MemoryEntry]) -> list[str | None]:
    """The keys of entries, in their order."""
    return [entry.key for entry in entries]


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    """The database file of a data directory, behind the back of jiyi; committed at the end."""
    with closing(sqlite3.connect(folder / "memory.db")) as connection, connection:
        yield connection


def first_store(folder: Path, version: int = 1) -> None:
    """A data directory as schema version 1 or 6 made it: keyed entries of two scopes with tags, and a session `s`."""
    folder.mkdir(parents=True)
    dump = Path(__file__).parent / f"data/store_version_{version}.sql"
    with closing(sqlite3.connect(folder / "memory.db")) as connection:
        connection.executescript(dump.read_text("utf-8"))


def index_files(folder: Path) -> list[Path]:
    """The data files of the derived indexes, in a fixed order; not their locks."""
    files = (folder / "search_index").rglob("*")
    names = {file for file in files if file.is_file() and not file.name.startswith(".") and file.suffix != ".lock"}
    # The names of folders and segments differ from run to run; kinds and sizes do not.
    return sorted(names, key=lambda file: (file.suffix, file.stat().st_size, file.name))


def flip_byte(file: Path, place: float) -> None:
    """Invert the byte at a place from 0 (the first) to 1 (the last), in the file that may be in use."""
    with file.open("r+b") as data:
        size = data.seek(0, 2)
        if size:
            data.seek(round(place * (size - 1)))
            byte = data.read(1)[0]
            data.seek(-1, 1)
            data.write(bytes([byte ^ 0xFF]))
