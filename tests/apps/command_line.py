"""A command line in a data directory of its own, inside this process and as a process."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from jiyi.apps.cli.app import app
from jiyi.sync import AgentMemory

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The JSON on standard output."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The last JSON line on standard error."""
        return json.loads(self.err.splitlines()[-1])

    @property
    def lines(self) -> list[str]:
        """What stands on the screen, without colours."""
        return _ESCAPES.sub("", self.out).splitlines()


@dataclass
class CommandLine:
    """`jiyi(...)` runs a command here and now; `jiyi.process(...)` runs it as a program."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)

    def __call__(self, *words: str, typed: str | bytes = "", **env: str) -> Ended:
        result = CliRunner().invoke(
            app, list(words), input=typed, env={**self._settings(), **env}, catch_exceptions=False
        )
        return Ended(result.exit_code, result.stdout, result.stderr)

    def make_memory(self) -> None:
        """An empty memory: commands that store nothing do not make one."""
        AgentMemory.open(self.home, embedder="none").close()

    def on_a_terminal(self, *words: str, columns: int = 80) -> Ended:
        """The same as people see it on a terminal of this width."""
        return self(*words, FORCE_COLOR="1", COLUMNS=str(columns))

    def process(self, *words: str, typed: bytes = b"", **env: str) -> Ended:
        done = subprocess.run(
            self.command(*words), input=typed, capture_output=True, env=self.environment(**env), check=False
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *words: str, **streams: Any) -> "subprocess.Popen[bytes]":
        """The program, running; the caller ends it."""
        return subprocess.Popen(self.command(*words), env=self.environment(), **streams)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "jiyi.apps.cli", *words]

    def environment(self, **env: str) -> dict[str, str]:
        return {**os.environ, **self._settings(), **env}

    def _settings(self) -> dict[str, str]:
        # Meaning costs seconds to load; the tests that are about it ask for it.
        return {"JIYI_HOME": str(self.home), "JIYI_EMBEDDER": "none", "JIYI_TIME_ZONE": "Asia/Shanghai", **self.env}
