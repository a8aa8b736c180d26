"""Logging in with a key or a one-time link, and out."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.gate import is_console
from jiyi.apps.server.logins import CONSOLE
from jiyi.apps.server.problems import ProblemError


async def show_login(context: RequestContext) -> Response:
    """The form for the key."""
    if context.granted is not None:
        return context.go(_next(context.query("next")))
    return context.page("login.html", next=context.query("next"), problem="")


async def log_in(context: RequestContext) -> Response:
    """Begin a session with a key."""
    _check_failures(context)
    begun = await context.console.logins.log_in(context.form("key"), context.address)
    if begun is None:
        return context.page("login.html", 403, next=context.form("next"), problem="login.wrong_key")
    context.log_in(*begun)
    return context.go(_next(context.form("next")))


async def use_link(context: RequestContext) -> Response:
    """Begin a session with a one-time link."""
    _check_failures(context)
    begun = context.console.logins.use_ticket(context.query("ticket"), context.address)
    if begun is None:
        return context.page("login.html", 403, next="", problem="login.used_link")
    context.log_in(*begun)
    return context.go(CONSOLE)


async def log_out(context: RequestContext) -> Response:
    """End the session."""
    context.console.logins.log_out(context.cookie)
    return context.go(f"{CONSOLE}/login", "logged_out")


def _check_failures(context: RequestContext) -> None:
    wait = context.console.logins.must_wait(context.address)
    if wait:
        raise ProblemError(429, "too_many_failures", "too many wrong keys", {"Retry-After": str(int(wait) + 1)})


def _next(address: str) -> str:
    """Where to go after the login: a page of the console, and nothing else."""
    path = address.partition("?")[0]
    inside = is_console(path) and not path.startswith(f"{CONSOLE}/log") and "\\" not in address and ".." not in path
    return address if inside and address.isascii() and address.isprintable() else CONSOLE


PAGES: Final = (
    Page("/login", show_login, right=None),
    form_page("/login", log_in, right=None),
    Page("/open", use_link, right=None),
    form_page("/logout", log_out, right=None),
)
