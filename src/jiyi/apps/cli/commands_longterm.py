"""Commands of the long-term room. The user is the scope."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from jiyi.apps.cli import views, views_longterm
from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command, group
from jiyi.apps.cli.options import ExplainOption, LimitOption, MinRelevanceOption, QueryArgument
from jiyi.apps.cli.renderables import Block, text
from jiyi.apps.cli.sanitize import visible
from jiyi.apps.cli.session import Session
from jiyi.apps.cli.times import end_time
from jiyi.errors import InvalidInputError
from jiyi.model.forgetting_curve import DEFAULT_THRESHOLD, EbbinghausForgetting, check_threshold
from jiyi.model.reflection import REFLECTION_COOLDOWN_HOURS, REFLECTION_THRESHOLD
from jiyi.model.relevance import MIN_RELEVANCE, check_min_relevance
from jiyi.model.scoring import FinalWeights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from jiyi.config import Settings
    from jiyi.longterm.conflicts import Conflict, Replaced, Winner
    from jiyi.longterm.forgetting import ForgettingPlan
    from jiyi.longterm.retrieval import RelevantMemories
    from jiyi.memory import AgentMemory
    from jiyi.model.entry import MemoryEntry

longterm = group("longterm", "What is worth keeping of conversations: kept, recalled, reflected on, forgotten.")

_WEIGHED: Final = 50
"""So many memories are weighed, as the long-term room does without being told."""
_WEIGHTS = FinalWeights()
_CURVE = EbbinghausForgetting()
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id or the key of a memory.")]
ListedOption = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="How many are shown at most.")]
ConversationOption = Annotated[
    str | None,
    typer.Option(
        "--conversation",
        metavar="NAME",
        help="Which conversation it belongs to. Not given: today's date.",
        show_default=False,
    ),
]


@command(
    "add-round",
    into=longterm,
    examples=[
        "jiyi longterm add-round 我对青霉素过敏 好的，已经记下",
        "jiyi longterm add-round 'We decided to use PostgreSQL' 'Noted.' --conversation planning",
        "jiyi longterm add-round 我住在杭州 好的 --later",
    ],
)
def add_round(
    session: Session,
    *,
    user: Annotated[str, typer.Argument(metavar="USER", help="What the user said.")],
    assistant: Annotated[str, typer.Argument(metavar="ASSISTANT", help="What was replied.")] = "",
    conversation: ConversationOption = None,
    later: Annotated[bool, typer.Option("--later", help="Only queue it; 'jiyi maintain' does it.")] = False,
) -> Code:
    """Put a round of a conversation on disk and keep what is worth keeping of it."""

    async def action(memory: AgentMemory) -> tuple[str | None, Sequence[MemoryEntry]]:
        scope, name = memory.settings.scope, _conversation(memory, conversation)
        if later:
            return await memory.longterm.schedule_round(scope, name, user, assistant), ()
        stored = await memory.longterm.extract_and_store_memories_for_round(scope, name, user, assistant)
        await memory.run_jobs()
        return None, stored

    job, stored = session.run(action)
    data = {"job": job, "stored": [entry.to_dict() for entry in stored]}

    def shown() -> list[Block]:
        if job is not None:
            return [text(f"queued as {job}", "good")]
        if not stored:
            return [text("the round is kept; nothing in it is worth remembering", "dim")]
        return [
            text(f"remembered {entry.domain} {entry.importance_score:.2f}  {visible(entry.content)}", "good")
            for entry in stored
        ]

    session.output.result(data, shown)
    return Code.OK


@command("take-candidates", needs_memory=True, into=longterm, examples=["jiyi longterm take-candidates"])
def take_candidates(
    session: Session,
    *,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", metavar="NAME", help="Only of this one. Not given: all.", show_default=False),
    ] = None,
) -> Code:
    """Keep what conversations have proposed when they were compacted."""

    async def action(memory: AgentMemory) -> Sequence[MemoryEntry]:
        return await memory.longterm.take_candidates(memory.settings.scope, conversation)

    found = session.run_without_embedder(action)
    data = {"stored": [entry.to_dict() for entry in found]}
    session.output.result(data, lambda: [text(f"kept {len(found):,} of what was proposed", "good")])
    return Code.OK


@command(
    "recall",
    needs_memory=True,
    into=longterm,
    examples=[
        "jiyi longterm recall 我对什么过敏",
        "jiyi longterm recall 'which database do we use' --explain",
        "jiyi longterm recall 过敏 --domain user_preferences --domain lifestyle_and_interests --json",
        "jiyi longterm recall 我对什么过敏 --prompt",
    ],
)
def recall(
    session: Session,
    *,
    query: QueryArgument,
    limit: LimitOption = 10,
    alpha: Annotated[float, typer.Option("--alpha", metavar="X", help="The weight of relevance.")] = _WEIGHTS.alpha,
    beta: Annotated[float, typer.Option("--beta", metavar="X", help="The weight of recency.")] = _WEIGHTS.beta,
    gamma: Annotated[float, typer.Option("--gamma", metavar="X", help="The weight of importance.")] = _WEIGHTS.gamma,
    domain: Annotated[
        list[str] | None,
        typer.Option("--domain", metavar="WORD", help="Only this domain; may be repeated. Not given: the router says."),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="What stood at that time.", show_default=False),
    ] = None,
    explain: ExplainOption = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Show the block for a prompt instead.")] = False,
    min_relevance: MinRelevanceOption = MIN_RELEVANCE,
) -> Code:
    """Find the long-term memories that answer QUERY best, best first. Exit code 1 when nothing fits."""
    if prompt:
        return _prompt(session, query, limit)
    from jiyi.model.relevance import fitting

    async def action(memory: AgentMemory) -> tuple[RelevantMemories, int, Settings]:
        zone, scope = memory.settings.zone, memory.settings.scope
        found = await memory.longterm.retrieve_relevant_memories(
            scope,
            query,
            alpha,
            beta,
            gamma,
            # What does not fit may be newer or more important, and takes no place of what does.
            top_k_final=limit if not least else max(limit, min(_WEIGHED, memory.settings.limits.max_results)),
            domains=domain or None,
            as_of=end_time(as_of, "--as-of", zone) if as_of is not None else None,
            # Showing memories is no use of them: it must not change what is forgotten.
            touch=False,
        )
        return found, 0 if fitting(found, least) else await memory.count(), memory.settings

    least = check_min_relevance(min_relevance)
    found, among, settings = session.run(action)
    hits = fitting(found, least)[:limit]
    data = {
        "query": query,
        "domains": list(found.domains),
        "routed_by": found.routed_by,
        "notes": list(found.notes),
        "hits": [hit.to_dict() for hit in hits],
    }
    notes = views.notes_of_answer(found.notes)
    draw = views.explained if explain else views.hits
    nothing = views.nothing_fits(among, settings, can_be_lowered=least > 0)
    session.output.result(data, lambda: [*notes, *(draw(hits, settings.zone, full=False) if hits else [nothing])])
    return Code.OK if hits else Code.NOTHING


@command("reflect", needs_memory=True, into=longterm, examples=["jiyi longterm reflect --threshold 0.5 --cooldown 0"])
def reflect(
    session: Session,
    *,
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="X", help="The importance that must add up.")
    ] = REFLECTION_THRESHOLD,
    cooldown: Annotated[
        float, typer.Option("--cooldown", metavar="HOURS", help="Since the reflection before.")
    ] = REFLECTION_COOLDOWN_HOURS,
    conversation: ConversationOption = None,
) -> Code:
    """Make a reflection of the facts that have none yet. Exit code 0 also when none is due."""

    async def action(memory: AgentMemory) -> MemoryEntry | None:
        return await memory.longterm.try_generate_reflection(
            memory.settings.scope, conversation, importance_threshold=threshold, cooldown_hours=cooldown
        )

    made = session.run(action)
    said = text("no reflection is due", "dim") if made is None else text(visible(made.content))
    session.output.result({"reflection": None if made is None else made.to_dict()}, lambda: [said])
    return Code.OK


@command(
    "forget",
    needs_memory=True,
    into=longterm,
    examples=["jiyi longterm forget --dry-run", "jiyi longterm forget --threshold 0.05 --json"],
)
def forget(
    session: Session,
    *,
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="0..1", help="What has less retention left than this goes.")
    ] = DEFAULT_THRESHOLD,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would go and when; change nothing.")] = False,
) -> Code:
    """Take faded long-term memories out of recall; 'jiyi longterm restore' brings them back."""

    async def action(memory: AgentMemory) -> tuple[int, ForgettingPlan | None, tzinfo]:
        scope, zone = memory.settings.scope, memory.settings.zone
        clean = memory.longterm.cleanup_forgotten_memories
        if dry_run:
            plan = await clean(scope, threshold=threshold, dry_run=True)
            return plan.count, plan, zone
        return await clean(scope, threshold=threshold), None, zone

    count, plan, zone = session.run_without_embedder(action)
    if plan is None:
        session.output.result({"forgotten": count}, lambda: [text(f"forgot {count:,} memories", "good")])
        return Code.OK
    session.output.result(plan.to_dict(), lambda: views_longterm.forgetting_plan(plan, zone))
    return Code.OK


@command("restore", needs_memory=True, into=longterm, examples=["jiyi longterm restore"])
def restore(
    session: Session,
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Ids or keys. Not given: all that forgetting took.", show_default=False),
    ] = None,
) -> Code:
    """Bring forgotten or corrected memories back."""

    async def action(memory: AgentMemory) -> Sequence[MemoryEntry]:
        return await memory.longterm.restore(memory.settings.scope, names or None)

    found = session.run_without_embedder(action)
    data = {"restored": [entry.to_dict() for entry in found]}
    session.output.result(data, lambda: [text(f"brought back {len(found):,} memories", "good")])
    return Code.OK


@command("pin", needs_memory=True, into=longterm, examples=["jiyi longterm pin stack", "jiyi longterm pin stack --off"])
def pin(
    session: Session,
    *,
    name: IdArgument,
    off: Annotated[bool, typer.Option("--off", help="Let it be forgotten again.")] = False,
) -> Code:
    """Keep a memory from being forgotten, corrected or summarised. Exit code 1 when there is none."""

    async def action(memory: AgentMemory) -> bool:
        return await memory.longterm.pin(memory.settings.scope, name, not off)

    done = session.run_without_embedder(action)
    said = text(f"{'unpinned' if off else 'pinned'} {visible(name)}", "good")
    missing = text(f"there is no memory {visible(name)}", "warn")
    session.output.result({"memory": name, "pinned": done and not off}, lambda: [said if done else missing])
    return Code.OK if done else Code.NOTHING


@command("explain", needs_memory=True, into=longterm, examples=["jiyi longterm explain stack"])
def explain(session: Session, name: IdArgument) -> Code:
    """Show where a memory came from, what became of it and how well it is retained. Exit code 1 when there is none."""

    async def action(memory: AgentMemory) -> dict[str, Any] | None:
        return await memory.longterm.explain(memory.settings.scope, name)

    found = session.run_without_embedder(action)
    if found is None:
        session.output.result({"memory": None}, lambda: [text(f"there is no memory {visible(name)}", "warn")])
        return Code.NOTHING
    session.output.result(found, lambda: views_longterm.explained(found))
    return Code.OK


@command(
    "conflicts",
    needs_memory=True,
    into=longterm,
    examples=["jiyi longterm conflicts", "jiyi longterm conflicts --json"],
)
def conflicts(session: Session, *, limit: ListedOption = 100) -> Code:
    """Show pairs of current facts that may contradict each other, the newest first."""

    async def action(memory: AgentMemory) -> tuple[Sequence[Conflict], tzinfo]:
        return await memory.longterm.conflicts(memory.settings.scope, limit=limit), memory.settings.zone

    found, zone = session.run_without_embedder(action)
    data = {"conflicts": [each.to_dict() for each in found]}
    session.output.result(data, lambda: views_longterm.conflicts(found, zone))
    return Code.OK


@command("settle", needs_memory=True, into=longterm, examples=["jiyi longterm settle city home --keep both"])
def settle(
    session: Session,
    *,
    newer: Annotated[str, typer.Argument(metavar="NEWER", help="The id or the key of the newer fact.")],
    older: Annotated[str, typer.Argument(metavar="OLDER", help="The id or the key of the older fact.")],
    keep: Annotated[
        str, typer.Option("--keep", metavar="WORD", help="Which one holds: newer, older or both.")
    ] = "newer",
) -> Code:
    """Say which of two facts in conflict holds; the other one can be restored. Exit code 1 when there is none."""

    async def action(memory: AgentMemory) -> bool:
        scope = memory.settings.scope
        return await memory.longterm.settle_conflict(scope, newer, older, keep=cast("Winner", keep))

    done = session.run_without_embedder(action)
    said = text("settled", "good") if done else text("there is no open conflict between these two facts", "warn")
    session.output.result({"settled": done}, lambda: [said])
    return Code.OK if done else Code.NOTHING


@command(
    "superseded",
    needs_memory=True,
    into=longterm,
    examples=["jiyi longterm superseded", "jiyi longterm superseded --limit 5 --json"],
)
def superseded(
    session: Session,
    *,
    limit: ListedOption = 100,
    reflections: Annotated[
        bool, typer.Option("--reflections", help="Also the summaries that went with their facts.")
    ] = False,
) -> Code:
    """Show the facts that were replaced, the last first, each with the one that took its place."""

    async def action(memory: AgentMemory) -> tuple[Sequence[Replaced], tzinfo]:
        found = await memory.longterm.superseded(memory.settings.scope, limit=limit, reflections=reflections)
        return found, memory.settings.zone

    found, zone = session.run_without_embedder(action)
    data = {"superseded": [each.to_dict() for each in found]}
    session.output.result(data, lambda: views_longterm.superseded(found, zone))
    return Code.OK


@command(
    "curve",
    into=longterm,
    examples=[
        "jiyi longterm curve",
        "jiyi longterm curve --importance 0.9 --days 60 --accesses 0 --accesses 5 --out c.svg",
    ],
)
def curve(
    session: Session,
    *,
    importance: Annotated[float, typer.Option("--importance", metavar="0..1", help="Of the memory.")] = 0.5,
    accesses: Annotated[
        list[int] | None,
        typer.Option(
            "--accesses", metavar="N", help="How often it was recalled; may be repeated.", show_default="0 1 3"
        ),
    ] = None,
    days: Annotated[float, typer.Option("--days", metavar="N", help="How far to draw.")] = 60.0,
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="0..1", help="Below this it is forgotten.")
    ] = DEFAULT_THRESHOLD,
    base_retention: Annotated[
        float, typer.Option("--base-retention", metavar="X", help="Left after a day.")
    ] = _CURVE.base_retention,
    strengthening_factor: Annotated[
        float, typer.Option("--strengthening-factor", metavar="X", help="What each recall adds.")
    ] = _CURVE.strengthening_factor,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Draw to an .svg or .png file.", show_default=False)
    ] = None,
) -> Code:
    """Draw curves of forgetting, in the terminal and to a file."""
    from jiyi.apps.cli.forgetting_plot import as_text, make_curves, save

    if not 0 < days <= 1e6:
        raise InvalidInputError(f"--days {days:g} must be above 0 and at most 1,000,000")
    check_threshold(threshold)
    forgetting = EbbinghausForgetting(base_retention, strengthening_factor)
    curves = make_curves(forgetting, accesses or (0, 1, 3), importance, days, threshold)
    if out is not None:
        save(curves, days, threshold, out)
    data = {
        "threshold": threshold,
        "importance": importance,
        "curves": [
            {"name": each.name, "falls_after_days": each.falls_after, "points": [list(point) for point in each.points]}
            for each in curves
        ],
        "file": None if out is None else str(out),
    }
    session.output.result(data, lambda: [text("\n".join(as_text(curves, days, threshold)))])
    return Code.OK


def _prompt(session: Session, query: str, limit: int) -> Code:
    async def action(memory: AgentMemory) -> str:
        scope = memory.settings.scope
        return await memory.longterm.get_memory_context_for_prompt(scope, query, top_k_final=limit)

    block = session.run(action)
    session.output.result({"query": query, "prompt": block}, lambda: [text(visible(block) or "nothing to say")])
    return Code.OK if block else Code.NOTHING


def _conversation(memory: AgentMemory, name: str | None) -> str:
    from jiyi.model import clock

    return name if name is not None else clock.utc_now().astimezone(memory.settings.zone).date().isoformat()
