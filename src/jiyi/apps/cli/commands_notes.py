"""`jiyi notes …`: the workspace of Markdown notes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jiyi.apps.cli import views_notes
from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command, group
from jiyi.apps.cli.options import MODES_WITHOUT_EMBEDDER, ExplainOption, LimitOption, QueryArgument, content_or_input
from jiyi.apps.cli.progress import progress
from jiyi.apps.cli.renderables import text
from jiyi.apps.cli.sanitize import visible
from jiyi.apps.cli.session import Session
from jiyi.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jiyi.memory import AgentMemory
    from jiyi.model.note import LineAttribution, NoteText, ScanReport
    from jiyi.notes.entries import PlacedEntry

notes = group("notes", "Notes in Markdown files: append, search, read and curate them; people edit them as they like.")

WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        "-w",
        metavar="PATH",
        help="The workspace. Not given: the setting workspace (JIYI_WORKSPACE).",
        show_default=False,
    ),
]
GroupOption = Annotated[bool, typer.Option("--group", help="As a group session: shared notes only, never MEMORY.md.")]


def _settings(session: Session, workspace: Path | None) -> dict[str, Any]:
    """The workspace that was named; else the one of the settings; else this directory if `init` was run here."""
    chosen = workspace or _workspace_here(session)
    return {} if chosen is None else {"workspace": chosen}


def _workspace_here(session: Session) -> Path | None:
    from jiyi.config import load_settings

    if load_settings(session.options.data, config=session.options.config).workspace is not None:
        return None
    here = Path.cwd()
    return here if (here / "MEMORY.md").is_file() and (here / "memory").is_dir() else None


def _kind(group: bool) -> str:
    return "group" if group else "main"


def _with_words(session: Session, action: Callable[[AgentMemory], Awaitable[Any]], workspace: Path | None) -> Any:
    """Run what needs no meaning: the embedder is not loaded."""
    return session.run(action, embedder="none", **_settings(session, workspace))


@command("init", into=notes, examples=["jiyi notes init", "jiyi notes init ./my-notes --language zh"])
def init(
    session: Session,
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]",
            help="The workspace. Not given: the setting workspace, or else this directory.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", "-l", metavar="en|zh", help="Of the templates.", show_default=False)
    ] = None,
    context_files: Annotated[
        bool, typer.Option("--context-files/--no-context-files", help="Also AGENTS, SOUL, IDENTITY, USER, TOOLS.")
    ] = True,
) -> Code:
    """Make memory/, MEMORY.md and the context files of a workspace. What exists is never touched."""
    from jiyi.config.machine_language import machine_language

    chosen = path
    if chosen is None:
        from jiyi.config import load_settings

        chosen = load_settings(session.options.data, config=session.options.config).workspace or Path.cwd()
    words = language or machine_language()
    done = _with_words(
        session, lambda memory: memory.notes.init_workspace(language=words, context_files=context_files), chosen
    )
    root = chosen.expanduser().absolute()
    data = {"workspace": str(root), **done}
    session.output.result(data, lambda: views_notes.made(root, done))
    return Code.OK


@command(
    "append",
    into=notes,
    examples=[
        "jiyi notes append '杭州的会议改到周三下午'",
        "jiyi notes append 'Prefers green tea' --source 'told on the phone'",
    ],
)
def append(
    session: Session,
    content: Annotated[
        str, typer.Argument(metavar="TEXT", help="What to write down; '-' reads it from standard input.")
    ],
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="user, agent, tool or import.")] = "user",
    source: Annotated[str, typer.Option("--source", metavar="TEXT", help="Where it came from.")] = "",
    group: GroupOption = False,
    workspace: WorkspaceOption = None,
) -> Code:
    """Write TEXT into the note of today; it is on disk when this returns."""
    body = content_or_input(content)
    done = _with_words(
        session, lambda memory: memory.notes.memory_append(body, by=by, source=source, kind=_kind(group)), workspace
    )
    session.output.result(done.to_dict(), lambda: [text(f"written to {visible(done.path)} as {done.id}", "good")])
    return Code.OK


@command(
    "search",
    into=notes,
    examples=[
        "jiyi notes search 杭州的会议是什么时候",
        "jiyi notes search 'which tea' --mode keyword --limit 3 --explain",
        "jiyi notes search tea --path memory --since 2020-01-01 --json",
    ],
)
def search(
    session: Session,
    query: QueryArgument,
    limit: LimitOption = 10,
    path: Annotated[
        str | None, typer.Option("--path", metavar="PATH", help="Only this note or folder.", show_default=False)
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DAY", help="Not before this day.", show_default=False)
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DAY", help="Not after this day.", show_default=False)
    ] = None,
    mode: Annotated[str, typer.Option("--mode", "-m", metavar="MODE", help="hybrid, keyword or semantic.")] = "hybrid",
    explain: ExplainOption = False,
    group: GroupOption = False,
    workspace: WorkspaceOption = None,
) -> Code:
    """Find the pieces of notes that answer QUERY best, with path and lines. Exit code 1 when there is none."""
    wanted = _settings(session, workspace) | ({"embedder": "none"} if mode in MODES_WITHOUT_EMBEDDER else {})
    hits = session.run(
        lambda memory: memory.notes.memory_search(
            query, limit, path=path, since=since, until=until, mode=mode, kind=_kind(group)
        ),
        **wanted,
    )
    data = {"query": query, "mode": mode, "hits": [hit.to_dict() for hit in hits]}
    if not hits:
        session.output.result(data, lambda: [text("nothing found in the notes", "dim")])
        return Code.NOTHING
    session.output.result(data, lambda: views_notes.hits(hits, explain=explain))
    return Code.OK


@command("get", into=notes, examples=["jiyi notes get MEMORY.md --from 1 --to 5", "jiyi notes get MEMORY.md --authors"])
def get(
    session: Session,
    path: Annotated[str, typer.Argument(metavar="PATH", help="A note, as search shows it.")],
    from_line: Annotated[int, typer.Option("--from", metavar="N", help="The first line.")] = 1,
    to_line: Annotated[
        int | None, typer.Option("--to", metavar="N", help="The last line, included.", show_default=False)
    ] = None,
    authors: Annotated[bool, typer.Option("--authors", help="Say who wrote which line.")] = False,
    group: GroupOption = False,
    workspace: WorkspaceOption = None,
) -> Code:
    """Show lines of a note exactly as they stand in the file."""

    async def action(memory: AgentMemory) -> tuple[NoteText, list[LineAttribution]]:
        note = await memory.notes.memory_get(path, from_line, to_line, kind=_kind(group))
        if not authors:
            return note, []
        return note, await memory.notes.attribution(path, from_line, to_line, kind=_kind(group))

    found, wrote = _with_words(session, action, workspace)
    if authors:
        data = {**found.to_dict(), "authors": [each.to_dict() for each in wrote]}
        session.output.result(data, lambda: views_notes.authors(found, wrote))
    else:
        session.output.result(found.to_dict(), lambda: [text(visible(found.text.removesuffix("\n")))])
    return Code.OK


@command("today", into=notes, examples=["jiyi notes today", "jiyi notes today --json"])
def today(session: Session, workspace: WorkspaceOption = None) -> Code:
    """Show what is in today's note, entries with their ids and what was written by hand. Exit code 1 when empty."""

    async def action(memory: AgentMemory) -> tuple[str, list[PlacedEntry]]:
        return await memory.notes.entries_of_day()

    path, found = _with_words(session, action, workspace)
    data = {"path": path, "entries": [views_notes.entry_data(placed) for placed in found]}
    if not found:
        session.output.result(data, lambda: [text(f"there is nothing in {visible(path)}", "dim")])
        return Code.NOTHING
    session.output.result(data, lambda: views_notes.entries(path, found))
    return Code.OK


