"""The memory tool beside the one for files in Anthropic's SDK: every answer has to be the same, word for word."""

from __future__ import annotations

import asyncio
import re
import tempfile
from typing import Any

from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.integrations.anthropic import AsyncJiyiMemoryTool, JiyiMemoryTool
from jiyi.sync import AgentMemory
from tests.support import QUICK, examples


def answer(tool: Any, command: dict[str, Any]) -> str:
    """The answer or the error, as the model is told it; errors of the operating system are all alike."""
    try:
        said = str(tool.call(dict(command)))
    except ToolError as error:
        text = str(error)
        ours = "which is a file" in text or "into itself" in text or "NUL" in text
        return "an error that only the operating system words" if ours else f"ToolError: {text}"
    except (OSError, ValueError):
        return "an error that only the operating system words"
    if said.startswith("Here're the files"):
        # The size of a directory is that of its blocks there, and of its files here.
        head, own, *rest = said.split("\n")
        lines = [re.sub(r"^\S+\t", "\t", line) if line.endswith("/") else line for line in rest]
        return "\n".join([head, re.sub(r"^\S+\t", "\t", own), *lines])
    return said


def view(path: str, *view_range: int) -> dict[str, Any]:
    return {"command": "view", "path": path, **({"view_range": list(view_range)} if view_range else {})}


def create(path: str, text: str) -> dict[str, Any]:
    return {"command": "create", "path": path, "file_text": text}


def replace(path: str, old: str, new: str) -> dict[str, Any]:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> dict[str, Any]:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def delete(path: str) -> dict[str, Any]:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> dict[str, Any]:
    return {"command": "rename", "old_path": old, "new_path": new}


SCRIPT = [
    view("/memories"),
    view("/memories/"),
    view("/elsewhere"),
    view("/memories/../secret"),
    view("/memories/a/../../x"),
    create("/memories/tea.md", "Green tea\nfrom 杭州\n"),
    create("/memories/tea.md", "again"),
    create("/memories", "x"),
    create("/memories/a/b/c/deep.txt", "x" * 1536),
    create("/memories/.hidden", "h"),
    create("/memories/empty", ""),
    create("/memories/blank", " \n\n"),
    create("/memories/crlf", "a\r\nb\r\n"),
    create("/memories/tea.md/below", "x"),
    create("/memories/a", "x"),
    view("/memories"),
    view("/memories/a"),
    view("/memories/a/"),
    view("/memories/./a/b/../b/c"),
    view("/memories/tea.md"),
    view("/memories/tea.md", 2, 2),
    view("/memories/tea.md", 2, -1),
    view("/memories/tea.md", 0, 1),
    view("/memories/tea.md", 9, 12),
    view("/memories/empty"),
    view("/memories/blank"),
    view("/memories/crlf"),
    view("/memories/.hidden"),
    view("/memories/nothing"),
    view("/memoriestea.md"),
    replace("/memories/tea.md", "Green", "Black"),
    replace("/memories/tea.md", "Green", "Black"),
    replace("/memories/tea.md", "e", "E"),
    replace("/memories/tea.md", "", "E"),
    replace("/memories/nothing", "a", "b"),
    replace("/memories/a", "a", "b"),
    replace("/memories/crlf", "\r\nb", "\r\nnew\r\nb"),
    replace("/memories/empty", "", "no longer"),
    view("/memories/tea.md"),
    insert("/memories/tea.md", 0, "# Tea"),
    insert("/memories/tea.md", 3, "last\n\n"),
    insert("/memories/tea.md", 99, "x"),
    insert("/memories/tea.md", -1, "x"),
    insert("/memories/nothing", 0, "x"),
    insert("/memories/a", 0, "x"),
    insert("/memories/crlf", 1, "middle"),
    insert("/memories/blank", 1, "word"),
    view("/memories/tea.md"),
    view("/memories/crlf"),
    view("/memories/blank"),
    rename("/memories/tea.md", "/memories/x/y/茶.md"),
    rename("/memories/tea.md", "/memories/gone/z"),
    rename("/memories/a", "/memories/empty"),
    rename("/memories/a", "/memories/a/inside"),
    rename("/memories", "/memories/m"),
    rename("/memories/a", "/memories/moved"),
    rename("/memories/empty", "/elsewhere"),
    view("/memories"),
    view("/memories/gone"),
    view("/memories/moved"),
    view("/memories/moved/b/c/deep.txt", 1, 1),
    view("/memories/x/y/茶.md"),
    delete("/memories/moved"),
    delete("/memories/moved"),
    delete("/memories"),
    delete("/memories/x/y/茶.md"),
    delete("/memories/../../etc"),
    view("/memories"),
    view("/memories/x/y"),
]


