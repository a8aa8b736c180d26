"""Errors as `application/problem+json` (RFC 9457), with a status and a code for every error of the tree."""

from __future__ import annotations

import json
from typing import Any, Final

from jiyi import errors

STATUS: Final[tuple[tuple[type[errors.JiyiError], int], ...]] = (
    (errors.VersionConflictError, 412),
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


def status_of(error: errors.JiyiError) -> int:
    """The status of an error of the tree."""
    return next(status for kind, status in STATUS if isinstance(error, kind))
