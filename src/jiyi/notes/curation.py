"""From daily notes into MEMORY.md: entries that are named, or what rules or a model propose.

A proposal is a diff and nothing else. It is applied when it is accepted, after a backup, and only to the file it was
made for. A model proposes lines to add and lines to take out; the file is never replaced by what a model wrote.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import InvalidInputError, NoteConflictError, NotesError
from jiyi.model.daily_note import day_of, day_range
from jiyi.model.identity import new_id
from jiyi.model.limits import check_whole
from jiyi.notes import entries, text_encoding
from jiyi.notes.lasting_statements import lasting_statements, section_for
from jiyi.notes.longterm_file import (
    Addition,
    LongTerm,
    diff_of,
    read_long_term,
    replace_long_term,
    with_additions,
    without_lines,
)
from jiyi.notes.markdown import headings_in, lines_of, take_apart
from jiyi.notes.paths import LONG_TERM
from jiyi.text import detect_language, fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jiyi.notes.entries import PlacedEntry
    from jiyi.notes.service import NotesService

_DEFAULT_SECTION: Final = {"en": "From the daily notes", "zh": "来自每日笔记"}
_MAX_DAYS: Final = 366
_MAX_ADDITIONS: Final = 40
_MAX_CHARACTERS: Final = 400
RULES: Final = "rules"


@dataclass(frozen=True, slots=True)
class Proposal:
    """An edit of MEMORY.md that waits to be accepted."""

    id: str
    diff: str
    """Unified; empty when there is nothing to propose."""
    text: str
    """MEMORY.md as it would be."""
    base: str
    """Digest of the MEMORY.md it was made for."""
    made_by: str = RULES
    additions: tuple[str, ...] = ()
    removals: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to accept."""
        return not self.diff

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "id": self.id,
            "made_by": self.made_by,
            "diff": self.diff,
            "additions": list(self.additions),
            "removals": list(self.removals),
        }


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was done to MEMORY.md."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    """Entries that were in it already."""
    backup: str = ""
    """Where the version before is, below the workspace; empty when there was none."""
    moved: tuple[str, ...] = field(default=())
    """Entries that left their daily note."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


# --- entries that are named -------------------------------------------------------------------------------------------


def promote(
    service: NotesService, ids: str | Sequence[str], *, section: str | None = None, move: bool = False
) -> Accepted:
    """Put entries into a section of MEMORY.md, each once; with `move` they leave their daily note afterwards."""
    wanted = [ids] if isinstance(ids, str) else list(ids)
    if not wanted or not all(isinstance(each, str) and each.strip() for each in wanted):
        raise InvalidInputError(f"ids must name at least one entry of a daily note, not {ids!r}")
    if section is not None and (not isinstance(section, str) or not section.strip() or "\n" in section):
        raise InvalidInputError(f"section must be the text of a heading, not {section!r}")
    found = _find(service, wanted)
    before = read_long_term(service)
    title = section or _DEFAULT_SECTION[_language(before.text, [p.entry.text for _, p in found.values()])]
    known = before.promoted
    new = [entry_id for entry_id in dict.fromkeys(wanted) if entry_id not in known]
    backup = ""
    if new:
        additions = [Addition(title, found[entry_id][1].entry.text, entry_id) for entry_id in new]
        backup = replace_long_term(service, before, with_additions(before.text, additions))
    # Only now, when they are safe in their new place; who is interrupted in between calls this again.
    moved = _remove_entries(service, found) if move else ()
    return Accepted(
        added=tuple(new), unchanged=tuple(e for e in dict.fromkeys(wanted) if e in known), backup=backup, moved=moved
    )


def _find(service: NotesService, ids: Sequence[str]) -> dict[str, tuple[str, PlacedEntry]]:
    """The entries by id, each with its path; all of them or an error."""
    found: dict[str, tuple[str, PlacedEntry]] = {}
    for path in service.files.listing().files:
        if path == LONG_TERM:
            continue
        for placed in _entries_of(service, path):
            if placed.entry.id in ids:
                found.setdefault(placed.entry.id, (path, placed))
    missing = [entry_id for entry_id in ids if entry_id not in found]
    gone = [entry_id for entry_id in missing if entry_id not in read_long_term(service).promoted]
    if gone:
        raise InvalidInputError(
            f"no note has an entry with the id {', '.join(gone)[:200]}; 'jiyi notes today' shows ids"
        )
    return found


def _entries_of(service: NotesService, path: str) -> list[PlacedEntry]:
    try:
        data, _ = service.files.read(path, most=service.settings.append.file_bytes)
        return entries.parse(lines_of(text_encoding.decode(data)[0]))
    except (FileNotFoundError, NotesError, InvalidInputError, text_encoding.UndecodableError):
        # A file that cannot be read is reported by every scan; the entry may be in another one.
        return []


def _remove_entries(service: NotesService, found: dict[str, tuple[str, PlacedEntry]]) -> tuple[str, ...]:
    """Remove entries from their daily notes."""
    moved: list[str] = []
    with service.lock.hold():
        for path in dict.fromkeys(path for path, _ in found.values()):
            data, _ = service.files.read(path, most=service.settings.append.file_bytes)
            file = LongTerm(data, *text_encoding.decode(data))
            lines = file.text.split("\n")
            gone = [placed for placed in entries.parse(lines_of(file.text)) if placed.entry.id in found]
            for placed in reversed(gone):
                # The empty line before an entry belongs to it.
                start = placed.start_line - 1
                start -= start > 0 and not lines[start - 1].strip()
                del lines[start : placed.end_line]
            for placed in gone:
                service.journal.removed(placed.entry.id)
            service.appender.rewrite(path, data, file.encoded("\n".join(lines)))
            moved += [placed.entry.id for placed in gone]
    return tuple(moved)


