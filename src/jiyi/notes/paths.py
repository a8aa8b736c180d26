"""The names in a workspace: which paths are notes, and which paths are refused. Paths come from models."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from jiyi.errors import InvalidInputError
from jiyi.model.daily_note import NOTES_FOLDER

MEMORY_FILE: Final = "MEMORY.md"
CONTEXT_FILES: Final = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md")
MAX_DEPTH: Final = 16
_SUFFIX: Final = ".md"
_MAX_CHARACTERS: Final = 1_024
_MAX_NAME_BYTES: Final = 255


def check_path(path: object) -> str:
    """A path below the workspace as it is written in notes: `memory/2026-11-15.md`."""
    if not isinstance(path, str):
        raise InvalidInputError(f"path must be text, not {type(path).__name__}: {ascii(path)[:80]}")
    problem = path_problem(path)
    if problem is not None:
        shown = ascii(path) if len(path) <= 80 else ascii(path[:77]) + "…"
        raise InvalidInputError(f"path {shown} {problem}; name a note such as 'memory/2026-11-15.md' or 'MEMORY.md'")
    return "/".join(part for part in path.split("/") if part != ".")


@lru_cache(maxsize=1 << 15)
def path_problem(path: str) -> str | None:  # noqa: PLR0911 - a list of refusals
    """Why a path is refused; `None` when it is not."""
    if not path.strip():
        return "is empty"
    if len(path) > _MAX_CHARACTERS:
        return f"has {len(path):,} characters (at most {_MAX_CHARACTERS:,})"
    for character in path:
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}:
            return f"contains the character U+{ord(character):04X}"
    if "\\" in path:
        return "contains a backslash; folders are separated by '/'"
    if path.startswith(("/", "~")) or path[1:2] == ":":
        return "is not below the workspace"
    parts = path.split("/")
    if ".." in parts:
        return "leads out of its folder ('..')"
    if "" in parts or not any(part != "." for part in parts):
        return "has an empty part"
    if any(len(part.encode("utf-8")) > _MAX_NAME_BYTES for part in parts):
        return f"has a part of more than {_MAX_NAME_BYTES} bytes"
    return None


@lru_cache(maxsize=1 << 15)
def is_note(path: str) -> bool:
    """Whether a path is one of those that are searched: `MEMORY.md`, and Markdown below `memory/`, hidden ones not."""
    parts = path.split("/")
    if any(part.startswith(".") for part in parts) or len(parts) > MAX_DEPTH:
        return False
    if len(parts) == 1:
        return path.upper() == MEMORY_FILE.upper()
    return parts[0] == NOTES_FOLDER and path.lower().endswith(_SUFFIX)


def is_memory_file(path: str) -> bool:
    """Whether it is the curated file, which no group sees."""
    return path.upper() == MEMORY_FILE.upper()
