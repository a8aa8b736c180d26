"""Chat models behind servers that speak OpenAI's chat completions: most services, vLLM, llama.cpp, Ollama."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import ModelRejectedError, ModelReplyError, ModelUnavailableError
from jiyi.model.limits import MAX_MODEL_REPLY_BYTES
from jiyi.model.message_formats import to_openai
from jiyi.ports.models import ToolCall
from jiyi.providers.openai_client import CHAT, OpenAIClient

if TYPE_CHECKING:
    from jiyi.model.message import Message

__all__ = ["OpenAICompatibleModel"]

DEFAULT_TIMEOUT: Final = 60.0
_SCHEMA_UNSUPPORTED: Final = re.compile(
    r"response_format|json_schema|json_object|structured output|grammar", re.IGNORECASE
)
_SCHEMA_PROMPT: Final = "Reply with JSON alone, without any other words, that fits this JSON schema:\n"
# How JSON is requested: by schema, by the JSON mode of the server, or in the prompt only. The first mode that the
# server accepts is used from then on.
_JSON_MODES: Final = ("json_schema", "json_object", "prompt")


class OpenAICompatibleModel:
    """A `ChatModel` at `{base_url}/chat/completions`. Safe for several threads; it never retries.

    `timeout` applies to a whole reply, headers and all, and in a stream to each event of it. A reply longer than
    `max_reply_bytes` raises `ModelReplyError`. The API key is sent to the server and appears in no message, and in no
    reply of a server that quotes it.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_reply_bytes: int = MAX_MODEL_REPLY_BYTES,
    ) -> None:
        self._client = OpenAIClient(base_url, model, path=CHAT, api_key=api_key, max_reply_bytes=max_reply_bytes)
        self._model = model
        self._timeout = timeout
        self._json_mode = 0

    @property
    def name(self) -> str:
        """The name of the model on the server."""
        return self._model

    def __repr__(self) -> str:
        return f"OpenAICompatibleModel(model={self._model!r})"

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    # --- requests -----------------------------------------------------------------------------------------------------

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> str:
        """Returns the reply, which is never empty.

        A server that rejects JSON schemas is asked again in its JSON mode, then with the schema in the prompt.
        """
        seconds = self._timeout if timeout is None else timeout
        while True:
            form = _JSON_MODES[self._json_mode] if schema is not None else "prompt"
            try:
                reply = self._client.ask(self._request(messages, max_tokens, schema, form), seconds)
            except ModelRejectedError as error:
                if schema is None or form == "prompt" or not _SCHEMA_UNSUPPORTED.search(str(error)):
                    raise
                self._json_mode = _JSON_MODES.index(form) + 1
            else:
                return self._content(reply)

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Iterator[str]:
        """Yields the reply in pieces. A stream that is cut off raises after its last piece."""
        for piece in self.converse(messages, tools=(), max_tokens=max_tokens):
            if isinstance(piece, str):
                yield piece

    def converse(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]], max_tokens: int | None = None
    ) -> Iterator[str | ToolCall]:
        """Yields the reply in pieces, then the calls of tools. A stream that is cut off raises after its last piece."""
        calls: list[ToolCall] = []
        redact = self._client.redact

        def texts() -> Iterator[str]:
            for piece in self._converse(messages, tools, max_tokens):
                if isinstance(piece, str):
                    yield piece
                else:
                    calls.append(replace(piece, arguments=redact(piece.arguments)))

        yield from redact.stream(texts())
        yield from calls

    def _converse(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], max_tokens: int | None
    ) -> Iterator[str | ToolCall]:
        request = {**self._request(messages, max_tokens, None, "prompt"), "stream": True}
        if tools:
            request["tools"] = [dict(tool) for tool in tools]
        calls = _PartialCalls()
        with self._client.post(request, self._timeout) as response:
            finish: str | None = None
            has_text = False
            for event in self._events(response):
                self._client.deadline.renew(self._timeout)
                if isinstance(event.get("error"), Mapping | str):
                    self._client.raise_for_status(200, json.dumps(event["error"]), None)
                if not event.get("choices", ()):  # usage, keep-alive
                    continue
                choice = _first_choice(event)
                delta = choice.get("delta")
                piece = delta.get("content") if isinstance(delta, Mapping) else None
                if isinstance(delta, Mapping) and delta.get("refusal"):
                    finish = "content_filter"
                if isinstance(piece, str) and piece:
                    has_text = has_text or bool(piece.strip())
                    yield piece
                    # What the caller does with a piece is not the time of the server.
                    self._client.deadline.renew(self._timeout)
                if isinstance(delta, Mapping) and tools:
                    calls.add(delta.get("tool_calls"))
                finish = choice.get("finish_reason") or finish
            _check_finish(finish, ended=True)
            found = calls.whole()
            if not has_text and not found:
                raise ModelReplyError(f"{self._model} sent an empty reply", reason="empty")
            yield from found

    def _request(
        self, messages: Sequence[Message], max_tokens: int | None, schema: Mapping[str, Any] | None, form: str
    ) -> dict[str, Any]:
        sent = to_openai(messages)
        request: dict[str, Any] = {"model": self._model, "messages": sent}
        if max_tokens is not None:
            request["max_tokens"] = max_tokens
        if schema is None:
            return request
        if form == "json_schema":
            about = {"name": "reply", "schema": dict(schema), "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": about}
            return request
        note = _SCHEMA_PROMPT + json.dumps(schema, ensure_ascii=False)
        request["messages"] = [*sent[:-1], {"role": "system", "content": note}, *sent[-1:]]
        if form == "json_object":
            request["response_format"] = {"type": "json_object"}
        return request

    # --- reading ------------------------------------------------------------------------------------------------------

    def _events(self, response: Any) -> Iterator[Mapping[str, Any]]:
        """Yields the server-sent events of a stream up to `[DONE]`."""
        # A line may come in very many pieces: they are put together once, when it is complete.
        rest: list[bytes] = []
        for chunk in response.iter_bytes():
            if b"\n" not in chunk:
                rest.append(chunk)
                continue
            *lines, last = b"".join([*rest, chunk]).split(b"\n")
            rest = [last]
            for line in lines:
                data = line.strip()
                if not data.startswith(b"data:"):
                    continue
                data = data.removeprefix(b"data:").strip()
                if data == b"[DONE]":
                    return
                yield self._client.parse(data)

    def _content(self, reply: Mapping[str, Any]) -> str:
        if isinstance(reply.get("error"), Mapping | str):  # some servers report errors with status 200
            self._client.raise_for_status(200, json.dumps(reply["error"]), None)
        choice = _first_choice(reply)
        message = choice.get("message")
        if not isinstance(message, Mapping):
            raise ModelReplyError("the reply has no message", reason="wrong schema")
        if message.get("refusal"):
            raise ModelReplyError(
                f"{self._model} refused: {self._client.redact(str(message['refusal']))[:200]}", reason="refused"
            )
        content = message.get("content")
        if isinstance(content, list):
            parts = [part.get("text") for part in content if isinstance(part, Mapping)]
            content = "".join(part for part in parts if isinstance(part, str))
        if content is not None and not isinstance(content, str):
            raise ModelReplyError(f"the content is a {type(content).__name__}, not text", reason="wrong schema")
        _check_finish(choice.get("finish_reason"))
        if content is None or not content.strip():
            raise ModelReplyError(f"{self._model} sent an empty reply", reason="empty")
        return self._client.redact(content)


class _PartialCalls:
    """The calls of a streamed reply, put together from their pieces."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[str, str]] = {}

    def add(self, pieces: object) -> None:
        """Take the pieces of one event."""
        for number, piece in enumerate(pieces if isinstance(pieces, list) else ()):
            if not isinstance(piece, Mapping):
                continue
            index = piece.get("index")
            part = self._parts.setdefault(index if isinstance(index, int) else number, {})
            function = piece.get("function")
            values = {"id": piece.get("id"), **(function if isinstance(function, Mapping) else {})}
            for name in ("id", "name"):
                if isinstance(values.get(name), str) and values[name]:
                    part[name] = str(values[name])
            arguments = values.get("arguments")
            if isinstance(arguments, str):
                part["arguments"] = part.get("arguments", "") + arguments

    def whole(self) -> list[ToolCall]:
        """All calls, in their order."""
        return [
            ToolCall(part.get("id", f"call_{index}"), part.get("name", ""), part.get("arguments", "") or "{}")
            for index, part in sorted(self._parts.items())
        ]


# --- reading replies --------------------------------------------------------------------------------------------------


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
