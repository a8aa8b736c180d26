"""Notes: the files rendered and raw, who wrote which line, and proposals for MEMORY.md to accept or reject by item."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from starlette.responses import Response

from jiyi.apps.server.console.addresses import conversation, note_file
from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.logins import CONSOLE
from jiyi.apps.server.problems import ProblemError
from jiyi.errors import InvalidInputError
from jiyi.model.note import LineAttribution, NoteText

ADDRESS: Final = f"{CONSOLE}/notes"
_MAX_LINES: Final = 5_000
_MAX_DAYS: Final = 365
_CHAT: Final = re.compile(r"chat:(?P<session>[^#]+)#(?P<position>\d{1,9})(?:-\d{1,9})?")
"""The source of what was taken from a conversation."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a note."""

    number: int
    text: str
    wrote: LineAttribution | None = None
    """Who wrote it; `None` for empty lines and other lines without an author."""
    first: bool = False
    """Whether it is the first of the lines that this author wrote together; links are shown there alone."""
    conversation: str = ""
    """The page of the conversation that the text was taken from."""
    note: str = ""
    """The page of the daily note that the text was taken from."""


def state_of(context: RequestContext) -> str:
    """Whether the caller can see notes: `open`, or why not."""
    settings = context.memory.settings
    if not settings.has_notes:
        return "no_workspace"
    return "open" if context.access.may_see_notes(settings.scope) else "no_notes"


async def show(context: RequestContext) -> Response:
    """The files and the proposals."""
    state = state_of(context)
    files: list[Any] = []
    proposals: list[Any] = []
    private = context.access.kind != "group"
    if state == "open":
        files = [file for file in await context.memory.notes.list_files() if private or file.shared]
        proposals = await context.memory.notes.proposals() if private else []
    return context.page(
        "notes.html",
        state=state,
        files=files,
        proposals=proposals,
        private=private,
        diff_lines=diff_lines,
        note_file=note_file,
    )


async def show_file(context: RequestContext) -> Response:
    """One file: rendered, or its lines with who wrote them."""
    _check(context)
    path = context.path("path")
    first = context.query.whole("line", 1, 1, 10_000_000)
    raw = bool(context.query("raw")) or first > 1
    kind = context.access.kind
    begin = max(1, first - _MAX_LINES // 2) if raw else 1
    try:
        note = await context.memory.notes.memory_get(path, begin, begin + _MAX_LINES - 1, kind=kind)
    except InvalidInputError as error:
        raise ProblemError(404, "no_note", context.told(error)) from error
    return context.page(
        "note.html",
        note=note,
        path=path,
        raw=raw,
        first=first,
        lines=await _lines(context, path, note) if raw else [],
        cut=note.end_line < note.total_lines or begin > 1,
    )


async def _lines(context: RequestContext, path: str, note: NoteText) -> list[Line]:
    found = await context.memory.notes.attribution(path, note.start_line, note.end_line, kind=context.access.kind)
    authors = {number: each for each in found for number in range(each.start_line, each.end_line + 1)}
    linked = any(_CHAT.fullmatch(each.source) for each in found)
    # A link to a conversation that was erased, or that belongs to another scope, would lead nowhere.
    sessions = set(await context.memory.list_sessions(scope=context.scope)) if linked else set()
    text = note.text.removesuffix("\n").split("\n")
    return [_line(number, line, authors.get(number), sessions) for number, line in enumerate(text, note.start_line)]


def _line(number: int, text: str, wrote: LineAttribution | None, sessions: Collection[str]) -> Line:
    if wrote is None:
        return Line(number, text)
    chat = _CHAT.fullmatch(wrote.source)
    session_id = unquote(chat["session"]) if chat else ""
    said = conversation(session_id, "/position", position=chat["position"]) if chat and session_id in sessions else ""
    return Line(number, text, wrote, number == wrote.start_line, said, note_file(wrote.note) if wrote.note else "")


def diff_lines(diff: str) -> list[tuple[str, str]]:
    """The lines of a unified diff, each with what became of it."""
    found = []
    for line in diff.splitlines():
        kind = "same"
        if line.startswith(("+++", "---", "@@")):
            kind = "place"
        elif line.startswith("+"):
            kind = "added"
        elif line.startswith("-"):
            kind = "removed"
        found.append((kind, line))
    return found


# --- proposals ------------------------------------------------------------------------------------------------------


async def propose(context: RequestContext) -> Response:
    """Look through the notes of the last days for what should stand in MEMORY.md. Nothing is changed."""
    _check_own(context)
    proposal = await context.memory.notes.curate(days=context.form.whole("days", 7, 1, _MAX_DAYS))
    return context.go(ADDRESS, "nothing_to_propose" if proposal.empty else "proposed")


async def settle(context: RequestContext) -> Response:
    """Write the chosen items into MEMORY.md, or drop them for good."""
    name, items = await _chosen(context)
    verdict = context.form("verdict")
    if verdict == "accept":
        await context.memory.notes.accept(name, items=items)
    elif verdict == "reject":
        await context.memory.notes.reject(name, items=items)
    else:
        raise InvalidInputError(f"verdict {verdict[:40]!a} must be accept or reject")
    return context.go(ADDRESS, f"proposal_{verdict}ed")


async def _chosen(context: RequestContext) -> tuple[str, list[int]]:
    _check_own(context)
    name = context.form("proposal")
    if name not in {each.id for each in await context.memory.notes.proposals()}:
        raise ProblemError(409, "no_proposal", f"no proposal {name[:80]!a} waits (accepted, rejected or expired?)")
    numbers = [each for each in context.form.all("item") if each.isascii() and each.isdecimal() and len(each) < 9]
    if not numbers:
        raise ProblemError(400, "no_items", "no item of the proposal was chosen")
    return name, [int(each) for each in numbers]


def _check(context: RequestContext) -> None:
    state = state_of(context)
    if state == "no_workspace":
        raise ProblemError(404, state, "this memory has no workspace; start the server with one")
    if state != "open":
        raise ProblemError(403, state, "the notes belong to the scope that the memory was opened with")


def _check_own(context: RequestContext) -> None:
    _check(context)
    if context.access.kind == "group":
        raise ProblemError(403, "no_notes", "MEMORY.md is private: a group does not see it")


PAGES: Final = (
    Page("/notes", show),
    Page("/notes/files/{path:path}", show_file),
    form_page("/notes/propose", propose),
    form_page("/notes/settle", settle),
)
