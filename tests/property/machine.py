"""A memory against a model of dictionaries: what users do, and what happens to a memory on every profile."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from jiyi.sync import AgentMemory
from tests.property import invariants
from tests.property.invariants import KEYS, SCOPES, SESSIONS, Model, Stored
from tests.support import present

scopes = st.sampled_from(SCOPES)
keys = st.sampled_from(KEYS)
words = st.lists(st.sampled_from(["tea", "harbour", "北京", "下雨天", "C++", "émile"]), max_size=3)
said = st.lists(st.sampled_from(["hello", "天气怎么样", "", "\x00\ud800"]), max_size=4)


class MemoryMachine(RuleBasedStateMachine):
    """One store, opened twice. A subclass says where it is, and what else can happen to it there."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.memory = self._opened()

    def _opened(self) -> AgentMemory:
        raise NotImplementedError

    def teardown(self) -> None:
        try:
            invariants.words_find_exactly_what_is_there(self.memory, self.model)
            invariants.every_key_answers_for_itself(self.memory, self.model)
            invariants.conversations_are_those_of_the_model(self.memory, self.model)
            invariants.indexes_hold_what_the_records_say(self.memory)
        finally:
            self.memory.close()

    # --- what users do --------------------------------------------------------------------------------------------

    @rule(scope=scopes, key=keys, around=words, tags=words)
    def store(self, scope: str, key: str, around: list[str], tags: list[str]) -> None:
        token = self.model.new_token()
        stored = Stored(" ".join([*around, token]), tuple(dict.fromkeys(tags)), token)
        found = self.memory.get(key, scope=scope)
        entry = self.memory.store(key, stored.content, scope=scope, tags=tags)
        if (scope, key) in self.model.entries:
            before = present(found)
            assert (entry.id, entry.created_at, entry.version) == (before.id, before.created_at, before.version + 1)
        else:
            assert entry.version == 1
        self.model.entries[scope, key] = stored
        self.model.versions.setdefault((scope, key), []).append(stored.content)

    @rule(scope=scopes, batch=st.lists(st.tuples(keys, words), max_size=4))
    def store_many(self, scope: str, batch: list[tuple[str, list[str]]]) -> None:
        entries = []
        for key, around in batch:
            token = self.model.new_token()
            # What a batch does not name is kept.
            before = self.model.entries.get((scope, key))
            stored = Stored(" ".join([*around, token]), () if before is None else before.tags, token)
            entries.append({"key": key, "content": stored.content, "scope": scope})
            self.model.entries[scope, key] = stored
            self.model.versions.setdefault((scope, key), []).append(stored.content)
        assert [entry.content for entry in self.memory.store_many(entries)] == [entry["content"] for entry in entries]

    @rule(scope=scopes, key=keys, erase=st.booleans())
    def forget(self, scope: str, key: str, erase: bool) -> None:
        was_there = self.model.entries.pop((scope, key), None) is not None
        versions = self.model.versions.get((scope, key), [])
        had_texts = any(text is not None for text in versions)
        assert self.memory.forget(key, scope=scope, erase=erase) is (was_there or (erase and had_texts))
        if was_there:
            versions.append(None)
        if erase:
            versions[:] = [None] * len(versions)

    @rule(scope=scopes, session=st.sampled_from(SESSIONS), texts=said)
    def save_conversation(self, scope: str, session: str, texts: list[str]) -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": text} for text in texts]
        self.memory.save_conversation_history(session, messages, scope=scope)
        self.model.sessions[scope, session] = messages

    @rule(scope=scopes, session=st.sampled_from(SESSIONS), text=st.sampled_from(["and?", "再见"]))
    def continue_conversation(self, scope: str, session: str, text: str) -> None:
        messages = [*self.model.sessions.get((scope, session), []), {"role": "assistant", "content": text}]
        self.memory.save_conversation_history(session, messages, scope=scope)
        self.model.sessions[scope, session] = messages

    @rule()
    def recall_by_words(self) -> None:
        invariants.words_find_exactly_what_is_there(self.memory, self.model)

    @rule()
    def recall_by_meaning(self) -> None:
        invariants.meaning_finds_the_same_text(self.memory, self.model)

    # --- what happens to a memory ---------------------------------------------------------------------------------

    @rule()
    def restart(self) -> None:
        self.memory.close()
        self.memory = self._opened()

    @rule(scope=scopes, key=keys)
    def another_process_writes(self, scope: str, key: str) -> None:
        mine, self.memory = self.memory, self._opened()
        try:
            self.store(scope, key, ["elsewhere"], [])
        finally:
            self.memory.close()
            self.memory = mine

    @rule()
    def drain(self) -> None:
        self.memory.drain()
        assert self.memory.drain() == 0

    @rule()
    def rebuild(self) -> None:
        self.memory.rebuild()
        invariants.indexes_hold_what_the_records_say(self.memory)

    # --- what always holds ----------------------------------------------------------------------------------------

    @invariant()
    def entries_are_those_of_the_model(self) -> None:
        invariants.entries_are_those_of_the_model(self.memory, self.model)
