"""The one ASGI app: MCP at `/mcp`, REST under `/v1`, the console, and what operators look at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from jiyi.apps.server.access import METRICS, Access, require
from jiyi.apps.server.audit import AuditLog
from jiyi.apps.server.console.app import Console
from jiyi.apps.server.gate import ACCESS, App, Gate, GateRules
from jiyi.apps.server.logins import Logins
from jiyi.apps.server.mcp.endpoint import Context, McpEndpoint
from jiyi.apps.server.metrics import Metrics
from jiyi.apps.server.oauth import TokenVerifier
from jiyi.apps.server.problems import (
    MEDIA_TYPE,
    ProblemError,
    folders_of,
    problem,
    retry_headers,
    status_of,
    without_folders,
)
from jiyi.apps.server.request_metrics import RequestMetrics
from jiyi.apps.server.rest import api
from jiyi.apps.server.rest.events import Streams
from jiyi.apps.server.tracing import Tracing
from jiyi.errors import JiyiError

if TYPE_CHECKING:
    from jiyi.apps.server.keys import Keys
    from jiyi.memory import AgentMemory

_MAX_MESSAGE = 300
_MAX_VALUE = 60


def build_app(
    memory: AgentMemory,
    *,
    rules: GateRules,
    keys: Keys | None = None,
    audit: AuditLog | None = None,
    logins: Logins | None = None,
    tokens: TokenVerifier | None = None,
    streams: Streams | None = None,
    tracing: Tracing | None = None,
    read_only: bool = False,
    alone: bool = True,
    new_endpoint: Callable[..., McpEndpoint] = McpEndpoint,
) -> App:
    """The app for one memory, which stays open for as long as the app runs.

    Without `alone` other processes answer requests too: then there are no sessions of MCP, whose messages would have to
    reach the same process, and no console, which keeps its logins in the process.
    """
    audit = audit or AuditLog(keys)
    endpoint = new_endpoint(memory, _access_of, read_only=read_only, noted=audit.note_call)
    # The gate has checked Host and Origin for every route.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    mcp = endpoint.server.streamable_http_app(
        transport_security=unchecked, max_request_body_size=rules.max_body, stateless_http=not alone
    )
    logins = logins or Logins(keys, failures=rules.failures)

    console = Console(memory, logins, keys, read_only=read_only)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with endpoint.server.session_manager.run(), audit.running():
            yield
            await endpoint.changes.close()
            await console.close()

    app = FastAPI(
        title="jiyi",
        version=version("jiyi"),
        summary="A memory for AI agents",
        lifespan=lifespan,
        openapi_url="/v1/openapi.json",
        # These pages would load scripts from another host.
        docs_url=None,
        redoc_url=None,
    )
    app.state.memory, app.state.read_only = memory, read_only
    metrics = Metrics()
    _handle_errors(app, folders_of(memory))
    # First: a path is compared with one route after the other.
    app.router.routes.extend(mcp.routes)
    streams = streams or Streams()
    streams.folders = folders_of(memory)
    api.install(app, streams, needs_key=rules.anonymous is None)
    if alone:
        app.router.routes.extend(console.routes())
    _operate(app, memory, metrics)
    if tokens is not None:
        _tell_issuer(app, tokens)

    return Gate(RequestMetrics(app, metrics, audit, tracing), rules, keys, logins, tokens)


def _access_of(context: Context) -> Access:
    """Who asks: the gate has put it into the request."""
    access = None if context.request is None else context.request.scope.get(ACCESS)
    if not isinstance(access, Access):
        raise MCPError(INTERNAL_ERROR, "the request did not pass the gate of the server")
    return access


def _handle_errors(app: FastAPI, folders: Sequence[str]) -> None:
    @app.exception_handler(ProblemError)
    async def refused(_request: Request, error: ProblemError) -> Response:
        body = problem(error.status, error.code, error.detail)
        return Response(body, error.status, error.headers, MEDIA_TYPE)

    @app.exception_handler(JiyiError)
    async def failed(_request: Request, error: JiyiError) -> Response:
        status = status_of(error)
        headers = retry_headers(status)
        detail = without_folders(str(error), folders)
        return Response(problem(status, type(error).__name__, detail), status, headers, MEDIA_TYPE)

    @app.exception_handler(RequestValidationError)
    async def wrong(_request: Request, error: RequestValidationError) -> Response:
        found = [{"at": ".".join(map(str, each["loc"])), "message": _message_of(each)} for each in error.errors()[:20]]
        detail = "; ".join(f"{each['at']}: {each['message']}" for each in found)
        return Response(problem(422, "wrong_form", detail, errors=found), 422, media_type=MEDIA_TYPE)

    @app.exception_handler(HTTPException)
    async def not_found(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == 405:
            # Of the routes with one path, the framework names the methods of the first only.
            headers["Allow"] = ", ".join(_methods_at(app, request.url.path))
        code = {404: "no_route", 405: "wrong_method"}.get(error.status_code, "http_error")
        return Response(problem(error.status_code, code, str(error.detail)), error.status_code, headers, MEDIA_TYPE)


def _message_of(error: Mapping[str, Any]) -> str:
    """What is wrong with a part of a request, with the value if it is a short one."""
    message, value = str(error["msg"])[:_MAX_MESSAGE], error.get("input")
    if tuple(error["loc"]) == ("body",) and isinstance(value, str | bytes):
        return f"{message}; send JSON with the header Content-Type: application/json"
    if isinstance(value, str | int | float) and len(shown := ascii(value)) <= _MAX_VALUE:
        return f"{message}, not {shown}"
    return message


def _methods_at(app: FastAPI, path: str) -> list[str]:
    """The methods that are known at a path."""
    paths = app.openapi()["paths"]
    known = {path: paths[path]} if path in paths else paths
    return sorted(
        method.upper()
        for template, operations in known.items()
        if compile_path(template)[0].match(path)
        for method in operations
    )


def _operate(app: FastAPI, memory: AgentMemory, metrics: Metrics) -> None:
    @app.get("/healthz", include_in_schema=False)
    async def alive() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/readyz", include_in_schema=False)
    async def ready() -> dict[str, str]:
        await memory.last_position()
        return {"status": "ok"}

    @app.get("/metrics", include_in_schema=False)
    async def measured(request: Request) -> Response:
        # They count what all scopes do.
        require(request.scope[ACCESS], METRICS, read_only=False)
        text = metrics.text(await memory.gauges(), app.state.streams.open)
        return Response(text, media_type="text/plain; version=0.0.4")


def _tell_issuer(app: FastAPI, tokens: TokenVerifier) -> None:
    """Where clients learn which issuer to ask for a token."""
    for path in sorted(tokens.rules.metadata_paths):

        @app.get(path, include_in_schema=False)
        async def metadata() -> dict[str, Any]:
            return tokens.rules.metadata()
