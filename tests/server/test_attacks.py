"""Attacks over a real socket. Each has a stated answer, within a bounded time, and the server goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.server.socket_server import SocketServer, answer_of, socket_server

BOUND = 10.0
"""Seconds. The limits of the server under test are a tenth of this."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SocketServer]:
    folder = tmp_path_factory.mktemp("attacks")
    with socket_server(folder, header_seconds=1.0, body_seconds=1.0, recheck_seconds=0.0) as each:
        yield each


@pytest.fixture(scope="module")
def token(server: SocketServer) -> str:
    return server.token("alice")


@pytest.fixture(autouse=True)
def lives_on(server: SocketServer, token: str) -> Iterator[None]:
    """Whatever was sent, the next request is answered."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < BOUND
    good = httpx.get(f"{server.address}/v1/entries", headers={"Authorization": f"Bearer {token}"})
    assert good.status_code == 200


def request(path: str, *headers: str, body: bytes = b"", method: str = "POST", host: str | None = "127.0.0.1") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host is not None else []), *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def code(answer: bytes) -> str:
    found: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return str(found["code"])


PATHS = ["/v1/entries", "/mcp", "/console", "/healthz", "/metrics"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "", "0.0.0.0"],
)
def test_a_name_that_was_bound_to_this_machine_is_not_answered(
    server: SocketServer, token: str, path: str, host: str
) -> None:
    answer = server.raw(request(path, f"Authorization: Bearer {token}", host=host, method="GET"))
    assert (status(answer), code(answer)) == (421, "unknown_host")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "origin", ["null", "https://evil.example", "http://127.0.0.1.evil.example", "file://", "", "http://["]
)
def test_a_page_of_another_origin_is_not_answered(server: SocketServer, token: str, path: str, origin: str) -> None:
    answer = server.raw(request(path, f"Authorization: Bearer {token}", f"Origin: {origin}", method="GET"))
    assert (status(answer), code(answer)) == (403, "foreign_origin")


@pytest.mark.parametrize("path", PATHS)
def test_a_request_without_a_host_is_not_answered(server: SocketServer, token: str, path: str) -> None:
    authorized = f"Authorization: Bearer {token}"
    assert status(server.raw(request(path, authorized, host=None, method="GET"))) in {400, 421}
    old = request(path, authorized, host=None, method="GET").replace(b"HTTP/1.1", b"HTTP/1.0")
    assert status(server.raw(old)) in {400, 421}


@pytest.mark.parametrize(
    "headers",
    [
        ["Host: evil.example"],
        ["Origin: http://127.0.0.1", "Origin: https://evil.example"],
        ["Content-Length: 0", "Content-Length: 5"],
        ["Authorization: Bearer x"],
    ],
    ids=["host", "origin", "length", "key"],
)
def test_a_header_that_is_there_twice_is_refused(server: SocketServer, token: str, headers: list[str]) -> None:
    assert status(server.raw(request("/v1/entries", f"Authorization: Bearer {token}", *headers, method="GET"))) == 400


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_a_session_is_worth_nothing_with_another_key(server: SocketServer, token: str) -> None:
    own = {"Authorization": f"Bearer {token}", **ACCEPT}
    begun = httpx.post(f"{server.address}/mcp", json=INITIALIZE, headers=own)
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for other in (server.token("bob"), server.token("alice")):
        foreign = {"Authorization": f"Bearer {other}", **ACCEPT, **session}
        for method in ("POST", "GET", "DELETE"):
            replayed = httpx.request(method, f"{server.address}/mcp", json=call, headers=foreign)
            assert (replayed.status_code, replayed.json()["code"]) == (404, "unknown_session")
    assert httpx.post(f"{server.address}/mcp", json=call, headers={**own, **session}).status_code == 200
    made_up = httpx.post(f"{server.address}/mcp", json=call, headers={**own, "Mcp-Session-Id": "0" * 32})
    assert made_up.status_code == 404


@pytest.mark.parametrize("path", ["/v1/entries", "/mcp"])
def test_a_body_that_says_it_is_too_large_is_not_read(server: SocketServer, token: str, path: str) -> None:
    headers = [f"Authorization: Bearer {token}", "Content-Type: application/json", f"Content-Length: {1 << 40}"]
    answer = server.raw(request(path, *headers, body=b"{"))
    assert (status(answer), code(answer)) == (413, "too_large")


@pytest.mark.parametrize("path", ["/v1/entries", "/mcp"])
def test_a_body_that_does_not_say_how_large_it_is_ends_at_the_limit(
    server: SocketServer, token: str, path: str
) -> None:
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    headers = [f"Authorization: Bearer {token}", "Content-Type: application/json", "Transfer-Encoding: chunked"]
    answer = server.raw(request(path, *headers, *(f"{k}: {v}" for k, v in ACCEPT.items()), body=chunk * 40))
    assert (status(answer), code(answer)) == (413, "too_large")


def test_a_body_without_end_is_closed(server: SocketServer, token: str) -> None:
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    headers = [f"Authorization: Bearer {token}", "Content-Type: application/json", "Transfer-Encoding: chunked"]
    with server.connect() as connection:
        connection.sendall(request("/v1/entries", *headers))
        sent = 0
        try:
            while sent < 400:
                connection.sendall(chunk)
                sent += 1
        except OSError:
            pass
    assert sent < 400


@pytest.mark.parametrize("path", ["/v1/entries", "/mcp"])
def test_a_body_that_comes_too_slowly_is_given_up(server: SocketServer, token: str, path: str) -> None:
    headers = [f"Authorization: Bearer {token}", "Content-Type: application/json", "Content-Length: 100"]
    answer = server.raw(request(path, *headers, *(f"{k}: {v}" for k, v in ACCEPT.items()), body=b"{"))
    assert (status(answer), code(answer)) == (408, "too_slow")


@pytest.mark.parametrize("sent", [b"", b"GET /v1/entries HT", b"GET /v1/entries HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b"])
def test_headers_that_come_too_slowly_close_the_connection(server: SocketServer, sent: bytes) -> None:
    answer = server.raw(sent)
    assert answer == b"" if not sent else status(answer) == 408


def test_headers_that_drip_after_a_first_answer_close_the_connection_too(server: SocketServer) -> None:
    with server.connect() as connection:
        connection.sendall(request("/healthz", method="GET"))
        assert status(answer_of(connection)) == 200
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert answer_of(connection) == b""


@pytest.mark.parametrize(
    "flood",
    [[f"X-{number}: {'a' * 100}" for number in range(5_000)], [f"X-Long: {'a' * 1_000_000}"], ["X"] * 50_000],
    ids=["many", "long", "broken"],
)
def test_a_flood_of_headers_is_cut_off(server: SocketServer, flood: list[str]) -> None:
    with server.connect() as connection:
        try:
            connection.sendall(request("/v1/entries", *flood, method="GET"))
            answer = answer_of(connection)
        except (BrokenPipeError, ConnectionResetError):
            # It was closed while the flood was still coming.
            answer = b""
    assert answer == b"" or status(answer) in {400, 431}


BODIES = {
    "broken UTF-8": b'{"content": "\xff\xfe\x80"}',
    "an overlong encoding": b'{"content": "\xc0\xaf"}',
    "half a surrogate": b'{"content": "\\ud800"}',
    "a NUL": b'{"content": "a\\u0000b", "key": "a\\u0000b"}',
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
    "deep and closed": b'{"content": "x", "metadata": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001,
    "a number of a million digits": b'{"content": "x", "importance": ' + b"9" * 900_000 + b"}",
    "a huge exponent": b'{"content": "x", "importance": 1e999999999}',
    "not a number": b'{"content": "x", "importance": NaN}',
    "infinity": b'{"content": "x", "importance": -Infinity}',
    "many keys": b'{"content": "x", "metadata": {' + b",".join(b'"k%d": 1' % n for n in range(80_000)) + b"}}",
    "the same key often": b"{" + b",".join([b'"content": 1'] * 60_000) + b"}",
    "no JSON": b"content=x",
    "nothing": b"",
    "only a text": b'"x"',
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("path", ["/v1/entries", "/v1/recall", "/mcp"])
def test_a_hostile_body_is_refused(server: SocketServer, token: str, path: str, body: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **ACCEPT}
    begun = time.monotonic()
    answer = httpx.post(f"{server.address}{path}", content=BODIES[body], headers=headers, timeout=BOUND)
    assert time.monotonic() - begun < BOUND
    assert 400 <= answer.status_code < 500, answer.text[:300]
    assert "Traceback" not in answer.text
    assert len(answer.content) < 20_000


@pytest.mark.parametrize(
    "path",
    [
        "/v1/entries/%ff%fe",
        "/v1/entries/%00",
        "/v1/entries/..%2f..%2fetc",
        "/v1/entries?cursor=%ff",
        "/v1/%ed%a0%80",
        "/" * 5_000,
    ],
)
def test_a_hostile_path_is_refused(server: SocketServer, token: str, path: str) -> None:
    answer = server.raw(request(path, f"Authorization: Bearer {token}", method="GET"))
    assert 400 <= status(answer) < 500


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\r\n" * 5_000,
        b"GET /v1/entries\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n X: folded\r\n\r\n",
        b"POST /v1/entries HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /v1/entries HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
    ],
    ids=["TLS", "HTTP/2", "empty lines", "HTTP/0.9", "folded", "negative length", "smuggled", "key in bytes"],
)
def test_what_is_no_proper_request_is_refused(server: SocketServer, sent: bytes) -> None:
    answer = server.raw(sent)
    assert answer == b"" or 400 <= status(answer) < 500


def test_there_is_nothing_to_upgrade_to(server: SocketServer) -> None:
    headers = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: dGVzdA==", "Sec-WebSocket-Version: 13"]
    assert status(server.raw(request("/mcp", *headers, method="GET"))) == 401


def test_the_stream_of_a_key_ends_when_the_key_is_revoked(server: SocketServer, token: str) -> None:
    key, secret = server.keys.add("stream", "alice", "read,write")
    headers = {"Authorization": f"Bearer {secret}", "Accept": "text/event-stream"}
    writing = {"Authorization": f"Bearer {token}"}
    seen = []
    with httpx.stream("GET", f"{server.address}/v1/changes?after=0", headers=headers, timeout=20) as stream:
        lines = stream.iter_lines()
        next(lines)
        httpx.post(f"{server.address}/v1/entries", json={"content": "before"}, headers=writing).raise_for_status()
        next(line for line in lines if line.startswith("data:"))
        assert server.keys.revoke(key.id)
        httpx.post(f"{server.address}/v1/entries", json={"content": "after"}, headers=writing).raise_for_status()
        seen = [line for line in lines if line.startswith("data:")]
    assert seen == []
