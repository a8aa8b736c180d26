"""Logging in with a key or a one-time link, and out."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.visit import Visit
from jiyi.apps.server.gate import is_console
from jiyi.apps.server.logins import CONSOLE
from jiyi.apps.server.problems import ProblemError


async def show_login(visit: Visit) -> Response:
    """The form for the key."""
    if visit.granted is not None:
        return visit.go(_next(visit.query("next")))
    return visit.page("login.html", next=visit.query("next"), problem="")


async def log_in(visit: Visit) -> Response:
    """Begin a session with a key."""
    _check_failures(visit)
    begun = await visit.console.logins.log_in(visit.form("key"), visit.address)
    if begun is None:
        return visit.page("login.html", 403, next=visit.form("next"), problem="login.wrong_key")
    visit.log_in(*begun)
    return visit.go(_next(visit.form("next")))


async def use_link(visit: Visit) -> Response:
    """Begin a session with a one-time link."""
    _check_failures(visit)
    begun = visit.console.logins.use_ticket(visit.query("ticket"), visit.address)
    if begun is None:
        return visit.page("login.html", 403, next="", problem="login.used_link")
    visit.log_in(*begun)
    return visit.go(CONSOLE)


async def log_out(visit: Visit) -> Response:
    """End the session."""
    visit.console.logins.log_out(visit.cookie)
    return visit.go(f"{CONSOLE}/login", "logged_out")


def _check_failures(visit: Visit) -> None:
    wait = visit.console.logins.must_wait(visit.address)
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