# --- proposals --------------------------------------------------------------------------------------------------------


def curate(service: NotesService, *, days: int = 7, now: datetime | None = None) -> Proposal:
    """What the notes of the last days hold that MEMORY.md should, as a diff that is kept until it is accepted."""
    check_whole(days, "days", 1, _MAX_DAYS)
    service.appender.reconcile()
    before = read_long_term(service)
    notes = list(_recent(service, days, now))
    if service.model is not None:
        from jiyi.notes.model_curation import propose_with_model

        additions, removals = propose_with_model(
            service.model, service.counter, before.text, [f"{note.path}:\n{note.text}" for note in notes]
        )
    else:
        additions, removals = _by_rules(before, notes), []
    additions = [replace(a, text=a.text.strip()) for a in additions if a.text.strip()][:_MAX_ADDITIONS]
    text = without_lines(before.text, removals)
    after = with_additions(text, additions) if additions else text
    proposal = Proposal(
        id=new_id(),
        diff=diff_of(before.text, after),
        text=after,
        base=before.digest,
        made_by=RULES if service.model is None else service.model.name,
        additions=tuple(addition.text for addition in additions),
        removals=tuple(removals),
    )
    if not proposal.empty:
        _save(service, proposal)
    return proposal


def accept(service: NotesService, proposal: Proposal | str) -> Accepted:
    """Apply a proposal, once, to the MEMORY.md it was made for."""
    wanted = proposal if isinstance(proposal, Proposal) else _load(service, proposal)
    if wanted.empty:
        return Accepted()
    before = read_long_term(service)
    if before.digest != wanted.base:
        raise NoteConflictError(
            f"{LONG_TERM} has changed since proposal {wanted.id} was made; nothing was overwritten, "
            "make a new one with curate"
        )
    backup = replace_long_term(service, before, wanted.text)
    _proposal_path(service, wanted.id).unlink(missing_ok=True)
    return Accepted(added=wanted.additions, removed=wanted.removals, backup=backup)


@dataclass(frozen=True, slots=True)
class RecentNote:
    """A piece of a daily note that a curator reads."""

    path: str
    text: str
    entry_id: str = ""


def _recent(service: NotesService, days: int, now: datetime | None) -> Iterator[RecentNote]:
    """The pieces of the daily notes of the last days, oldest first."""
    first, last = day_range(service.today(now), days)
    dated = {path: day for path in service.files.listing().files if (day := day_of(path)) is not None}
    for path in sorted((path for path, day in dated.items() if first <= day <= last), key=lambda p: (dated[p], p)):
        try:
            text = service.read_text(path)
        except (NotesError, InvalidInputError):
            # Reported by every scan; a proposal from the other notes is still worth something.
            continue
        for piece in take_apart(text or "").pieces:
            yield RecentNote(path, piece.text, piece.entry.id if piece.entry is not None else "")


def _by_rules(before: LongTerm, notes: Sequence[RecentNote]) -> list[Addition]:
    """Sentences that say something lasting: preferences, facts about people, decisions, lessons."""
    otherwise = _DEFAULT_SECTION[_language(before.text, [note.text for note in notes])]
    headings = [title for _, _, title in headings_in(before.text.split("\n"))]
    known = {_plain(line) for line in before.text.split("\n")}
    everything = _plain(before.text)
    found: list[Addition] = []
    for note in notes:
        if note.entry_id in before.promoted:
            continue
        for kind, statement in lasting_statements(note.text):
            plain = _plain(statement)
            if plain and plain not in known and plain not in everything and len(statement) <= _MAX_CHARACTERS:
                known.add(plain)
                # The whole entry, if it says nothing else, can be followed back to where it came from.
                whole = _plain(note.text) == plain
                section = section_for(kind, headings, otherwise)
                found.append(Addition(section, " ".join(statement.split()), note.entry_id if whole else ""))
    return found


def _plain(text: str) -> str:
    """For comparing: letters and digits alone."""
    return "".join(character for character in fold(text) if character.isalnum())


def _language(text: str, others: Sequence[str]) -> str:
    return detect_language(text if any(c.isalpha() for c in text) else "\n".join(others))


# --- proposals on disk ------------------------------------------------------------------------------------------------


def _proposal_path(service: NotesService, proposal_id: str) -> Path:
    if not proposal_id or not all(character in "0123456789abcdef-" for character in proposal_id):
        raise InvalidInputError(f"{proposal_id[:80]!a} is not the id of a proposal")
    return service.settings.data / "notes_proposals" / service.identity.workspace[:16] / f"{proposal_id}.json"


def _save(service: NotesService, proposal: Proposal) -> None:
    place = _proposal_path(service, proposal.id)
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.touch(0o600)
    place.write_text(json.dumps(asdict(proposal), ensure_ascii=False), "utf-8")


def _load(service: NotesService, proposal_id: object) -> Proposal:
    if not isinstance(proposal_id, str):
        raise InvalidInputError(f"a proposal or its id is needed, not {type(proposal_id).__name__}")
    place = _proposal_path(service, proposal_id.strip())
    try:
        data = json.loads(place.read_text("utf-8"))
    except FileNotFoundError:
        raise InvalidInputError(f"there is no proposal {proposal_id} (accepted already?); make one") from None
    except (OSError, ValueError) as error:
        raise NotesError(f"proposal {proposal_id} cannot be read: {error}; make a new one with curate") from None
    return Proposal(**{**data, "additions": tuple(data["additions"]), "removals": tuple(data["removals"])})
