"""Chat models behind servers that speak OpenAI's chat completions: most services, vLLM, llama.cpp, Ollama."""

from __future__ import annotations

import importlib.util
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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

if TYPE_CHECKING:
    import httpx

    from jiyi.model.message import Message

__all__ = ["OpenAICompatibleModel"]

DEFAULT_TIMEOUT: Final = 60.0
DEFAULT_MAX_REPLY_BYTES: Final = 4 << 20
_LONGEST_ERROR: Final = 64 << 10

_OVERFLOW: Final = re.compile(
    r"context_length_exceeded|exceed_context_size"
    r"|(?:maximum|available|exceeds?[^.]{0,40}) context (?:length|size|window)"
    r"|context (?:length|size|window)[^.]{0,40}exceed"
    r"|(?:prompt|input|request|messages?)[^.]{0,30} too (?:long|large|many tokens)"
    r"|too many tokens|reduce the length|max_model_len|range of input length|string_above_max_length",
    re.IGNORECASE,
)
_NO_SCHEMAS: Final = re.compile(r"response_format|json_schema|json_object|structured output|grammar", re.IGNORECASE)
_SCHEMA_NOTE: Final = "Reply with JSON alone, without any other words, that fits this JSON schema:\n"
# How a server is asked for JSON: by schema, by its JSON mode, or only in words. The first that it accepts is kept.
_FORMS: Final = ("json_schema", "json_object", "words")


