"""Effects stay in the scope: calls for private scopes leave the export of `public` the same byte for byte.

And no answer names the id of an entry that the asking scope cannot see, unless the caller named it.
"""

import json
import re
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from jiyi.errors import JiyiError
from jiyi.model import clock
from jiyi.model.scope import PUBLIC
from jiyi.sync import AgentMemory
from tests.isolation.test_isolation import shown
from tests.support import QUICK, contents_of, examples

PRIVATE = ("alice", "bob")
scopes = st.sampled_from(PRIVATE)
numbers = st.integers(0, 30)
several = st.lists(numbers, max_size=4)
said = st.sampled_from(
    ["我对花生过敏", "My name is Emma", "I moved to Oslo", "我现在住在上海", "I like tea", "Actually my name is Ada"]
)
asked = st.sampled_from(["tea", "过敏", "name", "where do I live", "上海 Oslo"])
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class EffectsMachine(RuleBasedStateMachine):
    """Calls of every room, each for a private scope."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="jiyi-effects-")
        path = Path(self._folder.name)
        self.memory = AgentMemory.open(path / "data", workspace=path / "notes", scope="alice", **QUICK)
        self.memory.notes.init_workspace()
        self.scope_of: dict[str, str] = {}
        self.public: list[str] = []

    def teardown(self) -> None:
        self.memory.close()
        self._folder.cleanup()

    @initialize()
    def fill(self) -> None:
        runtime = self.memory.runtime
        for scope in (PUBLIC, *PRIVATE):
            for number in range(3):
                runtime.remember("fact", f"tea number {number}", "", ["tea"], memory_scope=scope)
            self.memory.longterm.extract_and_store_memories_for_round(scope, "talk", "My name is Eve", "ok")
            self.memory.store("city", "lives in Turin", scope=scope, domain="user_preferences")
        runtime.feedback([], merge_groups=[self._known(PUBLIC)[:2]], memory_scope=PUBLIC)
        self.memory.longterm.try_generate_reflection(PUBLIC, "talk", 0.1, 0)
        self._look()
        self.public = self._export()

    def _known(self, scope: str) -> list[str]:
        rows = contents_of(self.memory, scope=scope)
        return [row["id"] for row in rows if row["kind"] == "entry" and row["source"]["kind"] == "runtime"]

    def _export(self) -> list[str]:
        return [json.dumps(row, sort_keys=True) for row in contents_of(self.memory, scope=PUBLIC)]

    def _look(self) -> None:
        for row in contents_of(self.memory):
            if row["kind"] in {"entry", "change"}:
                self.scope_of[row.get("id") or row["entry_id"]] = row["scope"]

    def _names(self, places: list[int]) -> list[str]:
        """Ids of anybody."""
        ids = sorted(self.scope_of)
        return [ids[place % len(ids)] for place in places]

    def _call(self, scope: str, method: Any, /, *args: Any, **kwargs: Any) -> None:
        try:
            text = shown(method(*args, **kwargs))
        except JiyiError as error:
            text = str(error)
        self._look()
        given = set(_ID.findall(repr((args, kwargs))))
        foreign = {each for each in _ID.findall(text) if self.scope_of.get(each, scope) not in {scope, PUBLIC}}
        assert foreign <= given

    # --- keyed memory -----------------------------------------------------------------------------------------------

    @rule(scope=scopes, text=said, key=st.sampled_from(["city", "new"]))
    def store(self, scope: str, text: str, key: str) -> None:
        self._call(scope, self.memory.store, key, text, scope=scope)

    @rule(scope=scopes, place=numbers, text=said)
    def update(self, scope: str, place: int, text: str) -> None:
        self._call(scope, self.memory.update, self._names([place])[0], content=text, scope=scope)

    @rule(scope=scopes, place=numbers, erase=st.booleans())
    def forget(self, scope: str, place: int, erase: bool) -> None:
        self._call(scope, self.memory.forget, id=self._names([place])[0], scope=scope, erase=erase)
        self._call(scope, self.memory.forget_many, scope=scope, tags=["tea"], erase=erase)

    @rule(scope=scopes, query=asked)
    def read(self, scope: str, query: str) -> None:
        for method in (self.memory.recall, self.memory.list):
            self._call(scope, method, *([query] if method == self.memory.recall else []), scope=scope)
        self._call(scope, self.memory.history, "city", scope=scope)
        self._call(scope, self.memory.get, "city", scope=scope)

    # --- runtime ----------------------------------------------------------------------------------------------------

    @rule(scope=scopes, useful=several, recalled=several, merged=several)
    def feedback(self, scope: str, useful: list[int], recalled: list[int], merged: list[int]) -> None:
        names: tuple[Any, ...] = (self._names(useful), self._names(recalled), [], [self._names(merged)])
        self._call(scope, self.memory.runtime.feedback, *names, memory_scope=scope)

    @rule(scope=scopes, query=asked)
    def runtime_recall(self, scope: str, query: str) -> None:
        runtime = self.memory.runtime
        for method in (runtime.recall, runtime.comprehensive_recall, runtime.chained_recall):
            self._call(scope, method, query, memory_scope=scope)
        self._call(scope, runtime.list_tags, memory_scope=scope)

    @rule(scope=scopes, place=numbers)
    def one_memory(self, scope: str, place: int) -> None:
        runtime, name = self.memory.runtime, self._names([place])[0]
        self._call(scope, runtime.get, name, memory_scope=scope)
        self._call(scope, runtime.history, name, memory_scope=scope)
        self._call(scope, runtime.restore, name, memory_scope=scope)
        self._call(scope, runtime.update, name, strength=7, memory_scope=scope)

    @rule(scope=scopes, place=numbers, erase=st.booleans())
    def runtime_forget(self, scope: str, place: int, erase: bool) -> None:
        self._call(scope, self.memory.runtime.forget, self._names([place])[0], memory_scope=scope, erase=erase)

    @rule(scope=scopes, days=st.sampled_from([0, 3_000]))
    def consolidate(self, scope: str, days: int) -> None:
        now = clock.utc_now() + timedelta(days=days)
        self._call(scope, self.memory.runtime.consolidate_memories, memory_scope=scope, now=now)
        self._call(scope, self.memory.maintain, scope=scope)

    # --- long-term --------------------------------------------------------------------------------------------------

    @rule(scope=scopes, text=said)
    def tell(self, scope: str, text: str) -> None:
        self._call(scope, self.memory.longterm.extract_and_store_memories_for_round, scope, "talk", text, "ok")

    @rule(scope=scopes, query=asked, places=several)
    def longterm_recall(self, scope: str, query: str, places: list[int]) -> None:
        longterm = self.memory.longterm
        self._call(scope, longterm.retrieve_relevant_memories, scope, query)
        self._call(scope, longterm.get_memory_context_for_prompt, scope, query)
        self._call(scope, longterm.feedback, scope, self._names(places))

    @rule(scope=scopes, places=st.tuples(numbers, numbers))
    def judge(self, scope: str, places: tuple[int, int]) -> None:
        longterm, (one, other) = self.memory.longterm, self._names(list(places))
        self._call(scope, longterm.pin, scope, one)
        self._call(scope, longterm.explain, scope, one)
        self._call(scope, longterm.settle_conflict, scope, one, other)
        self._call(scope, longterm.superseded, scope)
        self._call(scope, longterm.restore, scope, [one])

    @rule(scope=scopes)
    def reflect_and_forget(self, scope: str) -> None:
        longterm = self.memory.longterm
        self._call(scope, longterm.try_generate_reflection, scope, "talk", 0.1, 0)
        self._call(scope, longterm.cleanup_forgotten_memories, scope, 0.0001, threshold=0.9)

    # --- chat and notes ---------------------------------------------------------------------------------------------

    @rule(scope=scopes, text=said)
    def chat(self, scope: str, text: str) -> None:
        chat = self.memory.chat("talk", scope=scope)
        self._call(scope, chat.put, {"role": "user", "content": f"remember: {text}"})
        self._call(scope, chat.compact)
        self._call(scope, self.memory.longterm.take_candidates, scope)

    @rule(text=said)
    def notes(self, text: str) -> None:
        notes = self.memory.notes
        self._call("alice", notes.memory_append, text)
        self._call("alice", notes.take_candidates)
        proposal = notes.curate()
        self._call("alice", notes.accept, proposal)

    @invariant()
    def public_is_as_it_was(self) -> None:
        if self.public:
            assert self._export() == self.public


TestEffects = EffectsMachine.TestCase
TestEffects.settings = settings(max_examples=examples(25), stateful_step_count=12)
