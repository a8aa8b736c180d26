"""The tools of the notes, defined once: `memory_search`, `memory_append`, `memory_get`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import InvalidInputError
from jiyi.model.daily_note import DAY_FORMAT
from jiyi.model.tools import Tool
from jiyi.notes.visibility import check_kind

if TYPE_CHECKING:
    from jiyi.notes.service import NotesService

_DEFAULT_LINES: Final = 200

MEMORY_SEARCH: Final = Tool(
    "memory_search",
    "Search the notes (MEMORY.md and the daily notes) by words and by meaning. Use it before answering anything about "
    "earlier work, people, dates, preferences or decisions. Returns the best pieces with path and lines.",
    {
        "query": {"type": "string", "description": "A question or words, in any language."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many pieces at most; 10."},
        "path": {"type": "string", "description": "Only this note or folder, e.g. memory/2026-11-15.md."},
        "since": {"type": "string", "description": f"Not before this day, {DAY_FORMAT}."},
        "until": {"type": "string", "description": f"Not after this day, {DAY_FORMAT}."},
    },
    ("query",),
)
MEMORY_APPEND: Final = Tool(
    "memory_append",
    "Write something worth keeping into today's note. It is kept word for word and found by memory_search at once.",
    {"text": {"type": "string", "description": "What to keep: complete enough to be understood months later."}},
    ("text",),
)
MEMORY_GET: Final = Tool(
    "memory_get",
    "Read lines of a note as they stand in the file, e.g. around a piece that memory_search found.",
    {
        "path": {"type": "string", "description": "The note, e.g. MEMORY.md or memory/2026-11-15.md."},
        "from": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "description": "The first line; 1."},
        "to": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "description": "The last line, included."},
    },
    ("path",),
)
TOOLS: Final = (MEMORY_SEARCH, MEMORY_APPEND, MEMORY_GET)


def definitions() -> list[dict[str, Any]]:
    """For `tools=` of an OpenAI-style chat request."""
    return [tool.definition() for tool in TOOLS]


def call(service: NotesService, name: str, arguments: Mapping[str, Any] | str, kind: str) -> dict[str, Any]:
    """Check the arguments and do it. Workspace, scope and kind of session are the caller's."""
    check_kind(kind)
    tool = next((tool for tool in TOOLS if tool.name == name), None)
    if tool is None:
        raise InvalidInputError(f"there is no tool {ascii(name)[:80]}; known are {', '.join(t.name for t in TOOLS)}")
    return _CALLS[tool.name](service, tool.check(arguments), kind)


def _search(service: NotesService, given: dict[str, Any], kind: str) -> dict[str, Any]:
    hits = service.searcher.search(given.pop("query"), given.pop("limit", 10), kind=kind, **given)
    return {
        "hits": [
            {
                "path": hit.path,
                "lines": f"{hit.start_line}-{hit.end_line}",
                "heading": hit.heading,
                "date": hit.date.isoformat() if hit.date is not None else None,
                "text": hit.content,
                "score": round(hit.score, 3),
            }
            for hit in hits
        ]
    }


def _append(service: NotesService, given: dict[str, Any], kind: str) -> dict[str, Any]:
    written = service.append(given["text"], kind=kind, by="agent")
    return {"id": written.id, "path": written.path}


def _get(service: NotesService, given: dict[str, Any], kind: str) -> dict[str, Any]:
    first = given.get("from", 1)
    last = given.get("to", first + _DEFAULT_LINES - 1)
    return service.get(given["path"], first, last, kind=kind).to_dict()


_CALLS: Final[dict[str, Callable[[NotesService, dict[str, Any], str], dict[str, Any]]]] = {
    "memory_search": _search,
    "memory_append": _append,
    "memory_get": _get,
}
