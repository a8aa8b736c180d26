"""schemathesis against a real server with a key: no 5xx, and no answer that the description does not have."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.test_http import serving, token_for
from tests.support import present

CONFIG = Path(__file__).with_name("schemathesis.toml")


def attack(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run schemathesis with all checks; the key has all rights but that of erasing every scope."""
    data, notes = tmp_path / "data", tmp_path / "notes"
    environment = {**os.environ, "JIYI_WORKSPACE": str(notes)}
    token = token_for(data, "alice", "read,write,erase")
    with serving(data, "--require-keys", "--rate-limit", "1000000", "--scope", "alice") as (address, process):
        command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"]
        arguments = [
            *("--config-file", str(CONFIG), "run", f"{address}/v1/openapi.json"),
            *("-H", f"Authorization: Bearer {token}", "--checks", "all", "--workers", "1", "--no-color"),
            "--generation-deterministic",
            *options,
        ]
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
        )
        assert process.poll() is None, "the server is still there"
        return done


def test_generated_requests_get_documented_answers(tmp_path: Path) -> None:
    done = attack(tmp_path, "--phases", "fuzzing", "--max-examples", "2")
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    assert int(present(re.search(r"(\d+) generated", done.stdout))[1]) > 100


@pytest.mark.soak
def test_thousands_of_generated_requests_get_documented_answers(tmp_path: Path) -> None:
    # One operation waits for changes for up to a minute. The examples are checked by test_description.
    waiting = ("--request-timeout", "90", "--max-response-time", "90")
    done = attack(tmp_path, "--phases", "coverage,fuzzing,stateful", "--max-examples", "100", *waiting)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
