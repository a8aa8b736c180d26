"""Notes: `memory.notes`, the workspace of a memory for programs with `async`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jiyi.errors import SimpleModeError
from jiyi.execution import Run
from jiyi.model.limits import check_whole
from jiyi.model.note import AppendedNote, LineAttribution, NoteFile, NoteHit, NoteText, ScanReport
from jiyi.model.scope import check_scope

if TYPE_CHECKING:
    from jiyi.model.note import NotesContext
    from jiyi.notes.candidates import CandidateReport
    from jiyi.notes.entries import PlacedEntry
    from jiyi.notes.promotion import Accepted
    from jiyi.notes.proposals import Proposal
    from jiyi.notes.service import NotesService
    from jiyi.notes.workspace_import import Imported
    from jiyi.ports import Progress


class Notes:
    """The notes of one workspace: `MEMORY.md` and `memory/YYYY-MM-DD.md`, read and edited by people and agents.

    `kind` says which session asks. A `group` sees what lies in `memory/shared/` or says `visibility: group` in its
    front matter, and never `MEMORY.md`.
    """

    def __init__(
        self, run: Run, run_model: Run, service: Callable[[], Awaitable[NotesService]], *, off: bool = False
    ) -> None:
        """`run_model` is for what may wait for a model.

        `off` in simple mode: `service` raises then, and tools that could only fail are not offered either.
        """
        self._run = run
        self._run_model = run_model
        self._service = service
        self._off = off

    def __repr__(self) -> str:
        return "<Notes>"

    # --- the workspace ----------------------------------------------------------------------------------------------

    async def init_workspace(self, *, language: str = "en", context_files: bool = True) -> dict[str, list[str]]:
        """Make `memory/`, `MEMORY.md` and the context files where they are missing; returns `created` and `kept`."""
        return await self._run((await self._service()).init_workspace, language=language, context_files=context_files)

    async def import_workspace(self, path: str | Path) -> Imported:
        """Copy the notes of another directory into this workspace. Nothing is overwritten: both versions are kept."""
        from jiyi.notes.workspace_import import import_workspace

        return await self._run(import_workspace, await self._service(), path)

    # --- the three tools ----------------------------------------------------------------------------------------------

    async def memory_append(
        self,
        text: str,
        *,
        kind: str = "main",
        by: str = "agent",
        source: str = "",
        at: datetime | None = None,
    ) -> AppendedNote:
        """Write an entry into the note of its local day; in the file and on disk when this returns.

        `by` says how far its origin is trusted (`user`, `agent`, `tool`, `import`), `source` where it came from. What a
        group says goes to `memory/shared/`.
        """
        return await self._run((await self._service()).append, text, kind=kind, by=by, source=source, at=at)

    async def memory_search(
        self,
        query: str,
        limit: int = 10,
        *,
        kind: str = "main",
        path: str | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        mode: str = "hybrid",
        now: datetime | None = None,
    ) -> list[NoteHit]:
        """The pieces of notes that answer the question best, as the files are now.

        `path` names a note or a folder; `since` and `until` are days, both included.
        """
        return await self._run(
            (await self._service()).searcher.search,
            query,
            limit,
            kind=kind,
            path=path,
            since=since,
            until=until,
            mode=mode,
            now=now,
        )

    async def memory_get(
        self, path: str, from_line: int = 1, to_line: int | None = None, *, kind: str = "main"
    ) -> NoteText:
        """Lines of a note as they stand in the file, but for comments for programs; both ends included."""
        return await self._run((await self._service()).get, path, from_line, to_line, kind=kind)

    # --- prompts and tools --------------------------------------------------------------------------------------------

    async def build_context(
        self, kind: str = "main", *, now: datetime | None = None, max_tokens: int | None = None
    ) -> NotesContext:
        """What a session begins with: the context files, MEMORY.md (main only), the notes of yesterday and today.

        The settings limit each file; `max_tokens` limits all of them together.
        """
        from jiyi.notes.context import build_context

        limit = None if max_tokens is None else check_whole(max_tokens, "max_tokens", 0, 1 << 40)
        return await self._run(build_context, await self._service(), kind, now, limit)

    def tools(self) -> list[dict[str, Any]]:
        """The three tools as OpenAI-style function definitions."""
        from jiyi.tools import Toolbox, note_tools

        if self._off:
            raise SimpleModeError.notes()
        return Toolbox(note_tools(self)).openai()

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | str, *, kind: str = "main") -> dict[str, Any]:
        """Do what a model asked for; arguments as it gave them (a mapping or JSON). The result is ready for JSON.

        Whose notes and which session come from here, never from the arguments; unknown arguments are refused.
        """
        from jiyi.notes.visibility import check_kind
        from jiyi.tools import Toolbox, note_tools

        check_kind(kind)
        return await Toolbox(note_tools(self, kind)).call(name, arguments)

    # --- what the chat room found -------------------------------------------------------------------------------------

    async def set_session_kind(self, session_id: str, kind: str, *, scope: str | None = None) -> None:
        """Record the kind of a session. Candidates of a `group` go into the shared notes; all others are `main`.

        `scope` is the one of the conversation, if a group has a scope of its own.
        """
        own = None if scope is None else check_scope(scope)
        await self._run((await self._service()).session_kinds.set, session_id, kind, own)

    async def take_candidates(self, *, limit: int = 1_000) -> CandidateReport:
        """Write what compactions of the chats propose to keep into the daily notes, each once, and mark it as taken."""
        return await self._run((await self._service()).take_candidates, limit=limit)

    # --- long-term memory ---------------------------------------------------------------------------------------------

    async def promote(self, ids: str | Sequence[str], *, section: str | None = None, move: bool = False) -> Accepted:
        """Put entries of daily notes into a section of MEMORY.md; with `move` they leave the daily note.

        An entry is named by its id; what people wrote by hand by its place, e.g. `memory/2026-11-15.md:12`.
        """
        from jiyi.notes.promotion import promote

        return await self._run(promote, await self._service(), ids, section=section, move=move)

    async def curate(self, *, days: int = 7, now: datetime | None = None) -> Proposal:
        """Propose an edit of MEMORY.md from the notes of the last days, as a diff. Nothing is changed."""
        from jiyi.notes.curation import curate

        return await self._run_model(curate, await self._service(), days=days, now=now)

    async def proposals(self) -> list[Proposal]:
        """The proposals that wait to be accepted or rejected, oldest first."""
        return await self._run((await self._service()).proposals.all)

    async def accept(self, proposal: Proposal | str, *, items: Sequence[int] | None = None) -> Accepted:
        """Apply a proposal (or the one with this id), after a backup. Refused if MEMORY.md has changed since.

        With `items` only those with these numbers; the others wait on.
        """
        from jiyi.notes.curation import accept

        return await self._run(accept, await self._service(), proposal, items=items)

    async def reject(self, proposal: Proposal | str, *, items: Sequence[int] | None = None) -> tuple[str, ...]:
        """Drop a proposal, or some of its items. Their texts are returned, and not proposed again."""
        from jiyi.notes.curation import reject

        return await self._run(reject, await self._service(), proposal, items=items)

    # --- following the files ------------------------------------------------------------------------------------------

    async def scan(self) -> ScanReport:
        """Look for what has changed in the files and take it in. Every search does this by itself."""
        return await self._run((await self._service()).scan)

    async def reindex(self, *, progress: Progress | None = None) -> ScanReport:
        """Read every file again, whatever its times say. Pieces that are the same stay."""
        return await self._run((await self._service()).scan, whole=True, progress=progress)

    async def list_files(self) -> list[NoteFile]:
        """Every note file that is known, with what is wrong with it, if anything."""
        await self._run((await self._service()).scan)
        files = await self._run((await self._service()).note_files)
        return [files[path] for path in sorted(files)]

    async def entries_of_day(self, day: date | None = None, *, kind: str = "main") -> tuple[str, list[PlacedEntry]]:
        """The path of a daily note (today's, if no day is named) and what is in it, in order.

        Entries, and what people wrote by hand (`by_hand`): list items, paragraphs and headings.
        """
        return await self._run((await self._service()).entries_of_day, day, kind=kind)

    async def attribution(
        self, path: str, from_line: int = 1, to_line: int | None = None, *, kind: str = "main"
    ) -> list[LineAttribution]:
        """Who wrote which lines of a note, in order: an agent, an accepted proposal, or a person by hand.

        Empty lines, front matter and the title of a day have no author. An entry that a person edits later keeps its
        author; an edited item of `MEMORY.md` counts as written by hand.
        """
        from jiyi.notes.attribution import attribution

        return await self._run(attribution, await self._service(), path, from_line, to_line, kind=kind)

    async def watch(self, report: Callable[[ScanReport], None] | None = None) -> None:
        """Follow the files in the background until `unwatch` or the end; `report` is called after each change."""
        from jiyi.notes.watch import start

        await self._run(start, await self._service(), report)

    async def unwatch(self) -> None:
        """Stop following the files in the background."""
        from jiyi.notes.watch import stop

        await self._run(stop, await self._service())
