"""Export and import: everything comes through, twice is once, and where two stores differ nothing is lost."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.errors import ImportFormatError, InvalidInputError
from jiyi.ports import ImportCounts
from jiyi.sync import AgentMemory
from tests.servers.profiles import CopyStore
from tests.support import QUICK, contents_of, examples, keys, present, rows_of

OpenMemory = Callable[..., AgentMemory]


def said(*texts: str) -> list[dict[str, Any]]:
    """A conversation of one user."""
    return [{"role": "user", "content": text} for text in texts]


def fill(memory: AgentMemory) -> None:
    """A little of everything that a store can hold."""
    memory.store("city", "lives in Turin", "daily", tags=["home", "意大利"], importance=0.9, domain="life")
    memory.store(
        "city",
        "lives in Oslo",
        "core",
        tags=[],
        metadata={"n": [1, None]},
        occurred_at=datetime(1, 2, 3, 4, 5, 6, 7, tzinfo=UTC),
    )
    memory.add_word("云麓智算")
    memory.store("gone", "was forgotten")
    memory.forget("gone")
    memory.store("wiped", "was erased", tags=["wiped"])
    memory.forget("wiped", erase=True)
    memory.store("diary", '日记 \u2028 🎉 \\ "quoted"', "自定义", scope="ada", memory_type="note", conversation_id="c")
    memory.store("door", "everybody's", scope="public")
    useful = memory.runtime.remember("fact", "小明爱吃火锅", "他说的", ["小明", "火锅"], strength=2)
    merged = [memory.runtime.remember("fact", text, "", ["tea"], memory_scope="ada") for text in ("tea", "more tea")]
    memory.runtime.feedback([useful], [useful], request_id="turn 1")
    memory.runtime.feedback(merge_groups=[merged], memory_scope="ada")
    memory.save_conversation_history(
        "s", [{"role": "user", "content": "hi \x00\ud800", "extra": [1, None, {"a": 0.1}]}]
    )
    memory.save_conversation_history("s", said("reworded", "and more"))
    memory.save_conversation_history("s", said("of ada"), scope="ada")


def transfer(source: AgentMemory, target: AgentMemory, **options: Any) -> ImportCounts:
    """Export from one memory and import into another."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "export.jsonl")
        source.export_jsonl(file, **options)
        counts: ImportCounts = target.import_jsonl(file, update=True)
        return counts


def assert_sound(memory: AgentMemory) -> None:
    """Every index holds exactly what the records say, without a rebuild."""
    memory.drain()
    assert [report.to_dict() for report in memory.verify() if not report.sound] == []


# --- without loss -------------------------------------------------------------------------------------------------


