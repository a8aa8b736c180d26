"""An import: reading a source, leaving out what is here already, and writing the rest."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from jiyi.errors import ImportFormatError, InvalidInputError
from jiyi.importers.formats import read
from jiyi.importers.records import Imported, ImportedConversation, ImportedEntry, LeftOut, Stream, digest
from jiyi.importers.sources import Source
from jiyi.model.message import IMPORTED_FROM
from jiyi.model.metadata import check_metadata
from jiyi.model.scope import scope_problem

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory

_BATCH: Final = 500
"""How many memories and conversations are read, and how many memories are written, at once."""
_BATCH_CHARACTERS: Final = 2_000_000
_CALLERS: Final = 16
"""How many conversations are written at the same time."""
_SAMPLES: Final = 3
_FORGOTTEN: Final = "messages of conversations that were forgotten here (restore_forgotten takes them in again)"
_SAMPLE_CHARACTERS: Final = 120


@dataclass(slots=True)
class ImportReport:
    """What an import did, or in a dry run would do."""

    format: str
    source: str
    dry_run: bool
    entries: int = 0
    """Memories that were added."""
    conversations: int = 0
    """Conversations of which something was added."""
    messages: int = 0
    """Messages that were added."""
    unchanged: int = 0
    """Memories and messages that were here already."""
    left_out: Counter[str] = field(default_factory=Counter)
    """What was not imported, by reason."""
    samples: list[str] = field(default_factory=list)
    scopes: set[str] = field(default_factory=set)
    scheduled: int = 0
    """Rounds of conversations that are looked through for facts in the background."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "format": self.format,
            "source": self.source,
            "dry_run": self.dry_run,
            "entries": self.entries,
            "conversations": self.conversations,
            "messages": self.messages,
            "unchanged": self.unchanged,
            "left_out": dict(sorted(self.left_out.items())),
            "samples": list(self.samples),
            "scopes": sorted(self.scopes),
            "scheduled": self.scheduled,
        }


