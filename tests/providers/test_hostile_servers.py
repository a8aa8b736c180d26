"""Servers that mean harm: they redirect, drip, lie about times, repeat the key, and send what takes long to read."""

import json
import logging
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.errors import ModelError, ModelRejectedError, ModelReplyError, ModelTimeoutError, ModelUnavailableError
from jiyi.model.message import Message
from jiyi.model.replies import parse_json_reply
from jiyi.model.thinking import strip_thinking, strip_thinking_blocks, strip_thinking_reply
from jiyi.providers.openai_compatible import OpenAICompatibleModel
from jiyi.providers.openai_embeddings import OpenAICompatibleEmbedder
from jiyi.providers.redaction import Redaction
from jiyi.providers.rerankers import HttpReranker
from jiyi.sync import AgentMemory

KEY = "sk-very-secret-0123456789abcdef"
ASK = [Message("user", "my password is walrus")]
TIMEOUT = 0.6
Behaviour = Callable[[socket.socket], None]


class HostileServer:
    """Reads a request and then does whatever the test says, byte by byte."""

    def __init__(self) -> None:
        self.behave: Behaviour = lambda _connection: None
        self.requests: list[bytes] = []
        self.closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def close(self) -> None:
        self.closing.set()
        with socket.create_connection(self._listener.getsockname()):
            self._thread.join()
        self._listener.close()

    def drip(self, connection: socket.socket, data: bytes, *, seconds: float = 20) -> None:
        """One byte after the other, so that no single read takes long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.closing.is_set():
            for byte in data:
                connection.sendall(bytes([byte]))
                self.closing.wait(0.02)
            if not data:
                self.closing.wait(seconds)

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self.closing.is_set():
                connection.close()
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(65536)
            head, _, body = received.partition(b"\r\n\r\n")
            lengths = [
                line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
            ]
            while len(body) < int(lengths[0]):
                body += connection.recv(65536)
            self.requests.append(head + b"\r\n\r\n" + body)
            try:
                self.behave(connection)
            except OSError:
                return


@pytest.fixture
def server() -> Iterator[HostileServer]:
    server = HostileServer()
    yield server
    server.close()


def _http(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


CALLS: dict[str, Callable[[str], object]] = {
    "chat": lambda url: OpenAICompatibleModel(url, "tiny", api_key=KEY, timeout=TIMEOUT).complete(ASK),
    "stream": lambda url: list(OpenAICompatibleModel(url, "tiny", api_key=KEY, timeout=TIMEOUT).stream(ASK)),
    "embeddings": lambda url: OpenAICompatibleEmbedder(url, "tiny", dimension=3, api_key=KEY, timeout=TIMEOUT).embed(
        ["my password is walrus"]
    ),
    "reranker": lambda url: HttpReranker(url, "tiny", api_key=KEY, timeout=TIMEOUT).rerank("password", ["walrus"]),
}
EVERY_CALL = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())


# --- redirects ----------------------------------------------------------------------------------------------------


@EVERY_CALL
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_nothing_follows_a_redirect_to_another_host(
    server: HostileServer, call: Callable[[str], object], status: str
) -> None:
    other = HostileServer()
    server.behave = lambda connection: connection.sendall(_http(status, b"", f"Location: {other.url}/chat/completions"))
    with pytest.raises(ModelRejectedError, match="a redirect, which is not followed"):
        call(server.url)
    assert len(server.requests) == 1
    assert other.requests == []
    other.close()


# --- time ---------------------------------------------------------------------------------------------------------

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
DRIPS = {
    "headers": (b"", b"HTTP/1.1 200 OK\r\nX-Slow: aaaaaaaaaaaaaaaaaaaa"),
    "the body": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" "),
    "the body of an error": (b"HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\n", b" "),
    "a chunk extension": (CHUNKED + b"1;", b"x"),
    "nothing": (b"", b""),
}


@EVERY_CALL
@pytest.mark.parametrize(("at_once", "slowly"), DRIPS.values(), ids=DRIPS.keys())
def test_the_timeout_bounds_the_whole_reply(
    server: HostileServer, call: Callable[[str], object], at_once: bytes, slowly: bytes
) -> None:
    def behave(connection: socket.socket) -> None:
        connection.sendall(at_once)
        server.drip(connection, slowly)

    server.behave = behave
    begun = time.monotonic()
    with pytest.raises(ModelTimeoutError, match=r"within 0\.6 s"):
        call(server.url)
    assert time.monotonic() - begun < TIMEOUT + 5


def test_a_slow_stream_may_take_longer_than_the_timeout_as_long_as_it_says_something(server: HostileServer) -> None:
    event = json.dumps({"choices": [{"delta": {"content": "x"}}]})
    last = json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]})

    def behave(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for said in (*[event] * 8, last, "[DONE]"):
            connection.sendall(f"data: {said}\n\n".encode())
            server.closing.wait(0.12)

    server.behave = behave
    begun = time.monotonic()
    assert CALLS["stream"](server.url) == ["x"] * 8
    assert time.monotonic() - begun > TIMEOUT


@pytest.mark.parametrize(
    "asked",
    ["99999999999", "1" * 5000, "9" * 30 + ".5", "Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 -2359"],
)
def test_a_server_cannot_ask_for_a_pause_of_years(server: HostileServer, asked: str) -> None:
    server.behave = lambda connection: connection.sendall(_http("429 Slow", b"{}", f"Retry-After: {asked}"))
    with pytest.raises(ModelUnavailableError) as caught:
        CALLS["chat"](server.url)
    assert caught.value.retry_after is None or 0 <= caught.value.retry_after <= 3600


# --- the key ------------------------------------------------------------------------------------------------------


def _bodies() -> dict[str, tuple[str, bytes]]:
    quoted = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}."}}).encode()
    cut = ("x" * 285 + KEY).encode()
    reply = {"choices": [{"message": {"content": f"the key is {KEY}"}, "finish_reason": "stop"}]}
    return {
        "401, quoted": ("401 No", quoted),
        "500, quoted": ("500 No", quoted),
        "500, not JSON": ("500 No", f"<html>{KEY}</html>".encode()),
        "the message is cut through it by us": ("500 No", cut),
        "the message is cut through it by the server": ("500 No", f"key {KEY[:20]}".encode()),
        "only its end": ("500 No", f"key ...{KEY[-12:]}".encode()),
        "error with status 200": ("200 OK", quoted),
        "not JSON": ("200 OK", KEY.encode() * 3),
        "not JSON, cut": ("200 OK", b"a" * 52 + KEY.encode()),
        "refused": ("200 OK", json.dumps({"choices": [{"message": {"refusal": KEY, "content": None}}]}).encode()),
        "the reply itself": ("200 OK", json.dumps(reply).encode()),
        "as a header of the status line": (f"500 {KEY}", b""),
        "escaped": ("500 No", json.dumps({"detail": [{"input": {"authorization": f"Bearer {KEY}"}}]}).encode()),
    }


def _has_the_key(text: str) -> bool:
    return any(KEY[start : start + 8] in text for start in range(len(KEY) - 7))


@EVERY_CALL
@pytest.mark.parametrize(("status", "body"), _bodies().values(), ids=_bodies().keys())
def test_the_key_is_in_no_error_reply_or_log(
    server: HostileServer, call: Callable[[str], object], status: str, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    server.behave = lambda connection: connection.sendall(_http(status, body))
    shown = ""
    with caplog.at_level(logging.INFO):
        try:
            shown = str(call(server.url))
        except ModelError as error:
            shown = f"{error} {error!r} " + "".join(traceback.format_exception(error))
            logging.getLogger("a program").exception("it failed")
    assert KEY.encode() in server.requests[0]
    assert not _has_the_key(shown)
    assert not _has_the_key(caplog.text)


@given(
    st.text(max_size=60), st.integers(0, len(KEY)), st.integers(0, len(KEY)), st.lists(st.integers(1, 9), min_size=1)
)
def test_no_part_of_the_key_comes_through_in_whatever_pieces_it_is_sent(
    around: str, begin: int, end: int, sizes: list[int]
) -> None:
    redact = Redaction(KEY)
    text = around + KEY[begin:end] + around + KEY
    pieces: list[str] = []
    rest = text
    while rest:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(rest[:size])
        rest = rest[size:]
    assert not _has_the_key(redact(text))
    assert not _has_the_key("".join(redact.stream(iter(pieces))))
    clean = text.replace(KEY, "").replace("s", "").replace("0", "")
    if not _has_the_key(clean):
        assert redact(clean) == clean
        assert "".join(redact.stream(iter(clean))) == clean


def test_the_key_is_in_no_job_reason_log_or_export(
    server: HostileServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = json.dumps({"error": {"message": f"{'x' * 280}{KEY}"}}).encode()
    server.behave = lambda connection: connection.sendall(_http("403 No", said))
    settings = {"llm": "openai-compatible", "llm_base_url": server.url, "llm_model": "tiny", "llm_api_key": KEY}
    with (
        caplog.at_level(logging.DEBUG),
        AgentMemory.open(tmp_path / "data", embedder="none", background_jobs=False, **settings) as memory,
    ):
        memory.longterm.schedule_round("main", "talk", "我对花生过敏", "记住了")
        memory.run_jobs()
        [job] = memory.jobs(states=("dead", "queued"))
        memory.export_jsonl(tmp_path / "export.jsonl")
        doctor = json.dumps(memory.doctor(), default=str)
        shown = repr(memory.settings)
    assert "403" in job.reason
    written = (tmp_path / "export.jsonl").read_text("utf-8")
    for text in (job.reason, repr(job), written, doctor, shown):
        assert not _has_the_key(text)
    assert not _has_the_key("".join(record.getMessage() for record in caplog.records if record.name != "httpcore"))
    for file in (tmp_path / "data").rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


# --- what takes long to read --------------------------------------------------------------------------------------

LONG = {
    "opening tags": "<think>" * 60_000,
    "closing tags": "</think>" * 60_000,
    "blocks": "<think>a</think>" * 30_000,
    "a tag that never ends": "<think" + " " * 400_000,
    "many tags that never end": ("<think" + " " * 1_000) * 400,
    "attributes": "<think a=" * 50_000,
    "brackets": "{" * 400_000,
    "brackets of lists": "[" * 400_000,
    "keys": '{"a":' * 80_000,
    "strings that never end": '{"' * 200_000,
    "digits": "{" + "9" * 400_000,
    "backslashes": '{"' + "\\\\" * 200_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_a_long_reply_is_read_in_linear_time(text: str) -> None:
    begun = time.process_time()
    for strip in (strip_thinking, strip_thinking_blocks, strip_thinking_reply):
        strip(text)
    with pytest.raises(ModelReplyError):
        parse_json_reply(text, {"type": "object", "required": ["facts"]})
    assert time.process_time() - begun < 3


def test_a_stream_line_in_very_many_pieces_is_read_in_linear_time(server: HostileServer) -> None:
    def behave(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"1\r\nx\r\n" * 40_000 + b"0\r\n\r\n")

    server.behave = behave
    begun = time.process_time()
    with pytest.raises(ModelUnavailableError, match="the stream ended"):
        list(OpenAICompatibleModel(server.url, "tiny", timeout=60).stream(ASK))
    assert time.process_time() - begun < 6
