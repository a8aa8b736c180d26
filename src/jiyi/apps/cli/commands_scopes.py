"""Commands that show scopes, sessions and single memories."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command
from jiyi.apps.cli.lookup import by_key_or_id
from jiyi.apps.cli.options import LimitOption
from jiyi.apps.cli.output import is_terminal
from jiyi.apps.cli.renderables import Block, Column, Table, text
from jiyi.apps.cli.sanitize import visible
from jiyi.apps.cli.session import Session
from jiyi.apps.cli.times import local_time
from jiyi.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from jiyi.config import Settings
    from jiyi.memory import AgentMemory
    from jiyi.model.change import MemoryChange
    from jiyi.model.entry import MemoryEntry
    from jiyi.model.scope_report import ScopeInfo, ScopeReceipt


@command("scopes", needs_memory=True, examples=["jiyi scopes", "jiyi scopes --json"])
def scopes(session: Session) -> Code:
    """Show every scope with what it holds and when it was last changed."""

    async def action(memory: AgentMemory) -> tuple[Sequence[ScopeInfo], Settings]:
        return await memory.scopes(), memory.settings

    found, settings = session.run_without_embedder(action)
    data = {"scopes": [info.to_dict() for info in found]}
    session.output.result(data, lambda: _scopes(found, settings.zone))
    return Code.OK


@command("sessions", needs_memory=True, examples=["jiyi sessions", "jiyi sessions --scope alice"])
def sessions(session: Session) -> Code:
    """Show the conversations of the scope, the one last written to first."""

    async def action(memory: AgentMemory) -> tuple[list[tuple[str, int]], str]:
        ids = await memory.list_sessions()
        counted = [(each, len(await memory.load_conversation_history(each))) for each in ids]
        return counted, memory.settings.scope

    found, scope = session.run_without_embedder(action)
    data = {"scope": scope, "sessions": [{"session_id": each, "messages": count} for each, count in found]}

    def draw() -> list[Block]:
        if not found:
            return [text(f"there are no conversations in scope {visible(scope)}", "dim")]
        rows = tuple((text(visible(each), "key"), text(f"{count:,}")) for each, count in found)
        return [Table((Column("session", "wide"), Column("messages", "number")), rows)]

    session.output.result(data, draw)
    return Code.OK


@command(
    "changes",
    needs_memory=True,
    examples=["jiyi changes", "jiyi changes --after 120 --json", "jiyi changes --scope alice"],
)
def changes(
    session: Session,
    after: Annotated[int, typer.Option("--after", metavar="POSITION", help="Only what follows this position.")] = 0,
    limit: LimitOption = 100,
) -> Code:
    """Show what was created, updated, forgotten and restored, in order. With --scope, only in that scope."""

    async def action(memory: AgentMemory) -> tuple[Sequence[MemoryChange], Settings]:
        return await memory.changes(after=after, scopes=session.options.scope, limit=limit), memory.settings

    found, settings = session.run_without_embedder(action)
    data = {"changes": [change.to_dict() for change in found], "after": found[-1].position if found else after}
    session.output.result(data, lambda: _changes(found, settings.zone))
    return Code.OK


@command("show", needs_memory=True, examples=["jiyi show pet", "jiyi show pet --json"])
def show(
    session: Session,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A key, or the beginning of an id.")],
) -> Code:
    """Show one memory with all its fields. Exit code 1 when there is none."""

    async def action(memory: AgentMemory) -> MemoryEntry | None:
        return await by_key_or_id(memory, key)

    entry = session.run_without_embedder(action)
    if entry is None:
        session.output.result({"entry": None}, lambda: [text(f"there is no memory {visible(key)}", "warn")])
        return Code.NOTHING
    data = entry.to_dict()
    rows = tuple(
        (text(name, "key"), text(visible(_shown(value)))) for name, value in data.items() if value or value == 0
    )
    session.output.result({"entry": data}, lambda: [Table((Column("field"), Column("value", "wide")), rows)])
    return Code.OK


@command(
    "forget-scope", needs_memory=True, examples=["jiyi forget-scope alice", "jiyi forget-scope alice --yes --json"]
)
def forget_scope(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The scope to remove.")],
    keep_history: Annotated[
        bool, typer.Option("--keep-history", help="Only take its memories out of recall; nothing is erased.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> Code:
    """Erase everything of a scope in every room and index, and show a receipt. It cannot be undone.

    Exit code 1 when there is nothing of it.
    """
    if not yes and not keep_history:
        _confirm(session, name)

    async def action(memory: AgentMemory) -> ScopeReceipt:
        return await memory.forget_scope(name, erase=not keep_history)

    # With the embedder: the vector index is to drop the entries as well.
    receipt = session.run(action)
    session.output.result(receipt.to_dict(), lambda: _receipt(receipt))
    if not receipt.found:
        return Code.NOTHING
    return Code.OK if receipt.complete or keep_history else Code.STORAGE


def _confirm(session: Session, name: str) -> None:
    """Ask for the name of the scope: what is erased does not come back."""
    if session.output.json or not is_terminal(sys.stdin):
        raise InvalidInputError(f"everything of scope {visible(name)} would be erased; add --yes to do it unasked")
    typed = typer.prompt(f"Everything of scope {visible(name)} will be erased, for good. Type its name", default="")
    if typed != name:
        raise InvalidInputError(f"the name was not typed, and nothing of scope {visible(name)} was erased")


def _receipt(receipt: ScopeReceipt) -> list[Block]:
    if not receipt.found:
        return [text(f"there is nothing of scope {visible(receipt.scope)}; 'jiyi scopes' lists the names", "warn")]
    done = "erased" if receipt.erased else "took out of recall"
    blocks: list[Block] = [text(f"{done} scope {visible(receipt.scope)}", "good")]
    for counts, title in ((receipt.removed, "removed"), (receipt.remaining, "written meanwhile and left")):
        if counts:
            rows = tuple((text(name, "key"), text(f"{count:,}")) for name, count in sorted(counts.items()))
            blocks.append(Table((Column(title, "wide"), Column("count", "number")), rows))
    if receipt.note_workspaces:
        blocks.append(text(f"notes are files of yours, not deleted: {', '.join(receipt.note_workspaces)}", "warn"))
        blocks += [text(visible(file)) for file in receipt.note_files]
    if receipt.erased:
        blocks.append(text("old index files may hold its words: 'jiyi rebuild' replaces them", "dim"))
    return blocks


def _changes(found: Sequence[MemoryChange], zone: tzinfo) -> list[Block]:
    if not found:
        return [text("no changes", "dim")]
    rows = tuple(
        (
            text(str(change.position)),
            text(change.operation),
            text(visible(change.key or "—"), "key"),
            text(visible(change.scope)),
            text(visible(change.changed_by)),
            text(local_time(change.changed_at, zone), "dim"),
            text(change.entry_id, "dim"),
        )
        for change in found
    )
    columns = (Column("position", "number"), *map(Column, ("what", "key", "scope", "by", "when", "id")))
    return [Table(columns, rows)]


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _scopes(found: Sequence[ScopeInfo], zone: tzinfo) -> list[Block]:
    if not found:
        return [text("nothing is stored here", "dim")]
    numbers = ("entries", "messages", "sessions", "jobs")
    rows = tuple(
        (
            text(visible(info.scope), "key"),
            *(text(f"{getattr(info, name):,}") for name in numbers),
            text("—" if info.last_change is None else local_time(info.last_change, zone), "dim"),
        )
        for info in found
    )
    return [
        Table((Column("scope", "wide"), *(Column(name, "number") for name in numbers), Column("last change")), rows)
    ]