def test_an_imported_entry_with_an_id_of_another_program_is_found_by_its_beginning(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory, other = open_memory(), open_memory("other")
    stored = memory.store("tea", "likes oolong")
    memory.export_jsonl(tmp_path / "export.jsonl")
    text = (tmp_path / "export.jsonl").read_text("utf-8").replace(stored.id, "note-Zebra.7")
    (tmp_path / "export.jsonl").write_text(text, "utf-8")
    other.import_jsonl(tmp_path / "export.jsonl")
    for prefix in ("n", "note-", "note-Z", "note-Zebra.7"):
        assert keys(other.entries_by_id(prefix)) == ["tea"]


def test_an_entry_with_the_last_possible_position_is_imported_again(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(), open_memory("other")
    memory.store("end", "the end", conversation_id="talk", position=2**31 - 1)
    memory.export_jsonl(tmp_path / "export.jsonl")
    other.import_jsonl(tmp_path / "export.jsonl")
    assert contents_of(other) == contents_of(memory)


def test_everything_comes_through(open_memory: OpenMemory) -> None:
    source, target = open_memory("source"), open_memory("target")
    fill(source)
    counts = transfer(source, target)
    assert contents_of(target) == contents_of(source)
    assert counts.unchanged == 0
    for scope in ("main", "ada", "public"):
        assert target.list(scope=scope) == source.list(scope=scope)
        assert target.list_sessions(scope=scope) == source.list_sessions(scope=scope)
        assert target.load_conversation_history("s", scope=scope) == source.load_conversation_history("s", scope=scope)
    for key in ("city", "gone", "wiped"):
        assert target.history(key) == source.history(key)
    assert keys(target.recall("Oslo")) == ["city"]
    assert target.recall("Turin", mode="keyword") == []
    assert keys(target.recall("意大利", tags=["意大利"])) == []
    target.store("product", "云麓智算平台")
    assert present(target.recall("云麓智算", mode="keyword")[0].explanation).matched_terms == ("云麓智算",)
    assert_sound(target)


def test_a_second_export_is_the_same(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    fill(memory)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    lines = memory.export_jsonl(first)
    assert memory.export_jsonl(second) == lines == len(first.read_bytes().splitlines())
    assert rows_of(first) == rows_of(second)


def test_importing_twice_is_importing_once(open_memory: OpenMemory, tmp_path: Path) -> None:
    source, target = open_memory("source"), open_memory("target")
    fill(source)
    lines = source.export_jsonl(tmp_path / "export.jsonl")
    target.import_jsonl(tmp_path / "export.jsonl")
    before = contents_of(target)
    assert target.import_jsonl(tmp_path / "export.jsonl") == ImportCounts(unchanged=lines - 1)
    assert contents_of(target) == before
    assert source.import_jsonl(tmp_path / "export.jsonl") == ImportCounts(unchanged=lines - 1)


@pytest.mark.parametrize("update", [False, True])
def test_an_import_tells_what_stays_erased(memory: AgentMemory, tmp_path: Path, update: bool) -> None:
    memory.store("bike", "a blue bicycle", scope="bob")
    memory.store("bike", "a red bicycle", scope="bob")
    memory.store("tea", "green tea", scope="ann")
    memory.save_conversation_history("talk", [{"role": "user", "content": "hello"}], scope="bob")
    memory.export_jsonl(tmp_path / "all.jsonl")
    memory.forget_scope("bob")
    memory.forget("tea", scope="ann", erase=True)
    counts = memory.import_jsonl(tmp_path / "all.jsonl", update=update)
    # Two states of the bicycle, the tea, and the message with its entry.
    assert (counts.entries, counts.messages, counts.erased) == (0, 0, 5)
    assert memory.list(scope="bob") == memory.list(scope="ann") == []


def test_after_a_file_that_was_cut_off_the_whole_one_brings_the_rest(open_memory: OpenMemory, tmp_path: Path) -> None:
    source, target = open_memory("source"), open_memory("target")
    for number in range(9):
        source.store(f"k{number}", f"content number {number}")
    source.export_jsonl(tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    # In the middle of the entries: their histories stand before them.
    (tmp_path / "cut.jsonl").write_text("".join(lines[:14]) + lines[14][:20], encoding="utf-8")
    counts = target.import_jsonl(tmp_path / "cut.jsonl", skip_bad_rows=True)
    assert 0 < counts.entries < counts.versions == 9
    assert target.import_jsonl(tmp_path / "whole.jsonl").entries == 9 - counts.entries
    assert {entry.content for entry in target.list(limit=20)} == {entry.content for entry in source.list(limit=20)}
    target.drain()
    assert all(report.sound for report in target.verify())
    assert len(target.recall("content number", limit=20)) == 9


def test_one_scope_can_be_exported_alone(open_memory: OpenMemory) -> None:
    source, target = open_memory("source"), open_memory("target")
    fill(source)
    transfer(source, target, scope="ada")
    assert contents_of(target) == contents_of(source, scope="ada")
    assert {row["scope"] for row in contents_of(target)} == {"ada"}
    assert keys(target.recall("日记", scope="ada")) == ["diary"]


def test_the_file_is_lines_of_readable_json(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    fill(memory)
    memory.export_jsonl(tmp_path / "export.jsonl")
    raw = (tmp_path / "export.jsonl").read_bytes()
    assert "意大利".encode() in raw
    assert raw.endswith(b"\n")
    assert json.loads(raw.split(b"\n")[0])["kind"] == "jiyi-export"
    assert {json.loads(line)["kind"] for line in raw.splitlines()} == {
        *("jiyi-export", "change", "entry", "usage", "message", "word"),
    }


def test_a_failed_export_leaves_the_old_file_and_no_rubbish(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory()
    fill(memory)
    (tmp_path / "out").mkdir()
    file = tmp_path / "out/export.jsonl"
    file.write_text("the old one")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(InvalidInputError, match=r"export\.jsonl cannot be written: No space left"):
            memory.export_jsonl(file)
    assert [(found.name, found.read_text()) for found in (tmp_path / "out").iterdir()] == [
        ("export.jsonl", "the old one")
    ]


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12).filter(str.strip)
KEYS = st.sampled_from(["a", "b", "ключ"])
SCOPES = st.sampled_from(["main", "A", "public"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("store"), SCOPES, KEYS, TEXTS, st.lists(TEXTS, max_size=2)),
        st.tuples(st.just("forget"), SCOPES, KEYS, st.booleans()),
        st.tuples(st.just("save"), SCOPES, KEYS, st.lists(TEXTS, max_size=3)),
    ),
    max_size=10,
)


def play(memory: AgentMemory, steps: list[tuple[Any, ...]]) -> None:
    """Do what the steps say."""
    for what, scope, name, *rest in steps:
        if what == "store":
            memory.store(name, rest[0], scope=scope, tags=rest[1])
        elif what == "forget":
            memory.forget(name, scope=scope, erase=rest[0])
        else:
            memory.save_conversation_history(name, said(*rest[0]), scope=scope)


@settings(max_examples=examples(6))
@given(steps=STEPS)
def test_any_store_comes_through(steps: list[tuple[Any, ...]]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        AgentMemory.open(Path(folder, "source"), **QUICK) as source,
        AgentMemory.open(Path(folder, "target"), **QUICK) as target,
    ):
        play(source, steps)
        transfer(source, target)
        assert contents_of(target) == contents_of(source)


# Copying is the same for every example.
@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(common=STEPS, here=STEPS, there=STEPS)
def test_two_stores_that_parted_can_be_merged_in_any_state(
    copy_store: CopyStore, common: list[tuple[Any, ...]], here: list[tuple[Any, ...]], there: list[tuple[Any, ...]]
) -> None:
    """Nothing that was current on either side is lost, one side's state stands, and a second import adds nothing."""
    with tempfile.TemporaryDirectory() as folder:
        with AgentMemory.open(Path(folder, "here"), **QUICK) as first:
            play(first, common)
        copy_store(Path(folder, "here"), Path(folder, "there"))
        with (
            AgentMemory.open(Path(folder, "here"), **QUICK) as first,
            AgentMemory.open(Path(folder, "there"), **QUICK) as second,
        ):
            play(first, here)
            play(second, there)
            states = [_state(first), _state(second)]
            transfer(second, first)
            merged = _state(first)
            _assert_each_part_is_of_one_side(merged, states)
            wiped = {(scope, name) for what, scope, name, *rest in [*here, *there] if what == "forget" and rest[0]}
            for side in states:
                for place, text in side.entries.items():
                    assert place in wiped or text in _texts(first, *place)
            after = contents_of(first)
            assert transfer(second, first) == ImportCounts(unchanged=len(contents_of(second)))
            assert contents_of(first) == after
            assert_sound(first)


@dataclass
class _State:
    entries: dict[tuple[str, str], str]
    sessions: dict[tuple[str, str], list[str]]


def _state(memory: AgentMemory) -> _State:
    scopes, names = ("main", "A", "public"), ("a", "b", "ключ")
    return _State(
        {
            (entry.scope, str(entry.key)): entry.content
            for scope in scopes
            for entry in memory.list(scope=scope, limit=1000)
        },
        {
            (scope, name): [str(message.content) for message in memory.load_conversation_history(name, scope=scope)]
            for scope in scopes
            for name in names
        },
    )


def _assert_each_part_is_of_one_side(merged: _State, sides: list[_State]) -> None:
    for place in {place for side in sides for place in side.entries} | set(merged.entries):
        assert merged.entries.get(place) in [side.entries.get(place) for side in sides]
    for place, texts in merged.sessions.items():
        assert texts in [side.sessions[place] for side in sides]


def _texts(memory: AgentMemory, scope: str, key: str) -> set[str]:
    """Every text that the key ever had."""
    versions = memory.history(key, scope=scope)
    return {version.entry.content for version in versions if version.entry is not None}


# --- where two stores differ --------------------------------------------------------------------------------------


def test_of_two_entries_with_one_key_the_newer_wins_and_the_older_stays_in_the_history(open_memory: OpenMemory) -> None:
    old, new = open_memory("old"), open_memory("new")
    old.store("city", "lives in Turin", tags=["italy"])
    new.store("city", "lives in Oslo", tags=["norway"])
    with_old = open_memory("with-old")
    transfer(old, with_old)
    transfer(new, with_old)
    transfer(old, new)
    for memory in (with_old, new):
        assert present(memory.get("city")).content == "lives in Oslo"
        assert memory.count() == 1
        texts = [version.entry.content for version in memory.history("city") if version.entry is not None]
        assert sorted(texts) == ["lives in Oslo", "lives in Turin"]
        assert keys(memory.recall("Oslo", mode="keyword")) == ["city"]
        assert memory.recall("Turin", mode="keyword") == []
        assert_sound(memory)


def parted(open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore) -> tuple[AgentMemory, AgentMemory]:
    """Two stores that were one until now."""
    with open_memory("here") as memory:
        memory.store("city", "lives in Turin")
        memory.save_conversation_history("s", said("one", "two"))
        memory.recall("Turin")
    copy_store(tmp_path / "here", tmp_path / "there")
    return open_memory("here"), open_memory("there")


def test_a_store_that_went_on_brings_the_other_up_to_date(
    open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore
) -> None:
    here, there = parted(open_memory, tmp_path, copy_store)
    there.store("city", "lives in Oslo")
    there.store("job", "teacher")
    there.save_conversation_history("s", said("one", "two, reworded", "three"))
    transfer(there, here)
    assert contents_of(here) == contents_of(there)
    assert keys(here.recall("Oslo", mode="keyword")) == ["city"]
    assert here.recall("Turin", mode="keyword") == []
    assert_sound(here)


def test_a_store_that_forgot_makes_the_other_forget(
    open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore
) -> None:
    here, there = parted(open_memory, tmp_path, copy_store)
    there.forget("city")
    transfer(there, here)
    assert here.get("city") is None
    assert here.recall("Turin", mode="keyword") == []
    assert here.history("city") == there.history("city")
    assert_sound(here)


def test_a_store_that_erased_makes_the_other_erase(
    open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore
) -> None:
    here, there = parted(open_memory, tmp_path, copy_store)
    there.forget("city", erase=True)
    transfer(there, here)
    assert here.get("city") is None
    assert "Turin" not in str(contents_of(here))


def two_facts(
    open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore, *, reflected: bool = False
) -> tuple[AgentMemory, AgentMemory]:
    """Two stores that were one until now, with two facts."""
    with open_memory("here") as memory:
        for name in ("Turin", "Oslo"):
            memory.store(name, f"was in {name}", memory_type="fact", domain="user_preferences", importance=0.9)
        if reflected:
            assert memory.longterm.try_generate_reflection("main", None, 0.1, 0) is not None
    copy_store(tmp_path / "here", tmp_path / "there")
    return open_memory("here"), open_memory("there")


@pytest.mark.parametrize("change", ["tags", "reflection", "text"])
@pytest.mark.parametrize("erase", [False, True])
def test_what_was_removed_elsewhere_after_it_was_changed_here_is_removed(
    open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore, erase: bool, change: str
) -> None:
    here, there = two_facts(open_memory, tmp_path, copy_store)
    if change == "reflection":
        assert here.longterm.try_generate_reflection("main", None, 0.1, 0) is not None
    else:
        here.update("Turin", **({"tags": ["x"]} if change == "tags" else {"content": "was in Lyon"}))
    there.forget("Turin", erase=erase)
    transfer(there, here)
    assert here.get("Turin") is None
    assert here.list(memory_types="reflection") == []
    assert present(here.get("Oslo")).summarized_by is None
    assert ("was in Turin" in str(contents_of(here))) is not erase
    transfer(here, there)
    transfer(there, here)
    assert transfer(there, here) == ImportCounts(unchanged=len(contents_of(there)))
    assert (here.get("Turin"), there.get("Turin")) == (None, None)
    assert_sound(here)


@pytest.mark.parametrize("erase", [False, True])
def test_what_says_something_else_here_since_it_was_removed_elsewhere_stays(
    open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore, erase: bool
) -> None:
    here, there = two_facts(open_memory, tmp_path, copy_store)
    there.forget("Turin", erase=erase)
    here.update("Turin", content="was in Lyon")
    transfer(there, here)
    assert present(here.get("Turin")).content == "was in Lyon"
    assert ("was in Turin" in str(contents_of(here))) is not erase


@pytest.mark.parametrize("how", ["forget", "erase", "change"])
def test_a_reflection_goes_with_a_fact_that_was_changed_elsewhere(
    open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore, how: str
) -> None:
    here, there = two_facts(open_memory, tmp_path, copy_store, reflected=True)
    if how == "change":
        there.update("Turin", content="was in Lyon")
    else:
        there.forget("Turin", erase=how == "erase")
    transfer(there, here)
    assert here.list(memory_types="reflection") == []
    assert contents_of(here) == contents_of(there)
    assert_sound(here)


def test_work_that_was_done_here_is_not_done_again_after_an_import(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    memory.longterm.schedule_round("main", "c", "I am allergic to peanuts", "noted")
    memory.export_jsonl(tmp_path / "old.jsonl")
    assert memory.run_jobs() == 1
    [fact] = memory.list(memory_types="fact")
    memory.forget(fact.key)
    # What was done long ago is no longer in the list of jobs.
    memory._target._longterm_deps.jobs.purge(before=datetime.now(UTC) + timedelta(days=1))
    for update in (False, True):
        assert memory.import_jsonl(tmp_path / "old.jsonl", update=update).jobs == 0
    assert memory.run_jobs() == 0
    assert memory.list() == []


@pytest.mark.parametrize("erase", [False, True])
def test_what_was_forgotten_since_the_export_stays_forgotten(
    open_memory: OpenMemory, tmp_path: Path, erase: bool
) -> None:
    memory = open_memory()
    memory.store("city", "lives in Turin")
    memory.export_jsonl(tmp_path / "old.jsonl")
    memory.forget("city", erase=erase)
    before = contents_of(memory)
    memory.import_jsonl(tmp_path / "old.jsonl")
    assert memory.get("city") is None
    assert memory.recall("Turin", mode="keyword") == []
    assert contents_of(memory) == before


def test_both_changed_the_same_entry_the_newer_wins_and_the_older_stays_in_the_history(
    open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore
) -> None:
    here, there = parted(open_memory, tmp_path, copy_store)
    here.store("city", "lives in Lima")
    there.store("city", "lives in Cairo")
    there.store("city", "lives in Oslo")
    transfer(there, here)
    transfer(here, there)
    for memory in (here, there):
        assert present(memory.get("city")).content == "lives in Oslo"
        texts = {version.entry.content for version in memory.history("city") if version.entry is not None}
        assert texts == {"lives in Turin", "lives in Lima", "lives in Cairo", "lives in Oslo"}
        assert keys(memory.recall("Oslo", mode="keyword")) == ["city"]
        assert memory.recall("Lima", mode="keyword") == []
        assert_sound(memory)


@pytest.mark.parametrize("first", ["here", "there"])
def test_of_two_states_of_a_conversation_the_one_last_written_to_stands_whole(
    open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore, first: str
) -> None:
    stores = dict(zip(("here", "there"), parted(open_memory, tmp_path, copy_store), strict=True))
    second = "there" if first == "here" else "here"
    stores[first].save_conversation_history("s", said("one", "older", "older still", "and longer"))
    stores[second].save_conversation_history("s", said("one", "newer", "newest"))
    transfer(stores["there"], stores["here"])
    memory = stores["here"]
    assert [message.content for message in memory.load_conversation_history("s")] == ["one", "newer", "newest"]
    assert memory.recall("older", mode="keyword") == []
    assert [hit.content for hit in memory.recall("newest", 1, mode="keyword")] == ["newest"]
    everything = [json.loads(row["content"])["content"] for row in contents_of(memory) if row["kind"] == "message"]
    assert {"two", "older", "older still", "and longer", "newer", "newest"} <= set(everything)
    assert_sound(memory)


def test_a_message_that_was_replaced_here_and_kept_there_stands_again(
    open_memory: OpenMemory, tmp_path: Path, copy_store: CopyStore
) -> None:
    here, there = parted(open_memory, tmp_path, copy_store)
    here.save_conversation_history("s", said("replaced"))
    there.save_conversation_history("s", said("one"))
    transfer(there, here)
    assert [message.content for message in here.load_conversation_history("s")] == ["one"]
    assert [hit.content for hit in here.recall("one", mode="keyword")] == ["one"]
    assert here.recall("replaced", mode="keyword") == []
    assert_sound(here)


# --- bad files ----------------------------------------------------------------------------------------------------


def spoil(row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A row with other values; a value of `...` takes the field out."""
    return {name: value for name, value in {**row, **changes}.items() if value is not ...}


BAD: dict[str, tuple[str, Callable[[dict[str, Any]], Any], list[str]]] = {
    "not JSON": ("entry", lambda row: json.dumps(row)[:-5], ["not JSON"]),
    "not UTF-8": ("entry", lambda row: b'{"kind": "\xff"}', ["not UTF-8"]),
    "not an object": ("entry", lambda row: [row], ["object", "list"]),
    "deep nesting": ("entry", lambda row: "[" * 100_000, ["not JSON"]),
    "unknown kind": ("entry", lambda row: spoil(row, kind="poem"), ["'poem'", "entry"]),
    "no kind": ("entry", lambda row: spoil(row, kind=...), ["kind", "None"]),
    "unhashable kind": ("entry", lambda row: spoil(row, kind=[]), ["kind"]),
    "unknown field": ("entry", lambda row: spoil(row, colour="red"), ["colour"]),
    "missing field": ("entry", lambda row: spoil(row, content=...), ["content"]),
    "no scope": ("entry", lambda row: spoil(row, scope=""), ["scope", "empty"]),
    "scope with a space": ("entry", lambda row: spoil(row, scope="public "), ["scope", "white space"]),
    "empty key": ("entry", lambda row: spoil(row, key=" "), ["key"]),
    "content is a number": ("entry", lambda row: spoil(row, content=5), ["content", "int"]),
    "content with NUL": ("entry", lambda row: spoil(row, content="a\x00"), ["NUL"]),
    "lone surrogate": ("entry", lambda row: spoil(row, content="\ud800"), ["surrogate"]),
    "importance out of range": ("entry", lambda row: spoil(row, importance_score=7), ["importance", "7"]),
    "importance NaN": ("entry", lambda row: spoil(row, importance_score=float("nan")), ["NaN"]),
    "tags are a text": ("entry", lambda row: spoil(row, tags="home"), ["tags"]),
    "tags twice": ("entry", lambda row: spoil(row, tags=["a", "a"]), ["tags"]),
    "a time without zone": ("entry", lambda row: spoil(row, created_at="2024-01-01T00:00:00"), ["2024-01-01"]),
    "a time that is none": ("entry", lambda row: spoil(row, updated_at=None), ["updated_at"]),
    "version zero": ("entry", lambda row: spoil(row, version=0), ["version", "0"]),
    "activity is a word": ("entry", lambda row: spoil(row, is_active="yes"), ["is_active"]),
    "category is a phrase": ("entry", lambda row: spoil(row, category="two  words"), ["category", "two  words"]),
    "source is a word": ("entry", lambda row: spoil(row, source="me"), ["entry"]),
    "another entry's id": ("entry", lambda row: spoil(row, key="another"), ["another"]),
    "change without version": ("change", lambda row: spoil(row, version=...), ["version"]),
    "change with odd operation": ("change", lambda row: spoil(row, operation="explode"), ["explode", "create"]),
    "change with bad before": ("change", lambda row: spoil(row, before={"id": "x"}), ["without"]),
    "change of no scope": ("change", lambda row: spoil(row, scope=" "), ["scope"]),
    "changed is a text": ("change", lambda row: spoil(row, changed="content"), ["changed"]),
    "message without content": ("message", lambda row: spoil(row, content=...), ["content"]),
    "message content is an object": ("message", lambda row: spoil(row, content={}), ["content", "dict"]),
    "message at minus one": ("message", lambda row: spoil(row, position=-1), ["position", "-1"]),
    "message of no session": ("message", lambda row: spoil(row, session_id=""), ["session_id"]),
    "word without a letter": ("word", lambda row: spoil(row, word="！？"), ["letters or digits"]),
    "word with a lone surrogate": ("word", lambda row: spoil(row, word="词\ud800"), ["word"]),
    "word that is a number": ("word", lambda row: spoil(row, word=5), ["word", "5"]),
    "word with something more": ("word", lambda row: spoil(row, meaning="x"), ["meaning"]),
    "message at no time": ("message", lambda row: spoil(row, created_at="soon"), ["soon"]),
}


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The rows of a good export, with its header."""
    folder = tmp_path_factory.mktemp("good")
    with AgentMemory.open(folder / "data", **QUICK) as memory:
        fill(memory)
        memory.export_jsonl(folder / "export.jsonl")
    return [json.loads(line) for line in (folder / "export.jsonl").read_bytes().splitlines()]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A memory that no bad file may change."""
    with AgentMemory.open(tmp_path_factory.mktemp("target"), **QUICK) as memory:
        memory.store("present", "was here before")
        yield memory


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named_and_nothing_is_imported(
    export: list[dict[str, Any]], target: AgentMemory, tmp_path: Path, name: str
) -> None:
    kind, spoiled, words = BAD[name]
    place = max(number for number, row in enumerate(export) if row["kind"] == kind)
    bad = spoiled(export[place])
    if name == "another entry's id":
        lines = [*export, bad]
        place = len(export)
    else:
        lines = [*export[:place], bad, *export[place + 1 :]]
    file = tmp_path / "bad.jsonl"
    with file.open("wb") as out:
        for line in lines:
            text = line if isinstance(line, str | bytes) else json.dumps(line)
            out.write((text if isinstance(text, bytes) else text.encode()) + b"\n")
    before = contents_of(target)
    with pytest.raises(ImportFormatError) as caught:
        target.import_jsonl(file)
    message = str(caught.value)
    for word in [f"{file}, line {place + 1}:", "nothing was imported", *words]:
        assert word in message
    assert contents_of(target) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        ("\n\n", ["empty"]),
        ('{"kind":"entry"}\n', ["line 1", "header"]),
        ('\n{"kind":"entry"}\n', ["line 2", "header"]),
        ('{"kind":"jiyi-export","format":2}\n', ["line 1", "format 2", "upgrade jiyi"]),
        ('{"kind":"jiyi-export"}\n', ["format None"]),
        ("a,b,c\n1,2,3\n", ["line 1", "not JSON"]),
    ],
)
def test_a_file_that_is_no_export_is_refused(target: AgentMemory, tmp_path: Path, text: str, words: list[str]) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text(text, "utf-8")
    before = contents_of(target)
    with pytest.raises(ImportFormatError) as caught:
        target.import_jsonl(file)
    for word in [str(file), *words]:
        assert word in str(caught.value)
    assert contents_of(target) == before


def test_progress_is_told_by_lines(open_memory: OpenMemory, tmp_path: Path) -> None:
    source, target = open_memory("source"), open_memory("target")
    source.store_many({"key": f"k{number}", "content": "text"} for number in range(1_100))
    seen: list[int] = []
    source.export_jsonl(tmp_path / "export.jsonl", progress=lambda done, total: seen.append(done))
    assert seen == [1_000, 2_000]
    seen.clear()
    target.import_jsonl(tmp_path / "export.jsonl", progress=lambda done, total: seen.append(done))
    assert seen == [1_000, 2_000]
    assert target.count() == 1_100


def test_an_export_does_not_follow_a_prepared_link(memory: AgentMemory, tmp_path: Path) -> None:
    memory.store("city", "Turin")
    target, victim = tmp_path / "export.jsonl", tmp_path / "victim"
    victim.write_text("untouched", "utf-8")
    target.symlink_to(victim)
    with pytest.raises(InvalidInputError, match="symbolic link"):
        memory.export_jsonl(target)
    target.unlink()
    (tmp_path / f"export.jsonl.{os.getpid()}.partial").symlink_to(victim)
    memory.export_jsonl(target)
    assert victim.read_text("utf-8") == "untouched"
    assert target.stat().st_mode & 0o077 == 0
