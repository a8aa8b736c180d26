"""Which formats there are, and how each is read. A module is loaded when its format is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from jiyi.errors import InvalidInputError
from jiyi.importers.records import Stream
from jiyi.importers.sources import Source

FORMATS: Final[Mapping[str, tuple[str, str, str]]] = {
    "mem0": ("mem0", "read", "EXPECTED"),
    "chatgpt": ("chatgpt", "read", "EXPECTED"),
    "claude": ("claude", "read", "EXPECTED"),
    "mcp-memory": ("mcp_memory", "read", "EXPECTED"),
    "basic-memory": ("markdown_folders", "read_basic_memory", "BASIC_MEMORY"),
    "openclaw": ("markdown_folders", "read_openclaw", "OPENCLAW"),
    "claude-code": ("markdown_folders", "read_claude_code", "CLAUDE_CODE"),
    "langgraph": ("langgraph", "read", "EXPECTED"),
    "llamaindex": ("llamaindex", "read", "EXPECTED"),
    "jsonl": ("rows", "read_jsonl", "JSONL"),
    "csv": ("rows", "read_csv", "CSV"),
}
"""Each format with its module, the function that reads it, and the description of what it expects."""
_WITH_MAPPING: Final = ("jsonl", "csv")


def read(name: str, source: Source, mapping: Mapping[str, str]) -> Stream:
    """What a format finds in a source."""
    module, function, _ = _known(name)
    if name in _WITH_MAPPING:
        found: Stream = getattr(import_module(f"jiyi.importers.{module}"), function)(source, mapping)
        return found
    if mapping:
        raise InvalidInputError(f"a mapping is for {' and '.join(_WITH_MAPPING)}; {name} needs none")
    stream: Stream = getattr(import_module(f"jiyi.importers.{module}"), function)(source)
    return stream


def expected(name: str) -> str:
    """What a format expects."""
    module, _, described = _known(name)
    return str(getattr(import_module(f"jiyi.importers.{module}"), described))


def _known(name: str) -> tuple[str, str, str]:
    if name not in FORMATS:
        raise InvalidInputError(f"there is no format {ascii(name)[:80]}; known are {', '.join(FORMATS)}")
    return FORMATS[name]