async def import_from(
    memory: AgentMemory,
    format: str,  # noqa: A002 - what it is called on the command line
    path: str | os.PathLike[str],
    *,
    scope: str | None = None,
    mapping: Mapping[str, str] | None = None,
    dry_run: bool = False,
    extract: bool = False,
    restore_forgotten: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> ImportReport:
    """Take in what another program has exported, and return what was done.

    Everything goes into `scope`; without one, what names its user goes into the scope of that user, and the rest into
    the scope of the memory. What was imported before is left as it is, so an import that broke off is simply run again.
    Memories and conversations that were forgotten here stay so, unless `restore_forgotten` brings them back.
    Everything that is imported has `trust="import"` in its source.
    With `extract` the imported conversations are looked through for facts in the background, as
    `longterm.schedule_conversation` does. `progress` is called with the number of memories and conversations read so
    far.
    """
    report = ImportReport(format, os.fspath(path), dry_run)
    stream = read(format, Source(path), mapping or {})
    read_so_far = 0
    with _DryRunCounts() as seen:
        work = _Import(memory, scope, report, seen, extract, restore_forgotten)
        error: ImportFormatError | None = None
        while error is None:
            # Decoding a large file takes long; the event loop stays free.
            found, error = await asyncio.to_thread(_next_batch, stream)
            # What stands before a fault is taken in, so that an import that is run again goes on from there.
            await work.take(found)
            read_so_far += len(found)
            if progress is not None:
                progress(read_so_far, None)
            if not found and error is None:
                return report
    raise error


def _next_batch(stream: Stream) -> tuple[list[Imported], ImportFormatError | None]:
    """The next part of a file, and what is wrong behind it. It is empty at the end."""
    found: list[Imported] = []
    size = 0
    try:
        for one in stream:
            found.append(one)
            size += _size(one)
            if len(found) >= _BATCH or size >= _BATCH_CHARACTERS:
                break
    except ImportFormatError as error:
        return found, error
    return found, None


def _size(found: Imported) -> int:
    if isinstance(found, ImportedEntry):
        return len(found.content)
    if isinstance(found, ImportedConversation):
        return sum(len(str(said["content"])) for said in found.messages)
    return 0


class _DryRunCounts:
    """What a dry run has counted already: a file may have the same memory twice, far apart.

    It is a temporary database, because the memory of the process must not grow with the file.
    """

    def __init__(self) -> None:
        self._names: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._names is not None:
            self._names.close()

    def is_new(self, *name: str) -> bool:
        """Whether this is asked for the first time."""
        if self._names is None:
            # A database without a name is a file that SQLite deletes by itself.
            self._names = sqlite3.connect("", isolation_level=None)
            self._names.execute("PRAGMA journal_mode = OFF")
            self._names.execute("CREATE TABLE names (name BLOB PRIMARY KEY) WITHOUT ROWID")
        added = self._names.execute("INSERT OR IGNORE INTO names VALUES (:name)", {"name": digest(*name)})
        return added.rowcount == 1


@dataclass(slots=True)
class _Import:
    """One import at work: what was read goes into the memory, and is counted."""

    memory: AgentMemory
    scope: str | None
    report: ImportReport
    seen: _DryRunCounts
    extract: bool
    restore_forgotten: bool

    async def take(self, batch: Sequence[Imported]) -> None:
        """Take in a part of a file: the memories of it, then the conversations."""
        entries: dict[str, dict[str, ImportedEntry]] = defaultdict(dict)
        conversations: dict[tuple[str, str], list[ImportedConversation]] = defaultdict(list)
        for found in batch:
            if isinstance(found, LeftOut):
                self.report.left_out[found.reason] += 1
                continue
            scope = self._scope_of(found)
            if isinstance(found, ImportedConversation):
                conversations[scope, found.session_id].append(found)
            else:
                self.report.unchanged += found.stored_key in entries[scope]
                entries[scope].setdefault(found.stored_key, found)
        for scope, by_key in entries.items():
            await self._entries(scope, by_key)
        await self._conversations(conversations)

    def _scope_of(self, found: ImportedEntry | ImportedConversation) -> str:
        if self.scope is not None or found.scope is None:
            return self.scope or self.memory.settings.scope
        problem = scope_problem(found.scope)
        if problem is not None:
            raise ImportFormatError(
                f"the file names the scope {ascii(found.scope)[:80]}, which {problem}; name a scope for the import"
            )
        return found.scope

    async def _entries(self, scope: str, by_key: Mapping[str, ImportedEntry]) -> None:
        # A key that was forgotten here is known, and stays forgotten.
        known = await self.memory.known_keys(by_key, scope=scope)
        if self.restore_forgotten:
            known = {key for key in known if await self.memory.get(key, scope=scope) is not None}
        new = []
        for key, entry in by_key.items():
            if key in known or (self.report.dry_run and not self.seen.is_new("entry", scope, key)):
                self.report.unchanged += 1
                continue
            new.append(_storable(entry.arguments(scope), self.report))
            _sample(self.report, entry.content)
        if not new:
            return
        self.report.scopes.add(scope)
        self.report.entries += len(new)
        if not self.report.dry_run:
            await self.memory.store_many(new, trust="import")

    async def _conversations(self, found: Mapping[tuple[str, str], Sequence[ImportedConversation]]) -> None:
        """Several conversations at once, so that one commit serves many of them."""
        groups = list((await self._without_forgotten(found)).items())
        for start in range(0, len(groups), _CALLERS):
            work = [self._session(scope, parts) for (scope, _), parts in groups[start : start + _CALLERS]]
            for done in await asyncio.gather(*work, return_exceptions=True):
                if isinstance(done, BaseException):
                    raise done
                for one in done:
                    self._count(one)

    async def _without_forgotten(
        self, found: Mapping[tuple[str, str], Sequence[ImportedConversation]]
    ) -> dict[tuple[str, str], Sequence[ImportedConversation]]:
        """The conversations without those that were deleted here."""
        if self.restore_forgotten:
            return dict(found)
        kept: dict[tuple[str, str], Sequence[ImportedConversation]] = {}
        for scope in dict.fromkeys(scope for scope, _ in found):
            names = [session_id for own, session_id in found if own == scope]
            forgotten = await self.memory.forgotten_sessions(names, scope=scope)
            for name in names:
                if name not in forgotten:
                    kept[scope, name] = found[scope, name]
                    continue
                self.report.left_out[_FORGOTTEN] += sum(len(part.messages) for part in found[scope, name])
        return kept

    async def _session(self, scope: str, parts: Sequence[ImportedConversation]) -> list[_ImportedConversation]:
        return [await self._conversation(scope, found) for found in parts]

    async def _conversation(self, scope: str, found: ImportedConversation) -> _ImportedConversation:
        chat = self.memory.chat(found.session_id, scope=scope)
        there: set[str] = set()
        for epoch in await chat.epochs():
            for message in await chat.get_all(epoch=epoch.epoch):
                there.add(str(message.extra.get("id")))
        new: list[Mapping[str, Any]] = []
        for said in found.messages:
            name = str(said["id"])
            if name in there or (
                self.report.dry_run and not self.seen.is_new("message", scope, found.session_id, name)
            ):
                continue
            there.add(name)
            new.append({**said, IMPORTED_FROM: self.report.format})
        if new and found.title and len(new) == len(found.messages):
            new[0] = {**new[0], "conversation_title": found.title}
        taken = _ImportedConversation(scope, found, new)
        if new and not self.report.dry_run:
            if self.extract:
                # In one transaction: an import that is run again leaves alone what is here already.
                jobs = await self.memory.longterm.schedule_conversation(scope, found.session_id, new)
                taken.scheduled = len(jobs)
            else:
                await chat.put_many(new)
        return taken

    def _count(self, taken: _ImportedConversation) -> None:
        report, found, new = self.report, taken.found, taken.new
        report.unchanged += len(found.messages) - len(new)
        if not new:
            return
        report.conversations += 1
        report.messages += len(new)
        report.scheduled += taken.scheduled
        report.scopes.add(taken.scope)
        first = str(new[0]["content"])
        _sample(report, f"{found.title}: {first}" if found.title else first)


@dataclass(slots=True)
class _ImportedConversation:
    """A conversation, and those of its messages that were added."""

    scope: str
    found: ImportedConversation
    new: Sequence[Mapping[str, Any]]
    scheduled: int = 0


def _storable(arguments: dict[str, Any], report: ImportReport) -> dict[str, Any]:
    """The arguments without metadata that an entry cannot have; where it comes from is kept."""
    try:
        check_metadata(arguments.get("metadata", {}))
    except InvalidInputError:
        report.left_out["metadata that are too large or have odd names"] += 1
        arguments["metadata"] = {"import": arguments["metadata"].get("import", {})}
    return arguments


def _sample(report: ImportReport, text: str) -> None:
    if len(report.samples) < _SAMPLES:
        line = " ".join(text.split())
        report.samples.append(line if len(line) <= _SAMPLE_CHARACTERS else line[: _SAMPLE_CHARACTERS - 1] + "…")
