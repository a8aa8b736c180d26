"""Proposals: edits of MEMORY.md that wait to be accepted or rejected, item by item, until they expire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from jiyi.errors import InvalidInputError, NotesError
from jiyi.model import clock
from jiyi.notes.json_file import write_json

MADE_BY_RULES: Final = "rules"
"""The value of `made_by` when no model was asked."""
EXPIRES_AFTER: Final = timedelta(days=14)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ProposalItem:
    """One change: a text to add to a section, or a line to take out."""

    number: int
    """From 1; stays the same when other items are accepted or rejected."""
    action: str
    """`add` or `remove`."""
    text: str
    section: str = ""
    entry_id: str = ""
    """The entry that it is, if it is a whole one."""
    note: str = ""
    """The daily note that it was taken from; empty when a model proposed it from several."""
    by: str = ""
    """How far the origin of the text is trusted, as in that note."""
    source: str = ""
    """Where the text came from, as in that note."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit of MEMORY.md that waits to be accepted."""

    id: str
    diff: str
    """Unified; empty when there is nothing to propose."""
    text: str
    """MEMORY.md as it would be."""
    base: str
    """Digest of the MEMORY.md it was made for."""
    made_by: str = MADE_BY_RULES
    items: tuple[ProposalItem, ...] = ()
    created_at: datetime | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to accept."""
        return not self.diff

    @property
    def additions(self) -> tuple[str, ...]:
        """The texts that would be added."""
        return tuple(item.text for item in self.items if item.action == "add")

    @property
    def removals(self) -> tuple[str, ...]:
        """The lines that would be taken out."""
        return tuple(item.text for item in self.items if item.action == "remove")

    @property
    def expires_at(self) -> datetime | None:
        """From then on it cannot be accepted any more."""
        return None if self.created_at is None else self.created_at + EXPIRES_AFTER

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "id": self.id,
            "made_by": self.made_by,
            "created_at": None if self.created_at is None else clock.to_text(self.created_at),
            "expires_at": None if self.expires_at is None else clock.to_text(self.expires_at),
            "diff": self.diff,
            "items": [asdict(item) for item in self.items],
            "additions": list(self.additions),
            "removals": list(self.removals),
        }


def choose_items(proposal: Proposal, numbers: Sequence[int] | None) -> tuple[ProposalItem, ...]:
    """The items with these numbers; all when `None`."""
    if numbers is None:
        return proposal.items
    known = {item.number: item for item in proposal.items}
    unknown = [number for number in numbers if number not in known]
    if unknown or not numbers:
        shown = ", ".join(map(str, known)) or "none"
        raise InvalidInputError(f"proposal {proposal.id} has no item {str(unknown)[1:-1]}; its items are {shown}")
    return tuple(known[number] for number in sorted(set(numbers)))


class ProposalStore:
    """The waiting proposals of one workspace, as files in the data directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, proposal: Proposal) -> None:
        """Keep a proposal, in place of an earlier form of it."""
        path = self._path(proposal.id)
        created = proposal.created_at
        data = {**asdict(proposal), "created_at": None if created is None else clock.to_text(created)}
        try:
            write_json(path, data)
        except OSError as error:
            raise NotesError(f"proposal {proposal.id} cannot be kept: {error.strerror}") from error

    def load(self, proposal_id: object) -> Proposal:
        """The proposal with this id; `InvalidInputError` when there is none any more."""
        if not isinstance(proposal_id, str):
            raise InvalidInputError(f"a proposal or its id is needed, not {type(proposal_id).__name__}")
        proposal = self._read(self._path(proposal_id.strip()))
        if proposal is None:
            raise InvalidInputError(
                f"there is no proposal {proposal_id} (accepted already, rejected, or expired?); make one"
            )
        expires = proposal.expires_at
        if expires is not None and clock.utc_now() >= expires:
            self.delete(proposal.id)
            raise InvalidInputError(f"proposal {proposal_id} expired on {expires.date()}; make a new one with curate")
        return proposal

    def all(self) -> list[Proposal]:
        """The proposals that can be accepted, oldest first."""
        self.delete_expired()
        found = [self._read(path) for path in sorted(self._folder.glob("*.json"))]
        kept = [each for each in found if each is not None]
        return sorted(kept, key=lambda each: (each.created_at or _NEVER, each.id))

    def delete(self, proposal_id: str) -> None:
        """Delete a proposal, if it is there."""
        self._path(proposal_id).unlink(missing_ok=True)

    def delete_expired(self) -> None:
        """Delete the proposals that cannot be accepted any more."""
        now = clock.utc_now()
        for path in self._folder.glob("*.json"):
            try:
                proposal = self._read(path)
            except NotesError:
                # Written by another version: nothing can be done with it.
                path.unlink(missing_ok=True)
                continue
            expires = proposal.expires_at if proposal is not None else None
            if expires is not None and now >= expires:
                path.unlink(missing_ok=True)

    def _read(self, path: Path) -> Proposal | None:
        try:
            data = json.loads(path.read_text("utf-8"))
            items = tuple(ProposalItem(**item) for item in data["items"])
            created = data["created_at"]
            return Proposal(**{**data, "items": items, "created_at": created and clock.from_text(created)})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NotesError(f"proposal {path.stem} cannot be read: {error}; make a new one with curate") from None

    def _path(self, proposal_id: str) -> Path:
        if not proposal_id or not all(character in "0123456789abcdef-" for character in proposal_id):
            raise InvalidInputError(f"{proposal_id[:80]!a} is not the id of a proposal")
        return self._folder / f"{proposal_id}.json"
