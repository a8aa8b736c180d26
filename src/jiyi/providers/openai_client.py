"""The HTTP client for OpenAI-compatible servers: the `openai` package with limits on size and time, and our own errors.

The retries of the package are off: `RetryingModel` decides whether a request is repeated. Redirects are not followed:
what is asked goes to the server of the settings and to no other. A reply is read as bytes, and reading stops at the
size limit and at the deadline of the whole exchange. What a server says loses the API key before anybody sees it.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn

from jiyi.errors import (
    ConfigError,
    ContextOverflowError,
    MissingDependencyError,
    ModelError,
    ModelRejectedError,
    ModelReplyError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from jiyi.providers.deadline import Deadline, limit_connections
from jiyi.providers.redaction import Redaction

if TYPE_CHECKING:
    import openai

__all__ = ["CHAT", "EMBEDDINGS", "RERANK", "OpenAIClient"]

CHAT: Final = "/chat/completions"
EMBEDDINGS: Final = "/embeddings"
RERANK: Final = "/rerank"
_MAX_ERROR_BYTES: Final = 64 << 10
_MAX_SHOWN: Final = 300
_MAX_RETRY_AFTER: Final = 3600.0
"""Seconds. A server that asks for more, by mistake or on purpose, is not waited for longer."""
_CONTEXT_OVERFLOW: Final = re.compile(
    r"context_length_exceeded|exceed_context_size"
    r"|(?:maximum|available|exceeds?[^.]{0,40}) context (?:length|size|window)"
    r"|context (?:length|size|window)[^.]{0,40}exceed"
    r"|(?:prompt|input|request|messages?)[^.]{0,30} too (?:long|large|many tokens)"
    r"|too many tokens|reduce the length|max_model_len|range of input length|string_above_max_length",
    re.IGNORECASE,
)
# Headers that the package fills from the environment or with facts about this machine. They are not sent.
_UNWANTED_HEADERS: Final = re.compile(
    r"x-stainless-(?!raw-response).*|openai-organization|openai-project", re.IGNORECASE
)


class OpenAIClient:
    """A client of one server and one endpoint. Safe for several threads; connects on first use."""

    def __init__(self, base_url: str, model: str, *, path: str, api_key: str | None, max_reply_bytes: int) -> None:
        if importlib.util.find_spec("openai") is None:
            raise MissingDependencyError("a model server needs the package openai; install it: pip install 'jiyi[llm]'")
        if not re.match(r"https?://[^/\s]+", base_url):
            raise ConfigError(
                "the address of a model server begins with http:// or https://, such as http://localhost:8080/v1"
            )
        self._base = base_url.rstrip("/").removesuffix(path)
        self._path = path
        self._model = model
        self._key = api_key or None
        self.redact = Redaction(self._key)
        self.deadline = Deadline(model)
        self._max_reply_bytes = max_reply_bytes
        self._client: openai.OpenAI | None = None
        self._guard = threading.Lock()

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._guard:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextmanager
    def post(self, request: Mapping[str, Any], seconds: float) -> Iterator[Any]:
        """Yields a successful response whose body has not been read. Every failure becomes a `ModelError`.

        The whole exchange, the block included, takes at most `seconds`.
        """
        # Before the clock starts: the first use imports the package.
        client, http = self.connect()
        with self.deadline.within(seconds):
            yield from self._post(client, http, request, seconds)

    def ask(self, request: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """The JSON object that the server answers."""
        with self.post(request, seconds) as response:
            return self.parse(b"".join(response.iter_bytes()))

    def parse(self, data: bytes) -> Mapping[str, Any]:
        """Part of an answer as a JSON object."""
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            if not data.strip():
                raise ModelReplyError("the server's answer is empty", reason="not json") from None
            said = self.redact(repr(data[:_MAX_SHOWN]))[:60]
            raise ModelReplyError(f"the server's answer is not json: {said}", reason="not json") from None
        if not isinstance(value, Mapping):
            kind = type(value).__name__
            raise ModelReplyError(f"the server's answer is a {kind}, not an object", reason="wrong schema")
        return value

    def _post(self, client: openai.OpenAI, http: Any, request: Mapping[str, Any], seconds: float) -> Iterator[Any]:
        import openai

        try:
            # Round trip through JSON: the package would send values such as NaN, which are not JSON.
            body = json.loads(json.dumps(request, ensure_ascii=True, allow_nan=False))
            with self._start_request(client, body, seconds) as response:
                yield response
        # `from None`: what the package raises may quote the key, and would be shown with a traceback.
        except openai.APITimeoutError:
            raise ModelTimeoutError(f"{self._model} did not answer within {seconds:g} s") from None
        except openai.APIStatusError as error:
            status, text, headers = error.status_code, error.response.text[:_MAX_ERROR_BYTES], error.response.headers
        except openai.APIConnectionError as error:
            raise self._to_model_error(error.__cause__ or error, http, seconds) from None
        except http.HTTPError as error:
            raise self._to_model_error(error, http, seconds) from None
        else:
            return
        self.raise_for_status(status, text, headers)

    def _start_request(self, client: openai.OpenAI, body: dict[str, Any], seconds: float) -> Any:
        """Start the request with the package; the response body is not read yet."""
        import openai

        if self._path == CHAT:
            named = {name: body.pop(name) for name in ("model", "messages")}
            return client.chat.completions.with_streaming_response.create(**named, extra_body=body, timeout=seconds)
        if self._path == RERANK:
            http = importlib.import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
            # The package has no method for it; a response as it came is bounded by the same hook.
            return nullcontext(client.post(RERANK, cast_to=http.Response, body=body, options={"timeout": seconds}))
        named = {name: body.pop(name) for name in ("model", "input")}
        # Without `encoding_format` the package asks for base64.
        return client.embeddings.with_streaming_response.create(
            **named, encoding_format="float", extra_body=body, timeout=seconds
        )

    def raise_for_status(self, status: int, text: str, headers: Mapping[str, str] | None) -> NoReturn:
        """Raise the `ModelError` for an HTTP status and the error text of the server."""
        said = f"{self._model} answered {status}: {self.redact(_error_summary(text))[:_MAX_SHOWN]}"
        if 300 <= status < 400:
            said = (
                f"{self._model} answered {status}, a redirect, which is not followed: texts and the key go only to the "
                "server of the settings; set the address to the one that answers itself"
            )
        error: ModelError
        if (_CONTEXT_OVERFLOW.search(text) and status != 429) or status == 413:
            error = ContextOverflowError(said)
        elif status == 408:
            error = ModelTimeoutError(said)
        elif status == 429 or status >= 500 or status == 200:
            error = ModelUnavailableError(said, retry_after=_retry_after(headers))
        else:
            error = ModelRejectedError(said)
        raise error

    def _to_model_error(self, error: BaseException, http: Any, seconds: float) -> ModelError:
        if isinstance(error, ModelError):
            return error
        if isinstance(error, http.TimeoutException):
            return ModelTimeoutError(f"{self._model} did not answer within {seconds:g} s")
        if isinstance(error, http.UnsupportedProtocol | http.InvalidURL):
            return ModelRejectedError(f"the address of {self._model} cannot be used: {type(error).__name__}")
        if isinstance(error, http.DecodingError):
            return ModelReplyError(f"{self._model} sent what cannot be decoded", reason="not json")
        return ModelUnavailableError(f"{self._model} cannot be reached: {self.redact(str(error))[:_MAX_SHOWN]}")

    def connect(self) -> tuple[openai.OpenAI, Any]:
        """The client and its HTTP library. The first call imports the package, which takes long on a busy machine."""
        import openai

        # The HTTP library of this version of the package: its exceptions are caught in `post`.
        http = importlib.import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
        with self._guard:
            if self._client is None:
                hooks = {"request": [self._strip_headers], "response": [self._size_limit_hook(http)]}
                self._client = openai.OpenAI(
                    api_key=self._key or "none",
                    base_url=self._base,
                    max_retries=0,
                    default_headers={"Accept-Encoding": "identity"},
                    http_client=self._http_client(openai, hooks),
                )
            return self._client, http

    def _http_client(self, package: Any, hooks: Mapping[str, Any]) -> Any:
        made = package.DefaultHttpxClient(event_hooks=hooks, follow_redirects=False)
        limit_connections(made, self.deadline)
        return made

    def _strip_headers(self, request: Any) -> None:
        for name in [name for name in request.headers if _UNWANTED_HEADERS.fullmatch(name)]:
            del request.headers[name]
        if self._key is None:
            request.headers.pop("authorization", None)

    def _size_limit_hook(self, http: Any) -> Any:
        """A response hook that limits how many bytes of a body can be read."""
        model, limit = self._model, self._max_reply_bytes

        class LimitedStream(http.SyncByteStream):  # type: ignore[misc] # imported at run time
            def __init__(self, stream: Any, max_bytes: int, *, strict: bool) -> None:
                self._stream, self._max_bytes, self._strict = stream, max_bytes, strict

            def __iter__(self) -> Iterator[bytes]:
                left = self._max_bytes
                for chunk in self._stream:
                    left -= len(chunk)
                    if left < 0:
                        if not self._strict:
                            return
                        raise ModelReplyError(f"{model} sent more than {limit:,} bytes", reason="too long")
                    yield chunk

            def close(self) -> None:
                self._stream.close()

        def limit_body(response: Any) -> None:
            ok = response.status_code == 200
            response.stream = LimitedStream(response.stream, limit if ok else _MAX_ERROR_BYTES, strict=ok)

        return limit_body


def _error_summary(text: str) -> str:
    """The message of an error body, in one short line."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = text
    while isinstance(data, Mapping):
        data = next((data[name] for name in ("error", "message", "detail") if data.get(name)), json.dumps(data))
    return " ".join(str(data).split())


def _retry_after(headers: Mapping[str, str] | None) -> float | None:
    """The `Retry-After` header in seconds, at most an hour; it holds seconds or a date."""
    value = (headers or {}).get("retry-after", "").strip()[:64]
    if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", value):
        return min(float(value), _MAX_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return min(max(0.0, seconds), _MAX_RETRY_AFTER)
