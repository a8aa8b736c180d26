"""Page: one address of the console, the right that it needs, and the function that answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from starlette.responses import Response

from jiyi.apps.server.access import READ, WRITE
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.logins import CONSOLE

Answer: TypeAlias = Callable[[RequestContext], Awaitable[Response]]
GET: Final = "GET"
POST: Final = "POST"


@dataclass(frozen=True, slots=True)
class Page:
    """An address below `/console`. A `POST` has passed the checks of its form before the function is called."""

    path: str
    answer: Answer
    method: str = GET
    right: str | None = READ
    """`None`: shown without a login."""

    @property
    def address(self) -> str:
        """The whole path."""
        return CONSOLE + self.path


def form_page(path: str, answer: Answer, right: str | None = WRITE) -> Page:
    """A page that changes something, reached by a form."""
    return Page(path, answer, POST, right)
