"""NotesService: the workspace of one memory, blocking. `jiyi.notes.api` gives it to programs with `async`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from jiyi.errors import InvalidInputError, NotesError
from jiyi.model import clock
from jiyi.model.entry import NOTE_TYPE, TRUST_LEVELS, Explanation, IndexCoverage, MemoryEntry
from jiyi.model.filters import Filters, make_filters
from jiyi.model.identity import new_id, text_hash
from jiyi.model.limits import Limits, check_whole
from jiyi.model.note import (
    SEPARATOR,
    AppendedNote,
    NoteFile,
    NoteHit,
    NoteProblem,
    NoteText,
    ScanReport,
    is_note_scope,
    note_place,
    thread_of,
)
from jiyi.notes import decoding, entries
from jiyi.notes.append import Appender, AppendLimits
from jiyi.notes.files import CONTEXT_FILES, FOLDER, LONG_TERM, SHARED_FOLDER, Files, check_path, is_note
from jiyi.notes.journal import Journal, Lock
from jiyi.notes.markdown import lines_of, take_apart
from jiyi.notes.scan import Identity, Scanner, is_shared, without_headings
from jiyi.notes.templates import LANGUAGES, TEMPLATES, heading_of
from jiyi.recall.request import MODES, Request
from jiyi.text.token_count import counter_for

if TYPE_CHECKING:
    from jiyi.notes.candidates import TakenCandidates
    from jiyi.notes.watch import Watcher
    from jiyi.ports import ChatModel, ChatStore, Progress, RecordStore, TokenCounter

_log = logging.getLogger("jiyi.notes")

KINDS: Final = ("main", "group")
_MAX_SOURCE: Final = 2_000
_SEARCH_ATTEMPTS: Final = 3
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class NotesSettings:
    """What the room is told; plain values, from wherever."""

    workspace: Path
    data: Path
    """The data directory of the memory."""
    scope: str
    actor: str
    zone: Callable[[], tzinfo]
    """Returns the user's time zone."""
    limits: Limits
    append: AppendLimits
    patience: float = 30.0
    context_file_tokens: int = 2_000
    long_term_tokens: int = 4_000
    daily_tokens: int = 4_000
    model: ChatModel | None = None
    """Who curates; without one rules do."""
    take_candidates: bool = True
    """Whether what chats propose to keep is written down by itself, before notes are searched or shown."""
    counter: TokenCounter | None = None
    """How tokens are counted; without one they are estimated from above."""


