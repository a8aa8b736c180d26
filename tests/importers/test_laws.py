"""Laws of every importer, on exports that were changed at random.

Whatever a file holds, it is refused with `ImportFormatError` or taken in; a dry run counts what the import adds; and an
import that is run again adds nothing.
"""

from __future__ import annotations

import codecs
import json
import random
from collections.abc import Iterator
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.errors import ImportFormatError
from jiyi.importers import FORMATS, ImportReport
from jiyi.sync import AgentMemory
from tests.importers.samples import (
    BASIC,
    CLAUDE,
    CLAUDE_MEMORIES,
    CLAUDE_PROJECT,
    MCP,
    MEM0,
    chatgpt_conversation,
    counts,
    take_in,
)
from tests.support import QUICK, examples

NUMBERS = count()

ODD: list[Any] = [
    *(None, True, False, 0, -1, 10**400, 2**63, 1e308, -1e308, float("nan"), float("inf"), 1.7e9, 1.7e12),
    *(253402300800, -(10**12), "", " ", "\x00", "\ud800", "a\x00b", "茶" * 300, "x" * 500, "2026-01-02", "../up"),
    *("9999-12-31T23:59:59Z", "0001-01-01", [], {}, [None, 1, "x", {"text": 7}], {"text": ["x"], "role": None}),
]
"""What nobody expects in a file."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something may be put in the place of something else."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in parts:
        yield from places(inner, (*path, name))


def changed(value: Any, seed: int) -> Any:
    """A JSON value with some parts replaced, left out or doubled."""
    made, chance = json.loads(json.dumps(value)), random.Random(seed)
    for _ in range(chance.randrange(5)):
        where = list(places(made))
        if not where:
            break
        *outside, last = chance.choice(where)
        inside = made
        for name in outside:
            inside = inside[name]
        match chance.choice(["replace", "replace", "remove", "double"]):
            case "remove":
                del inside[last]
            case "double" if isinstance(inside, list):
                inside.append(deepcopy(inside[last]))
            case _:
                inside[last] = deepcopy(chance.choice(ODD))
    return made


SEEDS = st.integers(0, 10**6)
ROWS = [
    {"id": 1, "text": "Ann likes tea", "created_at": "2026-01-02", "tags": ["a", "b"], "extra": {"x": 1}},
    {"id": 2, "text": "likes 咖啡", "created_at": 1767312000, "tags": "a;b"},
    {"id": 3, "text": "hello", "role": "user", "conversation_id": "c"},
    {"id": 4, "text": "hi", "role": "assistant", "conversation_id": "c"},
]
CHAT_STORE = {"store": {"ann": [{"role": "user", "content": "hi"}, {"role": "assistant", "blocks": [{"text": "x"}]}]}}
STORE = [
    {"prefix": "users.ann", "key": "food", "value": {"text": "likes tea"}, "created_at": "2026-01-02 03:04:05"},
    {"prefix": ["users", "bob"], "key": "food", "value": '{"n": 3}', "expires_at": "2099-01-01", "ttl_minutes": 60},
]
DOCUMENTS: dict[str, tuple[str, Any]] = {
    "mem0": ("mem0.json", MEM0),
    "chatgpt": ("conversations.json", [chatgpt_conversation("c1"), chatgpt_conversation("c2")]),
    "claude": ("conversations.json", CLAUDE),
    "llamaindex": ("chat_store.json", CHAT_STORE),
}
LINES: dict[str, tuple[str, Any]] = {
    "mcp-memory": ("memory.jsonl", MCP),
    "jsonl": ("rows.jsonl", ROWS),
    "langgraph": ("store.jsonl", STORE),
}
FOLDERS = {"basic-memory": "drinks/coffee.md", "openclaw": "MEMORY.md", "claude-code": "memory/tea.md"}


@pytest.fixture(scope="module")
def shared() -> Iterator[AgentMemory]:
    """One memory for all examples; each has a scope of its own."""
    with AgentMemory.open(":memory:", **QUICK) as memory:
        yield memory


def run(memory: AgentMemory, kind: str, path: Path, scope: str, **options: Any) -> tuple[ImportReport | None, str]:
    try:
        return take_in(memory, kind, path, scope=scope, **options), ""
    except ImportFormatError as error:
        return None, str(error)


def check(memory: AgentMemory, kind: str, path: Path) -> None:
    """The three laws."""
    scope = f"s{next(NUMBERS)}"
    planned, refused = run(memory, kind, path, scope, dry_run=True)
    done, really_refused = run(memory, kind, path, scope)
    assert refused == really_refused
    if planned is None or done is None:
        # What stands before the fault was taken in, and is not taken in again.
        before = memory.count(scope=scope)
        assert run(memory, kind, path, scope) == (None, refused)
        assert memory.count(scope=scope) == before
        return
    assert counts(planned) == counts(done)
    assert (planned.unchanged, planned.left_out, planned.samples) == (done.unchanged, done.left_out, done.samples)
    # An entry that has expired is kept, and in no answer.
    assert memory.count(scope=scope) <= done.entries
    again, _ = run(memory, kind, path, scope)
    assert again is not None
    assert counts(again) == (0, 0, 0)
    assert again.unchanged == done.entries + done.messages + done.unchanged


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode("ascii")


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_with_any_changes_keeps_the_laws(
    shared: AgentMemory, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    name, sample = DOCUMENTS[kind]
    folder = tmp_path_factory.mktemp("document")

    @settings(max_examples=examples(3))
    @given(SEEDS)
    def law(seed: int) -> None:
        check(shared, kind, write(folder, name, encoded(changed(sample, seed))))

    law()


@pytest.mark.parametrize("kind", LINES)
def test_lines_with_any_changes_keep_the_laws(
    shared: AgentMemory, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    name, sample = LINES[kind]
    folder = tmp_path_factory.mktemp("lines")

    @settings(max_examples=examples(3))
    @given(SEEDS)
    def law(seed: int) -> None:
        check(shared, kind, write(folder, name, b"\n".join(map(encoded, changed(sample, seed)))))

    law()


@settings(max_examples=examples(3))
@given(SEEDS)
def test_memories_and_projects_of_claude_keep_the_laws(
    shared: AgentMemory, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("claude")
    write(folder, "memories.json", encoded(changed(CLAUDE_MEMORIES, seed)))
    write(folder, "projects/p1.json", encoded(changed(CLAUDE_PROJECT, seed)))
    check(shared, "claude", folder)


@settings(max_examples=examples(2))
@given(
    st.lists(
        st.sampled_from(["id", "text", "content", "role", "conversation", "date", "x", ""]), min_size=1, max_size=5
    ),
    st.lists(st.lists(st.text(max_size=6) | st.sampled_from(['"', "a,b", "1e999", "茶\n"]), max_size=5), max_size=4),
)
def test_tables_of_any_cells_keep_the_laws(
    shared: AgentMemory, tmp_path_factory: pytest.TempPathFactory, names: list[str], rows: list[list[str]]
) -> None:
    lines = [",".join(names), *(",".join(row) for row in rows)]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    check(shared, "csv", write(tmp_path_factory.mktemp("csv"), "rows.csv", data))


PIECES = st.sampled_from(
    [
        "---\n",
        "# A\n",
        "## B\n",
        "- [x] y #t (c)\n",
        "- rel [[O]]\n",
        "[[",
        "tags: [a\n",
        "title: 1\n",
        "\x00",
        "茶 ",
        "\n\n",
    ]
)


@settings(max_examples=examples(3))
@given(kind=st.sampled_from(sorted(FOLDERS)), parts=st.lists(PIECES | st.text(max_size=6), max_size=12))
def test_notes_of_any_text_keep_the_laws(
    shared: AgentMemory, tmp_path_factory: pytest.TempPathFactory, kind: str, parts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("notes")
    text = BASIC[:40] + "".join(parts) if len(parts) % 2 else "".join(parts)
    write(folder, FOLDERS[kind], text.encode("utf-8", "surrogatepass"))
    check(shared, kind, folder)


@pytest.mark.parametrize("kind", [*DOCUMENTS, *LINES, "csv"])
def test_a_file_that_ends_anywhere_keeps_the_laws(
    shared: AgentMemory, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    name, sample = {**DOCUMENTS, **LINES}.get(kind, ("rows.csv", None))
    lines = b'id,text\n1,"tea, green"\n2,coffee\n' if sample is None else b"\n".join(map(encoded, sample))
    whole = encoded(sample) if kind in DOCUMENTS else lines

    @settings(max_examples=examples(6))
    @given(st.integers(0, len(whole)))
    def law(end: int) -> None:
        check(shared, kind, write(folder, name, whole[:end]))

    law()


@pytest.mark.parametrize("kind", [*DOCUMENTS, *LINES, "csv"])
def test_a_byte_order_mark_is_read_over_and_another_encoding_is_refused(
    memory: AgentMemory, tmp_path: Path, kind: str
) -> None:
    name, sample = {**DOCUMENTS, **LINES}.get(kind, ("rows.csv", None))
    lines = "id,text\n1,喝茶\n" if sample is None else "\n".join(json.dumps(row, ensure_ascii=False) for row in sample)
    text = json.dumps(sample, ensure_ascii=False) if kind in DOCUMENTS else lines
    plain = take_in(memory, kind, write(tmp_path, f"a/{name}", text.encode()), scope="plain")
    marked = take_in(memory, kind, write(tmp_path, f"b/{name}", codecs.BOM_UTF8 + text.encode()), scope="marked")
    assert counts(marked) == counts(plain)
    assert any(counts(plain))
    for encoding in ("utf-16", "gbk"):
        data = (text + "喝茶").encode(encoding, "replace")
        with pytest.raises(ImportFormatError):
            take_in(memory, kind, write(tmp_path, f"{encoding}/{name}", data), scope=encoding)


def test_something_twice_in_a_file_far_apart_is_counted_once_by_a_dry_run_too(
    memory: AgentMemory, tmp_path: Path
) -> None:
    rows = [{"id": number % 700, "text": f"fact {number % 700}"} for number in range(1_500)]
    path = write(tmp_path, "rows.jsonl", b"\n".join(map(encoded, rows)))
    assert counts(take_in(memory, "jsonl", path, dry_run=True)) == (700, 0, 0)
    said = [
        {**chatgpt_conversation("c1")},
        *(chatgpt_conversation(f"o{n}") for n in range(600)),
        chatgpt_conversation("c1"),
    ]
    path = write(tmp_path, "conversations.json", encoded(said))
    planned = take_in(memory, "chatgpt", path, dry_run=True)
    assert counts(planned) == (0, 601, 1_803)
    assert planned.unchanged == 3


def test_every_format_has_its_laws() -> None:
    assert {*DOCUMENTS, *LINES, *FOLDERS, "csv"} == set(FORMATS)
