"""Small exports of other programs, written from the documented shapes."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

from jiyi.blocking import Portal
from jiyi.importers import ImportReport, import_from
from jiyi.sync import AgentMemory


def take_in(memory: AgentMemory, kind: str, path: Path, **options: Any) -> ImportReport:
    """Import into a memory without async."""
    inside: Any = memory
    portal: Portal = inside._portal
    report: ImportReport = portal.call(import_from(inside._target, kind, path, **options))
    return report


def counts(report: ImportReport) -> tuple[int, int, int]:
    return report.entries, report.conversations, report.messages


def chatgpt_node(
    node: str, parent: str | None, role: str, text: Any, at: float | None = 1.7e9, **more: Any
) -> dict[str, Any]:
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    message = {
        "id": f"m-{node}",
        "author": {"role": role},
        "create_time": at,
        "recipient": "all",
        "content": content,
        "metadata": {},
        **more,
    }
    return {"id": node, "parent": parent, "children": [], "message": message}


def chatgpt_conversation(identity: str = "c1") -> dict[str, Any]:
    nodes = {
        "root": {"id": "root", "parent": None, "children": ["sys"], "message": None},
        "sys": chatgpt_node("sys", "root", "system", "You are kind"),
        "n1": chatgpt_node("n1", "sys", "user", "我家的猫叫年糕", 1.7e9 + 1),
        "old": chatgpt_node("old", "n1", "assistant", "an answer that was asked for again", 1.7e9 + 2),
        "think": chatgpt_node("think", "n1", "assistant", {"content_type": "thoughts", "thoughts": []}),
        "tool": chatgpt_node("tool", "think", "assistant", "search()", recipient="browser"),
        "out": chatgpt_node("out", "tool", "tool", "found"),
        "n2": chatgpt_node("n2", "out", "assistant", "A lovely name!", 1.7e9 + 9),
        "hidden": chatgpt_node("hidden", "n2", "user", "x", metadata={"is_visually_hidden_from_conversation": True}),
        "n3": chatgpt_node(
            "n3",
            "hidden",
            "user",
            {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "Look at her"]},
            None,
        ),
    }
    return {
        "conversation_id": identity,
        "title": "The cat",
        "create_time": 1.7e9,
        "current_node": "n3",
        "mapping": nodes,
    }


CLAUDE = [
    {
        "uuid": "c1",
        "name": "Tea",
        "created_at": "2026-03-04T10:00:00Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "",
                "content": [{"type": "text", "text": "I like green tea"}],
                "created_at": "2026-03-04T10:00:01Z",
                "attachments": [{"file_name": "tea.pdf", "extracted_content": "…"}],
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "text": "Noted",
                "content": [],
                "created_at": "2026-03-04T10:00:05Z",
                "attachments": [],
            },
        ],
    },
    {"uuid": "empty", "name": "", "created_at": "2026-03-05T10:00:00Z", "chat_messages": []},
]
CLAUDE_MEMORIES = [
    {"conversations_memory": "Ann drinks tea.", "project_memories": {"p1": "The garden project."}, "account_uuid": "a"}
]
CLAUDE_PROJECT = {
    "uuid": "p1",
    "name": "Garden",
    "description": "Plants",
    "prompt_template": "",
    "created_at": "2026-01-02T00:00:00Z",
    "docs": [{"uuid": "d1", "filename": "roses.txt", "content": "Roses need sun."}],
}

MEM0 = {
    "results": [
        {
            "id": "u1",
            "memory": "Likes tea",
            "hash": "x",
            "metadata": {"category": "food"},
            "created_at": "2026-02-03T04:05:06+00:00",
            "updated_at": None,
            "user_id": "alice",
            "role": "user",
        },
        {"id": "u2", "memory": "喜欢喝茶", "metadata": None, "created_at": "2026-02-03T04:05:07Z", "user_id": "bob"},
        {"id": "u3", "memory": "Serves tea", "agent_id": "cook", "expiration_date": "2099-01-01"},
        {"id": "u4", "memory": " ", "user_id": "bob"},
    ],
    "relations": [],
}

MCP = [
    {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["Likes tea", "Ann is tall"]},
    {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
    {"type": "relation", "from": "Ann", "to": "Acme", "relationType": "works_at"},
]

BASIC = """---
title: Coffee
type: note
tags: [drink, morning]
permalink: drinks/coffee
---
# Coffee

