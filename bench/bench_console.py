"""How long the pages of the console take, with many memories in the scope.

    python -m bench.bench_console                      (100,000 memories)
    python -m bench.bench_console --memories 2000 --rounds 10
    python -m bench.bench_console --data FOLDER        (a store that is there already; nothing is written to it)

Pages are asked through the ASGI app, one after the other, as one browser does; the network is left out. Every round
also changes a memory, so that no page can live on what it has kept, unless the store is somebody's own.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from bench.support import Report, Times, milliseconds, parser, progress, timed, work_directory
from bench.texts import Texts
from jiyi import AgentMemory
from jiyi.apps.server.access import RIGHTS, Access
from jiyi.apps.server.app import build_app
from jiyi.apps.server.gate import GateRules
from jiyi.model.domain import DOMAINS

_TARGET_MS = 150
_BATCH = 2_000
_SCOPE = "main"
_START = datetime(2024, 1, 1, tzinfo=UTC)


async def fill(memory: AgentMemory, count: int) -> None:
    """Facts of all domains, over two years, and some conversations."""
    texts = iter(Texts().memories(count))
    with progress(f"making a store of {count:,} memories", count) as advance:
        for start in range(0, count, _BATCH):
            numbers = range(start, min(count, start + _BATCH))
            await memory.store_many(
                {
                    "key": f"memory {number}",
                    "content": next(texts),
                    "domain": None if number % 3 == 0 else DOMAINS[number % len(DOMAINS)],
                    "memory_type": "reflection" if number % 500 == 1 else "fact",
                    "tags": [f"tag {number % 100}"],
                    "occurred_at": _START + timedelta(minutes=10 * number),
                }
                for number in numbers
            )
            advance(len(numbers))
    for session in range(50):
        chat = memory.chat(f"session {session}", scope=_SCOPE)
        words = Texts(seed=session).memories(40)
        await chat.put_many(
            [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(words)]
        )
    await memory.drain()


async def addresses(memory: AgentMemory) -> dict[str, str]:
    """One address of every page."""
    entry = (await memory.list(scope=_SCOPE, limit=1))[0]
    page = await memory.list(scope=_SCOPE, limit=50)
    found = {
        "overview": "/console",
        "search, hybrid": "/console/search?q=What+did+she+say+about+the+garden",
        "search, words": "/console/search?q=garden&mode=keyword",
        "search, long-term": "/console/search?q=garden&mode=longterm",
        "list of memories": "/console/entries",
        "list by domain": f"/console/entries?domain={DOMAINS[1]}",
        "list, second page": f"/console/entries?cursor={page.next_cursor}",
        "one memory": f"/console/entries/{entry.id}",
        "edit": f"/console/entries/{entry.id}/edit",
        "conversations": "/console/conversations",
        "long-term facts": "/console/longterm",
        "conflicts": "/console/longterm/conflicts",
        "corrections": "/console/longterm/replaced",
        "reflections": "/console/longterm/reflections",
        "forgetting": "/console/longterm/forgetting",
        "timeline": "/console/timeline",
        "timeline, one day": f"/console/timeline?by=day&from={entry.event_time.date()}",
        "map": "/console/map",
        "runtime": "/console/runtime",
        "jobs": "/console/jobs",
        "scopes and keys": "/console/keys",
        "settings and doctor": "/console/settings",
    }
    sessions = await memory.list_sessions(scope=_SCOPE)
    if sessions:
        found["conversation"] = str(httpx.URL("/console/conversation", params={"id": sessions[0]}))
        found["window"] = str(httpx.URL("/console/conversation/window", params={"id": sessions[0]}))
    return found


@asynccontextmanager
async def browser(memory: AgentMemory) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app, with all rights."""
    rules = GateRules(anonymous=Access(_SCOPE, frozenset(RIGHTS)), per_second=1e6, burst=1_000_000)
    transport = httpx.ASGITransport(app=build_app(memory, rules=rules))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def measure(memory: AgentMemory, rounds: int, *, changing: bool, report: Report) -> None:
    """Every page in turn, round after round; the first round loads indexes and is not counted."""
    pages = await addresses(memory)
    times: dict[str, list[float]] = {name: [] for name in pages}
    async with browser(memory) as client:
        with progress("asking every page in turn", rounds) as advance:
            for number in range(-1, rounds):
                if changing:
                    await memory.store("changing", f"version {number}", scope=_SCOPE)
                for name, address in pages.items():
                    seconds, answer = await timed_get(client, address)
                    if answer.status_code != 200:
                        raise SystemExit(f"{address} answered {answer.status_code}: {answer.text[-500:]}")
                    if number >= 0:
                        times[name].append(seconds)
                advance(1)
    for name, found in times.items():
        kept = Times(found)
        report.at_most(
            f"{name}: p95",
            milliseconds(kept.p95),
            f"p50 {milliseconds(kept.p50)}",
            value=1_000 * kept.p95,
            target=_TARGET_MS,
            unit=" ms",
        )


async def timed_get(client: httpx.AsyncClient, address: str) -> tuple[float, httpx.Response]:
    """How long a page takes, and the page."""
    answer: list[httpx.Response] = []

    async def get() -> None:
        answer.append(await client.get(address))

    seconds = await timed(get())
    return seconds, answer[0]


async def run(options: Namespace) -> Path:
    """Fill a store, unless there is one, and measure."""
    count = options.memories or (2_000 if options.quick else 100_000)
    rounds = options.rounds or (5 if options.quick else 40)
    report = Report("console", "Pages of the console")
    with work_directory(options.work) as folder:
        async with AgentMemory.open(options.data or folder / "data", scope=_SCOPE, background_jobs=False) as memory:
            if options.data is None:
                await fill(memory, count)
            report.note(f"{await memory.count(scope=_SCOPE):,} memories in the scope; {rounds} rounds.")
            await measure(memory, rounds, changing=options.data is None, report=report)
    return report.finish(options.results)


def main() -> None:
    """Run from the command line."""
    arguments = parser(__doc__)
    arguments.add_argument("--memories", type=int, help="how many memories (100,000)")
    arguments.add_argument("--rounds", type=int, help="how often every page is asked (40)")
    arguments.add_argument("--data", type=Path, help="a store that is there already, instead of a new one")
    path = asyncio.run(run(arguments.parse_args()))
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()
