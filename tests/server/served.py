"""A memory behind the app, with a client that sees answers whole, and one that reads streams and can go away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from jiyi import AgentMemory
from jiyi.apps.server.access import RIGHTS, Access
from jiyi.apps.server.app import build_app
from jiyi.apps.server.gate import App, GateRules
from jiyi.testing.models import ModelCall, ScriptedModel

Event = tuple[str, Any]


@dataclass
class Served:
    """A memory behind the app."""

    memory: AgentMemory
    app: App
    client: httpx.AsyncClient

    async def post(self, path: str, body: Any = None, *, key: str | None = None, status: int = 200) -> Any:
        headers = {} if key is None else {"Idempotency-Key": key}
        answer = await self.client.post(path, json=body, headers=headers)
        assert answer.status_code == status, (path, answer.status_code, answer.text)
        return answer.json()

    async def get(self, path: str, *, status: int = 200) -> Any:
        answer = await self.client.get(path)
        assert answer.status_code == status, (path, answer.status_code, answer.text)
        return answer.json()


@asynccontextmanager
async def served(
    data: Path, *, scope: str = "alice", read_only: bool = False, **settings: Any
) -> AsyncIterator[Served]:
    """On loopback without a key, with all rights, as `scope`."""
    settings = {"background_jobs": False, "scope": "alice", **settings}
    async with AgentMemory.open(data, **settings) as memory:
        rules = GateRules(anonymous=Access(scope, frozenset(RIGHTS)), per_second=1e6, burst=1_000_000)
        app = build_app(memory, rules=rules, read_only=read_only)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield Served(memory, app, client)


def run(data: Path, scenario: Callable[[Served], Awaitable[None]], **options: Any) -> None:
    async def whole() -> None:
        async with served(data, **options) as it:
            await scenario(it)

    asyncio.run(whole())


def model(*answers: Any) -> ScriptedModel:
    """An assistant with these answers; for everything else that a memory asks, nothing is worth keeping."""
    left = list(answers)
    empty = {"domains": ["user_preferences"], "candidates": [], "memories": [], "facts": []}

    def answer(asked: ModelCall) -> Any:
        if asked.schema is not None:
            required = asked.schema.get("required", ())
            return json.dumps({name: empty.get(name, "") for name in required})
        return left.pop(0) if asked.streamed else "They talked."

    return ScriptedModel(answer)


async def read_events(
    app: App,
    path: str,
    body: Any = None,
    *,
    key: str | None = None,
    method: str = "POST",
    until: Callable[[Event], bool] = lambda _: False,
) -> list[Event]:
    """The events of a stream, up to one after which the client goes away."""
    sent = asyncio.Event()
    found: list[Event] = []
    gone = asyncio.Event()
    content = b"" if body is None else json.dumps(body).encode()

    async def receive() -> dict[str, Any]:
        if not sent.is_set():
            sent.set()
            return {"type": "http.request", "body": content, "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] != "http.response.body":
            return
        for block in message["body"].decode().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
            if "data" in lines:
                found.append((lines["event"], json.loads(lines["data"])))
                if until(found[-1]):
                    gone.set()
                    # The client reads no more.
                    await asyncio.Event().wait()

    headers = [(b"host", b"127.0.0.1"), (b"accept", b"text/event-stream"), (b"content-type", b"application/json")]
    if key is not None:
        headers.append((b"idempotency-key", key.encode()))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "path": path.partition("?")[0],
        "raw_path": path.partition("?")[0].encode(),
        "query_string": path.partition("?")[2].encode(),
        "root_path": "",
        "scheme": "http",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)
    return found
