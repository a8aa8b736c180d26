"""Throughput of recall: one caller, several callers in one process, and several processes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.support import Report, rate
from bench.support.postgres_baseline import KnownQuestions
from bench.support.postgres_server import ProcessorTime
from jiyi import AgentMemory, create_memory

CALLERS = 16
_PROCESSES = 2
_ROUNDS = 5


@dataclass(frozen=True)
class Run:
    """Some callers asking all questions together."""

    seconds: float
    client: float
    server: float


async def _ask_all(memory: AgentMemory, asked: Sequence[tuple[str, str]], number: int) -> None:
    async def ask(questions: Sequence[tuple[str, str]]) -> None:
        for scope, question in questions:
            await memory.recall(question, scope=scope)

    await asyncio.gather(*(ask(asked[part::number]) for part in range(number)))


class CallingProcess:
    """Another process with callers; it runs a round on request."""

    def __init__(self, url: str, folder: Path, questions: Sequence[str], asked: Sequence[tuple[str, str]]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        given = (theirs, url, str(folder), list(questions), list(asked), CALLERS // _PROCESSES)
        self._process = context.Process(target=_serve_callers, args=given)
        self._process.start()
        self._pipe.recv()  # it is ready

    def begin(self) -> None:
        self._pipe.send(True)

    def end(self) -> tuple[float, float, float]:
        """When it began and ended, and the seconds of processor that it took."""
        found: tuple[float, float, float] = self._pipe.recv()
        return found

    def close(self) -> None:
        self._pipe.send(False)
        self._process.join()


def _serve_callers(
    pipe: Any, url: str, folder: str, questions: Sequence[str], asked: Sequence[tuple[str, str]], number: int
) -> None:
    async def serve() -> None:
        memory = await create_memory(
            folder, storage=url, embedder=KnownQuestions(questions), background_indexing=False, pool_size=number
        )
        try:
            await _ask_all(memory, asked, number)
            pipe.send("ready")
            while pipe.recv():
                spent, begin = time.process_time(), time.monotonic()
                await _ask_all(memory, asked, number)
                pipe.send((begin, time.monotonic(), time.process_time() - spent))
        finally:
            await memory.close()

    asyncio.run(serve())


async def callers(
    memory: AgentMemory, url: str, folder: Path, questions: Sequence[str], asked: Sequence[tuple[str, str]]
) -> dict[str, list[Run]]:
    """Measure the three ways in turn, several rounds."""
    one, many, apart = "1 caller", f"{CALLERS} callers, 1 process", f"{CALLERS} callers, {_PROCESSES} processes"
    others = [CallingProcess(url, folder, questions, asked[part::_PROCESSES]) for part in range(_PROCESSES)]
    runs: dict[str, list[Run]] = {one: [], many: [], apart: []}
    try:
        await _ask_all(memory, asked, CALLERS)
        for _ in range(_ROUNDS):
            for name, number in ((one, 1), (many, CALLERS)):
                before, begin = ProcessorTime.now(url), time.perf_counter()
                await _ask_all(memory, asked, number)
                seconds = time.perf_counter() - begin
                spent = ProcessorTime.now(url).since(before)
                runs[name].append(Run(seconds, spent.client, spent.server))
            before = ProcessorTime.now(url)
            for other in others:
                other.begin()
            begins, ends, clients = zip(*(other.end() for other in others), strict=True)
            spent = ProcessorTime.now(url).since(before)
            runs[apart].append(Run(max(ends) - min(begins), sum(clients), spent.server))
    finally:
        for other in others:
            other.close()
    return runs


def report_callers(runs: Mapping[str, Sequence[Run]], asked: int, report: Report) -> None:
    """Ratios of what ran one after the other, the middle one of all rounds; and the middle run of each way."""
    middle = {
        name: sorted(measured, key=lambda run: run.seconds)[len(measured) // 2] for name, measured in runs.items()
    }
    (one, alone), *others = runs.items()
    for name, measured in others:
        ratios = [before.seconds / run.seconds for before, run in zip(alone, measured, strict=True)]
        report.at_least(
            name,
            f"{rate(asked / middle[name].seconds)} recalls",
            f"one caller {rate(asked / middle[one].seconds)}",
            value=median(ratios),
            target=1.6,
        )
    report.note(
        "a Python process computes on one core at a time: for callers in one process the client is the limit, and its "
        "seconds of processor are shown; a ratio is the middle one of the rounds"
    )
    for name, run in middle.items():
        in_use = (run.server + run.client) / run.seconds
        report.fact(
            f"processor, {name}",
            f"server {1e3 * run.server / asked:.2f} ms a recall",
            f"client {1e3 * run.client / asked:.2f} ms a recall",
            f"{in_use:.2f} of {os.cpu_count()} cores in use, {run.server / run.seconds:.2f} by the server",
        )
