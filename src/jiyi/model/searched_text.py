"""What of an entry is searched: its content, and the fields of its metadata that the store was told to index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from jiyi.errors import InvalidInputError
from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import text_hash
from jiyi.model.metadata import MAX_LEVELS, check_name

MAX_FIELDS: Final = 50
"""How many fields of metadata are searched at most."""


class SearchedText:
    """Extends the content of entries by fields of their metadata. Indexes of other fields are rebuilt."""

    def __init__(self, names: Callable[[], Sequence[str]] = tuple) -> None:
        """`names` returns the current fields, each a path such as `title` or `author.name`."""
        self._names = names
        self._set(tuple(names()))

    def _set(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._paths = tuple(tuple(name.split(".")) for name in names)

    @property
    def identity(self) -> str:
        """Part of the identity of every index; empty when only the content is searched."""
        return f"+metadata-{text_hash(*self.names)[:16]}" if self.names else ""

    def refresh(self) -> bool:
        """Read the current fields; returns whether they have changed."""
        names = tuple(self._names())
        if names == self.names:
            return False
        self._set(names)
        return True

    def matches(self, identity: Callable[[], str], found: str) -> bool:
        """Whether an index with the identity `found` is up to date, if need be after the fields were read again."""
        return found == identity() or (self.refresh() and found == identity())

    def entry(self, entry: MemoryEntry) -> MemoryEntry:
        """The entry as indexes see it."""
        if not self._paths or not entry.metadata:
            return entry
        found = [text for path in self._paths for text in _texts(_find(entry.metadata, path))]
        return replace(entry, content="\n".join([*found, entry.content])) if found else entry

    def entries(self, entries: Sequence[MemoryEntry]) -> Sequence[MemoryEntry]:
        """The same for several."""
        return [self.entry(entry) for entry in entries] if self._paths else entries


CONTENT_ONLY: Final = SearchedText()
"""No metadata is searched."""


def check_fields(names: object) -> tuple[str, ...]:
    """Names of metadata fields to be searched; raises `InvalidInputError` for anything else."""
    if isinstance(names, str) or not isinstance(names, list | tuple | set | frozenset):
        raise InvalidInputError(f"index_metadata must be a list of names such as ['title'], not {ascii(names)[:80]}")
    for name in names:
        parts = name.split(".") if isinstance(name, str) else [name]
        for part in parts:
            check_name(part, f"index_metadata: {ascii(name)[:80]}")
        if len(parts) > MAX_LEVELS:
            raise InvalidInputError(f"index_metadata: {ascii(name)[:80]} has more than {MAX_LEVELS} parts")
    if len(names) > MAX_FIELDS:
        raise InvalidInputError(f"index_metadata has {len(names)} names and the limit is {MAX_FIELDS}")
    # In one order: the same fields are the same index.
    return tuple(sorted(set(names)))


def _find(metadata: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = metadata
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def _texts(value: Any) -> list[str]:
    """Texts and numbers, also those of lists. Objects are not searched: name the fields inside them."""
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [str(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []
