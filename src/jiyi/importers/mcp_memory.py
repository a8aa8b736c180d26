"""The knowledge graph of the MCP reference memory server: JSON Lines of entities and relations."""

from __future__ import annotations

from typing import Any, Final

from jiyi.errors import ImportFormatError
from jiyi.importers.records import Stream, digest, entries_of_text, origin
from jiyi.importers.sources import Source

EXPECTED: Final = (
    'the file of the MCP memory server: a line {"type": "entity", "name": …, "entityType": …, "observations": […]} or '
    '{"type": "relation", "from": …, "to": …, "relationType": …} each'
)


def read(source: Source) -> Stream:
    """Each observation and each relation as a memory that can be understood by itself."""
    if not source.is_file:
        raise ImportFormatError(f"{source.path} is no file; expected is {EXPECTED}")
    for number, found in source.json_lines(EXPECTED):
        place = f"{source.path.name}, line {number}"
        if not isinstance(found, dict) or found.get("type") not in ("entity", "relation"):
            raise ImportFormatError(f"{place} is neither an entity nor a relation; expected is {EXPECTED}")
        yield from _entity(found, place) if found["type"] == "entity" else _relation(found, place)


def _entity(found: dict[str, Any], place: str) -> Stream:
    name, kind, observations = found.get("name"), found.get("entityType"), found.get("observations", [])
    if not isinstance(name, str) or not name.strip() or not isinstance(observations, list):
        raise ImportFormatError(f"{place}: an entity needs a name and a list of observations; expected is {EXPECTED}")
    tags = tuple(each for each in (name, kind) if isinstance(each, str) and each.strip())
    about = origin("mcp-memory", entity=name, entity_type=kind)
    texts = [each for each in observations if isinstance(each, str) and each.strip()]
    if not texts:
        said = f"{name} ({kind})" if kind else name
        yield from entries_of_text(f"mcp-memory/{digest(name)}", said, tags=tags, metadata=about)
    for text in texts:
        said = text if name.casefold() in text.casefold() else f"{name}: {text}"
        yield from entries_of_text(f"mcp-memory/{digest(name, text)}", said, tags=tags, metadata=about)


def _relation(found: dict[str, Any], place: str) -> Stream:
    ends = [found.get(name) for name in ("from", "relationType", "to")]
    if not all(isinstance(each, str) and each.strip() for each in ends):
        raise ImportFormatError(f"{place}: a relation needs from, to and relationType; expected is {EXPECTED}")
    first, kind, second = map(str, ends)
    about = origin("mcp-memory", relation=kind, subject=first, object=second)
    yield from entries_of_text(
        f"mcp-memory/{digest(first, kind, second)}",
        f"{first} {kind.replace('_', ' ')} {second}",
        tags=(first, second) if first != second else (first,),
        metadata=about,
    )
