"""Curation: what recent notes hold that MEMORY.md should, proposed by rules or by a model.

A proposal is a diff and nothing else. It is applied when it is accepted, all of it or item by item, after a backup,
and only to the file it was made for. A model proposes lines to add and lines to take out; the file is never replaced by
what a model wrote. What a person has rejected or deleted from MEMORY.md is not proposed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from jiyi.errors import InvalidInputError, NoteConflictError, NotesError
from jiyi.model import clock
from jiyi.model.daily_note import day_of, day_range
from jiyi.model.identity import new_id
from jiyi.model.limits import check_whole
from jiyi.notes.curation_ledger import CurationLedger, ItemOrigin
from jiyi.notes.lasting_statements import is_passing, lasting_statements
from jiyi.notes.markdown import items_of
from jiyi.notes.memory_file import (
    Addition,
    MemoryFile,
    comparable,
    default_section,
    diff_of,
    headings_of,
    new_sections,
    read_memory_file,
    replace_memory_file,
    with_additions,
    without_lines,
    words_of,
)
from jiyi.notes.paths import MEMORY_FILE
from jiyi.notes.promotion import Accepted
from jiyi.notes.proposals import MADE_BY_RULES, Proposal, ProposalItem, choose_items
from jiyi.notes.sections import match_section, section_for
from jiyi.text.statements.about.attributes import read_attribute

if TYPE_CHECKING:
    from jiyi.notes.service import NotesService

_MAX_DAYS: Final = 366
_MAX_ADDITIONS: Final = 40
_MAX_CHARACTERS: Final = 400


@dataclass(frozen=True, slots=True)
class _RecentNote:
    """An entry, or a block that a person wrote, of a recent daily note."""

    path: str
    text: str
    entry_id: str
    by_hand: bool
    by: str
    source: str


def curate(service: NotesService, *, days: int = 7, now: datetime | None = None) -> Proposal:
    """What the notes of the last days hold that MEMORY.md should, as a diff that is kept until it is accepted."""
    check_whole(days, "days", 1, _MAX_DAYS)
    service.appender.reconcile()
    service.proposals.delete_expired()
    before = read_memory_file(service)
    ledger = _observed(service, before)
    notes = list(_recent(service, days, now))
    if service.model is not None:
        from jiyi.notes.model_curation import propose_with_model

        headings = headings_of(before.text)
        shown = [f"{note.path}:\n{note.text}" for note in notes]
        additions, removals = propose_with_model(service.model, service.counter, before.text, shown)
        additions = [replace(a, section=match_section(a.section, headings)) for a in additions]
        said = words_of(before.text)
        additions = [a for a in additions if not is_passing(a.text) and words_of(a.text) not in said]
    else:
        additions, removals = _by_rules(before, notes, ledger)
    additions = [replace(a, text=a.text.strip()) for a in additions if a.text.strip()]
    additions = [a for a in additions if not ledger.is_unwanted(a.text)][:_MAX_ADDITIONS]
    items = [ProposalItem(0, "remove", line) for line in removals]
    items += [ProposalItem(0, "add", a.text, a.section, a.entry_id, a.note, a.by, a.source) for a in additions]
    numbered = tuple(replace(item, number=number) for number, item in enumerate(items, start=1))
    after = _applied(before.text, numbered)
    proposal = Proposal(
        id=new_id(),
        diff=diff_of(before.text, after),
        text=after,
        base=before.digest,
        made_by=MADE_BY_RULES if service.model is None else service.model.name,
        items=numbered,
        created_at=clock.utc_now(),
    )
    if not proposal.empty:
        service.proposals.save(proposal)
    return proposal


def accept(service: NotesService, proposal: Proposal | str, *, items: Sequence[int] | None = None) -> Accepted:
    """Apply a proposal, or some of its items, to the MEMORY.md it was made for. The other items stay."""
    if isinstance(proposal, Proposal) and proposal.empty:
        return Accepted()
    wanted = _as_it_stands(service, proposal)
    chosen = choose_items(wanted, items)
    before = read_memory_file(service)
    if before.digest != wanted.base:
        raise NoteConflictError(
            f"{MEMORY_FILE} has changed since proposal {wanted.id} was made; nothing was overwritten, "
            "make a new one with curate"
        )
    backup = replace_memory_file(service, before, _applied(before.text, chosen))
    after = read_memory_file(service)
    with service.lock.hold():
        ledger = service.ledger()
        ledger.removed(item.text for item in chosen if item.action == "remove")
        ledger.observe(after.items)
        ledger.promoted |= {item.entry_id for item in chosen if item.entry_id}
        _record_origins(ledger, before, wanted.made_by, [item for item in chosen if item.action == "add"])
        ledger.save()
    _keep_rest(service, wanted, after, {item.number for item in chosen})
    return Accepted(
        added=tuple(item.text for item in chosen if item.action == "add"),
        removed=tuple(item.text for item in chosen if item.action == "remove"),
        backup=backup,
    )


def _as_it_stands(service: NotesService, proposal: Proposal | str) -> Proposal:
    """What is left of a proposal now, whatever the caller holds of it: items of it may be settled."""
    return service.proposals.load(proposal.id if isinstance(proposal, Proposal) else proposal)


def _record_origins(ledger: CurationLedger, before: MemoryFile, made_by: str, items: Sequence[ProposalItem]) -> None:
    at = clock.to_text(clock.utc_now())
    for section in new_sections(before.text, [item.section for item in items]):
        ledger.record(section, ItemOrigin("proposal", at, made_by=made_by))
    for item in items:
        origin = ItemOrigin("proposal", at, item.by, item.source, item.entry_id, item.note, made_by)
        ledger.record(item.text, origin)


def reject(service: NotesService, proposal: Proposal | str, *, items: Sequence[int] | None = None) -> tuple[str, ...]:
    """Drop a proposal, or some of its items. Their texts are not proposed again; returns them."""
    wanted = _as_it_stands(service, proposal)
    chosen = choose_items(wanted, items)
    with service.lock.hold():
        ledger = service.ledger()
        ledger.reject(item.text for item in chosen if item.action == "add")
        ledger.save()
    _keep_rest(service, wanted, read_memory_file(service), {item.number for item in chosen})
    return tuple(item.text for item in chosen)


def _keep_rest(service: NotesService, proposal: Proposal, now: MemoryFile, settled: set[int]) -> None:
    """Keep what is left of a proposal, for the MEMORY.md of now."""
    rest = tuple(item for item in proposal.items if item.number not in settled)
    if not rest:
        service.proposals.delete(proposal.id)
        return
    after = _applied(now.text, rest)
    left = replace(proposal, items=rest, text=after, diff=diff_of(now.text, after), base=now.digest)
    service.proposals.save(left)


def _applied(text: str, items: Sequence[ProposalItem]) -> str:
    """The text with these changes."""
    after = without_lines(text, [item.text for item in items if item.action == "remove"])
    additions = [Addition(item.section, item.text) for item in items if item.action == "add"]
    return with_additions(after, additions) if additions else after


def _observed(service: NotesService, before: MemoryFile) -> CurationLedger:
    """The ledger, after it has taken note of what a person deleted from MEMORY.md since."""
    with service.lock.hold():
        ledger = service.ledger()
        ledger.observe(before.items)
        ledger.save()
    return ledger


def _recent(service: NotesService, days: int, now: datetime | None) -> Iterator[_RecentNote]:
    """What the daily notes of the last days hold, oldest first."""
    first, last = day_range(service.today(now), days)
    dated = {path: day for path in service.files.listing().files if (day := day_of(path)) is not None}
    for path in sorted((path for path, day in dated.items() if first <= day <= last), key=lambda p: (dated[p], p)):
        try:
            text = service.read_text(path)
        except (NotesError, InvalidInputError):
            # Every scan reports it; a proposal from the other notes is still worth something.
            continue
        for placed in items_of(path, text or ""):
            entry = placed.entry
            yield _RecentNote(path, entry.text, entry.id, placed.by_hand, entry.by, entry.source)


def _by_rules(
    before: MemoryFile, notes: Sequence[_RecentNote], ledger: CurationLedger
) -> tuple[list[Addition], list[str]]:
    """(additions, lines to take out): sentences that say something lasting, and what they make wrong."""
    otherwise = default_section(before.text, [note.text for note in notes])
    headings = headings_of(before.text)
    everything = words_of(before.text)
    found: dict[str, Addition] = {}
    for note in notes:
        if note.entry_id in ledger.promoted or note.entry_id in before.promoted:
            continue
        for kind, statement in _statements(note):
            plain = words_of(statement)
            new = plain not in everything and plain not in found
            if new and comparable(statement) and len(statement) <= _MAX_CHARACTERS:
                whole = words_of(note.text) == plain and not note.by_hand
                section = section_for(kind, headings, otherwise)
                entry_id = note.entry_id if whole else ""
                text = " ".join(statement.split())
                found[plain] = Addition(section, text, entry_id, note.by, note.source, note.path)
    return _without_contradictions(before, list(found.values()))


def _statements(note: _RecentNote) -> list[tuple[str, str]]:
    """(kind, text) of what lasts. An item that a person wrote stays as it is written."""
    lasting = lasting_statements(note.text)
    if not note.by_hand or not lasting or len(note.text) > _MAX_CHARACTERS:
        return lasting
    return [] if is_passing(note.text) else [(lasting[0][0], note.text)]


def _without_contradictions(before: MemoryFile, additions: Sequence[Addition]) -> tuple[list[Addition], list[str]]:
    """Of several values of one attribute the newest; what MEMORY.md says of it instead is to be taken out."""
    newest: dict[tuple[str, str], str] = {}
    for addition in additions:
        attribute = read_attribute(addition.text)
        if attribute is not None:
            newest[attribute[:2]] = attribute[2]
    kept = []
    for addition in additions:
        attribute = read_attribute(addition.text)
        if attribute is None or newest[attribute[:2]] == attribute[2]:
            kept.append(addition)
    removals = []
    for line, item in before.item_lines:
        attribute = read_attribute(item)
        if attribute is not None and newest.get(attribute[:2], attribute[2]) != attribute[2]:
            removals.append(line)
    return kept, removals
