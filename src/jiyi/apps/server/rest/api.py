"""The REST API as a whole: its routers, what its routes share, and its description."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from fastapi import Depends, FastAPI

from jiyi.apps.server.problems import MEDIA_TYPE, TITLES
from jiyi.apps.server.rest import (
    administration,
    conversations,
    entries,
    longterm,
    notes,
    runtime,
    transfers,
    turns,
)
from jiyi.apps.server.rest.dependencies import refuse_unknown_query
from jiyi.apps.server.rest.events import Streams
from jiyi.apps.server.rest.turns import OpenTurns

_ROUTERS: Final = (
    entries.router,
    conversations.router,
    turns.router,
    longterm.router,
    notes.router,
    runtime.router,
    transfers.router,
    administration.router,
)
_ERRORS: Final = (400, 401, 403, 404, 409, 412, 413, 415, 421, 422, 429, 500, 502, 503, 504)
PROBLEM: Final = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
    },
    "required": ["type", "title", "status", "code", "detail"],
    "examples": [
        {
            "type": "about:blank",
            "title": TITLES[404],
            "status": 404,
            "code": "no_entry",
            "detail": "there is no entry 'x'",
        }
    ],
}


def install(app: FastAPI, streams: Streams, *, needs_key: bool) -> None:
    """Add the routes of `/v1`."""
    app.state.streams, app.state.turns, app.state.notes_lock = streams, OpenTurns(), asyncio.Lock()
    documented: dict[int | str, dict[str, Any]] = {
        status: {
            "description": TITLES[status],
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in _ERRORS
    }
    for router in _ROUTERS:
        app.include_router(router, responses=documented, dependencies=[Depends(refuse_unknown_query)])
    plain = app.openapi

    def described() -> dict[str, Any]:
        description = plain()
        components = description.setdefault("components", {})
        components.setdefault("schemas", {})["Problem"] = PROBLEM
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "A key: jy_…"}}
        description["security"] = [{"key": []}] if needs_key else [{"key": []}, {}]
        return description

    app.openapi = described  # type: ignore[method-assign] # the documented way to change the description
