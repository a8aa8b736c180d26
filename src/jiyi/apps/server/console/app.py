"""Console: it checks logins, forms and rights, calls the page, and renders errors in words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from jiyi.apps.server.access import Access, require
from jiyi.apps.server.console import cached_values
from jiyi.apps.server.console.cached_values import CachedValues
from jiyi.apps.server.console.filters import FILTERS, GLOBALS
from jiyi.apps.server.console.navigation import PAGES, navigation_for
from jiyi.apps.server.console.page import POST, Page
from jiyi.apps.server.console.request_context import RequestContext, entered, local_address, make_context, read_form
from jiyi.apps.server.gate import ACCESS
from jiyi.apps.server.logins import CONSOLE, Logins
from jiyi.apps.server.problems import ProblemError, retry_headers, status_of
from jiyi.errors import JiyiError

if TYPE_CHECKING:
    from jiyi.apps.server.keys import Keys
    from jiyi.memory import AgentMemory

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    # With `no-referrer` browsers send `Origin: null` with every form, and its origin could not be checked.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_STATIC_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".txt": "text/plain", ".svg": "image/svg+xml"}


class Console:
    """The console of one memory."""

    def __init__(self, memory: AgentMemory, logins: Logins, keys: Keys | None, *, read_only: bool) -> None:
        self.memory = memory
        self.logins = logins
        self.keys = keys
        self.read_only = read_only
        self.streams = 0
        """How many pages listen to changes."""
        self._cached: dict[str, CachedValues[Any]] = {}
        self._environment = Environment(
            loader=PackageLoader("jiyi.apps.server.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters.update(FILTERS)
        self._environment.globals.update({**GLOBALS, "asset": asset})

    def cached(self, name: str, max_size: int = cached_values.MAX_CACHED) -> CachedValues[Any]:
        """Values that hold until something changes; each page that computes much has its own."""
        made = CachedValues[Any](self.memory.last_position, max_wait=cached_values.MAX_WAIT, max_size=max_size)
        return self._cached.setdefault(name, made)

    async def close(self) -> None:
        """End what is being computed."""
        for kept in self._cached.values():
            await kept.close()

    def routes(self) -> list[Route]:
        """The routes of all pages; the last one answers for addresses that lead nowhere."""
        static = _PageRoute(f"{CONSOLE}/static/{{name:path}}", _static, name="console-static")
        pages = [_PageRoute(page.address, self._endpoint(page), methods=[page.method]) for page in PAGES]
        # The address without a slash at its end is the one that people type.
        start = _PageRoute(f"{CONSOLE}/", lambda _request: RedirectResponse(CONSOLE, 308))
        return [
            static,
            *pages,
            start,
            _PageRoute(f"{CONSOLE}/{{rest:path}}", self._endpoint(Page("/", _not_found)), methods=_METHODS),
        ]

    def render(self, template: str, context: RequestContext, values: Mapping[str, Any]) -> str:
        """A template with the values that every page has."""
        return self._environment.get_template(template).render(
            t=context.texts,
            context=context,
            navigation=navigation_for(context),
            form_token=self.logins.form_token(context.cookie),
            logged_in=context.cookie in self.logins,
            done=context.query("done"),
            **values,
        )

    def _endpoint(self, page: Page) -> Any:
        async def answer(request: Request) -> Response:
            access: Access | None = request.scope.get(ACCESS)
            context = await make_context(request, self, access)
            if page.right is not None and access is None:
                response: Response = await _to_login(context, page)
            else:
                response = await self._answered(page, context)
            for name, value in SECURITY_HEADERS.items():
                response.headers.setdefault(name, value)
            return context.finish(response)

        return answer

    async def _answered(self, page: Page, context: RequestContext) -> Response:
        try:
            if page.method == POST:
                context.form = await read_form(context.request)
                self._check_form(context)
            if page.right is not None:
                require(context.access, page.right, read_only=self.read_only)
            return await page.answer(context)
        except ProblemError as error:
            return _failed(context, error.status, error.code, error.detail, error.headers)
        except JiyiError as error:
            status = status_of(error)
            headers = retry_headers(status)
            return _failed(context, status, type(error).__name__, context.told(error), headers)

    def _check_form(self, context: RequestContext) -> None:
        """A change comes from a form of this server, in a browser that was given that form."""
        headers = context.request.headers
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        foreign = origin is not None and urlsplit(origin).netloc != headers.get("host", "")
        if foreign or site not in {None, "same-origin"} or (origin is None and site is None):
            raise ProblemError(403, "foreign_form", "the form does not come from a page of this server")
        if not self.logins.is_form_token(context.cookie, context.form("form_token")):
            raise ProblemError(403, "old_form", "the form is too old, or belongs to another login")


class _PageRoute(Route):
    """A route that metrics and the access log can name."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, more = super().matches(scope)
        return match, {**more, "route": self} if match is not Match.NONE else more


async def _to_login(context: RequestContext, page: Page) -> Response:
    if context.is_part:
        # A part of a page cannot show the login: the script loads the whole page again.
        return Response(status_code=401, headers={"HX-Refresh": "true"})
    if page.method == POST:
        # The login is over, or the server was started again: what was typed must not be lost with it.
        with suppress(ProblemError):
            context.form = await read_form(context.request)
        return _failed(context, 401, "login_needed", "the login is over", {})
    return context.go(local_address(f"{CONSOLE}/login", next=context.here()))


def _failed(context: RequestContext, status: int, code: str, detail: str, headers: Mapping[str, str]) -> Response:
    # A part of a page that a script has asked for gets its error as a part, too.
    template = "error_part.html" if context.is_part else "error.html"
    response = context.page(
        template, status, status=status, code=code, detail=detail, entered=entered(dict(context.form.pairs))
    )
    response.headers.update(headers)
    return response


async def _not_found(context: RequestContext) -> Response:
    raise ProblemError(404, "no_page", f"there is no page {context.request.url.path[:200]!a}")


# --- files that do not change ---------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _assets() -> dict[str, tuple[bytes, str]]:
    """The files of the folder `static`, with their digests."""
    found: dict[str, tuple[bytes, str]] = {}
    root = files("jiyi.apps.server.console") / "static"
    for folder, prefix in ((root, ""), (root / "vendor", "vendor/")):
        for file in folder.iterdir():
            if file.is_file() and "." + file.name.rpartition(".")[2] in _STATIC_TYPES:
                content = file.read_bytes()
                found[prefix + file.name] = (content, hashlib.sha256(content).hexdigest()[:16])
    return found


def asset(name: str) -> str:
    """The address of a file, which changes with its content."""
    return f"{CONSOLE}/static/{name}?v={_assets()[name][1]}"


async def _static(request: Request) -> Response:
    found = _assets().get(request.path_params["name"])
    if found is None:
        return Response("there is no such file", 404, media_type="text/plain")
    content, digest = found
    kind = _STATIC_TYPES["." + request.path_params["name"].rpartition(".")[2]]
    headers = {**SECURITY_HEADERS, "ETag": f'"{digest}"'}
    if request.query_params.get("v") == digest:
        headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return Response(content, 200, headers, kind)
