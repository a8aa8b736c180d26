"""What the server adds to a recall: REST and MCP beside a direct call, and many clients at once beside plain FastAPI.

    python -m bench.bench_server
    python -m bench.bench_server --quick

The server is a process of its own on the same data directory. The same question is asked directly, over REST and over
MCP in turn. A FastAPI app that does nothing, in another process, shows what HTTP alone takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bench.support import Report, interleaved, milliseconds, parser, progress, rate, work_directory
from bench.support.measuring import Times
from bench.texts import Texts
from jiyi import AgentMemory

CLIENTS = 100
ADDED_MS = 2.0
_NOTHING = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/nothing")
async def nothing(body: dict) -> dict:
    return {"hits": []}
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"serving http://127.0.0.1:{port}: MCP", file=sys.stderr, flush=True)
Server(uvicorn.Config(app, port=0, log_config=None, access_log=False)).run()
"""


@contextmanager
def server(*arguments: str) -> Iterator[str]:
    """A process that says where it serves; its address."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stderr is not None
        try:
            line = next(each for each in process.stderr if "serving" in each)
            yield line.split("serving ")[1].split(": MCP")[0]
        finally:
            process.terminate()


class Wire:
    """Connections that stay open, with next to nothing around them: the server is measured, not a client library."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        self._place = (host, int(port))
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, body: object) -> None:
        """Send a request and read the answer to its end."""
        reader, writer = self._connected() or await asyncio.open_connection(*self._place)
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: {self._place[0]}\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answer.split(b"content-length:")[1].split(b"\r\n")[0])
        told = await reader.readexactly(length)
        if not answer.startswith(b"http/1.1 200"):
            raise SystemExit(f"{answer[:40]!r}: {told[:300]!r}")
        self._idle.append((reader, writer))

    def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection that is open; a server closes those that nobody has used for some seconds."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return None

    def close(self) -> None:
        """Close the connections."""
        for _, writer in self._idle:
            writer.close()


async def many(clients: int, each: int, ask: Callable[[int], Awaitable[None]]) -> tuple[float, Times]:
    """Requests a second of so many clients at once, and how long each request took."""
    times = Times()

    async def client(number: int) -> None:
        for turn in range(each):
            begun = time.perf_counter()
            await ask(number * each + turn)
            times.seconds.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    return clients * each / (time.perf_counter() - begun), times


async def added(
    memory: AgentMemory, address: str, nothing: str, questions: list[str], turns: int, report: Report
) -> None:
    """One caller: what each door adds to a direct recall."""
    rest, plain = Wire(address), Wire(nothing)
    async with (
        httpx.AsyncClient(timeout=60) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http)) as mcp,  # type: ignore[arg-type]
    ):

        async def by_rest(number: int) -> None:
            await rest.post("/v1/recall", {"query": questions[number % len(questions)], "limit": 10})

        async def by_nothing(number: int) -> None:
            await plain.post("/nothing", {"query": questions[number % len(questions)]})

        actions: dict[str, Callable[[int], Awaitable[object]]] = {
            "direct": lambda number: memory.recall(questions[number % len(questions)], 10),
            "rest": by_rest,
            "mcp": lambda number: mcp.call_tool("recall", {"query": questions[number % len(questions)], "limit": 10}),
            "nothing": by_nothing,
        }
        times = await interleaved(turns, actions, warm_up=5, label="one caller")
        direct = times["direct"].p50
        report.fact("recall, direct", milliseconds(direct), f"p95 {milliseconds(times['direct'].p95)}")
        for name, label in (("rest", "REST"), ("mcp", "MCP")):
            report.at_most(
                f"recall over {label}, added to direct (p50)",
                milliseconds(times[name].p50),
                f"direct {milliseconds(direct)}",
                value=1_000 * (times[name].p50 - direct),
                target=ADDED_MS,
                unit=" ms",
            )
        report.fact("FastAPI doing nothing", milliseconds(times["nothing"].p50), "one request over HTTP")
        each = max(1, turns // 10)
        for label, ask in (("REST recall", by_rest), ("FastAPI doing nothing", by_nothing)):
            speed, spent = await many(CLIENTS, each, ask)
            report.fact(
                f"{CLIENTS} clients at once, {label}",
                rate(speed),
                f"p50 {milliseconds(spent.p50)}, p95 {milliseconds(spent.p95)}",
                f"{CLIENTS * each:,} answered, none failed",
            )
    rest.close()
    plain.close()


async def run(options: argparse.Namespace) -> Path:
    """All measurements."""
    turns = 20 if options.quick else 400
    count = options.size or (200 if options.quick else 10_000)
    report = Report("server", "The server")
    with work_directory(options.work) as folder:
        data = folder / "data"
        with progress(f"storing and indexing {count:,} memories", None):
            async with AgentMemory.open(data, background_indexing=False) as memory:
                texts = Texts()
                stored = enumerate(texts.memories(count))
                await memory.store_many({"key": f"note {number}", "content": text} for number, text in stored)
                await memory.drain()
        questions = ["Who works in the garden?", "谁在花园里工作？", "the meeting on Monday", "咖啡"]
        serve = ["-m", "jiyi.apps.cli", "serve", "--port", "0", "--data", str(data), "--rate-limit", "1000000"]
        with server(*serve) as address, server("-c", _NOTHING) as nothing:
            async with AgentMemory.open(data, background_jobs=False) as memory:
                await added(memory, address, nothing, questions, turns, report)
    report.note(f"{count:,} memories, {turns} turns; the server, the caller and FastAPI are three processes.")
    report.note(
        "REST and FastAPI are asked over bare connections, MCP with the official client, which is part of its figure."
    )
    report.note("No key is checked on loopback; a key is one more lookup in the store.")
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--size", type=int, help="memories in the store that is asked (10,000)")
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()
