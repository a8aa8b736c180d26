"""Words that only the user knows: names and products that a dictionary cuts to pieces."""

from collections.abc import Callable
from pathlib import Path

import pytest

from jiyi.errors import InvalidInputError
from jiyi.model.entry import MemoryEntry
from jiyi.sync import AgentMemory
from tests.support import keys, present

OpenMemory = Callable[..., AgentMemory]

MEMORIES = {
    "product": "昨天给客户装好了云麓智算一体机",
    "scattered": "智能的云在山麓之上，算一算有几朵",
    "phrase": "We ship Blue Heron in spring",
    "colours": "the heron in the blue picture",
}


def fill(memory: AgentMemory) -> None:
    memory.store_many({"key": key, "content": text} for key, text in MEMORIES.items())


def matched(hits: list[MemoryEntry], key: str) -> tuple[str, ...]:
    (hit,) = (hit for hit in hits if hit.key == key)
    assert hit.explanation is not None
    return hit.explanation.matched_terms


@pytest.fixture
def words(tmp_path: Path) -> Path:
    file = tmp_path / "words.txt"
    file.write_text("# our products\n云麓智算 100 nz\n\n", encoding="utf-8")
    return file


def test_without_it_the_word_is_pieces(memory: AgentMemory) -> None:
    fill(memory)
    assert "云麓智算" not in matched(memory.recall("云麓智算"), "product")


def test_a_file_of_words_makes_old_memories_findable_by_the_new_word(open_memory: OpenMemory, words: Path) -> None:
    before = open_memory()
    fill(before)
    before.drain()
    before.close()
    after = open_memory(user_dictionary=words)
    hits = after.recall("云麓智算", highlights=True)
    assert hits[0].key == "product"
    assert "云麓智算" in matched(hits, "product")
    start, end = present(hits[0].explanation).highlights[0]
    assert hits[0].content[start:end] == "云麓智算"
    assert [report.to_dict() for report in after.verify() if not report.sound] == []


def test_a_changed_file_counts_at_the_next_opening(open_memory: OpenMemory, words: Path) -> None:
    first = open_memory(user_dictionary=words)
    fill(first)
    assert "云麓智算" in matched(first.recall("云麓智算"), "product")
    first.close()
    words.write_text("智算一体机\n", encoding="utf-8")
    second = open_memory(user_dictionary=words)
    assert "智算一体机" in matched(second.recall("智算一体机"), "product")
    assert "云麓智算" not in matched(second.recall("云麓智算"), "product")
    second.close()
    third = open_memory()
    assert "智算一体机" not in matched(third.recall("智算一体机"), "product")


def test_a_taught_word_is_a_word_at_once_and_in_old_memories(memory: AgentMemory) -> None:
    fill(memory)
    assert "云麓智算" not in matched(memory.recall("云麓智算"), "product")
    assert memory.add_word("云麓智算") is True
    hits = memory.recall("云麓智算")
    assert hits[0].key == "product"
    assert "云麓智算" in matched(hits, "product")
    memory.store("new", "云麓智算要涨价了")
    assert set(keys(memory.recall("云麓智算", 2))) == {"product", "new"}


def test_a_taught_word_stays_for_the_next_opening(open_memory: OpenMemory) -> None:
    first = open_memory()
    fill(first)
    first.add_word("云麓智算")
    first.close()
    second = open_memory()
    assert "云麓智算" in matched(second.recall("云麓智算"), "product")
    assert second.add_word("云麓智算") is False
    assert [report.to_dict() for report in second.verify() if not report.sound] == []


def test_a_phrase_of_two_latin_words_is_one_word_as_well(memory: AgentMemory) -> None:
    fill(memory)
    memory.add_word("Blue Heron")
    hits = memory.recall("blue heron", mode="keyword")
    assert hits[0].key == "phrase", "the words stand together there"
    assert "blue_heron" in matched(hits, "phrase")
    assert "blue_heron" not in matched(hits, "colours")


def test_teaching_a_word_that_is_known_changes_nothing(memory: AgentMemory) -> None:
    fill(memory)
    memory.add_word("云麓智算")
    before = memory.recall("云麓智算一体机 heron")
    assert memory.add_word("云麓智算") is False
    assert memory.recall("云麓智算一体机 heron") == before


def test_what_cannot_be_a_word_is_refused_and_nothing_is_taught(memory: AgentMemory) -> None:
    fill(memory)
    before = memory.recall("云麓智算 heron")
    for word in ("", "  ", "！？", "字" * 600, "\ud800"):
        with pytest.raises(InvalidInputError):
            memory.add_word(word)
    assert memory.recall("云麓智算 heron") == before


def test_every_scope_knows_a_taught_word(memory: AgentMemory) -> None:
    memory.store("product", MEMORIES["product"], scope="other")
    memory.add_word("云麓智算")
    assert "云麓智算" in matched(memory.recall("云麓智算", scope="other"), "product")
