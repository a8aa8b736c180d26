"""A model behind a server: what it says comes through, and whatever goes wrong has its own error."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from jiyi.errors import (
    ConfigError,
    ContextOverflowError,
    ModelError,
    ModelRejectedError,
    ModelReplyError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from jiyi.model.message import Message
from jiyi.ports import ChatModel
from jiyi.providers.openai_compatible import OpenAICompatibleModel
from jiyi.testing.model_server import FAILURES, ModelServer

KEY = "sk-very-secret-0123456789"
ASK = [Message("system", "Be brief."), Message("user", "你好")]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def model(server: ModelServer) -> Iterator[OpenAICompatibleModel]:
    model = OpenAICompatibleModel(server.base_url + "/", "tiny", api_key=KEY, timeout=20, max_reply_bytes=1 << 20)
    yield model
    model.close()


def test_it_is_a_chat_model(model: OpenAICompatibleModel) -> None:
    assert isinstance(model, ChatModel)
    assert model.name == "tiny"


def test_the_reply_comes_through_and_the_request_is_what_was_asked(
    server: ModelServer, model: OpenAICompatibleModel
) -> None:
    server.reply("你好！👋")
    assert model.complete(ASK, max_tokens=50) == "你好！👋"
    assert server.requests == [
        {"model": "tiny", "messages": [message.to_dict() for message in ASK], "max_tokens": 50},
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_reply_in_parts_is_put_together(server: ModelServer, model: OpenAICompatibleModel) -> None:
    server.reply([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}])
    assert model.complete(ASK) == "one two"


def test_a_stream_gives_the_same_words_in_pieces(server: ModelServer, model: OpenAICompatibleModel) -> None:
    server.reply("天气很好, and the sun shines")
    pieces = list(model.stream(ASK))
    assert len(pieces) > 3
    assert "".join(pieces) == model.complete(ASK)


def test_a_stream_can_be_left_early(server: ModelServer, model: OpenAICompatibleModel) -> None:
    server.reply("a long story that nobody reads to its end")
    assert next(model.stream(ASK)) == "a l"
    assert model.complete(ASK).startswith("a long")


# --- JSON -----------------------------------------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_a_schema_is_sent_as_one(server: ModelServer, model: OpenAICompatibleModel) -> None:
    server.reply('{"n": 1}')
    assert model.complete(ASK, schema=SCHEMA) == '{"n": 1}'
    sent = server.requests[0]["response_format"]
    assert (sent["type"], sent["json_schema"]["schema"], sent["json_schema"]["strict"]) == ("json_schema", SCHEMA, True)


def test_a_server_without_schemas_is_asked_in_words_and_that_is_remembered(
    server: ModelServer, model: OpenAICompatibleModel
) -> None:
    server.fail("no schemas")
    with pytest.raises(ModelRejectedError, match="response_format"):
        model.complete(ASK, schema=SCHEMA)
    asked = [request.get("response_format", {}).get("type") for request in server.requests]
    assert asked == ["json_schema", "json_object", None]
    assert json.dumps(SCHEMA) in server.requests[2]["messages"][-2]["content"]
    server.reply('{"n": 2}')
    assert model.complete(ASK, schema=SCHEMA) == '{"n": 2}'
    assert len(server.requests) == 4


# --- what goes wrong ------------------------------------------------------------------------------------------------

EXPECTED: dict[str, tuple[type[ModelError], str | None]] = {
    "timeout": (ModelTimeoutError, None),
    "connection reset": (ModelUnavailableError, None),
    "cut off": (ModelUnavailableError, None),
    "stream cut off": (ModelReplyError, "not json"),
    "429": (ModelUnavailableError, None),
    "500": (ModelUnavailableError, None),
    "503": (ModelUnavailableError, None),
    "401": (ModelRejectedError, None),
    "403": (ModelRejectedError, None),
    "404": (ModelRejectedError, None),
    "400": (ModelRejectedError, None),
    "error with status 200": (ModelUnavailableError, None),
    "empty body": (ModelReplyError, "not json"),
    "not json": (ModelReplyError, "not json"),
    "truncated json": (ModelReplyError, "not json"),
    "wrong shape": (ModelReplyError, "wrong schema"),
    "a list": (ModelReplyError, "wrong schema"),
    "no message": (ModelReplyError, "wrong schema"),
    "number as content": (ModelReplyError, "wrong schema"),
    "10 MB reply": (ModelReplyError, "too long"),
    "context overflow, OpenAI": (ContextOverflowError, None),
    "context overflow, vLLM": (ContextOverflowError, None),
    "context overflow, llama.cpp": (ContextOverflowError, None),
    "context overflow, DashScope": (ContextOverflowError, None),
    "413": (ContextOverflowError, None),
    "no schemas": (ModelRejectedError, None),
}


def test_every_failure_of_the_server_is_expected() -> None:
    assert set(EXPECTED) == set(FAILURES)


@pytest.mark.parametrize("failure", EXPECTED)
def test_each_failure_has_its_error(server: ModelServer, model: OpenAICompatibleModel, failure: str) -> None:
    wanted, reason = EXPECTED[failure]
    server.fail(failure)
    with pytest.raises(ModelError) as caught:
        model.complete(ASK, timeout=0.2 if failure == "timeout" else None)
    assert type(caught.value) is wanted
    assert caught.value.retryable is (wanted not in {ContextOverflowError, ModelRejectedError})
    if isinstance(caught.value, ModelReplyError):
        assert caught.value.reason == reason
    assert len(server.requests) == 1, "it does not retry"
    server.reply("fine again")
    assert model.complete(ASK) == "fine again"


@pytest.mark.parametrize("failure", [name for name in EXPECTED if name not in {"timeout", "a list", "no message"}])
def test_a_stream_fails_with_the_same_errors(server: ModelServer, model: OpenAICompatibleModel, failure: str) -> None:
    server.fail(failure)
    with pytest.raises(ModelError) as caught:
        list(model.stream(ASK))
    if EXPECTED[failure][0] is not ModelReplyError:
        assert type(caught.value) is EXPECTED[failure][0]


def test_a_stream_that_ends_too_early_is_not_taken_for_a_reply(
    server: ModelServer, model: OpenAICompatibleModel
) -> None:
    server.fail("stream cut off")
    pieces: list[str] = []
    with pytest.raises(ModelUnavailableError, match="ended before"):
        pieces.extend(model.stream(ASK))
    assert pieces == ["half"]


@pytest.mark.parametrize(
    ("content", "finish", "refusal", "reason"),
    [
        ("", "stop", None, "empty"),
        (None, "stop", None, "empty"),
        (" \n", "stop", None, "empty"),
        ("half a sen", "length", None, "truncated"),
        ("", "content_filter", None, "refused"),
        (None, "stop", "I can't help with that", "refused"),
    ],
)
def test_a_reply_that_is_no_use_says_why(
    server: ModelServer,
    model: OpenAICompatibleModel,
    content: str | None,
    finish: str,
    refusal: str | None,
    reason: str,
) -> None:
    server.reply(content, finish=finish, refusal=refusal)
    with pytest.raises(ModelReplyError) as caught:
        model.complete(ASK)
    assert caught.value.reason == reason
    if content is not None:
        with pytest.raises(ModelReplyError) as caught:
            list(model.stream(ASK))
        assert caught.value.reason == reason


def test_what_the_server_asks_to_wait_is_passed_on(server: ModelServer, model: OpenAICompatibleModel) -> None:
    def wait(failure: str = "429", **headers: str) -> float | None:
        server.fail(failure, **headers)
        with pytest.raises(ModelUnavailableError) as caught:
            model.complete(ASK)
        return caught.value.retry_after

    assert wait() is None
    assert wait(retry_after="7") == 7.0
    assert wait("503", retry_after="1.5") == 1.5
    assert wait(retry_after="soon") is None
    later = wait(retry_after=format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True))
    assert later is not None
    assert 3000 < later <= 3600
    assert wait(retry_after=format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)) == 0.0


def test_nobody_at_the_address_is_unavailable() -> None:
    with ModelServer() as gone:
        address = gone.base_url
    with pytest.raises(ModelUnavailableError, match="cannot be reached"):
        OpenAICompatibleModel(address, "tiny").complete(ASK)


def test_the_key_is_shown_nowhere(
    server: ModelServer, model: OpenAICompatibleModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.send(json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode(), status=401)
    with pytest.raises(ModelRejectedError) as caught:
        model.complete(ASK)
    shown = f"{caught.value!r} {caught.value} {model!r} {caplog.text}"
    assert KEY not in shown
    assert "***" in str(caught.value)


@pytest.mark.parametrize("address", ["localhost:8080", "ftp://x/v1", "", "http:///v1"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="http://"):
        OpenAICompatibleModel(address, "tiny")
