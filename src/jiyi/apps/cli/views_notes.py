"""From values of the notes to blocks. Pure: nothing is read or printed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jiyi.apps.cli.renderables import Bars, Block, Column, Table, Text, text
from jiyi.apps.cli.sanitize import one_line, visible

if TYPE_CHECKING:
    from jiyi.model.note import LineAttribution, NoteHit, NoteText, ScanReport
    from jiyi.notes.candidates import CandidateReport
    from jiyi.notes.entries import PlacedEntry
    from jiyi.notes.promotion import Accepted
    from jiyi.notes.proposals import Proposal
    from jiyi.notes.workspace_import import Imported

_MAX_CHARACTERS = 2_000


def made(root: Path, done: Mapping[str, Sequence[str]]) -> list[Block]:
    """What init did."""
    blocks: list[Block] = [text(f"workspace {visible(str(root))}", "good")]
    blocks += [text(f"created {name}") for name in done["created"]]
    blocks += [text(f"kept    {name}", "dim") for name in done["kept"]]
    blocks.append(text(f"use it with JIYI_WORKSPACE={visible(str(root))} or workspace: in memory.yaml", "dim"))
    return blocks


def hits(found: Sequence[NoteHit], *, explain: bool) -> list[Block]:
    """Pieces of notes, best first."""
    if explain:
        return _explained(found)
    columns = (
        Column("", "number"),
        Column("score", "number"),
        Column("where"),
        Column("heading"),
        Column("text", "wide"),
    )
    rows = tuple(
        (
            text(str(place)),
            text(f"{hit.score:.3f}", "number"),
            text(visible(hit.place), "key"),
            text(visible(hit.heading), "dim"),
            text(_shortened(hit.content)),
        )
        for place, hit in enumerate(found, start=1)
    )
    return [Table(columns, rows)]


def _explained(found: Sequence[NoteHit]) -> list[Block]:
    blocks: list[Block] = []
    scale = max((abs(part) for hit in found for part in hit.score_parts.values()), default=1.0) or 1.0
    for place, hit in enumerate(found, start=1):
        about = " · ".join(part for part in (hit.heading, hit.date.isoformat() if hit.date else "") if part)
        heading = ((f"{place}. ", "dim"), (visible(hit.place), "key"), (f"  {hit.score:.3f}  ", "number"))
        blocks.append(Text((*heading, (visible(about), "dim"))))
        blocks.append(text(_shortened(hit.content), indent=3))
        parts = tuple((name, part) for name, part in hit.score_parts.items() if part)
        if parts:
            blocks.append(Bars(parts, scale, indent=3))
        matched = ", ".join(visible(term) for term in hit.explanation.matched_terms)
        blocks.append(Text((("matched  ", "dim"), (matched or "no word; found by its meaning", "")), indent=3))
        blocks.append(text(""))
    return blocks[:-1]


def entry_data(placed: PlacedEntry) -> dict[str, Any]:
    """An entry as JSON."""
    entry = placed.entry
    return {
        "id": entry.id,
        "at": None if placed.by_hand else entry.at.isoformat(),
        "by_hand": placed.by_hand,
        "by": entry.by,
        "source": entry.source,
        "lines": f"{placed.start_line}-{placed.end_line}",
        "text": entry.text,
    }


def entries(path: str, found: Sequence[PlacedEntry]) -> list[Block]:
    """The entries of a note, in their order."""
    columns = (Column("time"), Column("text", "wide"), Column("lines"), Column("id"))
    rows = tuple(
        (
            text("" if placed.by_hand else f"{placed.entry.at + placed.entry.offset:%H:%M}", "dim"),
            text(_shortened(placed.entry.text)),
            text(f"{placed.start_line}-{placed.end_line}", "dim"),
            text(placed.entry.id, "key"),
        )
        for placed in found
    )
    return [text(visible(path), "dim"), Table(columns, rows)]


def authors(note: NoteText, wrote: Sequence[LineAttribution]) -> list[Block]:
    """The lines of a note, each with who wrote it."""
    by_line = {number: each for each in wrote for number in range(each.start_line, each.end_line + 1)}
    rows = tuple(
        (text(str(number), "dim"), text(_author(by_line.get(number), number), "key"), text(visible(line)))
        for number, line in enumerate(note.text.removesuffix("\n").split("\n"), start=note.start_line)
    )
    return [Table((Column("", "number"), Column("by"), Column("text", "wide")), rows)]


def _author(wrote: LineAttribution | None, line: int) -> str:
    if wrote is None:
        return ""
    how = "" if wrote.origin == "entry" else "by hand" if wrote.origin == "hand" else wrote.origin
    if line > wrote.start_line:
        return how or wrote.by
    details = [f"by {visible(wrote.made_by)}" if wrote.made_by else "", visible(wrote.source)]
    return ", ".join(part for part in (how, wrote.by, *details) if part)


def scanned(report: ScanReport) -> list[Block]:
    """What a scan found and did."""
    counts = report.counts
    said = (
        f"{report.files:,} notes, {report.read:,} read, {report.gone:,} gone; pieces: {counts.added:,} new, "
        f"{counts.removed:,} removed, {counts.moved:,} moved"
    )
    blocks: list[Block] = [text(said, "good")]
    blocks += [text(f"restored {entry_id}", "warn") for entry_id in report.restored]
    blocks += [text(f"{visible(p.path)}: {one_line(p.reason)}", "warn") for p in report.problems]
    return blocks


def curated(proposal: Proposal | None, done: Accepted | None) -> list[Block]:
    """A proposal as a diff, and what became of it."""
    blocks: list[Block] = []
    if proposal is not None:
        if proposal.empty:
            blocks.append(text("there is nothing to propose", "dim"))
        for line in proposal.diff.splitlines():
            style = {"+": "good", "-": "bad", "@": "dim"}.get(line[:1], "")
            blocks.append(text(visible(line), style))
        if done is None and not proposal.empty:
            for item in proposal.items:
                said = f"{item.section}: {item.text}" if item.action == "add" else item.text
                blocks.append(text(f"{item.number}. {item.action}  {one_line(said)}"))
            blocks.append(
                text(
                    f"made by {visible(proposal.made_by)}; accept it with: jiyi notes curate --accept {proposal.id} "
                    "(--items 1,3 for some of it; --reject in place of --accept)",
                    "dim",
                )
            )
    if done is not None:
        blocks += accepted(done)
    return blocks


def accepted(done: Accepted) -> list[Block]:
    """What was done to MEMORY.md."""
    said = f"MEMORY.md: {len(done.added)} added, {len(done.removed)} removed, {len(done.unchanged)} already there"
    blocks: list[Block] = [text(said, "good")]
    if done.moved:
        blocks.append(text(f"{len(done.moved)} taken out of the daily notes"))
    if done.backup:
        blocks.append(text(f"the version before is {visible(done.backup)}", "dim"))
    return blocks


def taken(done: CandidateReport) -> list[Block]:
    """What became of the candidates."""
    blocks: list[Block] = [text(f"{len(done.written)} written down", "good")]
    if done.duplicates:
        blocks.append(text(f"{len(done.duplicates)} were there already", "dim"))
    blocks += [text(f"{visible(note.path)}  {note.id}", "dim") for note in done.written]
    blocks += [text(f"{key}: {one_line(reason)}", "warn") for key, reason in done.refused.items()]
    return blocks


def imported(done: Imported) -> list[Block]:
    """What an import did."""
    blocks: list[Block] = [text(f"{len(done.copied)} copied, {len(done.unchanged)} already there", "good")]
    blocks += [
        text(f"{visible(name)} is another file here; taken in as {visible(target)}", "warn")
        for name, target in done.beside.items()
    ]
    blocks += [text(f"{visible(p.path)}: {one_line(p.reason)}", "warn") for p in done.problems]
    return blocks


def _shortened(content: str) -> str:
    shown = visible(content)
    return shown if len(shown) <= _MAX_CHARACTERS else f"{shown[:_MAX_CHARACTERS]} … ({len(shown):,} characters in all)"