class NotesService:
    """Appends, scans, searches and reads the notes of one workspace. Safe for several threads and processes."""

    def __init__(
        self,
        settings: NotesSettings,
        store: RecordStore,
        chats: ChatStore,
        recall: Callable[[Request], list[MemoryEntry]],
        written: Callable[[], None],
    ) -> None:
        self.settings = settings
        self.root = _real(settings.workspace)
        workspace = text_hash(str(self.root))
        self.identity = Identity(workspace, settings.scope, settings.actor)
        self.files = Files(self.root)
        self.lock = Lock(settings.data / f"notes-{workspace[:16]}.lock", timeout=settings.patience)
        self.journal = Journal(settings.data / "notes_journal" / workspace[:16])
        self.appender = Appender(self.files, self.journal, self.lock, settings.append)
        self.scanner = Scanner(self.files, store, self.identity, settings.zone, max_bytes=settings.append.file_bytes)
        self.counter = settings.counter or counter_for(None)
        self.chats = chats
        self._store = store
        self._recall = recall
        self._written = written
        self._scanning = threading.Lock()
        self._entry_limits = replace(settings.limits, max_content_bytes=settings.append.entry_bytes)
        self._refused: set[str] = set()
        self._minute: tuple[datetime, datetime, _Local] | None = None
        self.watcher: Watcher | None = None
        self.model = settings.model

    # --- the workspace ----------------------------------------------------------------------------------------------

    def init_workspace(self, *, language: str = "en", context_files: bool = True) -> dict[str, list[str]]:
        """Make what is missing; returns `created` and `kept`, by path. What exists is never touched."""
        if language not in LANGUAGES:
            raise InvalidInputError(f"language {language!r} is unknown; use one of {', '.join(LANGUAGES)}")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            folder = self.root / FOLDER
            made = not folder.exists()
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise NotesError(f"the workspace {self.root} cannot be made: {error.strerror}") from error
        report: dict[str, list[str]] = {"created": [], "kept": []}
        report["created" if made else "kept"].append(f"{FOLDER}/")
        for name in (LONG_TERM, *(CONTEXT_FILES if context_files else ())):
            created = self.files.create(name, TEMPLATES[language][name].encode("utf-8"))
            report["created" if created else "kept"].append(name)
        return report

    # --- writing ----------------------------------------------------------------------------------------------------

    def append(
        self,
        text: str,
        *,
        kind: str = "main",
        by: str = "agent",
        source: str = "",
        at: datetime | None = None,
        entry_id: str | None = None,
    ) -> AppendedNote:
        """Put an entry into the note of its day; in the file and on disk when this returns."""
        if kind not in KINDS:
            check_kind(kind)
        body = _checked_text(self._entry_limits, text)
        if by not in TRUST_LEVELS:
            raise InvalidInputError(f"by {by!r} is unknown; use one of {', '.join(TRUST_LEVELS)}")
        if source != "" and not _is_source(source):
            raise InvalidInputError(
                f"source must be one line of at most {_MAX_SOURCE:,} characters: {ascii(source)[:80]}"
            )
        if at is None:
            moment = clock.utc_now()
            local = self._local_now(moment)
        else:
            moment = clock.require_aware(at, "at")
            local = _local(moment, self.settings.zone())
        entry = entries.NoteEntry(entry_id or new_id(), moment, local.offset, body, by, source)
        path = local.shared if kind == "group" else local.path
        return self.appender.append(entry, path, local.heading, local.minute)

    def take_candidates(self, *, limit: int = 1_000) -> TakenCandidates:
        """Write what chats propose to keep into the daily notes, each once."""
        from jiyi.notes.candidates import take_candidates

        done = take_candidates(self, limit=limit)
        self._refused = set(done.refused)
        return done

    def keep_up(self) -> None:
        """Write down what chats have proposed since, if that is wanted. Notes that cannot be written stay readable."""
        if not self.settings.take_candidates:
            return
        new = self.chats.candidates(self.identity.scope, state="new", limit=len(self._refused) + 1)
        if all(candidate.id in self._refused for candidate in new):
            return
        try:
            refused = self.take_candidates().refused
        except NotesError as error:
            _log.warning("what chats propose to keep could not be written down: %s", error)
            return
        for candidate_id, reason in refused.items():
            _log.warning("candidate %s was not written down: %s", candidate_id, reason)

    # --- following the files ----------------------------------------------------------------------------------------

    def scan(self, *, whole: bool = False, progress: Progress | None = None) -> ScanReport:
        """Bring the rows up to date with the files; indexes follow as after any write."""
        # Threads that ask at once would all read the same new files.
        with self._scanning:
            report = self.scanner.scan(whole=whole, progress=progress, reconcile=self.appender.reconcile)
        if report.changed:
            self._written()
        return report

    def note_files(self) -> dict[str, NoteFile]:
        """What is known of the files, by path."""
        return self._store.note_files(self.identity.workspace, self.identity.scope)

    def problems(self) -> list[NoteProblem]:
        """What looks like a note and is not searched, and why, as it was last read. Nothing is changed by asking."""
        try:
            listing = self.files.listing()
        except NotesError as error:
            return [NoteProblem(".", str(error))]
        known = [NoteProblem(file.path, file.problem) for file in self.note_files().values() if file.problem]
        unread = [problem for problem in known if problem.path in listing.files]
        return sorted((*listing.problems, *unread), key=lambda problem: problem.path)

    # --- reading ----------------------------------------------------------------------------------------------------

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
        text = self.settings.limits.check_query(query)
        count = self.settings.limits.check_limit(limit)
        if mode not in MODES:
            raise InvalidInputError(f"mode {mode!r} is unknown; use one of {', '.join(MODES)}")
        first, last = self._days(since, until)
        wanted = None if path is None else check_path(path.removesuffix("/") if isinstance(path, str) else path)
        scopes = self._scopes(kind)
        moment = None if now is None else clock.require_aware(now, "now")
        self.keep_up()
        for attempt in range(_SEARCH_ATTEMPTS):
            self.scan()
            filters = make_filters(
                scopes, conversations=self._conversations(wanted, kind), memory_types=NOTE_TYPE, since=first, until=last
            )
            # Without conditions the scopes say it all, and that is the quickest way to ask.
            plain = Filters(scopes) if first is None and last is None and wanted is None else filters
            # The same words in two places are two places.
            request = Request(query=text, filters=plain, limit=count, mode=mode, now=moment, duplicates=True)
            found = self._recall(request)
            hits = [self._hit(entry) for entry in found]
            stale = set(self.scanner.stale(list(dict.fromkeys(hit.path for hit in hits))))
            if not stale or attempt == _SEARCH_ATTEMPTS - 1:
                # A file that changes faster than it can be read: what is not certain is left out.
                return [hit for hit in hits if hit.path not in stale]
        return []

    def recall_with_notes(self, request: Request) -> list[MemoryEntry]:
        """An ordinary recall that also sees the private notes of this workspace."""
        try:
            self.scan()
        except NotesError as error:
            # Notes that cannot be checked are not recalled; everything else is, and each hit says so.
            said = IndexCoverage("notes", answered=False, note=str(error))
            return [_said(hit, said) for hit in self._recall(request)]
        scopes = (*request.filters.scopes, *self._scopes("main"))
        found = self._recall(replace(request, filters=replace(request.filters, scopes=scopes)))
        return [_shown(hit, self.identity.scope) for hit in found]

    def get(self, path: str, from_line: int = 1, to_line: int | None = None, *, kind: str = "main") -> NoteText:
        """Lines of a note, exactly as they stand in the file; both ends included."""
        checked = check_path(path)
        check_kind(kind)
        check_whole(from_line, "from_line", 1, 2**31 - 1)
        if to_line is not None:
            check_whole(to_line, "to_line", from_line, 2**31 - 1)
        if not is_note(checked) and checked not in CONTEXT_FILES:
            raise InvalidInputError(
                f"{checked} is no note; {LONG_TERM}, the files below {FOLDER}/ that end in .md, "
                f"and {', '.join(CONTEXT_FILES)} can be read"
            )
        text = self.read_text(checked)
        if text is None or (kind == "group" and is_note(checked) and not is_shared(checked, take_apart(text))):
            # To a group a private note is no different from one that is not there.
            raise InvalidInputError(f"there is no note {checked!r} here")
        lines = text.split("\n")
        total = len(lines_of(text))
        if from_line > max(total, 1):
            raise InvalidInputError(f"from_line {from_line} is behind the end of {checked}, which has {total:,} lines")
        end = total if to_line is None else min(to_line, total)
        shown = "\n".join(lines[from_line - 1 : end])
        if end == total and text.endswith("\n"):
            shown += "\n"
        return NoteText(checked, from_line, end, total, shown)

    def entries_of_day(self, day: date | None = None) -> tuple[str, list[entries.PlacedEntry]]:
        """The path of a daily note and the entries in it."""
        self.appender.reconcile()
        path = daily_path(self.today() if day is None else day)
        return path, entries.parse(lines_of(self.read_text(path) or ""))

    def read_text(self, path: str) -> str | None:
        """The text of a file; `None` when there is none. What cannot be read or decoded is an error, never empty."""
        try:
            data, _ = self.files.read(path, most=self.settings.append.file_bytes)
        except FileNotFoundError:
            return None
        try:
            return decoding.decode(data)[0]
        except decoding.UndecodableError as error:
            raise NotesError(f"{path} cannot be read: {error}") from None

    def close(self) -> None:
        """Stop watching, and let go of files."""
        if self.watcher is not None:
            self.watcher.stop()
        self.appender.close()
        self.journal.close()

    # --- inside -----------------------------------------------------------------------------------------------------

    def today(self, now: datetime | None = None) -> date:
        """The local date."""
        moment = clock.utc_now() if now is None else clock.require_aware(now, "now")
        return moment.astimezone(self.settings.zone()).date()

    def _local_now(self, now: datetime) -> _Local:
        """Local time, worked out once a minute: no clock is changed within one."""
        known = self._minute
        if known is None or not known[0] <= now < known[1]:
            local = _local(now, self.settings.zone())
            start = now.replace(second=0, microsecond=0)
            # Where the minutes of local time are not those of UTC, each entry is worked out for itself.
            self._minute = known = (start, start if local.offset % _MINUTE else start + _MINUTE, local)
        return known[2]

    def _scopes(self, kind: str) -> tuple[str, ...]:
        """The fence: a group is asked for in the scope of shared pieces alone."""
        check_kind(kind)
        shared = self.identity.of(shared=True)
        return (shared,) if kind == "group" else (self.identity.of(shared=False), shared)

    def _conversations(self, wanted: str | None, kind: str) -> tuple[str, ...]:
        """The threads of the files that a path names: one file, or all below a folder."""
        if wanted is None:
            return ()
        files = self.note_files().values()
        visible = [file.path for file in files if kind == "main" or file.shared]
        found = [path for path in visible if path == wanted or path.startswith(f"{wanted}/")]
        if not found:
            raise InvalidInputError(f"there is no note {wanted!r} here, and no folder with notes of that name")
        return tuple(thread_of(path) for path in found)

    def _days(self, since: date | str | None, until: date | str | None) -> tuple[datetime | None, datetime | None]:
        """Whole local days as moments; the last day is included."""
        first, last = _day(since, "since"), _day(until, "until")
        if first is not None and last is not None and first > last:
            raise InvalidInputError(f"since {first} is after until {last}; swap them")
        zone = self.settings.zone()
        try:
            start = None if first is None else datetime.combine(first, time_of_day(), tzinfo=zone)
            end = None if last is None else datetime.combine(last + timedelta(days=1), time_of_day(), tzinfo=zone)
            return (
                None if start is None else clock.require_aware(start, "since"),
                None if end is None else clock.require_aware(end, "until"),
            )
        except OverflowError:
            raise InvalidInputError(f"the days {first} to {last} are outside the calendar") from None

    def _hit(self, entry: MemoryEntry) -> NoteHit:
        path, start, end = note_place(entry.source.references)
        headings = entry.source.references[1:]
        occurred = entry.occurred_at
        return NoteHit(
            path=path,
            start_line=start,
            end_line=end,
            heading=SEPARATOR.join(headings),
            date=None if occurred is None else occurred.astimezone(self.settings.zone()).date(),
            content=without_headings(entry.content, headings),
            score=entry.relevance_score or 0.0,
            id=entry.id,
            explanation=entry.explanation or Explanation(),
        )


