"""What the server adds to a recall: REST and MCP beside a direct call, and many clients at once beside plain FastAPI.

    python -m bench.bench_server
    python -m bench.bench_server --quick

The server is a process of its own on the same data directory. The same question is asked directly, over REST and over
MCP in turn. A FastAPI app that does nothing, and a server of the MCP SDK whose tool does nothing, both in processes of
their own, show what the frameworks take. How much of a processor each server needs for a request is measured as well:
on a busy machine that is what can be compared.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
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
_MCP_NOTHING = """
import sys, mcp_types as types, uvicorn
from mcp.server import Server as McpServer
from mcp.server.transport_security import TransportSecuritySettings
text = "x" * int(sys.argv[1])
async def call(context, params):
    return types.CallToolResult(content=[types.TextContent(text=text)])
async def tools(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="recall", input_schema={"type": "object"})])
unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
made = McpServer("nothing", on_call_tool=call, on_list_tools=tools)
app = made.streamable_http_app(transport_security=unchecked)
""" + _NOTHING[_NOTHING.index("class Server") :]
"""With the official client, an answer of the same size, and no work in between."""
_HANDSHAKE = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"clientInfo":{"name":"bench","version":"1"}}}\n'
)
START_SECONDS = 1.0


@dataclass(frozen=True)
class Process:
    """A server in a process of its own."""

    address: str
    pid: int

    def processor_seconds(self) -> float:
        """How long its threads have had a processor since it began."""
        spent = [int(each.read_text().split()[0]) for each in Path(f"/proc/{self.pid}/task").glob("*/schedstat")]
        return sum(spent) / 1e9


@contextmanager
def server(*arguments: str) -> Iterator[Process]:
    """A process that says where it serves."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stderr is not None
        try:
            line = next(each for each in process.stderr if "serving" in each)
            yield Process(line.split("serving ")[1].split(": MCP")[0], process.pid)
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


async def ask_mcp(client: Client, question: str) -> str:
    """The text of the answer of the tool `recall`."""
    told = await client.call_tool("recall", {"query": question, "limit": 10})
    return str(told.content[0].text)  # type: ignore[union-attr]


@asynccontextmanager
async def mcp_client(process: Process) -> AsyncIterator[Client]:
    """The official client, connected."""
    async with (
        httpx.AsyncClient(timeout=60) as http,
        Client(streamable_http_client(f"{process.address}/mcp", http_client=http)) as client,  # type: ignore[arg-type]
    ):
        yield client


