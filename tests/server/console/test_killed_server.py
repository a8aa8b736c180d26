"""A server that is killed in the middle of an edit: the edit is there whole or not at all, and can be sent again."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx
import pytest

from tests.server.console.browser import Parsed
from tests.server.test_http import serving

OLD = "the old text"
NEW = "the new text, " + "word by word, " * 4_000
"""Large enough for several reads of the server."""


def edit_form(client: httpx.Client, entry_id: str) -> dict[str, str]:
    page = client.get(f"/console/entries/{entry_id}/edit")
    assert page.status_code == 200
    return dict(Parsed(page.text).form(f"/console/entries/{entry_id}/edit").values)


def request_bytes(address: str, entry_id: str, values: dict[str, str], cookies: httpx.Cookies) -> bytes:
    body = urlencode(values).encode()
    lines = [
        f"POST /console/entries/{entry_id}/edit HTTP/1.1",
        f"Host: {urlsplit(address).netloc}",
        f"Origin: {address}",
        "Sec-Fetch-Site: same-origin",
        "Content-Type: application/x-www-form-urlencoded",
        f"Content-Length: {len(body)}",
        "Cookie: " + "; ".join(f"{name}={value}" for name, value in cookies.items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def send_and_kill(address: str, data: bytes, moment: str, process: subprocess.Popen[str]) -> str:
    """Send a form and kill the server at a moment; the first line of its answer, if it came to that."""
    parts = urlsplit(address)
    with socket.create_connection((str(parts.hostname), parts.port or 80), 30) as connection:
        connection.sendall(data[: len(data) // 2])
        if moment != "half sent":
            connection.sendall(data[len(data) // 2 :])
        answer = connection.recv(64).decode() if moment == "answered" else ""
        process.send_signal(signal.SIGKILL)
    process.wait(30)
    return answer


@pytest.mark.parametrize("moment", ["half sent", "sent", "answered"])
def test_an_edit_of_a_killed_server_is_whole_or_absent_and_can_be_sent_again(tmp_path: Path, moment: str) -> None:
    with serving(tmp_path) as (address, process), httpx.Client(base_url=address, timeout=30) as client:
        entry_id = client.post("/v1/entries", json={"content": OLD}).json()["id"]
        typed = {**edit_form(client, entry_id), "content": NEW}
        answer = send_and_kill(address, request_bytes(address, entry_id, typed, client.cookies), moment, process)
        cookies = client.cookies
    with serving(tmp_path) as (address, _), httpx.Client(base_url=address, timeout=30) as client:
        now = edit_form(client, entry_id)
        assert now["content"] in {OLD, NEW.strip(), NEW}
        if moment == "half sent":
            assert now["content"] == OLD
        if moment == "answered":
            assert answer.startswith("HTTP/1.1 303")
            assert now["content"] != OLD, "what was acknowledged is there"
        headers = {"Origin": address, "Sec-Fetch-Site": "same-origin"}
        # The page that is still open in the browser: its form is refused, and nothing that was typed is lost.
        client.cookies.update(cookies)
        path = f"/console/entries/{entry_id}/edit"
        refused = client.post(path, data=typed, headers=headers)
        assert refused.status_code in {403, 412}
        assert NEW.strip()[:200] in Parsed(refused.text).text
        again = {**edit_form(client, entry_id), "content": NEW}
        done = client.post(path, data=again, headers=headers)
        assert done.status_code == 303
        assert edit_form(client, entry_id)["content"].strip() == NEW.strip()
