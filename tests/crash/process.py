"""Memories in processes of their own, for tests of what several processes do to each other."""

import json
import subprocess
import sys
from typing import Any

from tests.crash.harness import ROOT


class RefusedError(Exception):
    """What the memory in the other process raised; `kind` is the name of its class."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class MemoryProcess:
    """Speaks to `tests.crash.served`. `ask` waits for the answer; `post` does not, and `answer` waits later."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.served"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._unanswered = 0

    def post(self, call: str, *args: Any, **settings: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"call": call, "args": args, "settings": settings}) + "\n")
        self._process.stdin.flush()
        self._unanswered += 1

    def answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the process ended with {self._process.wait()}"
        self._unanswered -= 1
        said = json.loads(line)
        if "error" in said:
            raise RefusedError(said["error"], said["message"])
        return said["answer"]

    def ask(self, call: str, *args: Any, **settings: Any) -> Any:
        self.post(call, *args, **settings)
        return self.answer()

    def finish(self) -> None:
        """Close the memory, also after a test that broke off; answers that nobody waited for are thrown away."""
        self.post("close")
        while self._unanswered:
            try:
                self.answer()
            except RefusedError:
                continue

    def end(self) -> None:
        """End the process, which must not have failed."""
        self._process.communicate()
        assert self._process.returncode == 0
