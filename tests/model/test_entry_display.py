"""How an entry is shown in a console and in a notebook."""

import sqlite3
from pathlib import Path

from jiyi.sync import AgentMemory
from tests.support import QUICK, database


def test_the_repr_of_an_entry_is_one_short_line(memory: AgentMemory) -> None:
    shown = repr(memory.store("pet", "first line\nsecond line " + "x" * 500))
    assert shown.startswith("<MemoryEntry key='pet' content='first line\\nsecond")
    assert "\n" not in shown
    assert len(shown) < 200


def test_a_hit_shows_its_relevance(memory: AgentMemory) -> None:
    memory.store("pet", "the cat is called Mochi")
    assert "relevance_score=0." in repr(memory.recall("cat Mochi")[0])


def test_a_notebook_gets_a_table_in_which_nothing_is_markup(memory: AgentMemory) -> None:
    shown = memory.store("pet", "<script>alert(1)</script>")._repr_html_()
    assert shown.startswith("<table>")
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_a_category_may_be_several_words(memory: AgentMemory) -> None:
    memory.store("trip", "Kyoto in April", "travel plans")
    assert [entry.key for entry in memory.list(category="travel plans")] == ["trip"]
    assert [hit.key for hit in memory.recall("Kyoto", category="travel plans")] == ["trip"]
    assert memory.count(category="travel") == 0


def test_a_conversation_is_readable_in_the_database(tmp_path: Path) -> None:
    said = {"role": "user", "content": "我家的猫叫年糕"}
    broken = {"role": "user", "content": "half \ud83d and \x00"}
    with AgentMemory.open(tmp_path, **QUICK) as memory:
        memory.save_conversation_history("s", [said, broken])
        assert [message.content for message in memory.load_conversation_history("s")] == [
            said["content"],
            broken["content"],
        ]
    connection: sqlite3.Connection
    with database(tmp_path) as connection:
        rows = [row[0] for row in connection.execute("SELECT content FROM conversation_history ORDER BY position")]
    assert "我家的猫叫年糕" in rows[0]
    assert rows[1].isascii()
