"""A memory with a little of everything that a store can hold, made through every room."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jiyi.sync import AgentMemory


def said(*texts: str) -> list[dict[str, Any]]:
    """A conversation of one user."""
    return [{"role": "user", "content": text} for text in texts]


def tell(memory: AgentMemory, *, many: int = 0) -> None:
    """Keyed memories, versions, the forgotten and the erased, tags, conversations, chats, rounds, work, words."""
    memory.store("city", "lives in Turin", "daily", tags=["home", "意大利"], importance=0.9, domain="life")
    memory.store("city", "lives in Oslo", occurred_at=datetime(1, 2, 3, 4, 5, 6, 7, tzinfo=UTC), importance=0.1 + 0.2)
    memory.add_word("云麓智算")
    memory.store("gone", "was forgotten")
    memory.forget("gone")
    memory.store("wiped", "was erased", tags=["wiped"])
    memory.forget("wiped", erase=True)
    memory.store("diary", '日记 \u2028 🎉 \\ "quoted"', "自定义", scope="ada", memory_type="note", conversation_id="c")
    memory.store("door", "everybody's", scope="public")
    memory.store("Ä", "sorts by its bytes")
    memory.store("a b", "and so does this")
    memory.store_many(
        {"key": f"n{number}", "content": f"number {number}", "tags": [f"t{number % 7}"]} for number in range(many)
    )
    useful = memory.runtime.remember("fact", "小明爱吃火锅", "他说的", ["小明", "火锅"], strength=2)
    merged = [memory.runtime.remember("fact", text, "", ["tea"], memory_scope="ada") for text in ("tea", "more tea")]
    memory.runtime.feedback([useful], [useful], request_id="turn 1")
    memory.runtime.feedback(merge_groups=[merged], memory_scope="ada")
    memory.save_conversation_history(
        "s", [{"role": "user", "content": "hi \x00\ud800", "extra": [1, None, {"a": 0.1}]}]
    )
    memory.save_conversation_history("s", said("reworded", "and more"))
    memory.save_conversation_history("s", said("of ada"), scope="ada")
    chat = memory.chat("talk", token_limit=120)
    for number in range(12):
        chat.put({"role": "user", "content": f"Please remember that box {number} holds {number} red lamps."})
        chat.put({"role": "assistant", "content": f"我记住了：第 {number} 个盒子里有 {number} 盏红灯。"})
    chat.compact()
    chat.reset()
    chat.put({"role": "user", "content": "a new beginning"})
    memory.longterm.extract_and_store_memories_for_round("ada", "c1", "我对花生过敏，请记住。", "好的，我会记住。")
    memory.longterm.schedule_round("ada", "c1", "I work as a nurse in Oslo.", "Noted.")
    memory.recall("lamps")


def write_notes(folder: Path) -> None:
    """A workspace."""
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text("# 记忆\n\n- the lighthouse keeper likes 乌龙茶\n", "utf-8")
    (folder / "memory/2026-05-01.md").write_text("# 2026-05-01\n\n- repaired the foghorn\n", "utf-8")
