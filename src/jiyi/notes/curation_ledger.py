"""What became of things that were to go into MEMORY.md, so that nothing is proposed again that a person does not want.

It also records how each item got into MEMORY.md, which has no marks of its own. The ledger holds digests, no texts. It
lies in the data directory and can be deleted: things may then be proposed again, and all items count as by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from jiyi.errors import NotesError
from jiyi.model.identity import text_hash
from jiyi.notes.json_file import write_json
from jiyi.notes.memory_file import comparable

_MAX_ITEM_LINES: Final = 200
"""Of a longer item the beginning is not looked for: only the whole."""


@dataclass(frozen=True, slots=True)
class ItemOrigin:
    """How an item got into MEMORY.md; the fields are those of `LineAttribution`."""

    origin: str
    at: str
    """In UTC, as text."""
    by: str = ""
    source: str = ""
    entry_id: str = ""
    note: str = ""
    made_by: str = ""


@dataclass(slots=True)
class CurationLedger:
    """The ledger of one workspace. Changes are written with `save`, under the lock of the notes."""

    path: Path
    present: set[str] = field(default_factory=set)
    """Items of MEMORY.md when it was last read."""
    unwanted: set[str] = field(default_factory=set)
    """Items that a person rejected, or deleted from MEMORY.md."""
    promoted: set[str] = field(default_factory=set)
    """Ids of entries that were put into MEMORY.md."""
    origins: dict[str, ItemOrigin] = field(default_factory=dict)
    """How items got into MEMORY.md."""

    @classmethod
    def load(cls, path: Path) -> CurationLedger:
        """Read the ledger; empty when there is none."""
        try:
            data = json.loads(path.read_text("utf-8"))
            origins = {digest: ItemOrigin(**each) for digest, each in data.get("origins", {}).items()}
            return cls(path, set(data["present"]), set(data["unwanted"]), set(data["promoted"]), origins)
        except FileNotFoundError:
            return cls(path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NotesError(
                f"{path} cannot be read: {error}; delete it, and rejected items may be proposed again"
            ) from None

    def save(self) -> None:
        """Write the ledger, whole or not at all."""
        data: dict[str, Any] = {name: sorted(getattr(self, name)) for name in ("present", "unwanted", "promoted")}
        data["origins"] = {digest: _without_empty(each) for digest, each in self.origins.items()}
        try:
            write_json(self.path, data)
        except OSError as error:
            raise NotesError(f"{self.path} cannot be written: {error.strerror}") from error

    def observe(self, items: Iterable[str]) -> None:
        """Take note of what MEMORY.md holds now: what it held before and lacks now, a person has deleted."""
        now = {_digest(item) for item in items}
        self.unwanted = (self.unwanted | (self.present - now)) - now
        self.present = now

    def removed(self, items: Iterable[str]) -> None:
        """Items that were taken out by an accepted proposal are not deleted by a person."""
        gone = {_digest(item) for item in items}
        self.present -= gone
        for digest in gone:
            self.origins.pop(digest, None)

    def reject(self, items: Iterable[str]) -> None:
        """A person does not want these."""
        self.unwanted |= {_digest(item) for item in items}

    def record(self, item: str, origin: ItemOrigin) -> None:
        """Record how an item got into MEMORY.md."""
        self.origins[_digest(item)] = origin

    def origin_of(self, item: str) -> ItemOrigin | None:
        """How an item got into MEMORY.md; `None` when nothing is recorded of this text."""
        return self.origins.get(_digest(item))

    def origin_of_lines(self, lines: Sequence[str]) -> tuple[ItemOrigin | None, int]:
        """How the item that these lines begin with got into MEMORY.md, and how many of them it is; the longest one."""
        origin, count, plain = None, 0, ""
        for number, line in enumerate(lines[:_MAX_ITEM_LINES], start=1):
            # The form for comparing has no ends of lines, so that of several lines is theirs together.
            plain += comparable(line)
            found = self.origins.get(text_hash(plain)[:16]) if plain else None
            if found is not None:
                origin, count = found, number
        return origin, count

    def is_unwanted(self, item: str) -> bool:
        """Whether a person has rejected or deleted it."""
        return _digest(item) in self.unwanted


def _without_empty(origin: ItemOrigin) -> dict[str, str]:
    return {name: value for name, value in asdict(origin).items() if value}


def _digest(text: str) -> str:
    # A text without letters and digits is compared as it is, or it would be the same as any other such text.
    return text_hash(comparable(text) or text.strip())[:16]
