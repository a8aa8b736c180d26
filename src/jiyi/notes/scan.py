"""Scanner: brings the rows up to date with the files, by size, times and hash."""

from __future__ import annotations

import hashlib
import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import InvalidInputError, NotesError
from jiyi.model.category import MemoryCategory
from jiyi.model.daily_note import daily_title, day_of, moment_of
from jiyi.model.entry import NOTE_TYPE, MemoryEntry, Source
from jiyi.model.identity import text_hash
from jiyi.model.note import (
    FileStamp,
    NoteCounts,
    NoteFile,
    NoteProblem,
    NoteUpdate,
    ScanReport,
    thread_of,
    with_headings,
)
from jiyi.model.storable import is_storable, storable
from jiyi.notes import text_encoding
from jiyi.notes.files import Files
from jiyi.notes.markdown import Document, take_apart
from jiyi.notes.paths import MEMORY_FILE, is_memory_file
from jiyi.notes.templates import template_lines
from jiyi.notes.visibility import WorkspaceIdentity, is_shared

if TYPE_CHECKING:
    from jiyi.ports import Progress, RecordStore

_log = logging.getLogger("jiyi.notes")

_BATCH_PIECES: Final = 2_000
# The clock of a file system ticks every few milliseconds: within one tick a file can change and look the same.
_TICK_NANOSECONDS: Final = 50_000_000
_MAX_TAGS: Final = 64
_MAX_TAG_CHARACTERS: Final = 100
_PARSER_VERSION: Final = 3
"""Raise this whenever a file gives other pieces: files that an earlier version has read are read again."""
_UNREAD: Final = "it cannot be searched"


