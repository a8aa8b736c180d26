"""Workspaces for the tests of notes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from jiyi.notes.entries import NoteEntry
from jiyi.sync import AgentMemory
from tests.support import QUICK


def make_entry(entry_id: str, text: str, at: datetime, zone: tzinfo, *, by: str, source: str) -> NoteEntry:
    """An entry written at a moment, in a time zone."""
    offset = at.astimezone(zone).utcoffset() or timedelta()
    return NoteEntry(entry_id, at.astimezone(UTC), offset, text, by, source)


@dataclass
class Desk:
    """A memory with a workspace, and the files behind its back."""

    memory: AgentMemory
    root: Path

    @property
    def notes(self) -> Any:
        return self.memory.notes

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8", newline="")
        return file

    def read(self, path: str) -> str:
        return (self.root / path).read_bytes().decode("utf-8")

    def found(self, query: str, **options: Any) -> list[str]:
        """The texts of the hits."""
        return [hit.content for hit in self.notes.memory_search(query, **options)]

    def places(self, query: str, **options: Any) -> list[str]:
        return [hit.place for hit in self.notes.memory_search(query, **options)]


OpenDesk = Callable[..., Desk]


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a test may take longer than a program takes to overwrite a file."""
    monkeypatch.setattr("jiyi.notes.recovery.OVERWRITE_SECONDS", 600.0)


@pytest.fixture
def open_desk(tmp_path: Path) -> Iterator[OpenDesk]:
    """Opens memories on one workspace; the same data directory unless another is named."""
    opened: list[AgentMemory] = []

    def open_one(data: str = "data", root: str = "ws", **settings: Any) -> Desk:
        (tmp_path / root).mkdir(exist_ok=True)
        given = {**QUICK, "workspace": tmp_path / root, "time_zone": "Asia/Shanghai", **settings}
        memory = AgentMemory.open(tmp_path / data, **given)
        opened.append(memory)
        return Desk(memory, tmp_path / root)

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def desk(open_desk: OpenDesk) -> Desk:
    """A memory with an empty workspace."""
    return open_desk()
