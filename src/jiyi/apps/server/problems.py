"""Errors as `application/problem+json` (RFC 9457), with a status and a code for every error of the tree."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jiyi import errors

if TYPE_CHECKING:
    from jiyi.memory import AgentMemory

STATUS: Final[tuple[tuple[type[errors.JiyiError], int], ...]] = (
    (errors.VersionConflictError, 412),
    (errors.RequestReusedError, 409),
    (errors.InvalidInputError, 400),
    (errors.ImportFormatError, 400),
    (errors.SimpleModeError, 409),
    (errors.NoteConflictError, 409),
    (errors.NotesError, 409),
    (errors.StoreBusyError, 503),
    (errors.StoreUnavailableError, 503),
    (errors.ResourceLimitError, 503),
    (errors.IndexUnavailableError, 503),
    (errors.MemoryClosedError, 503),
    (errors.ModelTimeoutError, 504),
    (errors.ModelError, 502),
    (errors.JiyiError, 500),
)
"""The first that an error is an instance of gives its status."""
TITLES: Final = {
    400: "The request is wrong",
    401: "A key is needed",
    403: "Not allowed",
    404: "There is no such thing",
    405: "This method is not known here",
    408: "The request came too slowly",
    409: "It does not fit the present state",
    412: "It was changed meanwhile",
    413: "The request is too large",
    415: "This type of content is not taken",
    421: "This server is not known under that name",
    422: "The request does not have the right form",
    428: "Say which version you mean",
    429: "Too many requests",
    500: "The server could not do it",
    502: "The model could not do it",
    503: "Try again in a moment",
    504: "The model did not answer in time",
}
MEDIA_TYPE: Final = "application/problem+json"


class ProblemError(Exception):
    """Ends a request with a status."""

    def __init__(self, status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers or {}


def problem(status: int, code: str, detail: str, **more: Any) -> bytes:
    """The body of an answer."""
    data = {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status, "code": code}
    return json.dumps({**data, "detail": detail, **more}, ensure_ascii=False).encode()


def folders_of(memory: AgentMemory) -> tuple[str, ...]:
    """The folders of this server that no answer names, the longest first."""
    settings = memory.settings
    given = [each for each in (settings.path, settings.workspace, settings.user_dictionary) if each is not None]
    # A relative path says nothing about the machine, and its name may be a word of a sentence.
    names = {str(name) for each in given for name in (each, each.absolute()) if name.is_absolute() and name.name}
    return tuple(sorted(names, key=len, reverse=True))


def without_folders(text: str, folders: Sequence[str]) -> str:
    """A text for callers elsewhere: the files of the server are named by their place in its folders."""
    for folder in folders:
        text = text.replace(f"{folder}{os.sep}", "").replace(folder, Path(folder).name)
    return text


def status_of(error: errors.JiyiError) -> int:
    """The status of an error of the tree."""
    return next(status for kind, status in STATUS if isinstance(error, kind))


def retry_headers(status: int) -> dict[str, str]:
    """When a request that failed with this status may be sent again."""
    return {"Retry-After": "1"} if status == 503 else {}