@command("take", into=notes, examples=["jiyi notes take"])
def take(session: Session, workspace: WorkspaceOption = None) -> Code:
    """Write what chats propose to keep into the daily notes, each once."""
    done = _with_words(session, lambda memory: memory.notes.take_candidates(), workspace)
    session.output.result(done.to_dict(), lambda: views_notes.taken(done))
    return Code.OK


@command("reindex", into=notes, examples=["jiyi notes reindex"])
def reindex(session: Session, workspace: WorkspaceOption = None) -> Code:
    """Read every note again and bring the indexes up to date; pieces that are the same are not indexed again."""

    async def action(memory: AgentMemory) -> ScanReport:
        with progress(session.output, "reading notes") as show:
            report = await memory.notes.reindex(progress=show)
        with progress(session.output, "indexing") as show:
            await memory.drain(progress=show)
        return report

    report: ScanReport = session.run(action, **_settings(session, workspace))
    session.output.result(report.to_dict(), lambda: views_notes.scanned(report))
    return Code.OK


@command("watch", into=notes, examples=["jiyi notes watch --seconds 0.2"])
def watch(
    session: Session,
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar="N", help="Stop after so long.", show_default=False)
    ] = None,
    workspace: WorkspaceOption = None,
) -> Code:
    """Follow the files and index what changes, until Ctrl-C."""
    import asyncio

    output = session.output
    guard = threading.Lock()

    def show(report: ScanReport) -> None:
        with guard:
            output.result(report.to_dict(), lambda: views_notes.scanned(report))

    async def action(memory: AgentMemory) -> None:
        await memory.notes.watch(show)
        output.note("watching the notes; Ctrl-C ends it")
        rest = seconds
        while rest is None or rest > 0:
            pause = 0.5 if rest is None else min(rest, 0.5)
            await asyncio.sleep(pause)
            await memory.drain()
            rest = None if rest is None else rest - pause

    session.run(action, **_settings(session, workspace))
    return Code.OK


