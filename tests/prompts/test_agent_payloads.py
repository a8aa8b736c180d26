"""What stands in notes and memories stays inside its fence in the prompt of a turn, whatever it says."""

import re
from pathlib import Path

from jiyi.sync import AgentMemory
from tests.prompts.test_payloads import PAYLOADS

_FENCED = re.compile(r"<((?:file|memory)-[0-9a-f]+)(?: [a-z]+=\"[^\"\n]*\")*>\n.*?\n</\1>", re.DOTALL)


def outside(memory: AgentMemory, workspace: Path, session: str, text: str) -> tuple[str, int]:
    """What stands outside all fences when a note and a memory say this, and how many fences there are."""
    (workspace / "MEMORY.md").write_text(text, "utf-8")
    memory.store("tea", f"green tea {text}")
    system, user = memory.agent(session, tools=[]).begin("which tea?").to_openai()
    assert (system["role"], user["role"], user["content"]) == ("system", "user", "which tea?")
    return _FENCED.sub("", system["content"]), len(_FENCED.findall(system["content"]))


def test_no_text_of_a_note_or_a_memory_leaves_its_fence_in_the_prompt_of_a_turn(tmp_path: Path) -> None:
    workspace = tmp_path / "notes"
    with AgentMemory.open(tmp_path / "data", workspace=workspace, embedder="none") as memory:
        memory.notes.init_workspace(context_files=False)
        plain = outside(memory, workspace, "plain", "and nothing else")
        assert plain[1] == 2
        for number, payload in enumerate(PAYLOADS):
            assert outside(memory, workspace, f"session {number}", payload) == plain, payload
