"""A console behind a real port, and a real browser in front of it, both on one event loop in a thread of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar

import uvicorn
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, async_playwright

from jiyi import AgentMemory
from jiyi.apps.server.access import RIGHTS, Access
from jiyi.apps.server.app import build_app
from jiyi.apps.server.gate import GateRules
from jiyi.apps.server.keys import Keys
from jiyi.apps.server.logins import Logins
from jiyi.wiring.keys import open_key_store
from tests.server.console.demo_store import SCOPE, Demo, fill, workspace_in
from tests.servers.chromium import axe_source, launch_options

T = TypeVar("T")
Scheme: TypeAlias = Literal["light", "dark"]
DESKTOP: Final = (1280, 800)
PHONE: Final = (390, 844)
_AXE = "async (rules) => { const found = await axe.run(document, rules ? {runOnly: rules} : {}); return found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`); }"  # noqa: E501


@dataclass(frozen=True, slots=True)
class Form:
    """In which form a page is looked at."""

    language: str
    size: tuple[int, int] = DESKTOP
    scheme: Scheme = "light"
    scripts: bool = True

    @property
    def name(self) -> str:
        """For the name of a screenshot."""
        device = "phone" if self.size == PHONE else "desktop"
        return "-".join([self.language, device, self.scheme, *([] if self.scripts else ["noscript"])])


@dataclass
class Window:
    """A tab of the browser, and everything that must not have happened in it."""

    page: Page
    origin: str
    problems: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Note errors of scripts, refused content and requests to other hosts."""
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("request", self._requested)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(f"{message.type}: {message.text}")

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.problems.append(f"foreign request: {request.url}")

    async def open(self, path: str) -> int:
        """Go to a page of the console; its status."""
        answer = await self.page.goto(self.origin + path, wait_until="load")
        assert answer is not None
        return answer.status

    async def violations(self, *rules: str) -> list[str]:
        """What axe finds; with rules only by these."""
        if not await self.page.evaluate("typeof axe !== 'undefined'"):
            await self.page.evaluate(axe_source())
        found: list[str] = await self.page.evaluate(_AXE, list(rules) or None)
        return found

    async def text(self, selector: str = "main") -> str:
        """What stands there."""
        return await self.page.inner_text(selector)


class Live:
    """The server and the browser. Tests hand in coroutines with `run`."""

    def __init__(self, folder: Path, language: str = "en", **settings: Any) -> None:
        self._folder = folder
        self._language = language
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="console-in-browser", daemon=True)
        self._stack = AsyncExitStack()
        self._windows: dict[tuple[Form, str], Window] = {}
        self.memory: AgentMemory
        self.keys: Keys
        self.logins: Logins
        self.browser: Browser
        self.demo: Demo
        self.origin = ""

    def run(self, scenario: Coroutine[Any, Any, T], seconds: float = 120) -> T:
        """Run a coroutine where the server and the browser are."""
        return asyncio.run_coroutine_threadsafe(scenario, self._loop).result(seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self.run(self._begin())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _begin(self) -> None:
        enter = self._stack.enter_async_context
        notes = workspace_in(self._folder / "notes", self._language)
        opened = AgentMemory.open(
            self._folder / "data", scope=SCOPE, workspace=notes, background_jobs=False, **self._settings
        )
        self.memory = await enter(opened)
        self.demo = await fill(self.memory, notes, self._language)
        self.keys = Keys(open_key_store(self.memory.settings))
        self._stack.callback(self.keys.close)
        self.keys.add("laptop", SCOPE, "read,write,erase")
        self.keys.add("team chat", "group:team", kind="group")
        self.keys.revoke(self.keys.add("old phone", SCOPE)[0].id)
        self.logins = Logins(self.keys, failures=100)
        rules = GateRules(per_second=100_000.0, burst=100_000)
        app = build_app(self.memory, rules=rules, keys=self.keys, logins=self.logins)
        server = uvicorn.Server(
            uvicorn.Config(
                app, port=0, log_config=None, access_log=False, ws="none", lifespan="on", timeout_graceful_shutdown=1
            )
        )
        serving = asyncio.get_running_loop().create_task(server.serve())
        self._stack.push_async_callback(self._stopped, server, serving)
        while not server.started:
            assert not serving.done(), "the server did not start"
            await asyncio.sleep(0.01)
        self.origin = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        play = await enter(async_playwright())
        self.browser = await play.chromium.launch(**launch_options())
        self._stack.push_async_callback(self.browser.close)

    @staticmethod
    async def _stopped(server: uvicorn.Server, serving: asyncio.Task[None]) -> None:
        server.should_exit = True
        await serving

    async def context(self, form: Form, **more: Any) -> BrowserContext:
        """A browser of its own, with its own cookies."""
        width, height = form.size
        return await self.browser.new_context(
            viewport={"width": width, "height": height},
            locale="zh-CN" if form.language == "zh" else "en-GB",
            timezone_id="Asia/Shanghai",
            color_scheme=form.scheme,
            java_script_enabled=form.scripts,
            reduced_motion="reduce",
            **more,
        )

    async def window(self, form: Form, scope: str = SCOPE, rights: frozenset[str] = frozenset(RIGHTS)) -> Window:
        """A logged-in window in this form; the same one when it is asked for again."""
        name = (form, f"{scope} {sorted(rights)}")
        if name not in self._windows:
            window = Window(await (await self.context(form)).new_page(), self.origin)
            window.listen()
            ticket = self.logins.ticket(Access(scope, rights))
            assert await window.open(f"/console/open?ticket={ticket}") == 200
            self._windows[name] = window
        return self._windows[name]
