"""Anything in any order: a memory does what a dictionary does, through restarts, rebuilds and damaged indexes."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.property.machine import MemoryMachine
from tests.support import examples, flip_byte, index_files


class EmbeddedMachine(MemoryMachine):
    """One data directory."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="jiyi-machine-")
        self._path = Path(self._folder.name, "data")
        super().__init__()

    def _opened(self) -> AgentMemory:
        return AgentMemory.open(self._path, embedder=HashEmbedder(), background_indexing=False)

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self._folder.cleanup()

    @rule()
    def delete_the_indexes(self) -> None:
        shutil.rmtree(self._path / "search_index", ignore_errors=True)

    @precondition(lambda self: bool(index_files(self._path)))
    @rule(which=st.floats(0, 1), places=st.lists(st.floats(0, 1), min_size=1, max_size=20))
    def a_file_of_an_index_rots_and_is_repaired(self, which: float, places: list[float]) -> None:
        self._rot(which, places, databases=True)
        assert all(report.sound for report in self.memory.repair())

    @precondition(lambda self: bool(index_files(self._path)))
    @rule(which=st.floats(0, 1), places=st.lists(st.floats(0, 1), min_size=1, max_size=20))
    def a_file_of_an_index_rots_unnoticed(self, which: float, places: list[float]) -> None:
        # SQLite has no checksums: what it reads without complaint, only `verify` compares with ours.
        self._rot(which, places, databases=False)

    def _rot(self, which: float, places: list[float], *, databases: bool) -> None:
        self.memory.close()
        files = [file for file in index_files(self._path) if databases or file.suffix != ".db"]
        for place in set(places):
            flip_byte(files[round(which * (len(files) - 1))], place)
        self.memory = self._opened()


TestMemoryMachine = EmbeddedMachine.TestCase
TestMemoryMachine.settings = settings(max_examples=examples(8), stateful_step_count=20)