Some words about coffee.

## Observations
- [method] Pour over is gentle #brewing (since 2024)
- [ ] a task is no observation

## Relations
- pairs_well_with [[Chocolate Desserts]]
"""


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def langgraph_database(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL, created_at TIMESTAMP, "
            "updated_at TIMESTAMP, expires_at TIMESTAMP, ttl_minutes REAL, PRIMARY KEY (prefix, key))"
        )
        database.executemany(
            "INSERT INTO store VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                ("users.ann", "food", '{"text": "likes tea", "n": 3}', "2026-01-02 03:04:05", "2026-01-03", None, None),
                ("users.bob", "food", '{"text": "likes 咖啡"}', "2026-01-02 03:04:05", None, "2099-01-01 00:00:00", 60),
            ],
        )
    return path


def build(kind: str, folder: Path) -> Path:  # noqa: PLR0911
    """A sample export of a format below a folder; returns what is imported."""
    folder.mkdir(parents=True, exist_ok=True)
    match kind:
        case "chatgpt":
            path = folder / "chatgpt.zip"
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("conversations-000.json", json.dumps([chatgpt_conversation("c1")]))
                archive.writestr("conversations-001.json", json.dumps([chatgpt_conversation("c2")]))
                archive.writestr("user.json", "{}")
            return path
        case "claude":
            write_json(folder / "claude/conversations.json", CLAUDE)
            write_json(folder / "claude/memories.json", CLAUDE_MEMORIES)
            write_json(folder / "claude/projects/p1.json", CLAUDE_PROJECT)
            write_json(folder / "claude/users.json", [])
            return folder / "claude"
        case "mem0":
            return write_json(folder / "mem0.json", MEM0)
        case "mcp-memory":
            return write_lines(folder / "memory.jsonl", MCP)
        case "basic-memory":
            (folder / "basic/drinks").mkdir(parents=True)
            (folder / "basic/drinks/coffee.md").write_text(BASIC, "utf-8")
            return folder / "basic"
        case "openclaw":
            (folder / "claw/memory").mkdir(parents=True)
            (folder / "claw/MEMORY.md").write_text("# Facts\n\n- Ann likes tea\n\n## Work\n\nAcme, 上海\n", "utf-8")
            (folder / "claw/memory/2026-03-04.md").write_text("went to the harbour\n", "utf-8")
            (folder / "claw/README.md").write_text("not a memory", "utf-8")
            return folder / "claw"
        case "claude-code":
            (folder / "code/memory").mkdir(parents=True)
            (folder / "code/.claude/rules").mkdir(parents=True)
            (folder / "code/CLAUDE.md").write_text("# Build\n\nUse make.\n", "utf-8")
            (folder / "code/.claude/rules/style.md").write_text("Short lines.\n", "utf-8")
            (folder / "code/memory/MEMORY.md").write_text("- [Tea](tea.md)\n", "utf-8")
            (folder / "code/memory/tea.md").write_text(
                "---\nname: tea\ndescription: what Ann drinks\nmetadata:\n  type: user\n---\nGreen tea.\n", "utf-8"
            )
            return folder / "code"
        case "langgraph":
            return langgraph_database(folder / "store.db")
        case "llamaindex":
            said = [
                {"role": "user", "content": "The ferry leaves at nine", "additional_kwargs": {}},
                {"role": "assistant", "blocks": [{"block_type": "text", "text": "你好"}], "additional_kwargs": {}},
            ]
            return write_json(folder / "chat_store.json", {"store": {"ann": said, "empty": []}, "class_name": "x"})
        case "jsonl":
            rows = [
                {"id": 1, "text": "Ann likes tea", "created_at": "2026-01-02", "tags": ["a", "b"], "extra": {"x": 1}},
                {"id": 2, "text": ""},
            ]
            return write_lines(folder / "rows.jsonl", rows)
        case "csv":
            path = folder / "rows.csv"
            path.write_text('id,text,created_at\n1,"Ann likes, tea\nand milk",1767312000\n2,小明喜欢火锅,\n', "utf-8")
            return path
        case _:
            raise AssertionError(kind)