def test_every_answer_of_a_session_is_that_of_the_tool_for_files(memory: AgentMemory) -> None:
    ours = JiyiMemoryTool(memory)
    with tempfile.TemporaryDirectory() as folder:
        theirs = BetaLocalFilesystemMemoryTool(folder)
        for command in SCRIPT:
            assert answer(ours, command) == answer(theirs, command), command


NAMES = st.sampled_from(["a", "b", ".h", "c.md"])
PATHS = st.lists(NAMES | st.just(".."), max_size=3).map(lambda parts: "/".join(["/memories", *parts]))
TEXTS = st.sampled_from(["", "\n", "one", "one\ntwo\n", "one\none\r\n茶", "  "])
COMMANDS = st.one_of(
    st.builds(view, PATHS),
    st.builds(view, PATHS, st.integers(0, 3), st.integers(-1, 4)),
    st.builds(create, PATHS, TEXTS),
    st.builds(replace, PATHS, st.sampled_from(["one", "\n", "", "茶"]), st.sampled_from(["", "two", "x\ny"])),
    st.builds(insert, PATHS, st.integers(-1, 3), TEXTS),
    st.builds(delete, PATHS),
    st.builds(rename, PATHS, PATHS),
)


@settings(max_examples=examples(5))
@given(st.lists(COMMANDS, max_size=25))
def test_any_session_has_the_same_answers(commands: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder, AgentMemory.open(":memory:", **QUICK) as memory:
        ours, theirs = JiyiMemoryTool(memory), BetaLocalFilesystemMemoryTool(folder)
        for command in [*commands, view("/memories"), view("/memories/a"), view("/memories/b")]:
            assert answer(ours, command) == answer(theirs, command), command


def test_files_are_recalled_have_versions_and_belong_to_a_scope(memory: AgentMemory) -> None:
    alice, bob = JiyiMemoryTool(memory, scope="alice"), JiyiMemoryTool(memory, scope="bob")
    alice.call(create("/memories/health.md", "Paula is allergic to penicillin\n"))
    alice.call(replace("/memories/health.md", "penicillin", "peanuts"))
    assert "does not exist" in answer(bob, view("/memories/health.md"))
    assert memory.recall("What is Paula allergic to?", scope="alice")[0].content == "Paula is allergic to peanuts\n"
    alice.call(delete("/memories/health.md"))
    assert memory.recall("Paula", scope="alice") == []
    kept = [version.entry.content for version in memory.history("memories/health.md", scope="alice") if version.entry]
    assert kept == ["Paula is allergic to penicillin\n", "Paula is allergic to peanuts\n"]


def test_files_of_the_public_scope_are_not_mixed_with_those_of_another(memory: AgentMemory) -> None:
    JiyiMemoryTool(memory, scope="public").call(create("/memories/x.md", "public"))
    assert "x.md" not in answer(JiyiMemoryTool(memory, scope="alice"), view("/memories"))


def test_a_file_that_is_too_long_is_an_answer_to_the_model(memory: AgentMemory) -> None:
    assert "max_content_bytes" in answer(JiyiMemoryTool(memory), create("/memories/long", "x" * 70_000))


def test_the_asynchronous_tool_does_the_same_and_everything_can_be_cleared(memory: AgentMemory) -> None:
    tool = AsyncJiyiMemoryTool(memory)

    async def use() -> str:
        await tool.call(create("/memories/a/x", "one"))
        assert await tool.clear_all_memory() == "All memory cleared"
        return str(await tool.call(view("/memories")))

    assert asyncio.run(use()).endswith("\n0B\t/memories")
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
