"""Searching the notes: what is found is compared with the files before it is returned."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Final

from jiyi.errors import InvalidInputError, NotesError
from jiyi.model import clock
from jiyi.model.daily_note import bounds_of_days
from jiyi.model.entry import NOTE_TYPE, Explanation, IndexCoverage, MemoryEntry
from jiyi.model.filters import Filters, make_filters
from jiyi.model.note import SEPARATOR, NoteHit, is_note_scope, note_place, thread_of, without_headings
from jiyi.model.recalled import RecalledEntries, notes_of
from jiyi.notes.paths import check_path
from jiyi.recall.request import MODES, Request

if TYPE_CHECKING:
    from jiyi.notes.service import NotesService

_SEARCH_ATTEMPTS: Final = 3


class NoteSearch:
    """Answers questions from the notes of one workspace."""

    def __init__(self, service: NotesService) -> None:
        self._service = service
        self._settings = service.settings
        self._identity = service.identity
        self._recall = service.deps.recall

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        kind: str = "main",
        path: str | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        mode: str = "hybrid",
        now: datetime | None = None,
    ) -> list[NoteHit]:
        """The pieces of notes that answer the question best, best first, as the files are now."""
        text = self._settings.limits.check_query(query)
        count = self._settings.limits.check_limit(limit)
        if mode not in MODES:
            raise InvalidInputError(f"mode {mode!r} is unknown; use one of {', '.join(MODES)}")
        first, last = bounds_of_days(since, until, self._settings.zone)
        wanted = None if path is None else check_path(path.removesuffix("/") if isinstance(path, str) else path)
        scopes = self._identity.scopes(kind)
        moment = None if now is None else clock.require_aware(now, "now")
        self._service.write_new_candidates()
        for attempt in range(_SEARCH_ATTEMPTS):
            self._service.scan()
            filters = make_filters(
                scopes, conversations=self._conversations(wanted, kind), memory_types=NOTE_TYPE, since=first, until=last
            )
            # Without conditions the scopes say it all, and that is the quickest way to ask.
            plain = Filters(scopes) if first is None and last is None and wanted is None else filters
            # The same words in two places are two places.
            request = Request(query=text, filters=plain, limit=count, mode=mode, now=moment, duplicates=True)
            found = self._recall(request)
            hits = [self._hit(entry) for entry in found]
            stale = set(self._service.scanner.stale(list(dict.fromkeys(hit.path for hit in hits))))
            if not stale or attempt == _SEARCH_ATTEMPTS - 1:
                # A file that changes faster than it can be read: what is not certain is left out.
                return [hit for hit in hits if hit.path not in stale]
        return []

    def recall_with_notes(self, request: Request, kind: str = "main") -> RecalledEntries:
        """An ordinary recall that also sees the notes of this workspace which a session of this kind may see."""
        try:
            self._service.scan()
        except NotesError as error:
            # Notes that cannot be checked are not recalled; everything else is, and each hit says so.
            said = IndexCoverage("notes", answered=False, note=str(error))
            found = self._recall(request)
            notes = (*found.notes, *notes_of([said]))
            return RecalledEntries((_with_coverage(hit, said) for hit in found), notes=notes)
        scopes = (*request.filters.scopes, *self._identity.scopes(kind))
        found = self._recall(replace(request, filters=replace(request.filters, scopes=scopes)))
        return RecalledEntries((_in_scope(hit, self._identity.scope) for hit in found), notes=found.notes)

    def _conversations(self, wanted: str | None, kind: str) -> tuple[str, ...]:
        """The threads of the files that a path names: one file, or all below a folder."""
        if wanted is None:
            return ()
        files = self._service.note_files().values()
        visible = [file.path for file in files if kind == "main" or file.shared]
        found = [path for path in visible if path == wanted or path.startswith(f"{wanted}/")]
        if not found:
            raise InvalidInputError(f"there is no note {wanted!r} here, and no folder with notes of that name")
        return tuple(thread_of(path) for path in found)

    def _hit(self, entry: MemoryEntry) -> NoteHit:
        path, start, end = note_place(entry.source.references)
        headings = entry.source.references[1:]
        occurred = entry.occurred_at
        return NoteHit(
            path=path,
            start_line=start,
            end_line=end,
            heading=SEPARATOR.join(headings),
            date=None if occurred is None else clock.in_zone(occurred, self._settings.zone).date(),
            content=without_headings(entry.content, headings),
            score=entry.relevance_score or 0.0,
            id=entry.id,
            explanation=entry.explanation or Explanation(),
        )


def _in_scope(hit: MemoryEntry, scope: str) -> MemoryEntry:
    """The hit under the scope of the memory: the scopes that hold notes are internal."""
    context = tuple(_in_scope(near, scope) for near in hit.context)
    return replace(hit, scope=scope if is_note_scope(hit.scope) else hit.scope, context=context)


def _with_coverage(hit: MemoryEntry, coverage: IndexCoverage) -> MemoryEntry:
    explanation = hit.explanation or Explanation()
    return replace(hit, explanation=replace(explanation, coverage=(*explanation.coverage, coverage)))
