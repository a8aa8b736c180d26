"""The conformance suite of profiles: one memory over any combination of engines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import InvalidScopeError
from jiyi.sync import AgentMemory
from jiyi.testing.conformance.examples import LOOK_ALIKE_SCOPES
from jiyi.testing.conformance.profile_administration import AdministrationOfProfile
from jiyi.testing.conformance.profile_entries import EntriesOfProfile, exported, keys_of

# What a test does not ask for is the same each time.
_STILL: dict[str, Any] = {"background_indexing": False, "background_jobs": False, "time_zone": "Asia/Shanghai"}
Open = Callable[..., AgentMemory]


class ProfileConformance(EntriesOfProfile, AdministrationOfProfile):
    """Define `open(folder, **settings)` and run it: a memory for `folder`, the same data for the same folder."""

    def open(self, folder: Path, **settings: Any) -> AgentMemory:
        """Open a memory of the profile; the settings go to `AgentMemory.open`."""
        raise NotImplementedError

    @pytest.fixture
    def opening(self, tmp_path: Path) -> Iterator[Open]:
        """Opens memories that are closed when the test ends."""
        opened: list[AgentMemory] = []

        def one(folder: str = "data", **settings: Any) -> AgentMemory:
            opened.append(self.open(tmp_path / folder, **{**_STILL, **settings}))
            return opened[-1]

        yield one
        for memory in opened:
            memory.close()

    @pytest.fixture
    def memory(self, opening: Open) -> AgentMemory:
        """An empty memory."""
        return opening()

    @pytest.fixture(autouse=True)
    def _sound_at_the_end(self, opening: Open) -> Iterator[None]:  # noqa: ARG002 - it closes after this
        """Whatever a test did: when the indexes are up to date they hold exactly what the records say."""
        opened: list[AgentMemory] = []
        self._soundly = opened.append
        yield
        for memory in opened:
            memory.drain()
            assert [report.to_dict() for report in memory.verify() if not report.sound] == []

    # --- keyed memory -----------------------------------------------------------------------------------------------

    def test_what_was_stored_is_there_after_opening_again(self, opening: Open) -> None:
        first = opening()
        stored = first.store("城市", "她住在杭州，爱喝乌龙茶", tags=["home", "茶"], importance=0.25, category="daily")
        first.close()
        again = opening()
        self._soundly(again)
        assert again.get("城市") == stored
        assert again.count() == 1
        assert keys_of(again.recall("乌龙茶")) == ["城市"]

    def test_a_key_gets_versions_and_forgetting_keeps_them(self, memory: AgentMemory) -> None:
        memory.store("city", "lives in Turin")
        memory.store("city", "lives in Oslo")
        assert memory.forget("city")
        assert not memory.forget("city")
        assert memory.get("city") is None
        assert memory.recall("Oslo") == []
        versions = memory.history("city")
        assert [(v.version, v.operation) for v in versions] == [(1, "create"), (2, "update"), (3, "forget")]
        assert [v.entry.content if v.entry else None for v in versions] == ["lives in Turin", "lives in Oslo", None]
        self._soundly(memory)

    def test_what_was_erased_is_nowhere(self, memory: AgentMemory, tmp_path: Path) -> None:
        memory.store("secret", "the word is xyzzy42", tags=["xyzzy42"])
        memory.recall("xyzzy42")
        assert memory.forget("secret", erase=True)
        assert memory.recall("xyzzy42") == []
        assert not any("xyzzy42" in line for line in exported(memory, tmp_path))
        self._soundly(memory)

    def test_both_languages_are_found(self, memory: AgentMemory) -> None:
        texts = {
            "早报": "每天早上八点发送早报到群里",
            "配置": "数据库的配置放在 settings.toml",
            "单号": "快递单号是 CN-A10293，周三到",
            "重跑": "重跑gen-itgc后再对账",
            "keeper": "The old lighthouse keeper painted the door green.",
            "记忆": "记忆体不足时先清缓存",
            "api": "升级前要先看API文档",
            "noise": "Nothing of interest happened on the way home.",
        }
        memory.store_many({"key": name, "content": text} for name, text in texts.items())
        questions = {
            "早报": "早报",
            "配置在哪里": "配置",
            "CN-A10293": "单号",
            "gen-itgc": "重跑",
            "lighthouse keepers": "keeper",
            "記憶體": "记忆",
            "ＡＰＩ": "api",
        }
        assert {question: keys_of(memory.recall(question, 1)) for question in questions} == {
            question: [key] for question, key in questions.items()
        }
        self._soundly(memory)

    def test_any_text_is_a_question(self, memory: AgentMemory) -> None:
        memory.store("c", 'C++ (v2): key: value, he said "x" AND %_\\')
        for query in (
            "C++ (v2",
            "key: value",
            'he said "x',
            "a AND",
            "' OR 1=1 --",
            "%_\\",
            "。",
            "{}[]^~*?",
            "x" * 3_000,
        ):
            memory.recall(query)
        assert keys_of(memory.recall("C++ (v2", 1)) == ["c"]

    def test_meaning_finds_the_text_itself_first(self, memory: AgentMemory) -> None:
        if memory.settings.embedder == "none":
            return
        texts = ["the cat sleeps on the warm stove", "账单要在月底之前付清", "three boats left the harbour"]
        memory.store_many({"key": str(number), "content": text} for number, text in enumerate(texts))
        for number, text in enumerate(texts):
            hit = memory.recall(text, 1, mode="semantic")[0]
            assert hit.key == str(number)
            assert hit.explanation is not None
            assert {each.index: each.answered for each in hit.explanation.coverage}["vectors"]
        self._soundly(memory)

    def test_filters_hold_in_every_mode(self, memory: AgentMemory) -> None:
        day = datetime(2026, 3, 1, 12, tzinfo=UTC)
        for number in range(6):
            memory.store(
                f"k{number}",
                f"red lamp number {number}",
                "daily" if number % 2 else "core",
                tags=["odd"] if number % 2 else [],
                memory_type="event" if number < 3 else "fact",
                occurred_at=day.replace(day=number + 1),
            )
        modes = ["hybrid", "keyword"] + (["semantic"] if memory.settings.embedder != "none" else [])
        for mode in modes:
            assert set(keys_of(memory.recall("red lamp", mode=mode, category="daily"))) == {"k1", "k3", "k5"}
            assert set(keys_of(memory.recall("red lamp", mode=mode, memory_types="event"))) == {"k0", "k1", "k2"}
            assert set(keys_of(memory.recall("red lamp", mode=mode, tags=["odd"]))) == {"k1", "k3", "k5"}
            since = memory.recall("red lamp", mode=mode, since=day.replace(day=4), until=day.replace(day=6))
            assert {"k3", "k4"} <= set(keys_of(since)) <= {"k3", "k4", "k5"}
        assert set(keys_of(memory.recall("odd", mode="tags"))) == {"k1", "k3", "k5"}
        self._soundly(memory)

    def test_a_bulk_is_found_to_the_last(self, memory: AgentMemory) -> None:
        memory.store_many({"key": f"k{n}", "content": f"parcel {n:04} waits on shelf {n % 13}"} for n in range(300))
        assert memory.count() == 300
        for number in (0, 149, 299):
            assert keys_of(memory.recall(f"parcel {number:04}", 1)) == [f"k{number}"]
        assert memory.forget("k149")
        assert "k149" not in keys_of(memory.recall("parcel 0149", 20))
        self._soundly(memory)

    # --- scopes -----------------------------------------------------------------------------------------------------

    def test_no_scope_sees_another(self, memory: AgentMemory) -> None:
        scopes = [*LOOK_ALIKE_SCOPES, "public"]
        for number, scope in enumerate(scopes):
            memory.store("same", f"the shared word lantern, copy {number}", scope=scope)
        for number, scope in enumerate(scopes):
            seen = {scope, "public"}
            for found in (memory.recall("lantern", 100, scope=scope), memory.list(scope=scope)):
                assert {entry.scope for entry in found} == seen
            own = memory.get("same", scope=scope)
            assert own is not None
            assert own.content.endswith(f"copy {number}")
            assert memory.count(scope=scope) == len(seen)
        self._soundly(memory)

    def test_a_small_scope_is_found_among_large_ones(self, memory: AgentMemory) -> None:
        memory.store_many(
            {"key": f"k{n}", "content": f"the tall lantern of house {n}", "scope": f"big{n % 3}"} for n in range(150)
        )
        memory.store("mine", "the small lantern of the shed", scope="small")
        for mode in ("hybrid", "keyword"):
            assert keys_of(memory.recall("tall lantern house", 5, scope="small", mode=mode)) == ["mine"]
        self._soundly(memory)

    def test_a_wrong_scope_is_refused(self, memory: AgentMemory) -> None:
        for scope in ("", " main", "a\nb"):
            with pytest.raises(InvalidScopeError):
                memory.store("k", "v", scope=scope)
        assert memory.count() == 0

    # --- several handles --------------------------------------------------------------------------------------------

    def test_what_one_handle_wrote_the_other_sees_at_once(self, opening: Open) -> None:
        one, other = opening(), opening()
        for number in range(3):
            one.store("lamp", f"the lamp is in room {number} 号")
            assert [hit.content for hit in other.recall(f"lamp room {number}", 1)] == [
                f"the lamp is in room {number} 号"
            ]
            other.store(f"note{number}", f"第 {number} 条：钥匙在抽屉里")
            assert f"note{number}" in keys_of(one.recall(f"钥匙 抽屉 {number}", 5))
        assert other.forget("lamp")
        assert "lamp" not in keys_of(one.recall("lamp room", 10))
        one.add_word("云麓智算")
        other.store("company", "云麓智算在杭州")
        assert keys_of(one.recall("云麓智算", 1)) == ["company"]
        self._soundly(one)
        self._soundly(other)

    def test_threads_of_two_handles_lose_nothing(self, opening: Open) -> None:
        handles = [opening(), opening()]
        failures: list[BaseException] = []

        def work(worker: int) -> None:
            memory = handles[worker % 2]
            try:
                for number in range(4):
                    memory.store(f"w{worker}-{number}", f"worker {worker} wrote number {number}", tags=[f"t{number}"])
                    memory.store("shared", f"last by {worker}")
                    memory.recall(f"worker {worker} number {number}", 3)
            except BaseException as error:  # noqa: BLE001 - told by the test itself
                failures.append(error)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert handles[0].count() == 4 * 4 + 1
        versions = handles[1].history("shared")
        assert [version.version for version in versions] == list(range(1, 4 * 4 + 1))
        self._soundly(handles[0])

    # --- the rooms --------------------------------------------------------------------------------------------------

    def test_a_conversation_comes_back_as_it_was_saved(self, memory: AgentMemory) -> None:
        said: list[dict[str, Any]] = [
            {"role": "user", "content": "哪里有早报？\x00"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "find"}}]},
            {"role": "tool", "content": "the kiosk", "tool_call_id": "1"},
        ]
        memory.save_conversation_history("s", [{"role": "user", "content": "replaced later"}])
        memory.save_conversation_history("s", said)
        loaded = memory.load_conversation_history("s")
        assert [message.to_dict() for message in loaded] == said
        assert memory.list_sessions() == ["s"]
        found = memory.recall("replaced later", memory_types="message")
        assert not any("replaced" in hit.content for hit in found)
        assert [hit.conversation_id for hit in memory.recall("早报", memory_types="message")] == ["s"]
        memory.forget_session("s")
        assert memory.load_conversation_history("s") == []
        assert memory.recall("kiosk") == []
        self._soundly(memory)

    def test_a_chat_stays_in_its_limit_and_loses_nothing(self, opening: Open) -> None:
        memory = opening()
        chat = memory.chat("talk", token_limit=150)
        texts = [f"Please remember: box {number} holds {number} 盏红灯." for number in range(20)]
        for text in texts:
            chat.put({"role": "user", "content": text})
        assert sum(1 for message in chat.get() if message.content in texts) < len(texts)
        assert [message.content for message in chat.get_all()] == texts
        assert chat.summaries()
        assert memory.candidates()
        again = opening().chat("talk", token_limit=150)
        assert [message.content for message in again.get_all()] == texts
        again.reset()
        assert chat.get_all() == []
        self._soundly(memory)

    def test_the_long_term_room_keeps_recalls_and_forgets(self, memory: AgentMemory) -> None:
        room = memory.longterm
        kept = room.extract_and_store_memories_for_round("alice", "c", "我对青霉素过敏，一定要记住", "好的，记住了。")
        kept += room.extract_and_store_memories_for_round("alice", "c", "我住在杭州", "好的。")
        assert len(kept) == 2
        room.schedule_round("alice", "c", "我们决定后端用 FastAPI 加 PostgreSQL", "明白。")
        assert memory.run_jobs() >= 1
        hits = room.retrieve_relevant_memories("alice", "青霉素 过敏")
        assert "青霉素" in hits[0].content
        assert room.retrieve_relevant_memories("bob", "青霉素 过敏") == []
        assert room.feedback("alice", hits[0]) == [hits[0].id]
        used = memory.get(id=hits[0].id, scope="alice")
        assert used is not None
        assert used.access_count == 1
        where = room.retrieve_relevant_memories("alice", "住在哪里", touch=False)
        [home] = [hit for hit in where if "杭州" in hit.content]
        before = datetime.now(UTC)
        corrected = room.extract_and_store_memories_for_round("alice", "c", "我搬到成都了", "好的。")
        assert corrected
        for fused in (False, True):
            past = room.retrieve_relevant_memories("alice", "住在哪里", as_of=before, fused=fused)
            assert not any("成都" in hit.content for hit in past)
            [then] = [hit for hit in past if "杭州" in hit.content]
            assert then.matched == home.matched
            assert then.similarity is not None
            assert home.similarity is not None
            # The last digit depends on how an index stores a vector.
            assert abs(then.similarity - home.similarity) < 1e-3
        places = [hit.content for hit in room.retrieve_relevant_memories("alice", "住在哪里")]
        assert any("成都" in place for place in places)
        assert not any("杭州" in place for place in places)
        assert memory.jobs(states=("dead",)) == []
        self._soundly(memory)

    def test_the_runtime_remembers_learns_and_merges(self, opening: Open) -> None:
        for simple in (False, True):
            memory = opening(f"simple-{simple}", enable_simple_memory=simple)
            runtime = memory.runtime
            tea = runtime.remember("preference", "小明爱喝乌龙茶", "他说的", ["小明", "茶"], strength=2)
            others = [runtime.remember("fact", f"tea shop {n}", "", ["tea"]) for n in range(2)]
            assert [found.id for found in runtime.recall("给小明泡茶")][:1] == [tea]
            result = runtime.feedback([tea], [tea], merge_groups=[others], request_id="turn 1")
            assert result.strengthened
            assert runtime.feedback([tea], [tea], merge_groups=[others], request_id="turn 1").repeated
            strengthened = runtime.get(tea)
            assert strengthened is not None
            assert strengthened.strength == 3
            found_now = [found.id for found in runtime.recall("tea")]
            assert found_now[:1] == list(result.merged)
            assert not set(others) & set(found_now)
            assert runtime.recall("给小明泡茶", memory_scope="somebody") == []
            self._soundly(memory)

    def test_notes_are_searched_and_recalled(self, opening: Open, tmp_path: Path) -> None:
        workspace = tmp_path / "notes"
        (workspace / "memory").mkdir(parents=True)
        (workspace / "MEMORY.md").write_text("# 记忆\n\n- the keeper likes 乌龙茶\n", "utf-8")
        memory = opening(workspace=workspace)
        assert [hit.path for hit in memory.notes.memory_search("乌龙茶")] == ["MEMORY.md"]
        assert memory.notes.memory_search("乌龙茶", kind="group") == []
        memory.notes.memory_append("fog horn repaired 雾号修好了")
        assert memory.notes.memory_search("雾号", limit=1)[0].content.startswith("fog horn")
        assert any("乌龙茶" in hit.content for hit in memory.recall("乌龙茶"))
        (workspace / "MEMORY.md").write_text("# 记忆\n\n- the keeper likes coffee\n", "utf-8")
        assert not any("乌龙茶" in hit.content for hit in memory.notes.memory_search("乌龙茶"))
        assert memory.count() == 0
        self._soundly(memory)

    # --- upkeep -----------------------------------------------------------------------------------------------------

    def test_an_export_makes_the_same_memory_elsewhere(self, opening: Open, tmp_path: Path) -> None:
        memory, copy = opening("one"), opening("two")
        memory.store("city", "lives in Turin", tags=["home", "意大利"], importance=0.1 + 0.2)
        memory.store("city", "lives in Oslo")
        memory.store("door", "everybody's", scope="public")
        memory.save_conversation_history("s", [{"role": "user", "content": "早报在哪"}])
        memory.runtime.remember("fact", "小明爱吃火锅", "他说的", ["小明"])
        lines = exported(memory, tmp_path)
        copy.import_jsonl(tmp_path / "export.jsonl")
        assert sorted(exported(copy, tmp_path)) == sorted(lines)
        copy.import_jsonl(tmp_path / "export.jsonl")
        assert sorted(exported(copy, tmp_path)) == sorted(lines)
        assert keys_of(copy.recall("Oslo", 1)) == ["city"]
        self._soundly(copy)

    def test_indexes_are_rebuilt_and_agree(self, memory: AgentMemory) -> None:
        memory.store_many({"key": f"k{n}", "content": f"第 {n} 号灯塔 lighthouse {n}"} for n in range(50))
        memory.recall("lighthouse")
        memory.rebuild()
        assert all(report.sound for report in memory.verify())
        memory.store("later", "后来的灯塔")
        memory.forget("k7")
        assert all(report.agrees for report in memory.verify())
        assert all(report.sound for report in memory.repair())
        assert keys_of(memory.recall("后来的灯塔", 1)) == ["later"]

    def test_the_doctor_names_the_engines_and_finds_nothing_wrong(self, memory: AgentMemory) -> None:
        memory.store("k", "v")
        memory.recall("v")
        facts = memory.doctor()
        assert facts["healthy"], facts["advice"]
        assert facts["store"]["engine"]
        assert "text" in [index["index"] for index in facts["indexes"]]
        assert all(index["usable"] and index["built"] for index in facts["indexes"])
