"""The conformance suite of record stores: note files and their chunks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.filters import Filters
from jiyi.model.note import FileStamp, NoteCounts, NoteFile, NoteUpdate, note_scope, thread_of
from jiyi.ports import RecordStore
from jiyi.testing.conformance.examples import ACTOR, entry
from jiyi.testing.conformance.records import StoreFixtures

WORKSPACE, SCOPE = "w", "main"
PRIVATE = note_scope(WORKSPACE, SCOPE, shared=False)


def file(path: str = "memory/a.md", checked: int = 1) -> NoteFile:
    """A file as a scan describes it."""
    return NoteFile(path, FileStamp(10, 1 << 60, 3, 4), "digest", checked, shared=False, chunks=1)


def piece(text: str, line: int, path: str = "memory/a.md", tags: tuple[str, ...] = ()) -> MemoryEntry:
    """A piece of a file; its id follows from its text."""
    return replace(
        entry(None, text, scope=PRIVATE, memory_type="note", conversation_id=thread_of(path), tags=tags),
        id=f"id of {text}",
        source=Source("note", "user", (f"{path}:{line}-{line}", "Title")),
    )


def update(*pieces: MemoryEntry, checked: int = 1) -> NoteUpdate:
    """The file with these pieces."""
    return NoteUpdate("memory/a.md", file(checked=checked), pieces)


class NoteConformance(StoreFixtures):
    """Files that were read, and their pieces as entries."""

    def save(self, store: RecordStore, *updates: NoteUpdate) -> NoteCounts:
        return store.save_notes(WORKSPACE, SCOPE, updates, actor=ACTOR)

    def rows(self, store: RecordStore) -> list[MemoryEntry]:
        """The pieces in the order of their positions."""
        found = store.fetch(store.matching_ids(Filters((PRIVATE,))), None).values()
        return sorted(found, key=lambda row: row.position or 0)

    def test_a_file_and_its_pieces_come_back(self, store: RecordStore, second_handle: RecordStore) -> None:
        assert self.save(store, update(piece("one", 1, tags=("t",)), piece("two", 3))) == NoteCounts(added=2)
        assert second_handle.note_files(WORKSPACE, SCOPE) == {"memory/a.md": file()}
        assert [(row.content, row.version) for row in self.rows(second_handle)] == [("one", 1), ("two", 1)]
        assert second_handle.tag_usage([PRIVATE], limit=10, offset=0) == [("t", 1)]

    def test_the_state_changes_with_the_files(self, store: RecordStore) -> None:
        states = [store.note_files_state(WORKSPACE, SCOPE)]
        for change in (update(checked=1), update(checked=2), NoteUpdate("memory/a.md", None)):
            self.save(store, change)
            states.append(store.note_files_state(WORKSPACE, SCOPE))
        assert states == [(0, 0), (1, 1), (1, 2), (0, 0)]

    def test_only_what_changed_is_news_for_the_indexes(self, store: RecordStore) -> None:
        self.save(store, update(piece("one", 1), piece("two", 3), piece("three", 5)))
        log_position = store.head().sequence
        counts = self.save(store, update(piece("one", 1), piece("new", 3), piece("three", 7)))
        assert counts == NoteCounts(added=1, removed=1, moved=1)
        changed = {change.entry_id for change in store.changes_after(log_position, limit=100)}
        assert changed == {"id of two", "id of new"}
        assert [row.content for row in self.rows(store)] == ["one", "new", "three"]
        assert self.rows(store)[2].source.references[0] == "memory/a.md:7-7"

    @pytest.mark.parametrize("order", ["cab", "bca", "abc", "xaybzc", "c", "bacd"])
    def test_pieces_stand_in_the_order_of_the_file(self, store: RecordStore, order: str) -> None:
        self.save(store, update(*(piece(name, line) for line, name in enumerate("abc"))))
        self.save(store, update(*(piece(name, line) for line, name in enumerate(order))))
        assert [row.content for row in self.rows(store)] == list(order)
        assert len({row.position for row in self.rows(store)}) == len(order)

    def test_there_is_always_room_for_one_more(self, store: RecordStore) -> None:
        names = ["first", "last"]
        for number in range(30):
            names.insert(1, f"n{number}")
            self.save(store, update(*(piece(name, line) for line, name in enumerate(names))))
            assert [row.content for row in self.rows(store)] == names

    def test_what_is_removed_leaves_no_text_and_can_come_back(self, store: RecordStore) -> None:
        self.save(store, update(piece("one", 1)))
        self.save(store, NoteUpdate("memory/a.md", None))
        assert self.rows(store) == []
        assert store.note_files(WORKSPACE, SCOPE) == {}
        self.save(store, update(piece("one", 1)))
        assert [(row.content, row.version) for row in self.rows(store)] == [("one", 3)]

    def test_pieces_can_be_left_as_they_are(self, store: RecordStore) -> None:
        self.save(store, update(piece("one", 1)))
        self.save(store, NoteUpdate("memory/a.md", replace(file(), problem="cannot be read")))
        assert [row.content for row in self.rows(store)] == ["one"]
        assert store.note_files(WORKSPACE, SCOPE)["memory/a.md"].problem == "cannot be read"

    def test_workspaces_and_scopes_are_kept_apart(self, store: RecordStore) -> None:
        self.save(store, update(piece("one", 1)))
        for workspace, scope in (("other", SCOPE), (WORKSPACE, "other")):
            store.save_notes(workspace, scope, [update()], actor=ACTOR)
            assert [row.content for row in self.rows(store)] == ["one"]
            store.save_notes(workspace, scope, [NoteUpdate("memory/a.md", None)], actor=ACTOR)
            assert store.note_files(workspace, scope) == {}
        assert set(store.note_files(WORKSPACE, SCOPE)) == {"memory/a.md"}

    def test_an_export_of_everything_leaves_notes_to_their_files(self, store: RecordStore) -> None:
        self.save(store, update(piece("one", 1)))
        assert [row["kind"] for row in store.export_rows(None)] == ["jiyi-export"]
