"""Candidates of chats, written into the daily notes: each once, also after a crash and over several flushes.

The id of an entry follows from its candidate. First the entry is written, then the candidate is marked; for a candidate
that is not marked yet, its entry is searched for before one is written. A candidate that says what an earlier one said,
or what the notes say already, is marked and not written: also if a person has deleted the earlier entry since. In a
group the entry begins with the name of who said it, and the same words of two people are two entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from jiyi.errors import InvalidInputError, NotesError
from jiyi.model.chat import Candidate
from jiyi.model.daily_note import day_of, day_range, local_day, neighbouring_days
from jiyi.model.filters import Filters
from jiyi.model.limits import check_whole
from jiyi.model.note import AppendedNote
from jiyi.notes.entries import new_entry_id
from jiyi.notes.markdown import take_apart
from jiyi.notes.memory_file import words_of
from jiyi.notes.visibility import is_shared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jiyi.notes.service import NotesService

_BY: Final = "notes"
_BY_DUPLICATE: Final = "notes: duplicate"
_BATCH: Final = 100
_MAX_EARLIER: Final = 10_000
_COMPARED_DAYS: Final = 30
_MIN_CONTAINED: Final = 8
"""A shorter text may be part of another one by accident."""


@dataclass(frozen=True, slots=True)
class CandidateReport:
    """What became of the candidates."""

    written: list[AppendedNote] = field(default_factory=list)
    """Those with `new=False` were in their note already."""
    duplicates: list[str] = field(default_factory=list)
    """Ids of candidates that say what was written before."""
    refused: dict[str, str] = field(default_factory=dict)
    """Candidate id -> why it could not be written; it stays new."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "written": [note.to_dict() for note in self.written],
            "duplicates": self.duplicates,
            "refused": self.refused,
        }


@dataclass(frozen=True, slots=True)
class _AttributedCandidate:
    """A candidate, who said it, and when."""

    candidate: Candidate
    name: str | None
    at: datetime

    @property
    def text(self) -> str:
        """What is written: without a name "I'm vegan" tells a group nothing."""
        return self.candidate.content if self.name is None else f"{self.name}: {self.candidate.content}"


def take_candidates(service: NotesService, *, limit: int = 1_000) -> CandidateReport:
    """Write new candidates of the scope into the notes of the days on which they were said, oldest first."""
    check_whole(limit, "limit", 1, 1_000_000)
    report = CandidateReport()
    for scope in (service.identity.scope, *service.session_kinds.group_scopes()):
        _take_from(service, scope, limit, report)
    return report


def _take_from(service: NotesService, scope: str, limit: int, report: CandidateReport) -> None:
    """Write the candidates of one scope: the owner's, or that of a group."""
    while (left := limit - len(report.written) - len(report.duplicates)) > 0:
        # Held from reading to marking, so that two processes do not write the same one.
        with service.lock.hold():
            known = len(report.refused)
            new = service.deps.chats.candidates(scope, state="new", limit=min(left, _BATCH) + known)
            batch = [candidate for candidate in new if candidate.id not in report.refused]
            kinds = service.session_kinds.all(scope) if batch else {}
            if scope != service.identity.scope:
                # Whatever else is recorded about an id: in the scope of a group everything is the group's.
                kinds = dict.fromkeys((*kinds, *(candidate.session_id for candidate in batch)), "group")
            for kind in dict.fromkeys(kinds.get(candidate.session_id, "main") for candidate in batch):
                own = [candidate for candidate in batch if kinds.get(candidate.session_id, "main") == kind]
                _write_all(service, own, kind, kinds, report)
        if not batch:
            break


