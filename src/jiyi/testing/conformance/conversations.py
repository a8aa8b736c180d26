"""The conformance suite of record stores: conversations, export and import, maintenance."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jiyi.errors import JiyiError
from jiyi.model.entry import MESSAGE_TYPE
from jiyi.model.message import Message
from jiyi.ports import START, Draft, ImportCounts, RecordStore
from jiyi.testing.conformance.examples import ACTOR, LOOK_ALIKE_SCOPES, draft, full_entry, varied_entries
from jiyi.testing.conformance.records import MAIN, StoreFixtures

CONVERSATION = [
    Message("system", "你是一个助手"),
    Message("user", [{"type": "text", "text": "看图"}, {"type": "image_url", "image_url": {"url": "x"}}]),
    Message("assistant", None, tool_calls=[{"id": "c1", "function": {"name": "f", "arguments": '{"a": 1}'}}]),
    Message("tool", "NUL \x00, half a pair \ud800, 😀", tool_call_id="c1", name="f"),
    Message("assistant", "", extra={"refusal": None, "audio": {"id": 1.5, "flags": [True, None]}}),
]


class ConversationConformance(StoreFixtures):
    """Conversations are saved whole and come back exactly."""

    def test_a_conversation_comes_back_exactly(self, store: RecordStore, second_handle: RecordStore) -> None:
        store.save_history("main", "今天", CONVERSATION, actor=ACTOR)
        assert second_handle.load_history("main", "今天") == CONVERSATION

    def test_a_session_that_was_never_saved_is_empty(self, store: RecordStore) -> None:
        assert store.load_history("main", "unknown") == []
        assert store.sessions("main") == []

    @pytest.mark.parametrize(
        "after",
        [
            [*CONVERSATION, Message("user", "one more")],
            CONVERSATION[:2],
            CONVERSATION[::-1],
            [CONVERSATION[0], Message("user", "changed"), *CONVERSATION[2:]],
            [CONVERSATION[0]] * 3,
            [],
        ],
        ids=["longer", "shorter", "reversed", "changed inside", "repeated", "emptied"],
    )
    def test_saving_again_replaces_the_conversation(self, store: RecordStore, after: list[Message]) -> None:
        store.save_history("main", "s", CONVERSATION, actor=ACTOR)
        store.save_history("main", "s", after, actor=ACTOR)
        assert store.load_history("main", "s") == after
        store.save_history("main", "s", CONVERSATION, actor=ACTOR)
        assert store.load_history("main", "s") == CONVERSATION

    def test_conversations_of_look_alike_scopes_are_apart(self, store: RecordStore) -> None:
        for scope in LOOK_ALIKE_SCOPES:
            store.save_history(scope, "s", [Message("user", f"of {scope}")], actor=ACTOR)
        for scope in LOOK_ALIKE_SCOPES:
            assert store.load_history(scope, "s") == [Message("user", f"of {scope}")]
            assert store.sessions(scope) == ["s"]

    def test_the_session_written_last_is_listed_first(self, store: RecordStore) -> None:
        for session in ("a", "b", "c"):
            store.save_history("main", session, [Message("user", "x")], actor=ACTOR)
        store.save_history("main", "a", [Message("user", "x"), Message("user", "y")], actor=ACTOR)
        assert store.sessions("main") == ["a", "c", "b"]

    def test_what_was_said_can_be_recalled_if_wanted(self, store: RecordStore) -> None:
        store.save_history("main", "s", CONVERSATION, actor=ACTOR, recallable=False)
        assert (store.head(), store.count(MAIN)) == (START, 0)
        store.save_history("main", "t", CONVERSATION, actor=ACTOR)
        [said] = store.page(MAIN, limit=10, offset=0)
        assert (said.content, said.memory_type, said.conversation_id, said.position) == ("看图", MESSAGE_TYPE, "t", 1)
        assert [change.entry_id for change in store.changes_after(0, limit=10)] == [said.id]

    def test_what_is_no_longer_part_of_the_conversation_is_no_longer_recalled(self, store: RecordStore) -> None:
        def recalled() -> list[str]:
            return sorted(entry.content for entry in store.page(MAIN, limit=10, offset=0))

        store.save_history("main", "s", [Message("user", "one"), Message("user", "two")], actor=ACTOR)
        assert recalled() == ["one", "two"]
        store.save_history("main", "s", [Message("user", "one"), Message("user", "three")], actor=ACTOR)
        assert recalled() == ["one", "three"]
        store.save_history("main", "s", [], actor=ACTOR)
        assert recalled() == []


class TransferConformance(StoreFixtures):
    """Export and import lose nothing."""

    @staticmethod
    def _fill(store: RecordStore) -> None:
        store.put([Draft(full_entry()), *map(Draft, varied_entries(12)), draft(None, "no key")], actor="alice")
        store.put([draft("key 0", "second version", tags=("new",))], actor="bob")
        store.forget("public", "key 1", actor="carol")
        store.save_history("main", "s", CONVERSATION, actor=ACTOR)
        store.save_history("main", "s", CONVERSATION[1:], actor=ACTOR)

    @staticmethod
    def _rows(store: RecordStore, scope: str | None = None) -> list[dict[str, Any]]:
        """What is exported, through JSON and without the header, which holds the time."""
        exported: list[dict[str, Any]] = json.loads(json.dumps(list(store.export_rows(scope))))
        return exported[1:]

    def test_an_export_fills_an_empty_store_with_the_same(self, store: RecordStore, other_store: RecordStore) -> None:
        self._fill(store)
        rows = self._rows(store)
        other_store.import_rows(rows, actor="importer")
        assert self._rows(other_store) == rows
        assert other_store.matching_ids(MAIN) == store.matching_ids(MAIN)
        assert other_store.load_history("main", "s") == CONVERSATION[1:]
        assert other_store.versions("main", "key 0") == store.versions("main", "key 0")

    def test_importing_again_changes_nothing(self, store: RecordStore, other_store: RecordStore) -> None:
        self._fill(store)
        rows = self._rows(store)
        first = other_store.import_rows(rows, actor=ACTOR)
        head = other_store.head()
        again = other_store.import_rows(rows, actor=ACTOR)
        assert first.entries == len([row for row in rows if row["kind"] == "entry"])
        assert first.unchanged == 0
        assert again == ImportCounts(unchanged=len(rows))
        assert other_store.head() == head
        assert self._rows(other_store) == rows

    def test_an_export_of_one_scope_holds_nothing_of_another(self, store: RecordStore) -> None:
        self._fill(store)
        rows = self._rows(store, "main")
        assert rows
        assert {row["scope"] for row in rows} == {"main"}

    def test_imported_entries_reach_the_change_log(self, store: RecordStore, other_store: RecordStore) -> None:
        store.put([draft("k", "x")], actor=ACTOR)
        entries_alone = [row for row in self._rows(store) if row["kind"] == "entry"]
        other_store.import_rows(entries_alone, actor=ACTOR)
        assert [c.entry_id for c in other_store.changes_after(0, limit=10)] == other_store.matching_ids(MAIN)

    def test_one_bad_row_means_that_nothing_was_imported(self, store: RecordStore, other_store: RecordStore) -> None:
        self._fill(store)
        for bad in ({"kind": "entry", "id": "x"}, {"kind": "unheard of"}, {"kind": "change", "before": {}}):
            with pytest.raises(JiyiError):
                other_store.import_rows([*self._rows(store), bad], actor=ACTOR)
            assert self._rows(other_store) == []
            assert other_store.head().sequence == 0
            assert other_store.load_history("main", "s") == []


class UpkeepConformance(StoreFixtures):
    """What `doctor` and the indexer need from a store."""

    def test_a_store_in_use_is_sound(self, store: RecordStore) -> None:
        store.put([draft(f"k{i}", "x" * 2_000) for i in range(600)], actor=ACTOR)
        store.maintain()
        assert store.check() == []
        assert store.count(MAIN) == 600

    def test_its_description_can_be_written_as_json(self, store: RecordStore) -> None:
        assert json.loads(json.dumps(store.describe()))["store_id"] == store.store_id

    def test_closing_twice_is_allowed(self, store: RecordStore) -> None:
        store.close()
        store.close()
