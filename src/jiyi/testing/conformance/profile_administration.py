"""What every profile must do for those who operate it: searched metadata, scopes, the change feed, erasing."""

from __future__ import annotations

from collections.abc import Callable

from jiyi.sync import AgentMemory
from jiyi.testing.conformance.profile_entries import keys_of

Open = Callable[..., AgentMemory]


class AdministrationOfProfile:
    """A part of `ProfileConformance`."""

    _soundly: Callable[[AgentMemory], None]
    """Asks for the memory to be compared with its indexes at the end of the test."""

    def test_metadata_is_searched_only_if_the_store_was_told_so(self, opening: Open) -> None:
        first = opening()
        first.store("a", "first reading", metadata={"title": "Hyperion", "body": "Keats"})
        first.store("b", "second reading", metadata={"title": "Endymion", "author": {"name": "Selene"}})
        assert first.recall("Hyperion", mode="keyword") == []
        again = opening(index_metadata=["title", "author.name"])
        assert keys_of(again.recall("Hyperion", mode="keyword")) == ["a"]
        assert keys_of(again.recall("Hyperion", 1, mode="semantic")) == ["a"]
        assert keys_of(again.recall("Selene", mode="keyword")) == ["b"]
        assert again.recall("Keats", mode="keyword") == []
        # What is written later is searched by the same fields, and the other handle has learned them.
        again.update("a", metadata={"title": ["Lamia", 1820]})
        first.store("c", "third reading", metadata={"title": "Hyperion"})
        for memory in (again, first):
            assert keys_of(memory.recall("Hyperion", mode="keyword")) == ["c"]
            assert keys_of(memory.recall("Lamia 1820", mode="keyword")) == ["a"]
        # It is kept in the store: whoever opens it next searches the same.
        third = opening()
        assert keys_of(third.recall("Selene", mode="keyword")) == ["b"]
        assert third.recall("reading Selene", 1)[0].content == "second reading"
        third.rebuild()
        self._soundly(third)
        content_only = opening(index_metadata=[])
        assert content_only.recall("Selene", mode="keyword") == []
        self._soundly(content_only)