class Scanner:
    """Compares the files of a workspace with what was read of them before, and reads what differs."""

    def __init__(
        self,
        files: Files,
        store: RecordStore,
        identity: WorkspaceIdentity,
        zone: tzinfo,
        *,
        max_bytes: int,
    ) -> None:
        self._files = files
        self._store = store
        self._identity = identity
        self._zone = zone
        self._max_bytes = max_bytes
        self._certain: dict[str, FileStamp] = {}
        self._logged: set[NoteProblem] = set()
        self._remembered: tuple[tuple[int, int], Mapping[str, NoteFile]] | None = None

    def scan(
        self, *, whole: bool = False, progress: Progress | None = None, reconcile: Callable[[], list[str]] | None = None
    ) -> ScanReport:
        """Bring the rows up to date; with `whole` every file is read again, whatever its times say."""
        restored = reconcile() if reconcile is not None else []
        listing = self._files.listing()
        known = self._known()
        changed = [path for path, stamp in listing.files.items() if whole or not self._same(known.get(path), stamp)]
        gone = [path for path in known if path not in listing.files and not _below(path, listing.unknown)]
        counts, problems = NoteCounts(), list(listing.problems)
        batch: list[NoteUpdate] = [NoteUpdate(path, None) for path in gone]
        learned: dict[str, NoteFile | None] = dict.fromkeys(gone)
        pieces = 0
        for done, path in enumerate(changed, start=1):
            update = self._update(path, known.get(path), listing.files[path])
            if update is not None:
                batch.append(update)
                learned[path] = update.file
                pieces += len(update.entries or ())
            if pieces >= _BATCH_PIECES:
                counts += self._write(batch)
                batch, pieces = [], 0
            if progress is not None:
                progress(done, len(changed))
        counts += self._write(batch)
        if learned:
            self._remember(known, learned)
            known = self._known()
        problems += [NoteProblem(file.path, file.problem) for file in known.values() if file.problem]
        self._log_new(problems)
        return ScanReport(len(listing.files), len(changed), len(gone), counts, tuple(problems), tuple(restored))

    def stale(self, paths: Sequence[str]) -> list[str]:
        """Those of these paths whose file is not what was read of it."""
        known = self._known()
        found = []
        for path in paths:
            stamp, file = self._files.stamp(path), known.get(path)
            if stamp is None or file is None or not (self._same(file, stamp) or self._still(file, stamp)):
                found.append(path)
        return found

    def _still(self, known: NoteFile, stamp: FileStamp) -> bool:
        """Whether a file that has changed a moment ago still has the bytes that were read."""
        if known.stamp != stamp:
            return False
        if known.problem.startswith(_UNREAD):
            # It cannot be read, but nothing was written to it either.
            return True
        try:
            data, _ = self._files.read(known.path, max_bytes=self._max_bytes)
        except (FileNotFoundError, NotesError, InvalidInputError):
            return False
        return _bytes_of(known.digest) == _bytes_of(_digest(data))

    def _known(self) -> Mapping[str, NoteFile]:
        """What is known of the files; read again when another process has changed it since."""
        state = self._store.note_files_state(self._identity.workspace, self._identity.scope)
        if self._remembered is None or self._remembered[0] != state:
            self._remembered = (state, self._store.note_files(self._identity.workspace, self._identity.scope))
        return self._remembered[1]

    def _remember(self, known: Mapping[str, NoteFile], learned: Mapping[str, NoteFile | None]) -> None:
        """Take over what was just written down, instead of reading all of it again.

        If others have written as well, the state of the store will mostly be another and everything is read. If it is
        not, a file seems to have changed that somebody has read meanwhile: it is read once more, and nothing else.
        """
        files = {path: file for path, file in {**known, **learned}.items() if file is not None}
        self._remembered = ((len(files), max((file.checked for file in files.values()), default=0)), files)

    def _write(self, updates: Sequence[NoteUpdate]) -> NoteCounts:
        if not updates:
            return NoteCounts()
        return self._store.save_notes(
            self._identity.workspace, self._identity.scope, updates, actor=self._identity.actor
        )

    def _same(self, known: NoteFile | None, stamp: FileStamp) -> bool:
        """Whether the file is certainly the one that was read."""
        if known is None or known.stamp != stamp or known.problem.startswith(_UNREAD):
            return False
        if _parser_version_of(known.digest) < _PARSER_VERSION:
            return False
        # It was read long enough after its last change that a later one would show.
        settled = known.checked - max(stamp.modified, stamp.changed) > _TICK_NANOSECONDS
        return settled or self._certain.get(known.path) == stamp

    def _update(self, path: str, known: NoteFile | None, listed: FileStamp) -> NoteUpdate | None:
        """Read a file; `None` when there is nothing to write down."""
        checked = time.time_ns()
        try:
            data, stamp = self._files.read(path, max_bytes=self._max_bytes)
        except FileNotFoundError:
            return NoteUpdate(path, None) if known is not None else None
        except (NotesError, InvalidInputError) as error:
            reason = str(error).removeprefix(path).strip()
            return _unread(path, known, listed, checked, f"{_UNREAD}: {reason}")
        digest = _digest(data)
        unread = known is not None and known.problem.startswith(_UNREAD)
        if known is not None and _same_reading(known.digest, digest) and known.stamp == stamp and not unread:
            if checked - max(stamp.modified, stamp.changed) > _TICK_NANOSECONDS:
                self._certain[path] = stamp
            return None
        try:
            text, encoding = text_encoding.decode(data)
        except text_encoding.UndecodableError as error:
            file = NoteFile(path, stamp, digest, checked, encoding="", problem=f"it is not searched: {error}")
            return NoteUpdate(path, file, ())
        # What a new workspace begins with is no memory.
        document = take_apart(text, template_lines(MEMORY_FILE if is_memory_file(path) else path))
        shared = is_shared(path, document)
        entries = tuple(self._entries(path, document, stamp, shared=shared))
        file = NoteFile(path, stamp, digest, checked, shared, len(entries), encoding, document.problem)
        return NoteUpdate(path, file, entries)

    def _entries(self, path: str, document: Document, stamp: FileStamp, *, shared: bool) -> Iterator[MemoryEntry]:
        """The pieces of a file as entries, each with an id that follows from what it says and where."""
        scope = self._identity.of(shared=shared)
        day = day_of(path)
        written = datetime.fromtimestamp(min(stamp.modified / 1e9, time.time()), UTC)
        named = "" if day is None else daily_title(day)
        tags = _tags(document.properties)
        seen: Counter[str] = Counter()
        for piece in document.pieces:
            text = storable(piece.text)
            if not text.strip():
                continue
            # The title of a daily note repeats its day, which every piece has as its time.
            headings, above = (tuple(t for t in titles if t != named) for titles in (piece.headings, piece.above))
            occurred = piece.entry.at if piece.entry is not None else moment_of(day, self._zone)
            content = with_headings(above, text)
            moment = occurred.isoformat() if occurred is not None else ""
            name = text_hash(scope, path, *headings, "\x1f", *above, "\x1f", text, moment, *tags)
            seen[name] += 1
            trust = piece.entry.by if piece.entry is not None else "user"
            place = f"{path}:{piece.start_line}-{piece.end_line}"
            yield MemoryEntry(
                id=str(uuid.UUID(text_hash(name, str(seen[name])))),
                scope=scope,
                key=None,
                content=content,
                category=MemoryCategory.DAILY if day is not None else MemoryCategory.CORE,
                memory_type=NOTE_TYPE,
                tags=tags,
                conversation_id=thread_of(path),
                source=Source(NOTE_TYPE, trust, (place, *(storable(title) for title in headings))),
                occurred_at=occurred,
                created_at=written,
                updated_at=written,
                last_accessed_at=written,
            )

    def _log_new(self, problems: Sequence[NoteProblem]) -> None:
        """Log each problem once, and again when it has come back."""
        for problem in problems:
            if problem not in self._logged:
                _log.warning("note %s: %s", problem.path, problem.reason)
        self._logged = set(problems)


