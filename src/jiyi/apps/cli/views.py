"""From values of the memory to blocks. Pure: nothing is read or printed here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from jiyi.apps.cli.renderables import Bars, Block, Column, Table, Text, text
from jiyi.apps.cli.sanitize import one_line, visible
from jiyi.apps.cli.times import local_time

if TYPE_CHECKING:
    from jiyi.config import Settings
    from jiyi.indexing import IndexReport
    from jiyi.model.entry import EntryVersion, IndexCoverage, MemoryEntry
    from jiyi.model.job import Job
    from jiyi.model.migration import MigrationReport
    from jiyi.runtime import BaseMemory, ConsolidationReport, FeedbackResult

MAX_IN_LIST = 400
MAX_IN_HIT = 2_000


def entries(
    found: Sequence[MemoryEntry], zone: tzinfo, *, whose: str, total: int, offset: int, full: bool
) -> list[Block]:
    """A page of memories; `whose` says in words where was looked."""
    if not found:
        behind = f"; there are {total:,} in all, so --offset is too large" if total else ""
        return [text(f"no memories {whose}{behind}", "dim")]
    origin = _origin_columns(found)
    columns = (
        Column("key"),
        Column("content", "wide"),
        Column("category"),
        Column("tags"),
        *origin,
        Column("updated"),
        Column("id"),
    )
    short = short_ids([entry.id for entry in found])
    rows = tuple(
        (
            text(visible(entry.key or "—"), "key"),
            _content(entry, max_chars=None if full else MAX_IN_LIST),
            text(str(entry.category)),
            text(visible(", ".join(entry.tags))),
            *(_origin(entry) if origin else ()),
            text(local_time(entry.updated_at, zone), "dim"),
            text(short[entry.id], "dim"),
        )
        for entry in found
    )
    last = offset + len(found)
    return [Table(columns, rows), text(f"{offset + 1:,}–{last:,} of {total:,}", "dim")]


_ORIGIN = (Column("role"), Column("session"))


def _origin_columns(found: Sequence[MemoryEntry]) -> tuple[Column, ...]:
    """The columns of role and session, if any of these entries was said in a conversation."""
    return _ORIGIN if any(entry.conversation_id for entry in found) else ()


def _origin(entry: MemoryEntry) -> tuple[Text, Text]:
    """Who said it, and in which conversation; a dash for what was not said in one."""
    return text(entry.role or "—", "dim"), text(visible(entry.conversation_id or "—"), "dim")


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """Each id as far as it differs from the others; ids made in the same millisecond begin with 13 equal characters."""
    for length in (13, 18, 23):
        short = {each: each[:length] for each in ids}
        if len(set(short.values())) == len(short):
            return short
    return {each: each for each in ids}


def hits(found: Sequence[MemoryEntry], zone: tzinfo, *, full: bool) -> list[Block]:
    """The answer to a question, best first."""
    origin = _origin_columns(found)
    columns = (
        Column("", "number"),
        Column("score", "number"),
        Column("key"),
        Column("content", "wide"),
        *origin,
        Column("when"),
        Column("id"),
    )
    short = short_ids([hit.id for hit in found])
    rows = tuple(
        (
            text(str(place)),
            text(_score(hit), "number"),
            text(visible(hit.key or "—"), "key"),
            _in_context(hit, max_chars=None if full else MAX_IN_HIT),
            *(_origin(hit) if origin else ()),
            text(local_time(hit.event_time, zone), "dim"),
            text(short[hit.id], "dim"),
        )
        for place, hit in enumerate(found, start=1)
    )
    return [Table(columns, rows)]


def explained(found: Sequence[MemoryEntry], zone: tzinfo, *, full: bool) -> list[Block]:
    """The same with the reasons: each part of the score as a bar, the words that matched, what each index gave."""
    scale = max([1.0, *(abs(part) for hit in found for part in hit.score_parts.values())])
    # A part that gave nothing to any hit of this answer explains nothing.
    telling = {name for hit in found for name, part in hit.score_parts.items() if part}
    blocks: list[Block] = []
    for place, hit in enumerate(found, start=1):
        about = [str(hit.category), local_time(hit.event_time, zone), visible(hit.scope)]
        heading = (
            (f"{place}. ", "title"),
            (visible(hit.key or "—"), "key"),
            (f"  {_score(hit)}", "number"),
            (f"  {' · '.join(about)}", "dim"),
        )
        blocks += [Text(heading), _in_context(hit, max_chars=None if full else MAX_IN_HIT, indent=3)]
        parts = tuple((name, part) for name, part in hit.score_parts.items() if name in telling)
        if parts:
            blocks.append(Bars(parts, scale, indent=3))
        if hit.explanation is not None:
            matched = ", ".join(visible(term) for term in hit.explanation.matched_terms)
            said = matched or "no word; found by its meaning or its neighbours"
            blocks.append(Text((("matched  ", "dim"), (said, "")), indent=3))
            answers = " · ".join(_covered(coverage) for coverage in hit.explanation.coverage)
            if answers:
                blocks.append(Text((("indexes  ", "dim"), (answers, "")), indent=3))
        blocks.append(text(""))
    return blocks[:-1]


def versions(found: Sequence[EntryVersion], zone: tzinfo) -> list[Block]:
    """The versions of an entry, oldest first."""
    columns = (
        Column("version", "number"),
        Column("what"),
        Column("when"),
        Column("by"),
        Column("changed"),
        Column("content", "wide"),
    )
    rows = tuple(
        (
            text(str(version.version), "number"),
            text(version.operation, "bad" if version.entry is None else ""),
            text(local_time(version.changed_at, zone), "dim"),
            text(visible(version.changed_by)),
            text(", ".join(version.changed)),
            text(visible(version.entry.content)) if version.entry is not None else text("—", "dim"),
        )
        for version in found
    )
    return [Table(columns, rows)]


def reports(found: Sequence[IndexReport], *, done: str) -> list[Block]:
    """Whether each index agrees with the records."""
    columns = (
        Column("index"),
        Column("state"),
        Column("records", "number"),
        Column("held", "number"),
        Column("behind", "number"),
        Column("missing", "number"),
        Column("stale", "number"),
        Column("surplus", "number"),
    )
    rows = tuple(
        (
            text(report.index, "key"),
            _state(report),
            text(f"{report.records:,}"),
            text(f"{report.held:,}"),
            text(f"{report.behind:,}"),
            *(text(f"{report.counts.get(name, 0):,}") for name in ("missing", "stale", "surplus")),
        )
        for report in found
    )
    if not found:
        return [text("simple mode has no indexes: there is nothing to compare", "dim")]
    if not all(report.agrees for report in found):
        verdict = text("records and indexes differ; run: jiyi repair", "bad")
    elif not all(report.sound for report in found):
        verdict = text("nothing differs; the next recall builds and takes in what is missing", "good")
    else:
        verdict = text(done, "good")
    problems = [text(f"{report.index}: {one_line(problem)}", "warn") for report in found for problem in report.problems]
    return [Table(columns, rows), *problems, verdict]


def _state(report: IndexReport) -> Text:
    if not report.agrees:
        return text("differs", "bad")
    if not report.built:
        return text("not built", "warn")
    return text("agrees", "good") if report.sound else text("behind", "warn")


def diagnosis(facts: Mapping[str, Any]) -> list[Block]:
    """What doctor found: the verdict first, then what to do, then the facts."""
    blocks: list[Block] = [text("healthy", "good") if facts["healthy"] else text("something needs doing", "bad")]
    blocks += [text(f"to do: {one_line(advice)}", "warn") for advice in facts["advice"]]
    blocks += [text(f"note: {one_line(note)}", "dim") for note in facts["notes"]]
    shown = {"runtime": facts["runtime"], "python": facts["python"], "platform": facts["platform"], **facts["packages"]}
    shown |= {f"store {name}": value for name, value in facts["store"].items()}
    shown["store problems"] = facts["store_problems"]
    for index in facts["indexes"]:
        shown |= {f"{index['index']} index {name}": value for name, value in index.items() if name != "index"}
    columns = (Column("what"), Column("value", "wide"))
    rows = ((text(name.replace("_", " "), "key"), text(_fact(value))) for name, value in shown.items())
    blocks.append(Table(columns, tuple(rows)))
    unread = facts["note_problems"]
    blocks += [text(f"notes that cannot be searched: {len(unread)}", "bad")] if unread else []
    blocks += [text(f"  {one_line(visible(each['path']))}: {one_line(visible(each['reason']))}") for each in unread]
    dead = facts["dead_jobs"]
    blocks.append(text(f"dead jobs: {len(dead) or 'none'}", "bad" if dead else "dim"))
    blocks += [text(f"  {one_line(_fact(job))}") for job in dead]
    return blocks


def migrated(report: MigrationReport) -> list[Block]:
    """What a migration did."""
    counts = ((name, count) for name, count in report.rows.items() if count)
    rows = tuple((text(name, "key"), text(f"{count:,}", "number")) for name, count in counts)
    blocks: list[Block] = [
        text(f"moved {report.total:,} rows to {report.target}; both were compared and are equal", "good"),
        Table((Column("table"), Column("rows", "number")), rows),
    ]
    if report.resumed:
        blocks.append(text("an earlier run had copied a part of them", "dim"))
    if report.copied_again:
        again = ", ".join(report.copied_again)
        blocks.append(text(f"changed since that run, and copied again: {again}", "dim"))
    blocks.append(text("the indexes are not moved: the first recall there builds them, or 'jiyi repair'", "dim"))
    return blocks


def upkeep(report: Mapping[str, Any]) -> list[Block]:
    """What maintain did."""
    verb = "would be forgotten" if report["dry_run"] else "forgotten"
    forgotten = report["forgotten"]
    blocks: list[Block] = [text(f"{sum(forgotten.values()):,} memories {verb}", "good")]
    blocks += [text(f"  {visible(scope)}: {count:,}") for scope, count in forgotten.items()]
    if not report["dry_run"]:
        blocks.append(text(f"{report['jobs_run']:,} jobs done, {report['tags_removed']:,} unused tags removed"))
    differing = ", ".join(report["indexes_mended"])
    if differing:
        blocks.append(
            text(f"indexes that {'differ from' if report['dry_run'] else 'differed from'} the records: {differing}")
        )
    dead = report["dead_jobs"]
    blocks.append(text(f"dead jobs: {len(dead) or 'none'}", "bad" if dead else "dim"))
    blocks += [text(f"  {job['id']}  {one_line(visible(job['reason']))}") for job in dead]
    return blocks


def jobs(found: Sequence[Job]) -> list[Block]:
    """Background work."""
    if not found:
        return [text("no such jobs", "dim")]
    columns = (Column("id"), Column("kind"), Column("state"), Column("attempts", "number"), Column("reason", "wide"))
    rows = tuple(
        (
            text(job.id, "key"),
            text(visible(job.kind)),
            text(job.state, "bad" if job.state == "dead" else ""),
            text(str(job.attempt)),
            text(one_line(visible(job.reason))),
        )
        for job in found
    )
    return [Table(columns, rows)]


def nothing_fits(among: int, settings: Settings, *, can_be_lowered: bool) -> Block:
    """That no memory is relevant, and what would show the nearest."""
    said = f"nothing fits among {among:,} memories of scope {visible(settings.scope)} in {settings.place}"
    return text(f"{said}; --min-relevance 0 shows the nearest" if among and can_be_lowered else said, "dim")


def notes_of_answer(notes: Iterable[str]) -> list[Block]:
    """What an answer lacks."""
    return [text(f"note: {one_line(visible(note))}", "dim") for note in notes]


def memories(found: Sequence[BaseMemory], zone: tzinfo) -> list[Block]:
    """What the runtime found, best first; a linked memory says what led to it."""
    columns = (
        Column("", "number"),
        Column("judgment", "wide"),
        Column("type"),
        Column("tags"),
        Column("strength", "number"),
        Column("found by"),
        Column("when"),
        Column("id"),
    )
    place_of = {memory.id: place for place, memory in enumerate(found, start=1)}
    rows = tuple(
        (
            text(str(place_of[memory.id])),
            text(visible(memory.judgment)),
            text(memory.memory_type),
            text(visible(", ".join(memory.tags))),
            text(f"{memory.strength:,}", "number"),
            text(_found_by(memory, place_of)),
            text(local_time(memory.created_at, zone), "dim"),
            text(memory.id, "dim"),
        )
        for memory in found
    )
    return [Table(columns, rows)]


def _found_by(memory: BaseMemory, place_of: Mapping[str, int]) -> str:
    if memory.link is None:
        return visible(", ".join(memory.matched))
    shared = f": {visible(', '.join(memory.link.tags))}" if memory.link.tags else ""
    first = place_of.get(memory.link.memory_id)
    return f"{memory.link.kind} of {first if first is not None else memory.link.memory_id}{shared}"


def feedback(result: FeedbackResult) -> list[Block]:
    """What came of feedback."""
    counts = (len(result.strengthened), len(result.created), len(result.merged))
    said = "strengthened {:,}, added {:,}, merged {:,} groups".format(*counts)
    if result.repeated:
        said = f"this request was answered before, and nothing was changed: {said}"
    blocks: list[Block] = [text(said, "good")]
    blocks += [text(f"merged {len(sources):,} memories into {new}") for new, sources in result.merged.items()]
    if result.unknown_ids:
        blocks.append(text(f"unknown: {one_line(', '.join(result.unknown_ids))}", "warn"))
    blocks += [text(f"not merged: {one_line(', '.join(ids))}: {why}", "warn") for ids, why in result.refused]
    return blocks


def consolidation(report: ConsolidationReport) -> list[Block]:
    """What consolidation did."""
    begin = "would merge" if report.dry_run else "merged"
    rest = (
        f"{begin} {report.merged:,} near-duplicates into {report.groups:,}; {report.faded:,} fade, "
        f"{report.deactivated:,} of them become inactive; {report.archived:,} go to the archive "
        f"({report.scopes:,} scopes)"
    )
    return [text(rest, "dim" if report.dry_run else "good")]


def tags(found: Sequence[tuple[str, int]]) -> list[Block]:
    """Tags and how many memories have each."""
    if not found:
        return [text("no tags here", "dim")]
    rows = tuple((text(visible(name), "key"), text(f"{uses:,}")) for name, uses in found)
    return [Table((Column("tag", "wide"), Column("memories", "number")), rows)]


def _fact(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return "; ".join(_fact(item) for item in value) or "none"
    return visible(str(value))


def _score(hit: MemoryEntry) -> str:
    if hit.final_score is not None:
        return f"{hit.final_score:.3f}"
    return "—" if hit.relevance_score is None else f"{hit.relevance_score:.3f}"


def _covered(coverage: IndexCoverage) -> str:
    if not coverage.answered:
        state = "did not answer"
    elif coverage.behind:
        state = f"answered, {coverage.behind:,} changes behind"
    else:
        state = "answered, up to date"
    note = f" ({one_line(coverage.note)})" if coverage.note else ""
    return f"{coverage.index}: {state}{note}"


def _content(entry: MemoryEntry, *, max_chars: int | None, indent: int = 0) -> Text:
    """The content with the matched words marked. What is too long to show says how long it is."""
    shown = visible(entry.content)
    marks = entry.explanation.highlights if entry.explanation is not None else ()
    end = len(shown) if max_chars is None else min(len(shown), max_chars)
    spans: list[tuple[str, str]] = []
    at = 0
    for start, stop in _in_order(marks, end):
        spans += [(shown[at:start], ""), (shown[start:stop], "hit")]
        at = stop
    spans.append((shown[at:end], ""))
    if end < len(shown):
        spans.append((f" … ({len(shown):,} characters in all; --full shows them)", "dim"))
    spans += [(f"\n→ corrected later: {visible(fact.content)}", "warn") for fact in entry.corrected_by]
    return Text(tuple(span for span in spans if span[0]), indent)


def _in_context(hit: MemoryEntry, *, max_chars: int | None, indent: int = 0) -> Text:
    """The content between the messages around it, where those were asked for."""
    if not hit.context:
        return _content(hit, max_chars=max_chars, indent=indent)
    spans: list[tuple[str, str]] = []
    told = False
    for near in hit.context:
        if not told and (near.position or 0) > (hit.position or 0):
            spans += [*_content(hit, max_chars=max_chars).spans, ("\n", "")]
            told = True
        spans += [*((piece, "dim") for piece, _ in _content(near, max_chars=max_chars).spans), ("\n", "")]
    if not told:
        spans += _content(hit, max_chars=max_chars).spans
    elif spans[-1][0] == "\n":
        spans.pop()
    return Text(tuple(spans), indent)


def _in_order(marks: Iterable[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    """The ranges inside the text, in order, without overlaps."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(marks):
        begin = max(start, found[-1][1] if found else 0)
        if begin < min(stop, end):
            found.append((begin, min(stop, end)))
    return found