async def added(
    memory: AgentMemory, jiyi: Process, fastapi: Process, questions: list[str], turns: int, report: Report
) -> None:
    """One caller: what each protocol adds to a direct recall, and what of that the frameworks take."""
    rest, plain = Wire(jiyi.address), Wire(fastapi.address)

    def question(number: int) -> str:
        return questions[number % len(questions)]

    async def by_rest(number: int) -> None:
        await rest.post("/v1/recall", {"query": question(number), "limit": 10})

    async def by_nothing(number: int) -> None:
        await plain.post("/nothing", {"query": question(number)})

    async with mcp_client(jiyi) as mcp:
        size = len(await ask_mcp(mcp, questions[0]))
        with server("-c", _MCP_NOTHING, str(size)) as sdk:
            async with mcp_client(sdk) as mcp_nothing:
                actions: dict[str, Callable[[int], Awaitable[object]]] = {
                    "direct": lambda number: memory.recall(question(number), 10),
                    "rest": by_rest,
                    "mcp": lambda number: ask_mcp(mcp, question(number)),
                    "nothing": by_nothing,
                    "mcp nothing": lambda number: ask_mcp(mcp_nothing, question(number)),
                }
                times = await interleaved(turns, actions, warm_up=5, label="one caller")
                tell_times(times, report)
                here = Process("", os.getpid())
                places = {"direct": here, "rest": jiyi, "mcp": jiyi, "nothing": fastapi, "mcp nothing": sdk}
                spent = {name: await processor(place, actions[name], turns) for name, place in places.items()}
                tell_processor(spent, report)
    each = max(1, turns // 10)
    for label, ask in (("REST recall", by_rest), ("FastAPI doing nothing", by_nothing)):
        speed, many_times = await many(CLIENTS, each, ask)
        report.fact(
            f"{CLIENTS} clients at once, {label}",
            rate(speed),
            f"p50 {milliseconds(many_times.p50)}, p95 {milliseconds(many_times.p95)}",
            f"{CLIENTS * each:,} answered, none failed",
        )
    rest.close()
    plain.close()


def tell_times(times: Mapping[str, Times], report: Report) -> None:
    """What each protocol adds (p50), and what is left of it without its framework."""
    direct = times["direct"].p50
    report.fact("recall, direct", milliseconds(direct), f"p95 {milliseconds(times['direct'].p95)}")
    for name, label, nothing, framework in (
        ("rest", "REST", "nothing", "FastAPI"),
        ("mcp", "MCP", "mcp nothing", "the MCP SDK"),
    ):
        spent, bare = times[name].p50, times[nothing].p50
        report.at_most(
            f"recall over {label}, added to direct (p50)",
            milliseconds(spent),
            f"direct {milliseconds(direct)}",
            value=1_000 * (spent - direct),
            target=ADDED_MS,
            unit=" ms",
        )
        report.at_most(
            f"of that, beyond {framework} doing nothing",
            milliseconds(spent - direct),
            f"{framework} doing nothing {milliseconds(bare)}",
            value=1_000 * (spent - direct - bare),
            target=ADDED_MS,
            unit=" ms",
        )


async def processor(process: Process, action: Callable[[int], Awaitable[object]], turns: int) -> float:
    """Processor time of a process for one request, in seconds."""
    before = process.processor_seconds()
    for number in range(turns):
        await action(number)
    return (process.processor_seconds() - before) / turns


def tell_processor(spent: Mapping[str, float], report: Report) -> None:
    """Processor time of each server for one request."""
    for name, label, nothing in (("rest", "REST", "nothing"), ("mcp", "MCP", "mcp nothing")):
        report.fact(
            f"processor time of the server, recall over {label}",
            milliseconds(spent[name]),
            f"direct {milliseconds(spent['direct'])}, framework doing nothing {milliseconds(spent[nothing])}",
            f"{1_000 * (spent[name] - spent['direct'] - spent[nothing]):.2f} ms more than both",
        )


def start(command: list[str], line: str) -> float:
    """Seconds from the start of a process to the first line it answers with."""
    begun = time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=dict(os.environ)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        process.stdout.readline()
        return time.perf_counter() - begun


def starts(data: Path, times: int, report: Report) -> None:
    """How long `jiyi mcp` takes until it has answered, and how long importing the SDK alone takes."""
    whole, sdk = Times(), Times()
    for _ in range(times):
        whole.seconds.append(start([sys.executable, "-m", "jiyi.apps.cli", "mcp", "--data", str(data)], _HANDSHAKE))
        sdk.seconds.append(start([sys.executable, "-c", "import mcp.server.stdio; print()"], ""))
    report.at_most(
        "`jiyi mcp`, from its start to the answer to `initialize` (p50)",
        f"{whole.p50:.2f} s",
        f"a Python process that imports the MCP SDK {sdk.p50:.2f} s",
        value=whole.p50,
        target=START_SECONDS,
        unit=" s",
    )


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
        with server(*serve) as jiyi, server("-c", _NOTHING) as fastapi:
            async with AgentMemory.open(data, background_jobs=False) as memory:
                await added(memory, jiyi, fastapi, questions, turns, report)
        with progress("starting jiyi mcp", None):
            starts(data, 1 if options.quick else 10, report)
    report.note(f"{count:,} memories, {turns} turns; every server and the caller are processes of their own.")
    report.note(
        "REST and FastAPI are asked over bare connections, MCP and a tool of its SDK that does nothing (with an answer "
        "of the same size) with the official client, which is part of both figures."
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
