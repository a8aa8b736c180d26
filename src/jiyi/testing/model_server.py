"""A local HTTP server that answers and fails like model servers, for tests of their clients.

with ModelServer() as server:
    server.reply("hello")                      # all following answers
    server.fail("429", retry_after="7")        # or a failure, by name
    model = OpenAICompatibleModel(server.base_url, "any")
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

__all__ = ["ModelServer"]

Failure = Callable[["_Handler", Mapping[str, str]], None]


class ModelServer:
    """Listens on a free local port while it is open. By default it answers "ok"."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        """The bodies of all requests."""
        self.headers: list[dict[str, str]] = []
        """Their headers, names in lower case."""
        self._answer: Callable[[_Handler], None] = lambda handler: handler.send_content("ok")
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.model_server = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="model server", daemon=True)

    @property
    def base_url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def reply(self, content: Any, *, finish: str = "stop", refusal: str | None = None) -> None:
        """Answer from now on with this content."""
        self._answer = lambda handler: handler.send_content(content, finish=finish, refusal=refusal)

    def script(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        """Answer each request from now on with what the function returns for its body.

        A text is the reply; a list of (name, arguments) are calls of tools; a mapping `{"fail": name}` is one of
        `FAILURES`.
        """

        def respond(handler: _Handler) -> None:
            said = answer(handler.request_body)
            if isinstance(said, Mapping):
                FAILURES[said["fail"]](handler, {})
            elif isinstance(said, list):
                handler.send_calls(said)
            else:
                handler.send_content(said)

        self._answer = respond

    def send(self, body: bytes, *, status: int = 200, **headers: str) -> None:
        """Answer from now on with these bytes."""
        self._answer = lambda handler: handler.send_body(status, body, headers)

    def fail(self, failure: str, **headers: str) -> None:
        """Fail from now on with this failure (one of `FAILURES`)."""
        action = FAILURES[failure]
        self._answer = lambda handler: action(handler, headers)

    def handle(self, handler: _Handler, request: dict[str, Any]) -> None:
        """Record and answer one request."""
        self.requests.append(request)
        self.headers.append({name.lower(): value for name, value in handler.headers.items()})
        self._answer(handler)

    def wait_until_closed(self) -> None:
        """Block until the server is closed."""
        self._closing.wait(60)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.request_body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._server.handle(self, self.request_body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """No log output."""

    @property
    def _server(self) -> ModelServer:
        server: ModelServer = self.server.model_server  # type: ignore[attr-defined]
        return server

    def send_content(self, content: Any, *, finish: str = "stop", refusal: str | None = None) -> None:
        if self.request_body.get("stream"):
            size = max(3, len(content) // 100)
            pieces = [content[start : start + size] for start in range(0, len(content), size)]
            events: list[Any] = [
                {"choices": [{"delta": {"content": piece}, "finish_reason": None}]} for piece in pieces
            ]
            events.append({"choices": [{"delta": {}, "finish_reason": finish}]})
            self.send_events([*map(json.dumps, events), "[DONE]"])
            return
        message = {"role": "assistant", "content": content, "refusal": refusal}
        body = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
        self.send_body(200, json.dumps(body).encode(), {})

    def send_calls(self, calls: list[tuple[str, Any]]) -> None:
        number = len(self.request_body["messages"])
        parts = [
            {
                "index": index,
                "id": f"call_{number}_{index}",
                "type": "function",
                "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
            }
            for index, (name, given) in enumerate(calls)
        ]
        if self.request_body.get("stream"):
            # Arguments come in two pieces, as real servers send them.
            events: list[Any] = []
            for part in parts:
                function: dict[str, str] = part["function"]  # type: ignore[assignment]
                half = len(function["arguments"]) // 2
                begin = {**part, "function": {**function, "arguments": function["arguments"][:half]}}
                rest = {"index": part["index"], "function": {"arguments": function["arguments"][half:]}}
                events += [{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in (begin, rest)]
            events.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
            self.send_events([*map(json.dumps, events), "[DONE]"])
            return
        message = {"role": "assistant", "content": None, "tool_calls": parts}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        self.send_body(200, json.dumps({"choices": [choice]}).encode(), {})

    def send_events(self, events: list[str]) -> None:
        body = "".join(f"data: {event}\n\n" for event in events).encode()
        self.send_body(200, b": keep-alive\n\n" + body, {"content-type": "text/event-stream"})

    def send_body(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True  # the client has closed the connection

    def send_error_body(self, status: int, message: str, headers: Mapping[str, str], **more: Any) -> None:
        self.send_body(status, json.dumps({"error": {"message": message, **more}}).encode(), headers)

    def wait(self) -> None:
        self._server.wait_until_closed()
        self.close_connection = True

    def reset(self) -> None:
        """Close the connection with a reset instead of an orderly end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def cut_stream(self) -> None:
        event = {"choices": [{"delta": {"content": "half"}, "finish_reason": None}]}
        self.send_events([json.dumps(event)])

    def truncate_body(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.close_connection = True


def _error(status: int, message: str, **more: Any) -> Failure:
    return lambda handler, headers: handler.send_error_body(status, message, headers, **more)


def _body(body: bytes) -> Failure:
    return lambda handler, headers: handler.send_body(200, body, headers)


FAILURES: Final[Mapping[str, Failure]] = {
    "timeout": lambda handler, _: handler.wait(),
    "connection reset": lambda handler, _: handler.reset(),
    "cut off": lambda handler, _: handler.truncate_body(),
    "stream cut off": lambda handler, _: handler.cut_stream(),
    "429": _error(429, "Rate limit reached for requests", type="requests"),
    "500": _error(500, "The server had an error while processing your request"),
    "503": _error(503, "Loading model", type="unavailable_error"),
    "401": _error(401, "Incorrect API key provided: {key}", code="invalid_api_key"),
    "403": _error(403, "You are not allowed to sample from this model"),
    "404": _error(404, "The model `nothing` does not exist"),
    "400": _error(400, "messages must not be empty"),
    "error with status 200": _body(b'{"error": {"message": "upstream failed"}}'),
    "empty body": _body(b""),
    "not json": _body(b"<html><body>Bad gateway</body></html>"),
    "truncated json": _body(b'{"choices": [{"message": {"content": "hal'),
    "wrong shape": _body(b'{"result": "hello"}'),
    "a list": _body(b"[1, 2]"),
    "no message": _body(b'{"choices": [{"index": 0}]}'),
    "number as content": _body(b'{"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}'),
    "10 MB reply": lambda handler, _: handler.send_content("x" * (10 << 20)),
    "context overflow, OpenAI": _error(
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        code="context_length_exceeded",
    ),
    "context overflow, vLLM": _error(
        400, "The decoder prompt (length 9001) is longer than the maximum model length of 8192. max_model_len"
    ),
    "context overflow, llama.cpp": _error(
        400, "request (9001 tokens) exceeds the available context size (8192 tokens)", type="exceed_context_size_error"
    ),
    "context overflow, DashScope": _error(400, "Range of input length should be [1, 30720]"),
    "413": _error(413, "Payload Too Large"),
    "no schemas": _error(400, "This response_format type is unavailable now"),
}
"""The failures of servers, by name. Headers given to `fail` are sent too."""
