"""What others write, change or erase changes no answer of a scope: it cannot find out which words occur elsewhere."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import tantivy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.backends.embedded.text import matches
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
WORDS = ("apple", "banana", "cherry", "quince", "香蕉", "苹果", "早报", "walnut", "pear", "plum")
QUESTIONS = ("apple", "apple banana", "quince walnut pear", "香蕉和早报", "苹果 plum", "cherry 早报 walnut banana")
MODES = ("hybrid", "keyword")


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of equal matches are cut off as in a scope of thousands of texts."""
    monkeypatch.setattr(matches, "WIDE", 8)


@pytest.fixture
def memory(tmp_path: Path, few_at_once: None) -> Iterator[AgentMemory]:
    with AgentMemory.open(tmp_path, embedder=HashEmbedder(), time_zone="UTC", background_indexing=False) as opened:
        yield opened


def text_of(numbers: list[int]) -> str:
    return " ".join(WORDS[number] for number in numbers)


def answers(memory: AgentMemory, scope: str) -> str:
    """Every answer of the scope, as JSON with scores and explanations."""
    found = [
        [hit.to_dict() for hit in memory.recall(question, 3, scope=scope, mode=mode, now=NOW, context=1)]
        for question in QUESTIONS
        for mode in MODES
    ]
    return json.dumps(found, sort_keys=True, default=str, ensure_ascii=False)


texts = st.lists(st.integers(0, len(WORDS) - 1), min_size=1, max_size=6)
own_texts = st.lists(texts, min_size=1, max_size=40)
foreign_actions = st.lists(
    st.tuples(st.sampled_from(["add", "many", "change", "forget", "erase"]), texts, st.integers(0, 3)), max_size=8
)


def act(memory: AgentMemory, scope: str, action: str, text: str, number: int) -> None:
    """One write of somebody else."""
    match action:
        case "add" | "change":
            memory.store(f"k{number}", text, scope=scope, conversation_id="talk" if number else None)
        case "many":
            memory.store_many([{"key": f"m{i}", "content": text, "scope": scope} for i in range(30)])
        case "forget":
            memory.forget(f"k{number}", scope=scope)
        case _:
            memory.forget(f"k{number}", scope=scope, erase=True)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(own=own_texts, foreign=foreign_actions, same_time=st.booleans())
def test_no_answer_depends_on_what_other_scopes_write_change_or_erase(
    memory: AgentMemory, own: list[list[int]], foreign: list[tuple[str, list[int], int]], same_time: bool
) -> None:
    scope = f"own {memory.count()}"
    memory.store_many(
        {
            "key": f"k{number}",
            "content": text_of(text),
            "scope": scope,
            "occurred_at": NOW - timedelta(minutes=0 if same_time else number),
        }
        for number, text in enumerate(own)
    )
    before = answers(memory, scope)
    for action, text, number in foreign:
        act(memory, "somebody else", action, text_of(text), number)
        memory.drain()
    assert answers(memory, scope) == before


def test_a_scope_cannot_tell_whether_a_word_was_in_an_erased_entry_of_its_own(memory: AgentMemory) -> None:
    memory.store_many({"key": f"k{i}", "content": f"apple banana {WORDS[i % 10]}", "scope": "own"} for i in range(60))
    before = answers(memory, "own")
    for number in range(30):
        memory.store(f"x{number}", "quince walnut", scope="own")
    memory.drain()
    for number in range(30):
        memory.forget(f"x{number}", scope="own", erase=True)
    assert answers(memory, "own") == before


# --- erased words -----------------------------------------------------------------------------------------------------


def indexed_words(folder: Path) -> set[str]:
    """Every word in the files of the text index, of live and of deleted documents."""
    [files] = (folder / "search_index").glob("text-*/tantivy")
    searcher = tantivy.Index.open(str(files)).searcher()
    fields = ("words", "bigrams", "labels", "key", "tags")
    return {word for field in fields for word, _ in searcher.terms_with_prefix(field, "")}


def test_erased_words_leave_the_text_index_with_the_erasure(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, embedder=None, background_indexing=False) as memory:
        memory.store_many({"key": f"k{number}", "content": f"harmless text {number}"} for number in range(20))
        memory.store("secret", "xylograph 早报", tags=["zinnia"])
        memory.drain()
        memory.store("secret", "vermilion now", tags=["zinnia"])
        memory.store("forgotten", "obsidian before it was erased")
        memory.drain()
        memory.forget("forgotten")
        memory.drain()
        memory.store("forgotten", "another text")
        memory.drain()
        assert {"xylograph", "早报", "vermilion", "zinnia", "secret", "obsidian"} <= indexed_words(tmp_path)
        memory.forget("secret", erase=True)
        memory.forget("forgotten", erase=True)
        memory.drain()
        assert {str(hit.key) for hit in memory.recall("harmless text", 50)} == {f"k{number}" for number in range(20)}
        assert all(report.sound for report in memory.verify())
    left = indexed_words(tmp_path)
    assert not left & {"xylograph", "早报", "vermilion", "zinnia", "secret", "obsidian", "forgotten"}
    assert "harmless" in left


def test_an_erased_scope_leaves_the_text_index(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path, embedder=None, background_indexing=False) as memory:
        memory.store("kept", "harmless")
        memory.store("x", "xylograph", scope="gone away", conversation_id="obsidian talk")
        memory.drain()
        memory.forget_scope("gone away", erase=True)
        memory.drain()
    assert "xylograph" not in indexed_words(tmp_path)
    [folder] = (tmp_path / "search_index").glob("text-*")
    files = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    assert not any(name in data for data in files for name in (b"obsidian talk", b"gone away"))