class _Local(NamedTuple):
    """What the local time of a moment decides."""

    offset: timedelta
    minute: entries.Minute
    day: date
    path: str
    """Of the note of that day."""
    shared: str
    """The same for groups."""

    def heading(self) -> str:
        """How the note of that day begins."""
        return heading_of(self.day)


def _local(moment: datetime, zone: tzinfo) -> _Local:
    offset = moment.astimezone(zone).utcoffset() or timedelta()
    day = (moment + offset).date()
    return _Local(offset, entries.minute_of(moment, offset), day, daily_path(day), daily_path(day, shared=True))


def check_kind(kind: object) -> str:
    """Which session asks; anything that is not known is refused, because guessing could show too much."""
    if kind not in KINDS:
        raise InvalidInputError(f"kind {kind!r} is unknown; use 'main' or 'group'")
    return str(kind)


def daily_path(day: date, *, shared: bool = False) -> str:
    """The note of a day."""
    return f"{SHARED_FOLDER if shared else FOLDER}/{day.isoformat()}.md"


def _is_source(source: object) -> bool:
    return isinstance(source, str) and len(source) <= _MAX_SOURCE and all(ord(c) >= 32 for c in source)


def _checked_text(limits: Limits, text: object) -> str:
    try:
        return limits.check_content(text, "text")
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace("max_content_bytes", "max_note_entry_bytes")) from None


def _day(value: object, name: str) -> date | None:
    if value is None:
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise InvalidInputError(f"{name} {value!r} is no day; write it as 2026-11-15")


def _real(path: Path) -> Path:
    return Path(path).resolve()


def _shown(hit: MemoryEntry, scope: str) -> MemoryEntry:
    """Pieces of notes belong to the scope of the memory; how they are kept apart is nobody's business."""
    context = tuple(_shown(near, scope) for near in hit.context)
    return replace(hit, scope=scope if is_note_scope(hit.scope) else hit.scope, context=context)


def _said(hit: MemoryEntry, coverage: IndexCoverage) -> MemoryEntry:
    explanation = hit.explanation or Explanation()
    return replace(hit, explanation=replace(explanation, coverage=(*explanation.coverage, coverage)))