def _write_all(
    service: NotesService, candidates: list[Candidate], kind: str, kinds: dict[str, str], report: CandidateReport
) -> None:
    """Write candidates of sessions of one kind: what a group said is compared with what the group may see."""
    scope = candidates[0].scope
    earlier = service.deps.chats.candidates(scope, state="taken", limit=_MAX_EARLIER)
    earlier = [candidate for candidate in earlier if kinds.get(candidate.session_id, "main") == kind]
    known = {words_of(each.text) for each in _spoken(service, scope, earlier, kind)}
    noted = [words_of(text) for text in _recent_texts(service, kind)]
    for spoken in _spoken(service, scope, candidates, kind):
        candidate = spoken.candidate
        text = words_of(spoken.text)
        long = len(text.replace(" ", "")) >= _MIN_CONTAINED
        repeated = text in known or (long and any(text in other for other in noted))
        found = _find_entry(service, spoken, kind)
        if repeated and found is None:
            _settle(service, candidate, "rejected", _BY_DUPLICATE)
            report.duplicates.append(candidate.id)
            continue
        try:
            written = found or service.append(
                spoken.text,
                kind=kind,
                by="agent",
                source=source_of(candidate),
                at=spoken.at,
                entry_id=entry_id_of(candidate, spoken.at),
            )
        except InvalidInputError as error:
            report.refused[candidate.id] = str(error)
            continue
        _settle(service, candidate, "taken", _BY)
        known.add(text)
        report.written.append(written)


def _spoken(
    service: NotesService, scope: str, candidates: Sequence[Candidate], kind: str
) -> list[_AttributedCandidate]:
    """The candidates with when they were said, and in a group by whom, as far as their messages are known."""
    ids = [one for each in candidates for one in (each.first_message_id, each.last_message_id)]
    messages = service.deps.records.fetch(list(dict.fromkeys(ids)), Filters((scope,))) if ids else {}
    found: list[_AttributedCandidate] = []
    for each in candidates:
        ends = [messages.get(one) for one in (each.first_message_id, each.last_message_id)]
        names = {None if end is None else end.name for end in ends}
        name = names.pop() if kind == "group" and len(names) == 1 else None
        found.append(_AttributedCandidate(each, name, each.created_at if ends[-1] is None else ends[-1].event_time))
    return found


def _settle(service: NotesService, candidate: Candidate, state: str, by: str) -> None:
    service.deps.chats.settle_candidate(candidate.scope, candidate.id, state=state, by=by)


def _recent_texts(service: NotesService, kind: str) -> Iterator[str]:
    """The texts of MEMORY.md and the daily notes of the last weeks, as far as sessions of this kind see them."""
    first, last = day_range(service.today(), _COMPARED_DAYS)
    memory_file = service.files.memory_file()
    for path in service.files.listing().files:
        day = day_of(path)
        if path != memory_file and (day is None or not first <= day <= last):
            continue
        try:
            document = take_apart(service.read_text(path) or "")
        except (NotesError, InvalidInputError):
            # Every scan reports it; it is compared with the notes that can be read.
            continue
        if kind == "main" or is_shared(path, document):
            yield from (piece.text for piece in document.pieces)


def source_of(candidate: Candidate) -> str:
    """Where it was said: `chat:session#12-14`, with the positions of the messages in the session."""
    session = quote(candidate.session_id, safe="")
    first, last = candidate.first_position, candidate.last_position
    return f"chat:{session}#{first}" if first == last else f"chat:{session}#{first}-{last}"


def entry_id_of(candidate: Candidate, at: datetime) -> str:
    """The id of the entry that a candidate becomes that was said at this moment, the same each time."""
    return new_entry_id(at, candidate.id)


def _find_entry(service: NotesService, spoken: _AttributedCandidate, kind: str) -> AppendedNote | None:
    """Its entry, if it was written and the process ended before the candidate was marked.

    A changed time zone may shift the day.
    """
    # Where its message cannot be read, and in earlier versions, its time is that of the flush.
    for at in dict.fromkeys((spoken.at, spoken.candidate.created_at)):
        wanted = entry_id_of(spoken.candidate, at)
        for day in neighbouring_days(local_day(at, service.settings.zone)):
            path, found = service.entries_of_day(day, kind=kind)
            if any(placed.entry.id == wanted for placed in found):
                return AppendedNote(wanted, path, at, new=False)
    return None
