"""What the record store knows of note files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jiyi.model.note import NoteCounts, NoteFile, NoteUpdate


class NoteStore(Protocol):
    """The indexed state of note files and their chunks."""

    def note_files(self, workspace: str, scope: str) -> dict[str, NoteFile]:
        """What is known of the note files of a workspace, by path."""
        ...

    def note_files_state(self, workspace: str, scope: str) -> tuple[int, int]:
        """How many files are known, and the latest `checked` of them; another as soon as anything else is known."""
        ...

    def save_notes(self, workspace: str, scope: str, updates: Sequence[NoteUpdate], *, actor: str) -> NoteCounts:
        """Make the pieces of these files what the updates say, in one transaction; unchanged ones stay untouched."""
        ...
