"""`jiyi console` as a process: the one-time link, and a server that is killed while somebody edits."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.apps.command_line import CommandLine
from tests.server.console.browser import Parsed


@contextmanager
def console(data: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A console on a free port; its one-time link and process."""
    command = [sys.executable, "-m", "jiyi.apps.cli", "console", "--no-browser", "--data", str(data)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stderr is not None
        try:
            line = next(each for each in process.stderr if "the console:" in each)
            found = re.search(r"http://\S+", line)
            assert found is not None
            yield found[0], process
        finally:
            process.kill()


def test_the_link_lets_one_browser_in_and_programs_need_a_key(tmp_path: Path) -> None:
    with console(tmp_path) as (link, _):
        address = link.partition("/console")[0]
        with httpx.Client(base_url=address, follow_redirects=True) as first, httpx.Client(base_url=address) as second:
            assert "记忆" in first.get(link).text
            assert first.get("/console").status_code == 200
            assert second.get(link).status_code == 403
            assert second.get("/console").headers["location"].startswith("/console/login")
            assert second.get("/v1/entries").status_code == 401


def test_a_page_hears_of_a_change_that_another_process_has_made(tmp_path: Path) -> None:
    with console(tmp_path) as (link, _), httpx.Client(follow_redirects=True, timeout=60) as browser:
        server = link.partition("/console")[0]
        browser.get(link)
        with browser.stream("GET", f"{server}/console/changes/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            lines = stream.iter_lines()
            assert next(lines) == "retry: 5000"
            assert CommandLine(tmp_path)("store", "tea", "green tea", "--data", str(tmp_path)).code == 0
            assert next(line for line in lines if line.startswith("event:")) == "event: changed"
        assert "tea" in browser.get(f"{server}/console/changes").text


def test_what_was_typed_is_not_lost_when_the_server_is_killed_and_started_again(tmp_path: Path) -> None:
    jiyi = CommandLine(tmp_path)
    assert jiyi("store", "tea", "green tea", "--data", str(tmp_path)).code == 0
    with console(tmp_path) as (link, process):
        with httpx.Client(base_url=link.partition("/console")[0], follow_redirects=True) as browser:
            browser.get(link)
            entries = Parsed(browser.get("/console/entries").text)
            address = next(each for each in entries.links if each.startswith("/console/entries/"))
            edit = Parsed(browser.get(f"{address}/edit").text)
            values = {**dict(edit.form(f"{address}/edit").values), "content": "an hour of typing"}
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    with console(tmp_path) as (link, _):
        server = link.partition("/console")[0]
        with httpx.Client(base_url=server, follow_redirects=True) as browser:
            refused = browser.post(f"{address}/edit", data=values, headers={"Origin": server})
            assert refused.status_code == 401
            assert "an hour of typing" in refused.text
            browser.get(link)
            form = Parsed(browser.get(f"{address}/edit").text).form(f"{address}/edit")
            again = {**dict(form.values), "content": "an hour of typing"}
            saved = browser.post(f"{address}/edit", data=again, headers={"Origin": server})
            assert "an hour of typing" in Parsed(saved.text).text
    shown = jiyi("recall", "typing", "--mode", "keyword", "--json", "--data", str(tmp_path))
    assert shown.data["hits"][0]["content"] == "an hour of typing"