class OpenAICompatibleModel:
    """A `ChatModel` at `{base_url}/chat/completions`. Safe for several threads; it never retries.

    `timeout` is for a whole reply, in a stream for each piece. A reply of more than `max_reply_bytes` is given up while
    it is read. The key is sent and shown nowhere else.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_reply_bytes: int = DEFAULT_MAX_REPLY_BYTES,
    ) -> None:
        if importlib.util.find_spec("httpx") is None:
            raise MissingDependencyError("a model server needs the package httpx; install it: pip install 'jiyi[llm]'")
        if not re.match(r"https?://[^/\s]+", base_url):
            raise ConfigError(
                "the address of a model server begins with http:// or https://, such as http://localhost:8080/v1"
            )
        self._url = base_url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        self._model = model
        self._key = api_key or None
        self._timeout = timeout
        self._most = max_reply_bytes
        self._form = 0
        self._client: httpx.Client | None = None
        self._guard = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the model, as the server knows it."""
        return self._model

    def __repr__(self) -> str:
        return f"OpenAICompatibleModel(model={self._model!r})"

    def close(self) -> None:
        """Let go of the connections; another call opens new ones."""
        with self._guard:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    # --- asking -------------------------------------------------------------------------------------------------------

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> str:
        """The reply, never empty. A server without JSON schemas is asked in its JSON mode, then in words."""
        seconds = self._timeout if timeout is None else timeout
        while True:
            form = _FORMS[self._form] if schema is not None else "words"
            try:
                with self._post(self._request(messages, max_tokens, schema, form), seconds) as response:
                    body = self._read(response, self._most, time.monotonic() + seconds)
            except ModelRejectedError as error:
                if schema is None or form == "words" or not _NO_SCHEMAS.search(str(error)):
                    raise
                self._form = _FORMS.index(form) + 1
            else:
                return self._content(body)

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Iterator[str]:
        """The reply in pieces. A stream that is cut off raises after its last piece."""
        request = {**self._request(messages, max_tokens, None, "words"), "stream": True}
        with self._post(request, self._timeout) as response:
            finish: str | None = None
            some = False
            for event in self._events(response):
                if isinstance(event.get("error"), Mapping | str):
                    self._raise_for(200, json.dumps(event["error"]), None)
                if not event.get("choices", ()):  # usage, keep-alive
                    continue
                choice = _first_choice(event)
                delta = choice.get("delta")
                piece = delta.get("content") if isinstance(delta, Mapping) else None
                if isinstance(delta, Mapping) and delta.get("refusal"):
                    finish = "content_filter"
                if isinstance(piece, str) and piece:
                    some = some or bool(piece.strip())
                    yield piece
                finish = choice.get("finish_reason") or finish
            _check_finish(finish, ended=True)
            if not some:
                raise ModelReplyError(f"{self._model} sent an empty reply", reason="empty")

    def _request(
        self, messages: Sequence[Message], max_tokens: int | None, schema: Mapping[str, Any] | None, form: str
    ) -> dict[str, Any]:
        sent = [message.to_dict() for message in messages]
        request: dict[str, Any] = {"model": self._model, "messages": sent}
        if max_tokens is not None:
            request["max_tokens"] = max_tokens
        if schema is None:
            return request
        if form == "json_schema":
            about = {"name": "reply", "schema": dict(schema), "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": about}
            return request
        note = _SCHEMA_NOTE + json.dumps(schema, ensure_ascii=False)
        request["messages"] = [*sent[:-1], {"role": "system", "content": note}, *sent[-1:]]
        if form == "json_object":
            request["response_format"] = {"type": "json_object"}
        return request

    # --- the wire -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _post(self, request: Mapping[str, Any], seconds: float) -> Iterator[httpx.Response]:
        """A successful response that has not been read; everything that goes wrong becomes a `ModelError`."""
        import httpx

        try:
            body = json.dumps(request, ensure_ascii=True, allow_nan=False).encode()
            with self._connected().stream("POST", self._url, content=body, timeout=seconds) as response:
                if response.status_code != 200:
                    text = self._read(response, _LONGEST_ERROR, time.monotonic() + seconds, whole=False)
                    self._raise_for(response.status_code, text.decode("utf-8", "replace"), response.headers)
                yield response
        except httpx.TimeoutException as error:
            raise ModelTimeoutError(f"{self._model} did not answer within {seconds:g} s") from error
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise ModelRejectedError(f"the address of {self._model} cannot be used: {type(error).__name__}") from error
        except httpx.DecodingError as error:
            raise ModelReplyError(f"{self._model} sent what cannot be decoded", reason="not json") from error
        except httpx.HTTPError as error:
            raise ModelUnavailableError(f"{self._model} cannot be reached: {self._hidden(str(error))}") from error

    def _connected(self) -> httpx.Client:
        import httpx

        with self._guard:
            if self._client is None:
                headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
                if self._key:
                    headers["Authorization"] = f"Bearer {self._key}"
                self._client = httpx.Client(headers=headers)
            return self._client

    def _read(self, response: httpx.Response, most: int, until: float, *, whole: bool = True) -> bytes:
        """The body, as long as it is no longer than `most` and comes in time; without `whole` its beginning will do."""
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > most:
                if not whole:
                    break
                raise ModelReplyError(f"{self._model} sent more than {most:,} bytes", reason="too long")
            if time.monotonic() > until:
                raise ModelTimeoutError(f"{self._model} did not finish its reply in time")
        return bytes(body[:most])

    def _events(self, response: httpx.Response) -> Iterator[Mapping[str, Any]]:
        """The events of a stream up to its end mark."""
        rest, total = b"", 0
        for chunk in response.iter_bytes():
            total += len(chunk)
            if total > self._most:
                raise ModelReplyError(f"{self._model} sent more than {self._most:,} bytes", reason="too long")
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                data = line.strip()
                if not data.startswith(b"data:"):
                    continue
                data = data.removeprefix(b"data:").strip()
                if data == b"[DONE]":
                    return
                yield _json_object(data)

    def _content(self, body: bytes) -> str:
        reply = _json_object(body)
        if isinstance(reply.get("error"), Mapping | str):  # some servers fail with status 200
            self._raise_for(200, json.dumps(reply["error"]), None)
        choice = _first_choice(reply)
        message = choice.get("message")
        if not isinstance(message, Mapping):
            raise ModelReplyError("the reply has no message", reason="wrong schema")
        if message.get("refusal"):
            raise ModelReplyError(f"{self._model} refused: {str(message['refusal'])[:200]}", reason="refused")
        content = message.get("content")
        if isinstance(content, list):
            parts = [part.get("text") for part in content if isinstance(part, Mapping)]
            content = "".join(part for part in parts if isinstance(part, str))
        if content is not None and not isinstance(content, str):
            raise ModelReplyError(f"the content is a {type(content).__name__}, not text", reason="wrong schema")
        _check_finish(choice.get("finish_reason"))
        if content is None or not content.strip():
            raise ModelReplyError(f"{self._model} sent an empty reply", reason="empty")
        return content

    def _raise_for(self, status: int, text: str, headers: Mapping[str, str] | None) -> NoReturn:
        said = f"{self._model} answered {status}: {self._hidden(_short(text))}"
        error: ModelError
        if (_OVERFLOW.search(text) and status != 429) or status == 413:
            error = ContextOverflowError(said)
        elif status == 408:
            error = ModelTimeoutError(said)
        elif status == 429 or status >= 500 or status == 200:
            error = ModelUnavailableError(said, retry_after=_retry_after(headers))
        else:
            error = ModelRejectedError(said)
        raise error

    def _hidden(self, text: str) -> str:
        """The text without the key, which servers like to quote."""
        return text.replace(self._key, "***") if self._key else text


# --- reading replies --------------------------------------------------------------------------------------------------


def _json_object(data: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        reason = "not json" if data.strip() else "empty"
        raise ModelReplyError(f"the server's answer is {reason}: {data[:60]!r}", reason="not json") from None
    if not isinstance(value, Mapping):
        raise ModelReplyError(f"the server's answer is a {type(value).__name__}, not an object", reason="wrong schema")
    return value


def _first_choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = reply.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    raise ModelReplyError("the server's answer has no choices", reason="wrong schema")


def _check_finish(finish: object, *, ended: bool = False) -> None:
    if finish == "length":
        raise ModelReplyError("the reply was cut off at the limit of tokens", reason="truncated")
    if finish == "content_filter":
        raise ModelReplyError("the reply was withheld by a content filter", reason="refused")
    if ended and finish is None:
        raise ModelUnavailableError("the stream ended before the reply did")


def _short(text: str) -> str:
    """What an error body says, in one short line."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = text
    while isinstance(data, Mapping):
        data = next((data[name] for name in ("error", "message", "detail") if data.get(name)), json.dumps(data))
    return " ".join(str(data).split())[:300]


def _retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Seconds to wait, from a header that gives seconds or a date."""
    value = (headers or {}).get("retry-after", "").strip()
    if re.fullmatch(r"\d+(?:\.\d+)?", value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