def _digest(data: bytes) -> str:
    """Of the bytes, behind the version of the parser that reads them."""
    return f"{_PARSER_VERSION}-{hashlib.blake2b(data, digest_size=16).hexdigest()}"


def _bytes_of(digest: str) -> str:
    return digest.rpartition("-")[2]


def _parser_version_of(digest: str) -> int:
    """The version of the parser that has read a file. The first one was not written down."""
    version = digest.rpartition("-")[0]
    return int(version) if version.isdecimal() else 1


def _same_reading(known: str, digest: str) -> bool:
    """Whether the same bytes were read by this version of the parser, or by a later one."""
    return _bytes_of(known) == _bytes_of(digest) and _parser_version_of(known) >= _parser_version_of(digest)


def _unread(path: str, known: NoteFile | None, listed: FileStamp, checked: int, problem: str) -> NoteUpdate | None:
    if known is not None and (known.stamp.size, known.stamp.modified) == (listed.size, listed.modified):
        # Nothing was written to it since: what is known of it still holds, although it cannot be read now.
        if (known.stamp, known.problem) == (listed, problem):
            return None
        return NoteUpdate(path, replace(known, stamp=listed, checked=checked, problem=problem))
    return NoteUpdate(path, NoteFile(path, listed, "", checked, encoding="", problem=problem), ())


def _tags(properties: Mapping[str, Any]) -> tuple[str, ...]:
    """The tags of the front matter, as far as they are texts."""
    value = properties.get("tags")
    listed = value.replace(",", " ").split() if isinstance(value, str) else value
    if not isinstance(listed, list):
        return ()
    named = (str(tag).strip().removeprefix("#") for tag in listed if isinstance(tag, str | int))
    kept = (tag for tag in named if tag and is_storable(tag) and len(tag) <= _MAX_TAG_CHARACTERS)
    return tuple(dict.fromkeys(kept))[:_MAX_TAGS]


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)
