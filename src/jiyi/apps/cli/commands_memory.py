"""Commands that store, find and show memories."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from jiyi.apps.cli import views
from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command
from jiyi.apps.cli.lookup import by_key_or_id, forget_by_key_or_id, versions_by_key_or_id
from jiyi.apps.cli.options import (
    MODES_WITHOUT_EMBEDDER,
    EraseOption,
    ExplainOption,
    LimitOption,
    MetadataOption,
    MinRelevanceOption,
    QueryArgument,
    WhereOption,
    content_or_input,
    json_object,
)
from jiyi.apps.cli.output import is_terminal
from jiyi.apps.cli.renderables import text
from jiyi.apps.cli.sanitize import visible
from jiyi.apps.cli.session import Session
from jiyi.apps.cli.times import end_time, start_time
from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.model.scope import PUBLIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jiyi.config import Settings
    from jiyi.memory import AgentMemory
    from jiyi.model.entry import EntryVersion, MemoryEntry
    from jiyi.model.recalled import RecalledEntries

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="The name of the memory in its scope.")]
KeyOrIdArgument = Annotated[str, typer.Argument(metavar="KEY", help="A key, or the beginning of an id.")]
CategoryFilter = Annotated[
    list[str] | None,
    typer.Option("--category", "-c", metavar="WORD", help="Only this category; may be repeated."),
]
FullOption = Annotated[bool, typer.Option("--full", help="Show long contents whole.")]


@command(
    "store",
    examples=[
        "jiyi store pet 我家的猫叫年糕",
        "jiyi store standup 'Stand-up moved to 9:30' --category daily --tag work --tag meeting",
        "jiyi store allergy 'no peanuts' --importance 0.9 --scope alice",
    ],
)
def store(
    session: Session,
    *,
    key: KeyArgument,
    content: Annotated[
        str, typer.Argument(metavar="CONTENT", help="The text to remember; '-' reads it from standard input.")
    ],
    category: Annotated[
        str | None,
        typer.Option(
            "--category", "-c", metavar="WORD", help="core (for a new key), daily, conversation, or your own."
        ),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="A tag; may be repeated.")] = None,
    importance: Annotated[
        float | None,
        typer.Option("--importance", metavar="0..1", help="How much it matters.", show_default=False),
    ] = None,
    occurred_at: Annotated[
        str | None,
        typer.Option("--occurred-at", metavar="TIME", help="When it happened, if not now.", show_default=False),
    ] = None,
    metadata: MetadataOption = None,
) -> Code:
    """Remember CONTENT under KEY. A key that exists gets a new version, and keeps what is not given."""
    body = content_or_input(content)
    own = json_object(metadata, "--metadata")

    async def action(memory: AgentMemory) -> MemoryEntry:
        happened = None
        if occurred_at is not None:
            happened = start_time(occurred_at, "--occurred-at", memory.settings.zone)
        return await memory.store(
            key, body, category, tags=tag or None, importance=importance, occurred_at=happened, metadata=own
        )

    entry = session.run_without_embedder(action)
    what = "stored" if entry.version == 1 else f"stored version {entry.version} of"
    session.output.result(
        entry.to_dict(), lambda: [text(f"{what} {visible(entry.key or '')} in scope {visible(entry.scope)}", "good")]
    )
    return Code.OK


@command(
    "recall",
    needs_memory=True,
    examples=[
        "jiyi recall 猫叫什么名字",
        "jiyi recall 'when is the stand-up' --explain",
        "jiyi recall 年糕 --mode keyword --limit 3 --json",
        "jiyi recall meeting --category daily --tag work --since 2020-01-01",
    ],
)
def recall(
    session: Session,
    *,
    query: QueryArgument,
    limit: LimitOption = 10,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            "-m",
            metavar="MODE",
            help="hybrid (words and meaning), keyword (words only, starts fastest), semantic (meaning only), or tags.",
        ),
    ] = "hybrid",
    category: CategoryFilter = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", metavar="TAG", help="Only with this tag; repeated: with all of them."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Not before this day or time.", show_default=False),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            help="Before this time; a day alone counts as a whole.",
            show_default=False,
        ),
    ] = None,
    memory_type: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="WORD", help="Only this memory type, e.g. fact or message; may be repeated."),
    ] = None,
    context: Annotated[int, typer.Option("--context", metavar="N", help="Show N messages before and after a hit.")] = 0,
    min_relevance: MinRelevanceOption = MIN_RELEVANCE,
    where: WhereOption = None,
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="Also show memories that say what a better one says.")
    ] = False,
    explain: ExplainOption = False,
    full: FullOption = False,
) -> Code:
    """Find the memories that answer QUERY best, best first. Exit code 1 when nothing fits."""

    async def action(memory: AgentMemory) -> tuple[RecalledEntries, int, Settings]:
        zone = memory.settings.zone
        found = await memory.recall(
            query,
            limit,
            mode=mode,
            category=category or None,
            memory_types=memory_type or None,
            tags=tag or None,
            context=context,
            min_relevance=min_relevance,
            duplicates=duplicates,
            where=json_object(where, "--where"),
            highlights=explain or (not session.output.json and is_terminal(sys.stdout)),
            since=start_time(since, "--since", zone) if since is not None else None,
            until=end_time(until, "--until", zone) if until is not None else None,
        )
        return found, 0 if found else await memory.count(), memory.settings

    run = session.run_without_embedder if mode in MODES_WITHOUT_EMBEDDER else session.run
    found, among, settings = run(action)
    data = {
        "query": query,
        "mode": mode,
        "scope": settings.scope,
        "notes": list(found.notes),
        "hits": [hit.to_dict() for hit in found],
    }
    notes = views.notes_of_answer(found.notes)
    if not found:
        said = views.nothing_fits(among, settings, can_be_lowered=min_relevance > 0 and mode != "tags")
        session.output.result(data, lambda: [*notes, said])
        return Code.NOTHING
    draw = views.explained if explain else views.hits
    session.output.result(data, lambda: [*notes, *draw(found, settings.zone, full=full)])
    return Code.OK


@command(
    "update",
    needs_memory=True,
    examples=[
        "jiyi update standup --content 'Stand-up moved to 10:00'",
        "jiyi update standup --category core --tag work --clear expires_at",
    ],
)
def update(
    session: Session,
    *,
    key: KeyOrIdArgument,
    content: Annotated[
        str | None,
        typer.Option("--content", metavar="TEXT", help="The new text; '-' reads it from standard input."),
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", "-c", metavar="WORD", help="core, daily, conversation, or your own.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="In place of all its tags; may be repeated.")
    ] = None,
    importance: Annotated[
        float | None, typer.Option("--importance", metavar="0..1", help="How much it matters.", show_default=False)
    ] = None,
    metadata: MetadataOption = None,
    expires_at: Annotated[
        str | None,
        typer.Option("--expires-at", metavar="TIME", help="From then on it is in no answer.", show_default=False),
    ] = None,
    clear: Annotated[
        list[str] | None,
        typer.Option("--clear", metavar="FIELD", help="Empty this field, e.g. tags or expires_at; may be repeated."),
    ] = None,
) -> Code:
    """Change a memory: what is given is replaced, the rest stays. Exit code 1 when there is none."""
    body = None if content is None else content_or_input(content)
    own = json_object(metadata, "--metadata")

    async def action(memory: AgentMemory) -> MemoryEntry | None:
        entry = await by_key_or_id(memory, key)
        if entry is None:
            return None
        ends = None if expires_at is None else start_time(expires_at, "--expires-at", memory.settings.zone)
        return await memory.update(
            entry.id,
            content=body,
            category=category,
            tags=tag or None,
            importance=importance,
            metadata=own,
            expires_at=ends,
            clear=clear or (),
        )

    entry = session.run_without_embedder(action)
    if entry is None:
        session.output.result({"entry": None}, lambda: [text(f"there is no memory {visible(key)}", "warn")])
        return Code.NOTHING
    said = f"stored version {entry.version} of {visible(entry.key or entry.id[:13])} in scope {visible(entry.scope)}"
    session.output.result(entry.to_dict(), lambda: [text(said, "good")])
    return Code.OK


@command("forget", needs_memory=True, examples=["jiyi forget standup", "jiyi forget pet --erase"])
def forget(
    session: Session,
    key: KeyOrIdArgument,
    erase: EraseOption = False,
) -> Code:
    """Take a memory out of recall; its history stays readable unless erased. Exit code 1 when there is none."""

    async def action(memory: AgentMemory) -> bool:
        return bool(await forget_by_key_or_id(memory, key, erase=erase))

    gone = session.run_without_embedder(action)
    shown = visible(key)
    done = "erased" if erase else "forgot"
    said = text(f"{done} {shown}", "good") if gone else text(f"there is no memory {shown} in this scope", "warn")
    session.output.result({"key": key, "forgotten": gone, "erased": gone and erase}, lambda: [said])
    return Code.OK if gone else Code.NOTHING


@command("count", needs_memory=True, examples=["jiyi count", "jiyi count --category daily --json"])
def count(session: Session, category: CategoryFilter = None, where: WhereOption = None) -> Code:
    """Say how many memories the scope sees, and which were counted."""
    condition = json_object(where, "--where")

    async def action(memory: AgentMemory) -> tuple[int, str]:
        return await memory.count(category=category or None, where=condition), memory.settings.scope

    number, scope = session.run_without_embedder(action)
    whose = f"of scope {visible(scope)}" + ("" if scope == PUBLIC else f" and of {PUBLIC}")
    kinds = f" in the category {' or '.join(map(visible, category))}" if category else ""
    kinds += f" where {visible(str(where))}" if condition else ""
    counted = f"memories {whose}{kinds}, without the messages of conversations"
    session.output.result({"count": number, "scope": scope, "counted": counted}, lambda: [text(f"{number} {counted}")])
    return Code.OK


@command("list", needs_memory=True, examples=["jiyi list", "jiyi list --category daily --limit 5 --full"])
def list_(
    session: Session,
    category: CategoryFilter = None,
    limit: LimitOption = 20,
    offset: Annotated[int, typer.Option("--offset", metavar="N", help="How many to skip.")] = 0,
    where: WhereOption = None,
    full: FullOption = False,
) -> Code:
    """Show the memories the scope sees, newest first."""
    condition = json_object(where, "--where")

    async def action(memory: AgentMemory) -> tuple[Sequence[MemoryEntry], int, Settings]:
        page = await memory.list(category=category or None, where=condition, limit=limit, offset=offset)
        return page, await memory.count(category=category or None, where=condition), memory.settings

    page, total, settings = session.run_without_embedder(action)
    data = {"entries": [entry.to_dict() for entry in page], "total": total, "offset": offset}
    whose = f"of scope {visible(settings.scope)} in {settings.place}"
    whose += " that meet these conditions" if category or condition else ""
    session.output.result(
        data, lambda: views.entries(page, settings.zone, whose=whose, total=total, offset=offset, full=full)
    )
    return Code.OK


@command("history", needs_memory=True, examples=["jiyi history pet", "jiyi history standup --json"])
def history(session: Session, key: KeyOrIdArgument) -> Code:
    """Show every version of a memory: what changed, when, by whom. Exit code 1 when there never was one."""

    async def action(memory: AgentMemory) -> tuple[Sequence[EntryVersion], Settings]:
        return await versions_by_key_or_id(memory, key), memory.settings

    found, settings = session.run_without_embedder(action)
    data = {"key": key, "versions": [version.to_dict() for version in found]}
    if not found:
        said = f"there never was a memory {visible(key)}"
        session.output.result(data, lambda: [text(said, "warn")])
        return Code.NOTHING
    session.output.result(data, lambda: views.versions(found, settings.zone))
    return Code.OK
