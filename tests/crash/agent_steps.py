"""Plays turns of an agent in a child process that dies at a step: python -m tests.crash.agent_steps

Each line of the input is an order: the data directory, the address of the model server, how many turns, and the step.
The child is a fork of this process, which has loaded everything. The answer is its exit status.
"""

import asyncio
import functools
import inspect
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import openai  # noqa: F401 - loaded once, for all children

from jiyi import AgentMemory
from jiyi.backends.records.chat import SqlChatStore
from jiyi.execution import BlockingCalls
from jiyi.tools.toolbox import Toolbox
from tests.agent.scripted_server import LIMIT, user_text
from tests.support import QUICK


class _Steps:
    """Counts steps, and ends the process at one of them."""

    def __init__(self, last: int) -> None:
        self.taken = 0
        self._last = last

    def take(self) -> None:
        self.taken += 1
        if self.taken == self._last:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, owner: Any, name: str) -> None:
        """A step before each call of this function, and one after it."""
        original: Callable[..., Any] = getattr(owner, name)
        if inspect.iscoroutinefunction(original):

            async def patched(*args: Any, **kwargs: Any) -> Any:
                self.take()
                done = await original(*args, **kwargs)
                self.take()
                return done

            setattr(owner, name, patched)
            return

        def called(*args: Any, **kwargs: Any) -> Any:
            self.take()
            done = original(*args, **kwargs)
            self.take()
            return done

        setattr(owner, name, called)


async def _play(folder: str, address: str, turns: int) -> None:
    """Say everything from the beginning: what was answered before is known by the id of its message."""
    settings = {"llm": "openai-compatible", "llm_base_url": address, "llm_model": "m"}
    async with AgentMemory.open(folder, **{**QUICK, **settings}) as memory:
        agent = memory.agent("s", token_limit=LIMIT, tools=["remember", "recall", "list"])
        answered = [m for m in await memory.chat("s").get_all() if m.role == "assistant" and not m.tool_calls]
        for number in range(max(len(answered) - 1, 0), turns):
            async for _ in agent.reply(user_text(number), request_id=f"m-{number}"):
                pass


def _child(play: Callable[[], Awaitable[None]], step: int) -> None:
    steps = _Steps(step)
    for owner, name in (
        (BlockingCalls, "write"),
        (SqlChatStore, "add_flush"),
        (SqlChatStore, "add_summary"),
        (Toolbox, "answer"),
    ):
        steps.around(owner, name)
    asyncio.run(play())  # type: ignore[arg-type]


def main() -> None:
    for line in sys.stdin:
        folder, address, turns, step = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                _child(functools.partial(_play, folder, address, turns), step)
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
