"""What a type checker and an editor know about a memory."""

import subprocess
import sys
from pathlib import Path

import jiyi.sync
from jiyi import Memory, NoopMemory
from scripts.generate_interfaces import generated

ROOT = Path(__file__).parents[2]

CORRECT = """
import jiyi.sync
from jiyi import AgentMemory, Memory, NoopMemory

async def agent(memory: Memory) -> list[str]:
    await memory.chat("s").put({"role": "user", "content": "hi"})
    await memory.notes.memory_append("x")
    await memory.longterm.retrieve_relevant_memories("alice", "x")
    await memory.runtime.remember("fact", "x", tags=["x"])
    await memory.tools().call("core_memory_recall", {"query": "x"})
    await memory.doctor()
    return [hit.content for hit in await memory.recall("x", limit=3)]

async def agents(real: AgentMemory) -> None:
    await agent(real)
    await agent(NoopMemory())

def blocking_agent(memory: jiyi.sync.Memory) -> list[str]:
    memory.chat("s").put({"role": "user", "content": "hi"})
    found: int = memory.longterm.cleanup_forgotten_memories("alice")
    memory.tools().call("core_memory_recall", {"query": "x"})["memories"]
    return [hit.content for hit in memory.recall("x", limit=3)]

with jiyi.sync.AgentMemory.open(":memory:") as opened:
    blocking_agent(opened)
    opened.settings.scope
blocking_agent(jiyi.sync.NoopMemory())
"""

MISTAKES = {
    'memory.recal("x")': "attr-defined",
    'memory.recall("x", limt=3)': "call-arg",
    "memory.store(1, 2)": "arg-type",
    'memory.chat("s").puts("x")': "attr-defined",
    'memory.notes.memory_search("x", limt=3)': "call-arg",
    'memory.longterm.pin("alice")': "call-arg",
    'memory.runtime.recall("x", tags="x")': "call-arg",
    'memory.tools().call("x")': "call-arg",
    "text: str = memory.count()": "assignment",
}


def checked(program: str, folder: Path) -> list[str]:
    """What mypy says about a program."""
    file = folder / "program.py"
    file.write_text(program, "utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not result.stderr
    return result.stdout.splitlines()


def test_both_memories_satisfy_the_interface_and_mistakes_are_found(tmp_path: Path) -> None:
    mistakes = "\n".join(f"    {line}" for line in MISTAKES)
    program = f"{CORRECT}\ndef wrong(memory: jiyi.sync.AgentMemory) -> None:\n{mistakes}\n"
    first = program.splitlines().index("def wrong(memory: jiyi.sync.AgentMemory) -> None:") + 2
    found: dict[int, str] = {}
    for line in checked(program, tmp_path):
        place, _, what = line.split(":", 1)[1].partition(": error: ")
        if what:
            found.setdefault(int(place), what.rsplit("[", 1)[1].rstrip("]"))
    assert found == {first + number: code for number, code in enumerate(MISTAKES.values())}


def test_a_memory_is_recognised_when_the_program_runs() -> None:
    assert isinstance(NoopMemory(), Memory)
    with jiyi.sync.NoopMemory() as memory:
        assert isinstance(memory, jiyi.sync.Memory)


def test_the_generated_interfaces_are_up_to_date() -> None:
    stale = [file.name for file, text in generated().items() if file.read_text("utf-8") != text]
    assert not stale, "run: make interfaces"
