"""Memories of mem0: the answer of `get_all` or `search`, or a list of its results, as JSON."""

from __future__ import annotations

from typing import Any, Final

from jiyi.compat.mem0_forms import NAMESPACE, PROMOTED, checked_ids, expiry_of, scope_of
from jiyi.errors import ImportFormatError, InvalidInputError
from jiyi.importers.json_stream import JsonReader
from jiyi.importers.records import LeftOut, Stream, digest, entries_of_text, origin, time_of
from jiyi.importers.sources import Source

EXPECTED: Final = 'memories of mem0: {"results": [{"id": …, "memory": …, "user_id": …}]}, or such an array'


def read(source: Source) -> Stream:
    """The memories, each in the scope of its user."""
    if not source.is_file:
        raise ImportFormatError(f"{source.path} is no file; expected is {EXPECTED}")
    with source.text(source.path.name) as stream:
        reader = JsonReader(stream, source.path.name)
        if reader.peek() == "[":
            for index, found in enumerate(reader.elements()):
                yield from _memory(found, f"{source.path.name}[{index}]")
        elif reader.peek() == "{":
            known = False
            for name in reader.members():
                if name in {"results", "memories"} and reader.peek() == "[":
                    known = True
                    for index, found in enumerate(reader.elements()):
                        yield from _memory(found, f"{source.path.name}: {name}[{index}]")
                else:
                    reader.value()
            if not known:
                raise ImportFormatError(f"{source.path.name} has no results; expected is {EXPECTED}")
        else:
            raise ImportFormatError(f"{source.path.name} is not JSON; expected is {EXPECTED}")
        reader.end()


def _memory(found: Any, place: str) -> Stream:
    text = found.get("memory", found.get("data")) if isinstance(found, dict) else None
    if not isinstance(text, str):
        raise ImportFormatError(f"{place} has no memory that is text; expected is {EXPECTED}")
    if not text.strip():
        yield LeftOut("a memory without text")
        return
    own = found.get("metadata") if isinstance(found.get("metadata"), dict) else {}
    promoted = {name: found[name] for name in PROMOTED if found.get(name) not in (None, "")}
    try:
        ids = checked_ids(promoted)
        expires = expiry_of(promoted.get("expiration_date"))
        scope = scope_of(ids) if ids else None
    except InvalidInputError as error:
        raise ImportFormatError(f"{place}: {error}") from None
    memory_id = str(found.get("id") or digest(text, str(ids)))
    about = {
        **own,
        **promoted,
        **origin("mem0", id=memory_id, created_at=found.get("created_at"), updated_at=found.get("updated_at")),
    }
    yield from entries_of_text(
        f"mem0/{memory_id}",
        text,
        scope=scope,
        metadata=about,
        namespace=NAMESPACE,
        occurred_at=time_of(found.get("created_at")),
        expires_at=None if expires is None else expires[1],
    )
