"""An export: the memories and conversations of scopes, in the form of another program or as Markdown."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from jiyi.compat import langgraph_forms, mem0_forms
from jiyi.contexts import on_error
from jiyi.errors import InvalidInputError
from jiyi.exporters.markdown import conversation_text, entry_text, file_name

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory
    from jiyi.model.entry import MemoryEntry

_PAGE: Final = 500


@dataclass(slots=True)
class ExportReport:
    """What an export wrote."""

    format: str
    target: str
    entries: int = 0
    conversations: int = 0
    files: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return asdict(self)


async def export_to(
    memory: AgentMemory,
    format: str,  # noqa: A002 - what it is called on the command line
    target: str | os.PathLike[str],
    *,
    scope: str | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> ExportReport:
    """Write the entries of a scope, or without one of every scope, to `target`.

    `markdown` is a new folder with a file for each domain and each conversation; `mem0` is a JSON file in the form of
    mem0's `get_all`; `langgraph` a JSON Lines file with the rows of a LangGraph store. All but Markdown are for
    programs: they have no conversations. A target that exists is not overwritten.
    """
    if format not in FORMATS:
        raise InvalidInputError(f"there is no format {ascii(format)[:80]}; known are {', '.join(FORMATS)}")
    place = Path(target)
    _check_free(place, format)
    scopes = [scope] if scope is not None else [info.scope for info in await memory.scopes()]
    report = ExportReport(format, os.fspath(target))
    if format == "markdown":
        await _markdown(memory, place, scopes, report, progress)
    else:
        await _one_file(memory, place, scopes, report, progress)
    return report


def _check_free(place: Path, form: str) -> None:
    if place.exists() and (not place.is_dir() or form != "markdown" or any(place.iterdir())):
        raise InvalidInputError(f"{place} exists already; name another one, or move it away")


async def _one_file(
    memory: AgentMemory,
    place: Path,
    scopes: Sequence[str],
    report: ExportReport,
    progress: Callable[[int, int | None], None] | None,
) -> None:
    """Written beside the target and then renamed: a file of this name is always whole."""
    form = _FILE_FORMS[report.format]
    with _replacing(place) as file:
        file.write(form.begin)
        async for entry in _entries(memory, scopes):
            file.write((form.between if report.entries else "") + json.dumps(form.row(entry), ensure_ascii=False))
            report.entries += 1
            if progress is not None:
                progress(report.entries, None)
        file.write(form.end if report.entries else form.end_of_none)
    report.files.append(place.name)


@contextmanager
def _replacing(place: Path) -> Iterator[TextIO]:
    """A file beside the target that takes its place when it is complete."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    with on_error(lambda: Path(temporary).unlink(missing_ok=True)):
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(place)


def _mem0_row(entry: MemoryEntry) -> dict[str, Any]:
    """A memory of mem0's `get_all`."""
    row: dict[str, Any] = mem0_forms.memory_of(entry)
    # A memory that came from mem0 goes back under the id that it had there.
    came = entry.metadata.get("import")
    if entry.namespace == mem0_forms.NAMESPACE and isinstance(came, dict) and "id" in came:
        row["id"] = came["id"]
    if not any(row.get(name) for name in mem0_forms.IDS):
        row["user_id"] = entry.scope
    return row


def _store_row(entry: MemoryEntry) -> dict[str, Any]:
    """A row of the table `store` of LangGraph; entries that are no items are in the namespace `jiyi`, by scope."""
    about = entry.metadata.get(langgraph_forms.KIND)
    if entry.memory_type == langgraph_forms.KIND and isinstance(about, dict) and entry.namespace:
        prefix, key = list(entry.namespace[1:]), str(about["key"])
        value: dict[str, Any] = langgraph_forms.value_of(entry.metadata, entry.content)
        ttl = about.get("ttl")
    else:
        prefix, key, ttl = ["jiyi", entry.scope, *entry.namespace], entry.key or entry.id, None
        value = {"text": entry.content, "metadata": dict(entry.metadata), "tags": list(entry.tags)}
    return {
        "prefix": ".".join(part.replace(".", "_") for part in prefix),
        "key": key,
        "value": value,
        "created_at": entry.created_at.astimezone(UTC).isoformat(),
        "updated_at": entry.updated_at.astimezone(UTC).isoformat(),
        "expires_at": None if entry.expires_at is None else entry.expires_at.astimezone(UTC).isoformat(),
        "ttl_minutes": ttl,
    }


@dataclass(frozen=True, slots=True)
class _FileForm:
    """A form that is one file with a JSON object for each entry."""

    row: Callable[[MemoryEntry], dict[str, Any]]
    begin: str = ""
    between: str = "\n"
    end: str = "\n"
    end_of_none: str = ""
    """The end of a file without entries."""


_FILE_FORMS: Final = {
    "mem0": _FileForm(_mem0_row, begin='{"results": [\n', between=",\n", end="]}\n", end_of_none="]}\n"),
    "langgraph": _FileForm(_store_row),
}
FORMATS: Final = ("markdown", *_FILE_FORMS)


async def _markdown(
    memory: AgentMemory,
    place: Path,
    scopes: Sequence[str],
    report: ExportReport,
    progress: Callable[[int, int | None], None] | None,
) -> None:
    for scope in scopes:
        folder = place / file_name(scope)
        folder.mkdir(parents=True, exist_ok=True)
        async for entry in _entries(memory, [scope]):
            path = folder / f"{file_name(entry.domain or str(entry.category))}.md"
            known = path.exists()
            with path.open("a", encoding="utf-8") as file:
                if not known:
                    file.write(f"# {entry.domain or entry.category}\n")
                    report.files.append(path.relative_to(place).as_posix())
                file.write("\n" + entry_text(entry))
            report.entries += 1
            if progress is not None:
                progress(report.entries + report.conversations, None)
        for session in await memory.list_sessions(scope=scope):
            chat = memory.chat(session, scope=scope)
            said = [each for epoch in await chat.epochs() for each in await chat.messages(epoch=epoch.epoch)]
            path = folder / "conversations" / f"{file_name(session)}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(conversation_text(session, said), "utf-8")
            report.files.append(path.relative_to(place).as_posix())
            report.conversations += 1
            if progress is not None:
                progress(report.entries + report.conversations, None)


async def _entries(memory: AgentMemory, scopes: Sequence[str]) -> AsyncIterator[MemoryEntry]:
    """The entries of scopes, each scope's own, oldest first."""
    for scope in scopes:
        cursor: str | None = None
        while True:
            page = await memory.list(scope=scope, descending=False, limit=_PAGE, cursor=cursor)
            for entry in page:
                if entry.scope == scope:
                    yield entry
            cursor = page.next_cursor
            if cursor is None:
                break
