"""The shipped fakes of models do what they say."""

import numpy as np
import pytest

from jiyi.errors import InvalidInputError, ModelError, ModelReplyError, ModelTimeoutError
from jiyi.model.message import Message
from jiyi.model.replies import parse_json_reply
from jiyi.ports import ChatModel, Embedder
from jiyi.testing.fakes import HashEmbedder
from jiyi.testing.models import EMBEDDER_FAULTS, MODEL_FAULTS, FailingEmbedder, FailingModel, ScriptedModel

ASK = [Message("user", "how are you?")]


def test_a_scripted_model_gives_its_replies_in_order_and_remembers_the_questions() -> None:
    model = ScriptedModel(["one", ModelTimeoutError("late"), "three is streamed"])
    assert isinstance(model, ChatModel)
    assert model.complete(ASK, max_tokens=5, schema={"type": "string"}, timeout=2) == "one"
    with pytest.raises(ModelTimeoutError):
        model.complete(ASK)
    assert "".join(model.stream(ASK)) == "three is streamed"
    assert (model.calls[0].max_tokens, model.calls[0].schema, model.calls[0].timeout) == (5, {"type": "string"}, 2)
    assert model.calls[0].text == "how are you?"
    assert model.calls[2].streamed
    with pytest.raises(AssertionError, match="number 4"):
        model.complete(ASK)


def test_a_scripted_model_may_be_a_function() -> None:
    model = ScriptedModel(lambda call: call.text.upper())
    assert model.complete(ASK) == "HOW ARE YOU?"


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_every_fault_is_an_error_or_a_reply_that_is_no_use(fault: str) -> None:
    schema = {
        "type": "object",
        "properties": {"importance_score": {"type": "number"}, "extracted_fact": {"type": "string"}},
        "required": ["importance_score", "extracted_fact"],
    }
    with pytest.raises(ModelError):
        parse_json_reply(FailingModel(fault).complete(ASK, schema=schema), schema)


def test_a_failing_model_may_recover() -> None:
    model = FailingModel("500", times=2, then=ScriptedModel(["well", "again"]))
    for _ in range(2):
        with pytest.raises(ModelError):
            model.complete(ASK)
    assert model.complete(ASK) == "well"
    assert "".join(model.stream(ASK)) == "again"


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="timeout"):
        FailingModel("tiredness")
    with pytest.raises(InvalidInputError, match="NaN"):
        FailingEmbedder(HashEmbedder(), "tiredness")


def test_a_failing_embedder_gives_vectors_that_are_no_use() -> None:
    good = HashEmbedder().embed(["a", "b"])
    for fault in EMBEDDER_FAULTS:
        embedder = FailingEmbedder(HashEmbedder(), fault)
        assert isinstance(embedder, Embedder)
        bad = embedder.embed(["a", "b"])
        assert bad.shape != good.shape or np.isnan(bad).all()
    with pytest.raises(ModelTimeoutError):
        FailingEmbedder(HashEmbedder(), "timeout").embed(["a"])
    with pytest.raises(ModelReplyError):
        FailingEmbedder(HashEmbedder(), "not json").embed(["a"])
