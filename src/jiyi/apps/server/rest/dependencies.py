"""Who asks, and for which memory."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Header, Query, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import Query as QueryParameter
from fastapi.routing import APIRoute

from jiyi.apps.server.access import ADMIN, ERASE, READ, WRITE, Access, require
from jiyi.apps.server.gate import ACCESS
from jiyi.apps.server.rest.events import Streams
from jiyi.memory import AgentMemory


# Coroutines, though they wait for nothing: a plain function would be sent to a thread for every request.
async def _memory(request: Request) -> AgentMemory:
    memory: AgentMemory = request.app.state.memory
    return memory


async def _streams(request: Request) -> Streams:
    streams: Streams = request.app.state.streams
    return streams


async def refuse_unknown_query(request: Request) -> None:
    """Refuse a query parameter that the route does not have: a misspelt condition would be ignored otherwise."""
    if not request.scope["query_string"]:
        return
    route: APIRoute = request.scope["route"]
    known = {field.alias for field in get_flat_params(route.dependant) if isinstance(field.field_info, QueryParameter)}
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        remedy = f"known are {', '.join(sorted(known))}" if known else "this route has none"
        raise RequestValidationError(
            [{"loc": ("query", name[:80]), "msg": f"unknown parameter; {remedy}"} for name in unknown]
        )


def needs(right: str) -> Any:
    """A dependency: the access of the request, if it has this right."""

    async def check(request: Request) -> Access:
        return require(request.scope[ACCESS], right, read_only=request.app.state.read_only)

    return Depends(check)


def check_erase(access: Access) -> None:
    """Deleting for good is a right of its own."""
    require(access, ERASE, read_only=False)


Memory: TypeAlias = Annotated[AgentMemory, Depends(_memory)]
OpenStreams: TypeAlias = Annotated[Streams, Depends(_streams)]
Reader: TypeAlias = Annotated[Access, needs(READ)]
Writer: TypeAlias = Annotated[Access, needs(WRITE)]
Eraser: TypeAlias = Annotated[Access, needs(ERASE)]
Administrator: TypeAlias = Annotated[Access, needs(ADMIN)]
PageLimit: TypeAlias = Annotated[int, Query(ge=1, le=1_000, description="How many at most")]
Cursor: TypeAlias = Annotated[
    str | None, Query(min_length=1, max_length=2_000, description="`next_cursor` of the page before")
]
IfMatch: TypeAlias = Annotated[str | None, Header(max_length=200, description="The ETag of the version that is meant")]
Accept: TypeAlias = Annotated[str, Header(description="`text/event-stream` for events", include_in_schema=False)]
