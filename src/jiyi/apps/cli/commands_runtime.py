"""`jiyi runtime`: judgments found by their tags, feedback on them, and their upkeep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jiyi.apps.cli import views
from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command, group
from jiyi.apps.cli.options import EraseOption, LimitOption, MinRelevanceOption
from jiyi.apps.cli.renderables import text
from jiyi.apps.cli.session import Session
from jiyi.errors import InvalidInputError
from jiyi.model.relevance import MIN_RELEVANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jiyi.config import Settings
    from jiyi.memory import AgentMemory
    from jiyi.model.entry import EntryVersion
    from jiyi.runtime import BaseMemory, ConsolidationReport, FeedbackResult
    from jiyi.runtime.values import RecalledMemories

runtime = group("runtime", "Judgments found by their tags: remember, recall, feedback, consolidate, tags.")

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of a memory, as recall shows it.")]

_FEEDBACK = ("useful_memory_ids", "recalled_memory_ids", "new_memories", "merge_groups")


@command(
    "remember",
    into=runtime,
    examples=[
        "jiyi runtime remember 小明爱吃火锅 --tag 小明 --tag 火锅",
        "jiyi runtime remember 'The budget review is on Friday' --type event --tag budget --reasoning 'said by Ann'",
    ],
)
def remember(
    session: Session,
    *,
    judgment: Annotated[str, typer.Argument(metavar="JUDGMENT", help="What is to be remembered.")],
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", metavar="TAG", help="A word by which it is found; may be repeated."),
    ] = None,
    memory_type: Annotated[
        str, typer.Option("--type", metavar="WORD", help="What kind of memory: fact, event, preference, ...")
    ] = "fact",
    reasoning: Annotated[
        str, typer.Option("--reasoning", "-r", metavar="TEXT", help="Why it is believed.", show_default=False)
    ] = "",
    strength: Annotated[int, typer.Option("--strength", metavar="N", help="How strong it is to begin with.")] = 1,
) -> Code:
    """Remember a JUDGMENT with its tags."""

    async def action(memory: AgentMemory) -> tuple[str, str]:
        made = await memory.runtime.remember(memory_type, judgment, reasoning, tag or (), strength=strength)
        return made, memory.runtime.name

    memory_id, name = session.run_without_embedder(action)
    session.output.result(
        {"memory_id": memory_id, "runtime": name}, lambda: [text(f"remembered as {memory_id}", "good")]
    )
    return Code.OK


@command(
    "recall",
    needs_memory=True,
    into=runtime,
    examples=[
        "jiyi runtime recall 小明说晚上去吃火锅",
        "jiyi runtime recall 火锅 --chained --limit 5",
        "jiyi runtime recall 小明 --comprehensive --json",
    ],
)
def recall(
    session: Session,
    *,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or the chat so far; any text at all.")],
    limit: LimitOption = 10,
    chained: Annotated[
        bool, typer.Option("--chained", help="Follow the first hits one step further, and say by which link.")
    ] = False,
    comprehensive: Annotated[bool, typer.Option("--comprehensive", help="A fair share for every memory type.")] = False,
    min_relevance: MinRelevanceOption = MIN_RELEVANCE,
) -> Code:
    """Find the memories that QUERY speaks of, best first. Exit code 1 when nothing fits."""
    if chained and comprehensive:
        raise InvalidInputError("--chained and --comprehensive are two different ways to ask; choose one")

    async def action(memory: AgentMemory) -> tuple[RecalledMemories, str, int, Settings]:
        room = memory.runtime
        ask = room.chained_recall if chained else room.comprehensive_recall if comprehensive else room.recall
        # Looking at memories is no use of them: it must not change what fades.
        found = await ask(query, limit, min_relevance=min_relevance, touch=False)
        return found, room.name, 0 if found else await memory.count(), memory.settings

    found, name, among, settings = session.run(action)
    shown = [memory.to_dict() for memory in found]
    data = {"query": query, "runtime": name, "notes": list(found.notes), "memories": shown}
    notes = views.notes_of_answer(found.notes)
    if not found:
        by_tags = settings.enable_simple_memory
        said = views.nothing_fits(among, settings, can_be_lowered=min_relevance > 0 and not by_tags)
        session.output.result(data, lambda: [*notes, said])
        return Code.NOTHING
    session.output.result(data, lambda: [*notes, *views.memories(found, settings.zone)])
    return Code.OK


@command(
    "feedback",
    into=runtime,
    examples=[
        "jiyi runtime feedback --useful ID1 --recalled ID1 --recalled ID2 --request-id turn-17",
        "jiyi runtime feedback --merge ID1,ID2",
    ],
)
def feedback(
    session: Session,
    *,
    useful: Annotated[
        list[str] | None, typer.Option("--useful", metavar="ID", help="A memory that helped; may be repeated.")
    ] = None,
    recalled: Annotated[
        list[str] | None, typer.Option("--recalled", metavar="ID", help="A memory that was shown; may be repeated.")
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option("--merge", metavar="ID,ID", help="Memories that say the same and become one; may be repeated."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help=f"A JSON object with {', '.join(_FEEDBACK)}; goes before the options.",
            show_default=False,
        ),
    ] = None,
    request_id: Annotated[
        str | None,
        typer.Option(
            "--request-id", metavar="TEXT", help="The same id again changes nothing a second time.", show_default=False
        ),
    ] = None,
) -> Code:
    """Say which memories helped, add new ones, merge some: all at once or not at all."""
    given: dict[str, Any] = {name: [] for name in _FEEDBACK}
    given |= _read(file) if file is not None else {}
    given["useful_memory_ids"] = [*given["useful_memory_ids"], *(useful or ())]
    given["recalled_memory_ids"] = [*given["recalled_memory_ids"], *(recalled or ())]
    given["merge_groups"] = [
        *given["merge_groups"],
        *([each.strip() for each in ids.split(",")] for ids in merge or ()),
    ]
    if not any(given.values()):
        raise InvalidInputError("there is no feedback; give --useful, --recalled, --merge or --file")
    result: FeedbackResult = session.run_without_embedder(
        lambda memory: memory.runtime.feedback(**given, request_id=request_id)
    )
    session.output.result(result.to_dict(), lambda: views.feedback(result))
    return Code.OK


@command(
    "consolidate",
    needs_memory=True,
    into=runtime,
    examples=["jiyi runtime consolidate --dry-run", "jiyi runtime consolidate --scope main"],
)
def consolidate(
    session: Session,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> Code:
    """Merge near-duplicates, let unused weak memories fade, archive what has long been inactive.

    Every scope is looked after by itself; with --scope, only that one.
    """
    report: ConsolidationReport = session.run_without_embedder(
        lambda memory: memory.runtime.consolidate_memories(memory_scope=session.options.scope, dry_run=dry_run)
    )
    session.output.result(report.to_dict(), lambda: views.consolidation(report))
    return Code.OK


@command("tags", needs_memory=True, into=runtime, examples=["jiyi runtime tags", "jiyi runtime tags gc"])
def tags(
    session: Session,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[gc]", help="gc removes the tags that no memory has.", show_default=False),
    ] = None,
    limit: LimitOption = 100,
) -> Code:
    """Show the tags that the scope sees and how many memories have each, or collect those that nothing has."""
    if what not in {None, "gc"}:
        raise InvalidInputError(f"{what!r} is not known here; leave it out to see the tags, or say gc")
    if what == "gc":
        removed: int = session.run_without_embedder(lambda memory: memory.runtime.collect_tags())
        session.output.result({"removed": removed}, lambda: [text(f"removed {removed:,} unused tags", "good")])
        return Code.OK
    found: Sequence[tuple[str, int]] = session.run_without_embedder(lambda memory: memory.runtime.list_tags(limit))
    data = {"tags": [{"tag": name, "memories": uses} for name, uses in found]}
    session.output.result(data, lambda: views.tags(found))
    return Code.OK


@command("history", needs_memory=True, into=runtime, examples=["jiyi runtime history ID1"])
def history(session: Session, memory_id: IdArgument) -> Code:
    """Show every version of a memory, also of one that was merged or archived. Exit code 1 when there is none."""

    async def action(memory: AgentMemory) -> tuple[Sequence[EntryVersion], Settings]:
        return await memory.runtime.history(memory_id), memory.settings

    found, settings = session.run_without_embedder(action)
    data = {"memory_id": memory_id, "versions": [version.to_dict() for version in found]}
    if not found:
        return _nothing(session, data)
    session.output.result(data, lambda: views.versions(found, settings.zone))
    return Code.OK


@command("restore", needs_memory=True, into=runtime, examples=["jiyi runtime restore ID1"])
def restore(session: Session, memory_id: IdArgument) -> Code:
    """Bring a memory back that faded, was merged away, archived or forgotten. Exit code 1 when it cannot be."""
    back: BaseMemory | None = session.run_without_embedder(lambda memory: memory.runtime.restore(memory_id))
    data = {"memory_id": memory_id, "restored": back is not None}
    if back is None:
        return _nothing(session, data)
    session.output.result(data, lambda: [text(f"{memory_id} is active again", "good")])
    return Code.OK


@command(
    "forget", needs_memory=True, into=runtime, examples=["jiyi runtime forget ID1", "jiyi runtime forget ID1 --erase"]
)
def forget(
    session: Session,
    memory_id: IdArgument,
    erase: EraseOption = False,
) -> Code:
    """Remove a memory of the scope. Exit code 1 when there is none."""
    gone: bool = session.run_without_embedder(lambda memory: memory.runtime.forget(memory_id, erase=erase))
    data = {"memory_id": memory_id, "forgotten": gone}
    if not gone:
        return _nothing(session, data)
    session.output.result(data, lambda: [text(f"{'erased' if erase else 'forgot'} {memory_id}", "good")])
    return Code.OK


def _nothing(session: Session, data: dict[str, Any]) -> Code:
    session.output.result(data, lambda: [text(f"there is no such memory: {data['memory_id']}", "warn")])
    return Code.NOTHING


def _read(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInputError(f"{file} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise InvalidInputError(
            f"{file} holds a {type(data).__name__}; an object with {', '.join(_FEEDBACK)} is needed"
        )
    unknown = [name for name in data if name not in _FEEDBACK]
    if unknown:
        raise InvalidInputError(f"{file} has unknown {', '.join(unknown)}; known are {', '.join(_FEEDBACK)}")
    if not all(isinstance(value, list) for value in data.values()):
        raise InvalidInputError(f"{file}: {', '.join(_FEEDBACK)} must be lists")
    return data
