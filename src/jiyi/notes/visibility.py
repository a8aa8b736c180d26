"""Who may see a note: a main session sees all of them, a group session the shared ones only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jiyi.errors import InvalidInputError
from jiyi.model.daily_note import IMPORTED_FOLDER, SHARED_FOLDER
from jiyi.model.note import note_scope
from jiyi.notes.paths import is_memory_file

if TYPE_CHECKING:
    from jiyi.notes.markdown import Document

KINDS: Final = ("main", "group")


@dataclass(frozen=True, slots=True)
class WorkspaceIdentity:
    """The workspace, and the scope and the actor of the memory that opened it."""

    workspace: str
    scope: str
    actor: str

    def of(self, *, shared: bool) -> str:
        """The scope that holds private or shared pieces."""
        return note_scope(self.workspace, self.scope, shared=shared)

    def scopes(self, kind: str) -> tuple[str, ...]:
        """The scopes that a session of this kind searches; a group has the shared one only."""
        check_kind(kind)
        shared = self.of(shared=True)
        return (shared,) if kind == "group" else (self.of(shared=False), shared)


def check_kind(kind: object) -> str:
    """Which session asks; anything that is not known is refused, because guessing could show too much."""
    if kind not in KINDS:
        raise InvalidInputError(f"kind {kind!r} is unknown; use 'main' or 'group'")
    return str(kind)


def is_shared(path: str, document: Document) -> bool:
    """Whether a group may see it: it lies in `memory/shared/`, or its front matter says `visibility: group`.

    Nothing else makes a note shared, and nothing makes MEMORY.md or an imported file shared: whoever imports it moves
    it to where a group may see it.
    """
    if is_memory_file(path) or path.startswith(f"{IMPORTED_FOLDER}/"):
        return False
    return path.startswith(f"{SHARED_FOLDER}/") or document.properties.get("visibility") == "group"
