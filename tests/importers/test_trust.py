"""What was imported is known to be imported: in its source, after an export and an import, in prompts and in facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from jiyi.errors import InvalidInputError
from jiyi.importers import FORMATS
from jiyi.sync import AgentMemory
from tests.conftest import OpenMemory
from tests.importers.samples import build, chatgpt_conversation, take_in, write_json
from tests.support import contents_of, present


def allergy(tmp_path: Path) -> Path:
    found = chatgpt_conversation()
    found["mapping"]["n1"]["message"]["content"]["parts"] = ["I am allergic to penicillin."]
    return write_json(tmp_path / "conversations.json", [found])


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_marks_what_it_brings(memory: AgentMemory, tmp_path: Path, kind: str) -> None:
    report = take_in(memory, kind, build(kind, tmp_path / "export"), scope="ann")
    memory.store("own", "said here", scope="ann")
    entries = [entry for entry in memory.list(scope="ann") if entry.key != "own"]
    assert len(entries) == report.entries
    hits = [hit for text in report.samples for hit in memory.recall(text, scope="ann") if hit.key != "own"]
    assert hits
    assert {entry.source.trust for entry in [*entries, *hits]} == {"import"}
    assert present(memory.get("own", scope="ann")).source.trust == "user"


def test_an_imported_message_still_says_who_said_it(memory: AgentMemory, tmp_path: Path) -> None:
    take_in(memory, "chatgpt", build("chatgpt", tmp_path), scope="ann")
    (cat,) = memory.recall("猫叫什么", scope="ann", limit=1)
    assert (cat.source.kind, cat.source.trust, cat.role) == ("message", "import", "user")
    (name,) = memory.recall("lovely name", scope="ann", limit=1)
    assert (name.source.trust, name.role) == ("import", "assistant")


def test_the_mark_goes_through_an_export_and_stays_when_the_conversation_is_edited(
    memory: AgentMemory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    take_in(memory, "chatgpt", build("chatgpt", tmp_path / "one"), scope="ann")
    take_in(memory, "mem0", build("mem0", tmp_path / "two"), scope="ann")
    memory.export_jsonl(tmp_path / "all.jsonl")
    other = open_memory("other")
    other.import_jsonl(tmp_path / "all.jsonl")
    assert contents_of(other) == contents_of(memory)
    chat = other.chat("chatgpt:c1", scope="ann")
    chat.insert_message(0, {"role": "user", "content": "said before all the others"})
    (cat, *_) = (hit for hit in other.recall("猫叫什么", scope="ann") if hit.conversation_id == "chatgpt:c1")
    assert (cat.source.trust, cat.role) == ("import", "user")


def test_an_entry_that_is_corrected_here_is_the_users_own(memory: AgentMemory, tmp_path: Path) -> None:
    take_in(memory, "jsonl", build("jsonl", tmp_path))
    assert present(memory.get("jsonl/1")).source.trust == "import"
    memory.store("jsonl/1", "Ann likes coffee")
    assert present(memory.get("jsonl/1")).source.trust == "user"


def test_facts_of_imported_conversations_are_imported_and_prompts_say_so(memory: AgentMemory, tmp_path: Path) -> None:
    take_in(memory, "chatgpt", allergy(tmp_path), scope="ann", extract=True)
    memory.run_jobs()
    (fact,) = memory.list(scope="ann")
    assert (fact.content, fact.source.trust, present(fact.source.claim).said_by) == (
        "I am allergic to penicillin.",
        "import",
        "user",
    )
    shown = memory.longterm.get_memory_context_for_prompt("ann", "What am I allergic to?")
    (line,) = (line for line in shown.splitlines() if "penicillin" in line)
    assert "· imported · said by the user]" in line


def test_the_prompt_of_an_assistant_names_imported_passages_as_imported(memory: AgentMemory, tmp_path: Path) -> None:
    take_in(memory, "chatgpt", allergy(tmp_path), scope="ann")
    turn = memory.agent("today", user="ann").begin("What am I allergic to?")
    shown = "\n".join(str(message.content) for message in turn.messages)
    (line,) = (line for line in shown.splitlines() if "penicillin" in line)
    assert "user, imported, session chatgpt:c1" in line


def test_the_trust_of_many_is_chosen_by_the_caller_and_checked(memory: AgentMemory) -> None:
    (entry,) = memory.store_many([{"key": "k", "content": "found by a tool"}], trust="tool")
    assert (entry.source.kind, entry.source.trust) == ("stored", "tool")
    assert present(memory.get("k")).source == entry.source
    with pytest.raises(InvalidInputError, match="'admin' is unknown; use one of user, agent, tool, import"):
        memory.store_many([{"key": "k", "content": "x"}], trust="admin")


def test_keys_are_known_also_of_what_was_forgotten_and_only_in_their_scope(memory: AgentMemory) -> None:
    memory.store_many([{"key": f"k{number}", "content": "x", "scope": "ann"} for number in range(1_200)])
    memory.store("shared", "x", scope="public")
    memory.forget("k7", scope="ann")
    memory.forget("k8", scope="ann", erase=True)
    asked = [f"k{number}" for number in range(1_300)]
    assert memory.known_keys([*asked, "shared"], scope="ann") == {f"k{number}" for number in range(1_200)}
    assert memory.known_keys(asked, scope="bob") == set()
    assert memory.known_keys([]) == set()
    with pytest.raises(InvalidInputError, match="list of keys"):
        memory.known_keys("k7")
