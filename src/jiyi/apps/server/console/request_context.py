"""RequestContext: one request to the console, with everything that a page needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from jiyi.apps.server.access import Access
from jiyi.apps.server.console.texts import LANGUAGES, Texts, texts_for
from jiyi.apps.server.gate import ACCESS
from jiyi.apps.server.logins import CONSOLE, cookie_name, cookie_of, cookies_of, new_id
from jiyi.apps.server.problems import ProblemError, folders_of, without_folders
from jiyi.errors import InvalidInputError, JiyiError

if TYPE_CHECKING:
    from jiyi.apps.server.console.app import Console
    from jiyi.memory import AgentMemory

LANGUAGE_COOKIE = "jiyi_language"
_MAX_FIELDS = 500
_YEAR = 365 * 24 * 3600
_FORM = "application/x-www-form-urlencoded"


class Fields:
    """The values of a form or of a query: each name may be there several times."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs

    def __call__(self, name: str, default: str = "") -> str:
        """The value with this name, without white space around it."""
        return next((value.strip() for key, value in self.pairs if key == name), default)

    def text(self, name: str) -> str:
        """The value as it was typed; browsers send ends of lines as CR LF."""
        return next((value.replace("\r\n", "\n") for key, value in self.pairs if key == name), "")

    def all(self, name: str) -> list[str]:
        """Every value with this name that is not empty."""
        return [value.strip() for key, value in self.pairs if key == name and value.strip()]

    def words(self, name: str) -> list[str]:
        """Words with commas between them, in one or several values."""
        found = [word.strip() for value in self.all(name) for word in value.replace("，", ",").split(",")]
        return list(dict.fromkeys(word for word in found if word))

    def whole(self, name: str, default: int, minimum: int, maximum: int) -> int:
        """A whole number inside bounds."""
        given = self(name)
        if not given:
            return default
        if not given.isascii() or not given.isdecimal() or not minimum <= int(given[:10]) <= maximum:
            raise InvalidInputError(f"{name} {given[:40]!a} must be a whole number from {minimum} to {maximum}")
        return int(given)

    def moment(self, name: str, zone: tzinfo = UTC, *, end_of_day: bool = False) -> datetime | None:
        """A date or a time, in this zone if it names none. A date as an end means the end of that day."""
        given = self(name)
        if not given:
            return None
        if end_of_day and len(given) == len("2026-01-31"):
            given += "T23:59:59.999999"
        try:
            found = datetime.fromisoformat(given)
        except ValueError:
            raise InvalidInputError(f"{name} {given[:40]!a} must be a date such as 2026-01-31") from None
        return found if found.tzinfo is not None else found.replace(tzinfo=zone)


@dataclass(slots=True)
class RequestContext:
    """One request: who asks, in which language, and what a page answers with."""

    request: Request
    console: Console
    texts: Texts
    cookie: str
    """The session, or a random value that binds the forms of a browser that is not logged in."""
    query: Fields
    form: Fields = field(default_factory=lambda: Fields([]))
    granted: Access | None = None
    """What the caller may do; `None` on the few pages that are shown without a login."""
    set_cookie: bool = False
    set_language: bool = False

    @property
    def access(self) -> Access:
        """What the caller may do."""
        if self.granted is None:
            raise ProblemError(401, "login_needed", "a login is needed")
        return self.granted

    @property
    def scope(self) -> str:
        """The scope of the caller's key: the only one that pages read and write."""
        return self.access.scope

    @property
    def memory(self) -> AgentMemory:
        """The memory that the server has open."""
        return self.console.memory

    @property
    def is_part(self) -> bool:
        """Whether a script asks for a part of a page, to put it into the one that is shown."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def address(self) -> str:
        """Where the request came from."""
        client = self.request.client
        return client.host if client is not None else "unknown"

    def may(self, right: str) -> bool:
        """Whether a page should offer what needs this right."""
        return self.granted is not None and self.granted.may(right) and (right == "read" or not self.console.read_only)

    def told(self, trouble: JiyiError | str) -> str:
        """What went wrong, without the folders of the server."""
        return without_folders(str(trouble), folders_of(self.memory))

    def path(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    def here(self, **changes: str | None) -> str:
        """The address of this page with other values in its query; `None` takes one out."""
        kept = [(name, value) for name, value in self.query.pairs if name not in {*changes, "done", "lang"}]
        pairs = [*kept, *((name, value) for name, value in changes.items() if value is not None)]
        return local_address(self.request.url.path) + (f"?{urlencode(pairs)}" if pairs else "")

    def page(self, template: str, code: int = 200, /, **values: Any) -> Response:
        """A page, or a part of one, with this status."""
        return HTMLResponse(self.console.render(template, self, values), code)

    def go(self, address: str, done: str = "") -> Response:
        """Show another page after a change; `done` names the text that says what was done."""
        mark = "&" if "?" in address else "?"
        return RedirectResponse(f"{address}{mark}{urlencode({'done': done})}" if done else address, 303)

    def finish(self, response: Response) -> Response:
        """Set the cookies that the browser does not have yet."""
        secure = self.request.url.scheme == "https"
        attributes: Any = {"path": CONSOLE, "secure": secure, "httponly": True, "samesite": "strict"}
        if self.set_cookie:
            response.set_cookie(cookie_name(self.request.scope), self.cookie, **attributes)
        if self.set_language:
            response.set_cookie(LANGUAGE_COOKIE, self.texts.language, max_age=_YEAR, **attributes)
        return response

    def log_in(self, session_id: str, access: Access) -> None:
        """From now on the browser has this session. The access log names the key."""
        self.console.logins.log_out(self.cookie)
        self.cookie, self.set_cookie = session_id, True
        self.request.scope[ACCESS] = access


def local_address(path: str, **query: str) -> str:
    """A path of this server, safe inside an attribute and a header."""
    return quote(path, safe="/:@!$&'()*+,;=-._~") + (f"?{urlencode(query)}" if query else "")


async def make_context(request: Request, console: Console, access: Access | None) -> RequestContext:
    """Read what a request brings."""
    query = _query_of(request)
    cookie = cookie_of(request.scope)
    chosen = query("lang")
    kept = cookies_of(request.scope).get(LANGUAGE_COOKIE, "")
    texts = texts_for(chosen if chosen in LANGUAGES else kept, request.headers)
    return RequestContext(
        request=request,
        console=console,
        texts=texts,
        cookie=cookie or new_id(),
        query=query,
        granted=access,
        set_cookie=not cookie,
        set_language=bool(chosen) and texts.language == chosen,
    )


def _query_of(request: Request) -> Fields:
    """The values of the address; those behind the bound are left out, because no page has so many."""
    first = request.url.query.split("&", _MAX_FIELDS)[:_MAX_FIELDS]
    return Fields(parse_qsl("&".join(first), keep_blank_values=True))


async def read_form(request: Request) -> Fields:
    """The values of a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise ProblemError(415, "wrong_type", f"a form is sent as {_FORM}")
    try:
        text = (await request.body()).decode("ascii")
        return Fields(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS))
    except ValueError:
        raise ProblemError(400, "bad_form", "the form cannot be read") from None


def entered(form: Mapping[str, str]) -> dict[str, str]:
    """What a person has typed, without what must not be shown."""
    return {name: value for name, value in form.items() if name not in {"form_token", "key"} and value.strip()}
