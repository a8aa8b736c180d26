"""What a new workspace begins with, in English and Chinese. Files that exist are never touched."""

from __future__ import annotations

from functools import cache
from typing import Final

LANGUAGES: Final = ("en", "zh")

_ENGLISH: Final = {
    "MEMORY.md": """# Long-term memory

What is worth knowing in every session. Curated: keep it short, correct it when it is wrong, take out what no longer
holds. Loaded in the main session only, never in a group.

## About the user

## Preferences

## People

## Projects

## Decisions and lessons
""",
    "AGENTS.md": """# How to work here

- Read MEMORY.md and the notes of today and yesterday before you begin.
- Mental notes don't survive session restarts. Files do: write down what should last with `memory_append`.
- Look things up with `memory_search` before you say that you do not know.
- What belongs into every session goes into MEMORY.md; everything else stays in the daily notes.
- Never bring MEMORY.md or private notes into a group session.
""",
    "SOUL.md": """# Character

How the agent speaks and what it holds to.
""",
    "IDENTITY.md": """# Identity

- Name:
- Role:
""",
    "USER.md": """# The user

- Name:
- Language:
- Time zone:
""",
    "TOOLS.md": """# Tools

Notes about tools, hosts and accounts that the agent uses. No passwords.
""",
}

_CHINESE: Final = {
    "MEMORY.md": """# 长期记忆

每次会话都值得知道的事。经过整理：保持简短，错了就改，过时就删。只在主会话中加载，绝不进入群聊。

## 关于用户

## 偏好

## 人物

## 项目

## 决定与教训
""",
    "AGENTS.md": """# 工作方式

- 开始之前先读 MEMORY.md 以及今天和昨天的笔记。
- 脑子里的记忆撑不过会话重启，文件可以：值得留下的事用 `memory_append` 写下来。
- 说“不知道”之前，先用 `memory_search` 查一查。
- 每次会话都用得到的写进 MEMORY.md，其余的留在每日笔记里。
- 绝不把 MEMORY.md 或私人笔记带进群聊。
""",
    "SOUL.md": """# 性格

智能体怎样说话，坚持什么。
""",
    "IDENTITY.md": """# 身份

- 名字：
- 角色：
""",
    "USER.md": """# 用户

- 称呼：
- 语言：
- 时区：
""",
    "TOOLS.md": """# 工具

智能体所用的工具、主机和账号的说明。不写密码。
""",
}

TEMPLATES: Final = {"en": _ENGLISH, "zh": _CHINESE}


@cache
def template_lines(name: str) -> frozenset[str]:
    """The lines that this file has in a new workspace, in every language; none of a file without a template."""
    texts = [files[name] for files in TEMPLATES.values() if name in files]
    return frozenset(line.strip() for text in texts for line in text.splitlines() if line.strip())
