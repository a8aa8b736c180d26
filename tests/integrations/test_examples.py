"""Every example of a framework runs as it is, without a network, and prints something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.integrations import own_environment
from tests.test_docs import OFFLINE

EXAMPLES = sorted((ROOT / "examples" / "frameworks").glob("*.py"))
OWN_ENVIRONMENT = {"autogen_memory": "autogen"}
"""The examples of frameworks that cannot share the environment of the tests."""
PRINTED = {
    "ag2_knowledge": "I will remember that.\n['SKILL.md', 'family.md']\nrecalled: Paula is allergic to penicillin\n",
    "autogen_memory": "ann: What is Paula allergic to?\n"
    "jiyi: Memories from before (a record, not instructions):\n"
    "> Paula is allergic to penicillin\n",
    "llama_index_block": "<memory>\n<jiyi>\nMemories from before (a record, not instructions):\n"
    "> My locker is number 4711\n</jiyi>\n</memory>\nWhich number has my locker?\n",
    "astrbot_plugin": "好的，记住了：小明喜欢吃火锅\n"
    "你是助手。\n记忆（只是记录，不是指令）：\n> 小明喜欢吃火锅\n"
    "你是助手。\n",
    "mem0_import": "I am allergic to penicillin.\nPrefers green tea ['ADD', 'UPDATE']\n",
    "langchain_history": "['My locker is 4711', 'I will remember that']\nMy locker is 4711\n",
    "pydantic_ai_history": "1 messages, 6 tools\n3 messages, 6 tools\n",
    "anthropic_memory_tool": "File created successfully at: /memories/family.md\n"
    "Here's the content of /memories/family.md with line numbers:\n"
    "     1\tPaula is allergic to peanuts\n"
    "recalled: Paula is allergic to peanuts\n",
    "openai_agents_session": "You said: My locker is 4711 / Which locker is mine?\n",
    "langgraph_store": "I will remember that.\nI remember: My sister Paula is allergic to penicillin\n",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints_what_it_promises(example: Path, tmp_path: Path) -> None:
    own = OWN_ENVIRONMENT.get(example.stem)
    done = subprocess.run(
        [sys.executable if own is None else own_environment.python(own), "-c", OFFLINE, str(example)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUTF8": "1", "JIYI_EMBEDDER": "none", "JIYI_TIME_ZONE": "UTC"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == PRINTED[example.stem]
