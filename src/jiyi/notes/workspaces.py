"""Which workspaces the database holds notes of: what is left of one that was moved or deleted is removed."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from jiyi.errors import NotesError
from jiyi.model.identity import text_hash
from jiyi.model.note import NoteUpdate
from jiyi.notes.files import Files
from jiyi.notes.json_file import write_json

if TYPE_CHECKING:
    from jiyi.notes.visibility import WorkspaceIdentity
    from jiyi.ports import RecordStore


# What the data directory keeps about notes.
JOURNAL, PROPOSALS, CURATION, SESSIONS = "notes_journal", "notes_proposals", "notes_curation", "notes_sessions"
REGISTRY = "notes_workspaces.json"


def workspace_id(root: Path) -> str:
    """The id of a workspace: a digest of its place."""
    return text_hash(str(root.resolve()))


def short_id(workspace: str) -> str:
    """The id as the names of files have it."""
    return workspace[:16]


def sessions_file(data: Path, scope: str) -> Path:
    """Where the kinds of the sessions of a scope are kept."""
    return data / SESSIONS / f"{text_hash(scope)[:16]}.jsonl"


class WorkspaceRegistry:
    """The roots of the workspaces that were opened with one data directory, by scope and id."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def register(self, identity: WorkspaceIdentity, root: Path) -> list[str]:
        """Record a workspace; returns the ids of those of its scope that are not where they were any more."""
        known = self._read()
        own = known.setdefault(identity.scope, {})
        gone = [key for key, path in own.items() if key != identity.workspace and not _has_notes(Path(path))]
        if gone or own.get(identity.workspace) != str(root):
            own[identity.workspace] = str(root)
            self._write(known)
        return gone

    def forget(self, identity: WorkspaceIdentity, workspace: str) -> None:
        """Nothing of this workspace is in the database any more."""
        known = self._read()
        known.get(identity.scope, {}).pop(workspace, None)
        self._write(known)

    def roots(self, scope: str) -> dict[str, str]:
        """The workspaces of a scope, by id."""
        return dict(self._read().get(scope, {}))

    def others(self, scope: str) -> set[str]:
        """The ids of the workspaces of all other scopes."""
        return {workspace for other, own in self._read().items() if other != scope for workspace in own}

    def remove(self, scope: str) -> bool:
        """Forget a scope; whether it had a workspace."""
        known = self._read()
        if known.pop(scope, None) is None:
            return False
        self._write(known)
        return True

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            data = json.loads(self._path.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        except OSError as error:
            raise NotesError(f"{self._path} cannot be read: {error.strerror}") from error
        return data if isinstance(data, dict) else {}

    def _write(self, known: dict[str, dict[str, str]]) -> None:
        try:
            write_json(self._path, known)
        except OSError as error:
            raise NotesError(f"{self._path} cannot be written: {error.strerror}") from error


def remove_pieces(store: RecordStore, identity: WorkspaceIdentity, workspace: str) -> int:
    """Delete what the database holds of the notes of a workspace; returns of how many files."""
    files = store.note_files(workspace, identity.scope)
    if files:
        updates = [NoteUpdate(path, None) for path in files]
        store.save_notes(workspace, identity.scope, updates, actor=identity.actor)
    return len(files)


def _has_notes(root: Path) -> bool:
    if not root.is_dir():
        return False
    with suppress(NotesError):
        return bool(Files(root).listing().files)
    # It is there and cannot be read: it may be readable again later.
    return True
