"""The path to a model, once with a real one behind a real server."""

import pytest

from jiyi.errors import ContextOverflowError, ModelReplyError
from jiyi.model.message import Message
from jiyi.model.replies import parse_json_reply
from jiyi.providers.openai_compatible import OpenAICompatibleModel

pytestmark = pytest.mark.server

ASK = [Message("user", "Say hello in one short sentence.")]
SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "number"},
        "facts": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 2},
    },
    "required": ["score", "facts"],
    "additionalProperties": False,
}


def test_a_real_model_answers_streams_and_keeps_to_a_schema(real_model: OpenAICompatibleModel) -> None:
    assert real_model.complete(ASK, max_tokens=200).strip()
    pieces = list(real_model.stream(ASK, max_tokens=200))
    assert len(pieces) > 1
    assert "".join(pieces).strip()
    reply = real_model.complete([Message("user", "Give facts about tea as JSON.")], max_tokens=300, schema=SCHEMA)
    value = parse_json_reply(reply, SCHEMA)
    assert len(value["facts"]) <= 2


def test_a_real_server_says_when_a_reply_or_a_question_is_too_long(real_model: OpenAICompatibleModel) -> None:
    with pytest.raises(ModelReplyError) as caught:
        real_model.complete([Message("user", "Count from one to one hundred in words.")], max_tokens=3)
    assert caught.value.reason == "truncated"
    with pytest.raises(ContextOverflowError):
        real_model.complete([Message("user", "word " * 4000)], max_tokens=3)
