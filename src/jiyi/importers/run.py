"""An import: reading a source, leaving out what is here already, and writing the rest."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import InvalidInputError
from jiyi.importers.formats import read
from jiyi.importers.records import ImportedConversation, ImportedEntry, LeftOut
from jiyi.importers.sources import Source
from jiyi.model.metadata import check_metadata

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory

_BATCH: Final = 200
"""How many entries are written in one transaction."""
_SAMPLES: Final = 3
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
    progress: Callable[[int, int | None], None] | None = None,
) -> ImportReport:
    """Take in what another program has exported, and return what was done.

    Everything goes into `scope`; without one, what names its user goes into the scope of that user, and the rest into
    the scope of the memory. What was imported before is left as it is, so an import that broke off is simply run again.
    With `extract` the imported conversations are looked through for facts in the background, as
    `longterm.schedule_messages` does. `progress` is called with the number of memories and conversations read so far.
    """
    source = Source(path)
    report = ImportReport(format, os.fspath(path), dry_run)
    waiting: dict[tuple[str, str], ImportedEntry] = {}
    for number, found in enumerate(read(format, source, mapping or {}), 1):
        if isinstance(found, LeftOut):
            report.left_out[found.reason] += 1
        elif isinstance(found, ImportedConversation):
            await _conversation(memory, found, _scope(memory, scope, found.scope), report, extract=extract)
        else:
            place = (_scope(memory, scope, found.scope), found.stored_key)
            report.unchanged += place in waiting
            waiting.setdefault(place, found)
            if len(waiting) >= _BATCH:
                await _entries(memory, waiting, report)
                waiting = {}
        if progress is not None:
            progress(number, None)
    await _entries(memory, waiting, report)
    return report


def _scope(memory: AgentMemory, chosen: str | None, own: str | None) -> str:
    return chosen or own or memory.settings.scope


async def _entries(memory: AgentMemory, waiting: Mapping[tuple[str, str], ImportedEntry], report: ImportReport) -> None:
    new = []
    for (scope, key), entry in waiting.items():
        # One that was forgotten here has a history, and stays forgotten.
        if await memory.history(key, scope=scope):
            report.unchanged += 1
            continue
        new.append(_storable(entry.arguments(scope), report))
        report.scopes.add(scope)
        _sample(report, entry.content)
    report.entries += len(new)
    if new and not report.dry_run:
        await memory.store_many(new)


def _storable(arguments: dict[str, Any], report: ImportReport) -> dict[str, Any]:
    """The arguments without metadata that an entry cannot have; where it comes from is kept."""
    try:
        check_metadata(arguments.get("metadata", {}))
    except InvalidInputError:
        report.left_out["metadata that are too large or have odd names"] += 1
        arguments["metadata"] = {"import": arguments["metadata"].get("import", {})}
    return arguments


async def _conversation(
    memory: AgentMemory, found: ImportedConversation, scope: str, report: ImportReport, *, extract: bool
) -> None:
    chat = memory.chat(found.session_id, scope=scope)
    there: set[str] = set()
    for epoch in await chat.epochs():
        for message in await chat.get_all(epoch=epoch.epoch):
            there.add(str(message.extra.get("id")))
    new: list[Mapping[str, Any]] = []
    for said in found.messages:
        if str(said["id"]) in there:
            report.unchanged += 1
            continue
        there.add(str(said["id"]))
        new.append(said)
    if not new:
        return
    if found.title and len(new) == len(found.messages):
        new[0] = {**new[0], "conversation_title": found.title}
    report.conversations += 1
    report.messages += len(new)
    report.scopes.add(scope)
    _sample(report, f"{found.title}: {new[0]['content']}" if found.title else str(new[0]["content"]))
    ids = [] if report.dry_run else await chat.put_many(new)
    for said_together in _rounds(ids, new) if extract else ():
        await memory.longterm.schedule_messages(scope, found.session_id, said_together)
        report.scheduled += 1


def _rounds(ids: Sequence[str], messages: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """The ids of what the user said and what was answered, round by round."""
    together: list[str] = []
    answered = False
    for message_id, message in zip(ids, messages, strict=False):
        if message["role"] == "user" and answered:
            yield together
            together, answered = [], False
        answered = answered or message["role"] == "assistant"
        together.append(message_id)
    if together:
        yield together


def _sample(report: ImportReport, text: str) -> None:
    if len(report.samples) < _SAMPLES:
        line = " ".join(text.split())
        report.samples.append(line if len(line) <= _SAMPLE_CHARACTERS else line[: _SAMPLE_CHARACTERS - 1] + "…")
