"""NotesService: the core of the notes, with blocking calls. `jiyi.notes.api` is its asynchronous interface."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from jiyi.errors import InvalidInputError, NotesError
from jiyi.file_lock import FileLock
from jiyi.model import clock
from jiyi.model.daily_note import NOTES_FOLDER, SHARED_FOLDER, daily_heading, daily_path, local_day
from jiyi.model.entry import TRUST_LEVELS
from jiyi.model.limits import Limits, check_whole
from jiyi.model.note import AppendedNote, NoteFile, NoteProblem, NoteText, ScanReport
from jiyi.notes import entries, text_encoding
from jiyi.notes.append import Appender
from jiyi.notes.curation_ledger import CurationLedger
from jiyi.notes.files import Files
from jiyi.notes.journal import Journal
from jiyi.notes.markdown import items_of, lines_of, take_apart
from jiyi.notes.paths import CONTEXT_FILES, MEMORY_FILE, check_path, is_memory_file, is_note
from jiyi.notes.proposals import ProposalStore
from jiyi.notes.scan import Scanner
from jiyi.notes.search import NoteSearch
from jiyi.notes.session_kinds import SessionKinds
from jiyi.notes.templates import LANGUAGES, TEMPLATES
from jiyi.notes.visibility import WorkspaceIdentity, check_kind, is_shared
from jiyi.notes.workspaces import (
    CURATION,
    JOURNAL,
    PROPOSALS,
    REGISTRY,
    WorkspaceRegistry,
    remove_pieces,
    sessions_file,
    short_id,
    workspace_id,
)
from jiyi.text.token_count import counter_for

if TYPE_CHECKING:
    from jiyi.notes.candidates import CandidateReport
    from jiyi.notes.dependencies import NotesDeps, NotesSettings
    from jiyi.notes.watch import Watcher
    from jiyi.ports import Progress

_log = logging.getLogger("jiyi.notes")

_MAX_SOURCE: Final = 2_000
_MINUTE: Final = timedelta(minutes=1)


class NotesService:
    """Appends, scans, searches and reads the notes of one workspace. Safe for several threads and processes."""

    def __init__(self, settings: NotesSettings, deps: NotesDeps) -> None:
        self.settings = settings
        self.deps = deps
        self.root = _real(settings.workspace)
        workspace = workspace_id(self.root)
        name = short_id(workspace)
        self.identity = WorkspaceIdentity(workspace, settings.scope, settings.actor)
        self.files = Files(self.root)
        self.lock = FileLock(
            settings.data / f"notes-{name}.lock",
            timeout=settings.lock_timeout,
            purpose="the lock of the notes",
            error=NotesError,
        )
        self.journal = Journal(settings.data / JOURNAL / name)
        self.appender = Appender(self.files, self.journal, self.lock, settings.append)
        self.scanner = Scanner(
            self.files, deps.records, self.identity, settings.zone, max_bytes=settings.append.file_bytes
        )
        self.counter = settings.counter or counter_for(None)
        self._scanning = threading.Lock()
        self._entry_limits = replace(settings.limits, max_content_bytes=settings.append.entry_bytes)
        self._refused: set[str] = set()
        self._minute: tuple[datetime, datetime, _Local] | None = None
        self.watcher: Watcher | None = None
        self.model = settings.model
        self.searcher = NoteSearch(self)
        self._registry = WorkspaceRegistry(settings.data / REGISTRY)
        self._registered = False
        self.proposals = ProposalStore(settings.data / PROPOSALS / name)
        self.session_kinds = SessionKinds(sessions_file(settings.data, settings.scope))

    # --- the workspace ----------------------------------------------------------------------------------------------

    def init_workspace(self, *, language: str = "en", context_files: bool = True) -> dict[str, list[str]]:
        """Make what is missing; returns `created` and `kept`, by path. What exists is never touched."""
        if language not in LANGUAGES:
            raise InvalidInputError(f"language {language!r} is unknown; use one of {', '.join(LANGUAGES)}")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            folder = self.root / NOTES_FOLDER
            made = not folder.exists()
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise NotesError(f"the workspace {self.root} cannot be made: {error.strerror}") from error
        report: dict[str, list[str]] = {"created": [], "kept": []}
        report["created" if made else "kept"].append(f"{NOTES_FOLDER}/")
        for name in (MEMORY_FILE, *(CONTEXT_FILES if context_files else ())):
            if name == MEMORY_FILE and self.files.memory_file() != MEMORY_FILE:
                report["kept"].append(self.files.memory_file())
                continue
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
            local = _local(moment, self.settings.zone)
        entry = entries.NoteEntry(
            entry_id or entries.new_entry_id(moment), _to_milliseconds(moment), local.offset, body, by, source
        )
        path = local.shared if kind == "group" else local.path
        return self.appender.append(entry, path, local.heading, local.minute)

    def take_candidates(self, *, limit: int = 1_000) -> CandidateReport:
        """Write what chats propose to keep into the daily notes, each once."""
        from jiyi.notes.candidates import take_candidates

        done = take_candidates(self, limit=limit)
        self._refused = set(done.refused)
        return done

    def write_new_candidates(self) -> None:
        """Write new candidates of chats into the notes, if the settings say so. A failure is logged."""
        # While the workspace is not initialised, candidates wait for it.
        if not self.settings.take_candidates or not self.root.is_dir():
            return
        try:
            new = [
                candidate
                for scope in (self.identity.scope, *self.session_kinds.group_scopes())
                for candidate in self.deps.chats.candidates(scope, state="new", limit=len(self._refused) + 1)
            ]
            if all(candidate.id in self._refused for candidate in new):
                return
            refused = self.take_candidates().refused
        except NotesError as error:
            _log.warning("writing chat candidates to notes failed: %s", error)
            return
        for candidate_id, reason in refused.items():
            _log.warning("candidate %s was not written to notes: %s", candidate_id, reason)

    # --- following the files ----------------------------------------------------------------------------------------

    def scan(self, *, whole: bool = False, progress: Progress | None = None) -> ScanReport:
        """Bring the rows up to date with the files; indexes follow as after any write."""
        # Without it, concurrent threads would all read the same new files.
        with self._scanning:
            self._remove_moved_workspaces()
            report = self.scanner.scan(whole=whole, progress=progress, reconcile=self.appender.reconcile)
        if report.changed:
            self.deps.written()
        return report

    def _remove_moved_workspaces(self) -> None:
        """Once: delete what the database holds of workspaces that are not where they were any more."""
        if self._registered:
            return
        with self.lock.hold():
            for workspace in self._registry.register(self.identity, self.root):
                count = remove_pieces(self.deps.records, self.identity, workspace)
                self._registry.forget(self.identity, workspace)
                _log.info("%d notes of a workspace that was moved or deleted were removed from the database", count)
        self._registered = True

    def was_erased(self) -> None:
        """The scope of this workspace was erased; if it is used further, it is recorded again."""
        self._registered = False

    def note_files(self) -> dict[str, NoteFile]:
        """What is known of the files, by path."""
        return self.deps.records.note_files(self.identity.workspace, self.identity.scope)

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

    def get(self, path: str, from_line: int = 1, to_line: int | None = None, *, kind: str = "main") -> NoteText:
        """Lines of a note as they stand in the file, but for comments for programs; both ends included."""
        check_whole(from_line, "from_line", 1, 2**31 - 1)
        if to_line is not None:
            check_whole(to_line, "to_line", from_line, 2**31 - 1)
        checked, text = self.visible_text(path, kind)
        lines = [entries.without_comment(line) for line in text.split("\n")]
        total = len(lines_of(text))
        if from_line > max(total, 1):
            raise InvalidInputError(f"from_line {from_line} is behind the end of {checked}, which has {total:,} lines")
        end = total if to_line is None else min(to_line, total)
        shown = "\n".join(lines[from_line - 1 : end])
        if end == total and text.endswith("\n"):
            shown += "\n"
        return NoteText(checked, from_line, end, total, shown)

    def visible_text(self, path: str, kind: str) -> tuple[str, str]:
        """The path and the text of a note that a session of this kind may see; an error when there is none."""
        asked = checked = check_path(path)
        check_kind(kind)
        if not is_note(checked) and checked not in CONTEXT_FILES:
            raise InvalidInputError(
                f"{checked} is no note; {MEMORY_FILE}, the files below {NOTES_FOLDER}/ that end in .md, "
                f"and {', '.join(CONTEXT_FILES)} can be read"
            )
        if kind == "group" and is_note(checked):
            text = self._shared_text(checked)
        else:
            if checked == MEMORY_FILE:
                checked = self.files.memory_file()
            text = self.read_text(checked)
        if text is None:
            raise InvalidInputError(f"there is no note {asked!r} here")
        return checked, text

    def _shared_text(self, path: str) -> str | None:
        """The text of a note that a group may see. A private one is no different from one that is not there."""
        if is_memory_file(path):
            return None
        try:
            text = self.read_text(path)
        except (NotesError, InvalidInputError):
            if path.startswith(f"{SHARED_FOLDER}/"):
                raise
            # What is wrong with a private note would say that there is one.
            return None
        return text if text is not None and is_shared(path, take_apart(text)) else None

    def entries_of_day(self, day: date | None = None, *, kind: str = "main") -> tuple[str, list[entries.PlacedEntry]]:
        """The path of a daily note and what is in it: entries, and what people wrote by hand."""
        check_kind(kind)
        self.appender.reconcile()
        path = daily_path(self.today() if day is None else day, shared=kind == "group")
        return path, items_of(path, self.read_text(path) or "")

    def read_text(self, path: str) -> str | None:
        """The text of a file; `None` when there is none. What cannot be read or decoded is an error, never empty."""
        try:
            data, _ = self.files.read(path, max_bytes=self.settings.append.file_bytes)
        except FileNotFoundError:
            return None
        try:
            return text_encoding.decode(data)[0]
        except text_encoding.UndecodableError as error:
            raise NotesError(f"{path} cannot be read: {error}") from None

    def ledger(self) -> CurationLedger:
        """What became of things that were to go into MEMORY.md, as it is on disk now."""
        return CurationLedger.load(self.settings.data / CURATION / f"{short_id(self.identity.workspace)}.json")

    def close(self) -> None:
        """Stop watching, and close files."""
        if self.watcher is not None:
            self.watcher.stop()
        self.appender.close()
        self.journal.close()
        self.lock.close()

    # --- inside -----------------------------------------------------------------------------------------------------

    def today(self, now: datetime | None = None) -> date:
        """The local date."""
        moment = clock.utc_now() if now is None else clock.require_aware(now, "now")
        return local_day(moment, self.settings.zone)

    def _local_now(self, now: datetime) -> _Local:
        """The local time of a moment, cached for its minute: offsets do not change within a minute."""
        known = self._minute
        if known is None or not known[0] <= now < known[1]:
            local = _local(now, self.settings.zone)
            start = now.replace(second=0, microsecond=0)
            # With an offset of seconds, minutes of local time are not those of UTC: nothing is cached.
            self._minute = known = (start, start if local.offset % _MINUTE else start + _MINUTE, local)
        return known[2]


class _Local(NamedTuple):
    """What follows from the local time of a moment."""

    offset: timedelta
    minute: entries.LocalMinute
    day: date
    path: str
    """The path of the note of that day."""
    shared: str
    """The path of the shared note of that day."""

    def heading(self) -> str:
        """The first line of the note of that day."""
        return daily_heading(self.day)


def _local(moment: datetime, zone: tzinfo) -> _Local:
    offset = clock.in_zone(moment, zone).utcoffset() or timedelta()
    day = (moment + offset).date()
    return _Local(offset, entries.local_minute(moment, offset), day, daily_path(day), daily_path(day, shared=True))


def _to_milliseconds(moment: datetime) -> datetime:
    """The moment as precisely as the id of an entry holds it."""
    return moment.replace(microsecond=moment.microsecond // 1_000 * 1_000)


def _is_source(source: object) -> bool:
    return isinstance(source, str) and len(source) <= _MAX_SOURCE and all(ord(c) >= 32 for c in source)


def _checked_text(limits: Limits, text: object) -> str:
    try:
        return limits.check_content(text, "text")
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace("max_content_bytes", "max_note_entry_bytes")) from None


def _real(path: Path) -> Path:
    return Path(path).resolve()
