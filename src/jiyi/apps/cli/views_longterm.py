"""How the long-term room is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jiyi.apps.cli.renderables import Block, Column, Table, text
from jiyi.apps.cli.sanitize import one_line, visible
from jiyi.apps.cli.times import local_time

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from jiyi.longterm.conflicts import Conflict, Replaced
    from jiyi.longterm.forgetting import ForgettingPlan
    from jiyi.model.entry import MemoryEntry

_MAX_LISTED = 50


def conflicts(found: Sequence[Conflict], zone: tzinfo) -> list[Block]:
    """Pairs of facts that may contradict each other, with the names by which they are settled."""
    if not found:
        return [text("no facts contradict each other", "good")]
    pairs = [pair for each in found for pair in (("newer", each.newer), ("older", each.older))]
    settled = text("which one holds is said by: jiyi longterm settle NEWER OLDER --keep newer|older|both", "dim")
    return [_facts("", pairs, zone), settled]


def superseded(found: Sequence[Replaced], zone: tzinfo) -> list[Block]:
    """What was replaced, each with what took its place."""
    if not found:
        return [text("nothing was replaced", "dim")]
    rows: list[tuple[str, MemoryEntry]] = []
    for each in found:
        rows.append(("replaced", each.entry))
        if each.by is not None:
            rows.append(("by", each.by))
    return [_facts("", rows, zone), text("jiyi longterm restore KEY brings one back", "dim")]


def _facts(name: str, found: Sequence[tuple[str, MemoryEntry]], zone: tzinfo) -> Table:
    columns = (Column(name), Column("key"), Column("content", "wide"), Column("when"))
    return Table(
        columns,
        tuple(
            (
                text(what, "dim" if what in {"older", "replaced"} else ""),
                text(visible(entry.key or entry.id), "key"),
                text(one_line(visible(entry.content))),
                text(local_time(entry.event_time, zone)),
            )
            for what, entry in found
        ),
    )


def forgetting_plan(plan: ForgettingPlan, zone: tzinfo) -> list[Block]:
    """What would be forgotten, and when."""
    columns = (Column("falls"), Column("left", "number"), Column("key"), Column("content", "wide"))
    rows = tuple(
        (
            text(
                "now"
                if each.goes
                else "never"
                if each.falls_below_at is None
                else local_time(each.falls_below_at, zone)
            ),
            text(f"{each.retention:.3f}", "number"),
            text(visible(each.entry.key or each.entry.id), "key"),
            text(one_line(visible(each.entry.content))),
        )
        for each in plan.memories[:_MAX_LISTED]
    )
    verdict = text(f"{plan.count:,} of {plan.considered:,} memories would be forgotten", "good")
    return [Table(columns, rows), verdict] if rows else [verdict]


def explained(found: dict[str, Any]) -> list[Block]:
    """Where a memory came from and how it stands."""
    entry = found["entry"]
    falls = found["falls_below_at"] or "never"
    facts = [
        ("content", entry["content"]),
        ("id", entry["id"]),
        ("type", entry["memory_type"]),
        ("domain", ", ".join([entry["domain"] or "none", *entry["more_domains"]])),
        ("importance", f"{entry['importance_score']:.2f}"),
        ("made by", found["made_by"]),
        ("trusted as", entry["source"]["trust"]),
        ("active", "yes" if entry["is_active"] else "no"),
        ("pinned", "yes" if entry["pinned"] else "no"),
        ("recalled", f"{entry['access_count']} times, last {entry['last_accessed_at']}"),
        ("retention", f"{found['retention']:.3f}, falls below the threshold: {falls}"),
    ]
    facts += [("said", f"{said['role']}: {said['content']}") for said in found["said"]]
    facts += [("drawn from", fact["content"]) for fact in found["facts"]]
    facts += [("corrected by", other["content"]) for other in found["superseded_by"]]
    facts += [("summarised by", other["content"]) for other in found["summarized_by"]]
    facts += [
        ("version", f"{each['version']}: {each['operation']} {', '.join(each['changed'])}")
        for each in found["versions"]
    ]
    rows = tuple((text(name, "key"), text(one_line(visible(value)))) for name, value in facts)
    return [Table((Column("what"), Column("value", "wide")), rows)]
