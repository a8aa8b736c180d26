"""A group never sees what is private, at no door of an agent: prompt, tools, recall."""

import random
from pathlib import Path

from jiyi.sync import AgentMemory
from tests.notes.test_groups import CANARY, QUESTIONS, WORDS, questions
from tests.support import QUICK


def test_two_thousand_questions_at_the_doors_of_an_agent_never_show_what_is_private(tmp_path: Path) -> None:
    workspace = tmp_path / "notes"
    with AgentMemory.open(tmp_path / "data", workspace=workspace, **QUICK) as memory:
        memory.notes.init_workspace()
        private = "\n".join(f"- {word}: {CANARY} {word}" for word in WORDS)
        (workspace / "MEMORY.md").write_text(private, "utf-8")
        memory.notes.memory_append(f"{CANARY} in the note of today: salary password")
        memory.notes.memory_append("the wedding plan that all may know: Hangzhou", kind="group")
        memory.store("own", f"{CANARY} password salary secret private")
        memory.chat("mine").put({"role": "user", "content": f"{CANARY} password salary secret private"})
        memory.longterm.schedule_round("main", "mine", f"我对{CANARY}过敏，请记住 salary password", "好的")
        memory.run_jobs()
        seen = _ask_everywhere(memory)
        assert CANARY not in seen
        assert "wedding plan" in seen
        assert CANARY in memory.tools().answer("recall", {"query": "password salary"}).text


def _ask_everywhere(memory: AgentMemory) -> str:
    chance = random.Random(18)
    tools = memory.tools(scope="group:team", kind="group")
    seen = ""
    for number, question in enumerate(questions(QUESTIONS)):
        if CANARY in question:
            continue
        if number % 100 == 0:
            turn = memory.agent("team", kind="group").begin(question)
            seen += str(turn.to_openai()) + turn.call({"name": "recall", "arguments": {"query": question}})
            turn.finish("I do not know.")
        elif number % 2:
            seen += str(tools.answer("recall", {"query": question, "limit": chance.randrange(1, 50)}))
        else:
            seen += str(tools.answer("memory_search", {"query": question}))
    for path in ("MEMORY.md", "memory.md", "../MEMORY.md", "memory/shared/../../MEMORY.md"):
        seen += str(tools.answer("memory_get", {"path": path}))
    return seen + str(tools.answer("list", {"limit": 50}))