@command(
    "promote",
    into=notes,
    examples=["jiyi notes promote --last --section Preferences"],
)
def promote(
    session: Session,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...", help="Entries by id, or lines by place (memory/2026-11-15.md:12), as today shows them."
        ),
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="The last entry of today.")] = False,
    section: Annotated[
        str | None, typer.Option("--section", metavar="TITLE", help="The heading in MEMORY.md.", show_default=False)
    ] = None,
    move: Annotated[bool, typer.Option("--move", help="Take them out of the daily note.")] = False,
    workspace: WorkspaceOption = None,
) -> Code:
    """Put entries of daily notes into a section of MEMORY.md, after a backup."""

    async def action(memory: AgentMemory) -> Any:
        wanted = list(ids or ())
        if last:
            _, found = await memory.notes.entries_of_day()
            wanted += [found[-1].entry.id] if found else []
        if not wanted:
            raise InvalidInputError("name an entry by its id, or the last one of today with --last")
        return await memory.notes.promote(wanted, section=section, move=move)

    done = _with_words(session, action, workspace)
    session.output.result(done.to_dict(), lambda: views_notes.accepted(done))
    return Code.OK


@command("curate", into=notes, examples=["jiyi notes curate", "jiyi notes curate --days 30 --apply"])
def curate(
    session: Session,
    days: Annotated[int, typer.Option("--days", metavar="N", help="Notes of the last N days.")] = 7,
    apply: Annotated[bool, typer.Option("--apply", help="Accept the proposal at once.")] = False,
    accept: Annotated[
        str | None, typer.Option("--accept", metavar="ID", help="Accept a proposal made before.", show_default=False)
    ] = None,
    reject: Annotated[
        str | None,
        typer.Option("--reject", metavar="ID", help="Reject a proposal; it is not made again.", show_default=False),
    ] = None,
    items: Annotated[
        str | None,
        typer.Option("--items", metavar="1,3", help="Only these items of the proposal.", show_default=False),
    ] = None,
    workspace: WorkspaceOption = None,
) -> Code:
    """Propose an edit of MEMORY.md from recent notes, as a diff; it is applied only when accepted, after a backup."""
    numbers = _numbers(items)
    if accept is not None and reject is not None:
        raise InvalidInputError("accept one proposal or reject one, not both")
    if numbers is not None and accept is None and reject is None:
        raise InvalidInputError("--items needs the proposal: --accept ID or --reject ID")

    async def action(memory: AgentMemory) -> tuple[Any, Any]:
        if accept is not None:
            return None, await memory.notes.accept(accept, items=numbers)
        if reject is not None:
            return None, await memory.notes.reject(reject, items=numbers)
        proposal = await memory.notes.curate(days=days)
        return proposal, await memory.notes.accept(proposal) if apply else None

    proposal, done = _with_words(session, action, workspace)
    if reject is not None:
        session.output.result({"rejected": list(done)}, lambda: [text(f"{len(done)} items rejected", "good")])
        return Code.OK
    data = {
        "proposal": None if proposal is None else proposal.to_dict(),
        "accepted": None if done is None else done.to_dict(),
    }
    session.output.result(data, lambda: views_notes.curated(proposal, done))
    return Code.OK


def _numbers(items: str | None) -> list[int] | None:
    if items is None:
        return None
    try:
        return [int(number) for number in items.replace(",", " ").split()]
    except ValueError:
        raise InvalidInputError(f"--items {items!r} must be numbers such as 1,3") from None


@command("import", into=notes, examples=["jiyi notes import ./my-notes"])
def import_(
    session: Session,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A directory with MEMORY.md or memory/.")],
    workspace: WorkspaceOption = None,
) -> Code:
    """Copy the notes of another directory into the workspace. Nothing is overwritten: both versions are kept."""
    done = _with_words(session, lambda memory: memory.notes.import_workspace(path), workspace)
    session.output.result(done.to_dict(), lambda: views_notes.imported(done))
    return Code.OK
