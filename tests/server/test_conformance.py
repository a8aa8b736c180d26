"""The official conformance suite of MCP against our server, and the official inspector over stdio and HTTP.

Both are programs of Node (tests/servers/node_programs.py). Without them these tests fail: a server that nobody has
checked must not look like one that conforms.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.server.test_http import serving, token_for
from tests.servers.node_programs import command, environment

ROOT = Path(__file__).parents[2]
EXPECTED = Path(__file__).with_name("conformance_expected_failures.yml")
CONFORMANCE = ("@modelcontextprotocol/conformance", "dist/index.js")
INSPECTOR = ("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
JIYI = [sys.executable, "-m", "jiyi.apps.cli"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Our server with the fixtures of the suite."""
    words = [sys.executable, "-m", "tests.server.conformance_server"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize(("revision", "scenarios"), [("2025-11-25", 30), ("2026-07-28", 37)])
def test_every_scenario_that_a_revision_of_the_protocol_requires_passes(
    address: str, tmp_path: Path, revision: str, scenarios: int
) -> None:
    words = [*command(*CONFORMANCE), "server", "--url", f"{address}/mcp", "--requirements", revision]
    done = subprocess.run(
        [*words, "--expected-failures", str(EXPECTED)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    passed = set(re.findall(r"^✓ (\S+):", done.stdout, re.MULTILINE))
    failed = set(re.findall(r"^✗ (\S+):", done.stdout, re.MULTILINE))
    assert len(passed) >= scenarios
    assert failed <= set(yaml.safe_load(EXPECTED.read_text("utf-8"))["server"])


def inspected(home: Path, *words: str) -> dict[str, Any]:
    """What the inspector shows of a server, with a home directory of its own."""
    done = subprocess.run(
        [*command(*INSPECTOR), "--cli", *words],
        env={**environment(), "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def check_with_inspector(home: Path, *server: str) -> None:
    listed = inspected(home, *server, "--method", "tools/list", "--strict")
    assert {"remember", "recall", "forget"} <= {tool["name"] for tool in listed["tools"]}
    say = ["--method", "tools/call", "--tool-name", "remember", "--tool-arg", "content=She drinks green tea"]
    assert inspected(home, *server, *say)["isError"] is False
    ask = ["--method", "tools/call", "--tool-name", "recall", "--tool-arg", "query=What does she drink?"]
    assert "green tea" in json.dumps(inspected(home, *server, *ask))
    resources = inspected(home, *server, "--method", "resources/list")["resources"]
    assert "memory://recent" in {resource["uri"] for resource in resources}
    prompts = inspected(home, *server, "--method", "prompts/list")["prompts"]
    assert "weekly_review" in {prompt["name"] for prompt in prompts}


def test_the_inspector_finds_nothing_wrong_over_stdio(tmp_path: Path) -> None:
    check_with_inspector(tmp_path, *JIYI, "mcp", "--data", str(tmp_path / "data"))


def test_the_inspector_finds_nothing_wrong_over_http_with_a_key(tmp_path: Path) -> None:
    token = token_for(tmp_path / "data", "alice")
    with serving(tmp_path / "data", "--require-keys") as (address, _):
        key = ["--header", f"Authorization: Bearer {token}", "--protocol-era"]
        check_with_inspector(tmp_path, f"{address}/mcp", *key, "modern")
        assert inspected(tmp_path, f"{address}/mcp", *key, "legacy", "--method", "tools/list", "--strict")["tools"]
