"""A browser without scripts: it keeps cookies, reads pages, and sends forms as a browser does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx

from jiyi import AgentMemory
from jiyi.apps.server.app import build_app
from jiyi.apps.server.audit import AuditLog
from jiyi.apps.server.gate import GateRules
from jiyi.apps.server.keys import Keys
from jiyi.apps.server.logins import Logins
from jiyi.wiring.keys import open_key_store

ORIGIN = "http://127.0.0.1"
VOID = frozenset({"meta", "link", "input", "br", "hr", "img", "wbr"})


@dataclass
class Form:
    """A form of a page, with the values that it begins with."""

    action: str
    method: str
    values: list[tuple[str, str]] = field(default_factory=list)


class Parsed(HTMLParser):
    """A page: its elements with their attributes, its text and its forms."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.forms: list[Form] = []
        self.links: list[str] = []
        self._area: str | None = None
        self._select: str | None = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        name = found.get("name") or ""
        if tag == "form":
            self.forms.append(Form(found.get("action") or "", (found.get("method") or "get").lower()))
        elif tag == "input" and self.forms and name:
            kind = found.get("type")
            if kind not in {"checkbox", "radio"} or "checked" in found:
                self.forms[-1].values.append((name, found.get("value") or ""))
        elif tag == "textarea" and self.forms and name:
            self._area = ""
            self.forms[-1].values.append((name, ""))
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in found and self._select and self.forms:
            self.forms[-1].values.append((self._select, found.get("value") or ""))
        elif tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area is not None:
            name, _ = self.forms[-1].values[-1]
            # The parser of a browser drops the first line end of a text area.
            self.forms[-1].values[-1] = (name, self._area.removeprefix("\n"))
            self._area = None
        elif tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._area is not None:
            self._area += data

    def form(self, action: str) -> Form:
        """The form that is sent there."""
        return next(form for form in self.forms if form.action.partition("?")[0] == action)


class Browser:
    """One browser with its cookies."""

    def __init__(self, app: Any, language: str = "en") -> None:
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url=ORIGIN, headers={"Accept-Language": language}
        )

    async def get(self, address: str, **more: Any) -> httpx.Response:
        """A page, after the redirects to it."""
        return await self.client.get(address, follow_redirects=True, **more)

    async def parsed(self, address: str) -> Parsed:
        """The elements and the text of a page that is there."""
        answer = await self.get(address)
        assert answer.status_code == 200, (address, answer.status_code, answer.text[-1500:])
        return Parsed(answer.text)

    async def post(self, address: str, fields: Any, **headers: str) -> httpx.Response:
        """Send a form as a browser does; the answer is what is shown at the end."""
        sent = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin", **headers}
        sent = {name: value for name, value in sent.items() if value}
        pairs = fields.items() if isinstance(fields, dict) else fields
        body = str(httpx.QueryParams(list(pairs)))
        sent["Content-Type"] = "application/x-www-form-urlencoded"
        return await self.client.post(address, content=body, headers=sent, follow_redirects=True)

    async def token(self, page: str = "/console") -> str:
        """The token that the forms of this browser carry."""
        parsed = Parsed((await self.get(page)).text)
        found = [dict(form.values)["form_token"] for form in parsed.forms if "form_token" in dict(form.values)]
        return found[0]

    async def send(self, page: str, action: str, changes: dict[str, str] | None = None) -> httpx.Response:
        """Load a page, fill in the form with this action, and send it."""
        form = (await self.parsed(page)).form(action)
        values = {**dict(form.values), **(changes or {})}
        assert form.method == "post"
        return await self.post(form.action, values)

    async def log_in(self, token: str) -> httpx.Response:
        """Log in with a key."""
        return await self.send("/console/login", "/console/login", {"key": token})


class Served:
    """A memory behind the app, its keys, and browsers."""

    def __init__(self, memory: AgentMemory, keys: Keys, app: Any, audit: AuditLog, logins: Logins) -> None:
        self.memory = memory
        self.keys = keys
        self.app = app
        self.audit = audit
        self.logins = logins
        self.browsers: list[Browser] = []

    def browser(self, language: str = "en") -> Browser:
        """Another browser, not logged in."""
        self.browsers.append(Browser(self.app, language))
        return self.browsers[-1]

    async def logged_in(self, scope: str, rights: str = "read,write", language: str = "en", **key: Any) -> Browser:
        """A browser that is logged in with a new key."""
        browser = self.browser(language)
        answer = await browser.log_in(self.keys.add("test", scope, rights, **key)[1])
        assert answer.status_code == 200, answer.text
        return browser


Scenario = Callable[[Served], Awaitable[None]]


@asynccontextmanager
async def served(folder: Path, *, read_only: bool = False, **rules: Any) -> AsyncIterator[Served]:
    settings: dict[str, Any] = rules.pop("settings", {})
    rules = {"per_second": 100_000.0, "burst": 100_000, **rules}
    async with AgentMemory.open(folder, scope="main", background_jobs=False, embedder="none", **settings) as memory:
        keys = Keys(open_key_store(memory.settings))
        audit = AuditLog(keys)
        gate = GateRules(**rules)
        logins = Logins(keys, failures=gate.failures)
        app = build_app(memory, rules=gate, keys=keys, audit=audit, logins=logins, read_only=read_only)
        it = Served(memory, keys, app, audit, logins)
        try:
            yield it
        finally:
            for browser in it.browsers:
                await browser.client.aclose()
            keys.close()


def run(tmp_path: Path, scenario: Scenario, **rules: Any) -> None:
    """Run a scenario against a new memory."""

    async def whole() -> None:
        async with served(tmp_path / "data", **rules) as each:
            await scenario(each)

    asyncio.run(whole())
