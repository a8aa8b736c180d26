"""What the chat room proposes to keep, written into the daily notes: each once, also when a crash comes in between.

The entry carries the id of its candidate. First it is written, then the candidate is marked; whoever finds a candidate
that is not marked looks for its entry before writing one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from jiyi.errors import InvalidInputError
from jiyi.model.daily_note import local_day, neighbouring_days
from jiyi.model.limits import check_whole
from jiyi.model.note import AppendedNote
from jiyi.notes.entries import new_entry_id

if TYPE_CHECKING:
    from jiyi.model.chat import Candidate
    from jiyi.notes.service import NotesService

_BY: Final = "notes"
_BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class CandidateReport:
    """What became of the candidates."""

    written: list[AppendedNote] = field(default_factory=list)
    """Those with `new=False` were in their note already."""
    refused: dict[str, str] = field(default_factory=dict)
    """Candidate id -> why it could not be written; it stays new."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {"written": [note.to_dict() for note in self.written], "refused": self.refused}


def take_candidates(service: NotesService, *, limit: int = 1_000) -> CandidateReport:
    """Write new candidates of the scope into the notes of the days on which they were found, oldest first."""
    check_whole(limit, "limit", 1, 1_000_000)
    report = CandidateReport()
    while (left := limit - len(report.written)) > 0:
        # Held from looking to marking, so that two processes do not write the same one.
        with service.lock.hold():
            known = len(report.refused)
            new = service.deps.chats.candidates(service.identity.scope, state="new", limit=min(left, _BATCH) + known)
            batch = [candidate for candidate in new if candidate.id not in report.refused]
            for candidate in batch:
                _write_candidate(service, candidate, report)
        if not batch:
            break
    return report


def _write_candidate(service: NotesService, candidate: Candidate, report: CandidateReport) -> None:
    try:
        written = _find_entry(service, candidate) or service.append(
            candidate.content,
            by="agent",
            source=source_of(candidate),
            at=candidate.created_at,
            entry_id=entry_id_of(candidate),
        )
    except InvalidInputError as error:
        report.refused[candidate.id] = str(error)
        return
    service.deps.chats.settle_candidate(service.identity.scope, candidate.id, state="taken", by=_BY)
    report.written.append(written)


def source_of(candidate: Candidate) -> str:
    """Where it was said: `chat:session#12-14`, with the positions of the messages in the session."""
    session = quote(candidate.session_id, safe="")
    first, last = candidate.first_position, candidate.last_position
    return f"chat:{session}#{first}" if first == last else f"chat:{session}#{first}-{last}"


def entry_id_of(candidate: Candidate) -> str:
    """The id of the entry that a candidate becomes, the same each time."""
    return new_entry_id(candidate.created_at, candidate.id)


def _find_entry(service: NotesService, candidate: Candidate) -> AppendedNote | None:
    """Its entry, if it was written and the candidate not marked any more. A changed time zone may shift the day."""
    for day in neighbouring_days(local_day(candidate.created_at, service.settings.zone())):
        path, found = service.entries_of_day(day)
        if any(placed.entry.id == entry_id_of(candidate) for placed in found):
            return AppendedNote(entry_id_of(candidate), path, candidate.created_at, new=False)
    return None
