"""The chat room with models as users give them: their own, one behind a server, and ones that fail."""

from collections.abc import Callable

import pytest

from jiyi.errors import ModelReplyError, ModelUnavailableError
from jiyi.providers.openai_compatible import OpenAICompatibleModel
from jiyi.sync import AgentMemory
from jiyi.testing.model_server import ModelServer
from jiyi.testing.models import MODEL_FAULTS, FailingModel, ModelCall, ScriptedModel
from tests.chat.support import check_whole, found, said
from tests.support import present

OpenMemory = Callable[..., AgentMemory]


def helpful(call: ModelCall) -> str:
    return "they spoke of many things" if call.schema is None else found("the user likes tea", kind="preference")


def test_a_model_of_the_callers_own_makes_summaries_and_candidates(open_memory: OpenMemory) -> None:
    model = ScriptedModel(helpful)
    chat = open_memory(llm=model).chat("s", token_limit=300)
    chat.put_many([said(number) for number in range(30)])
    window = chat.get()
    assert present(window.summary).content == "they spoke of many things"
    assert present(window.summary).made_by == "scripted"
    assert {candidate.made_by for candidate in chat.candidates()} == {"scripted"}
    check_whole(chat, window)
    # The earlier summary is part of the next question.
    chat.put_many([said(number) for number in range(30, 60)])
    while chat.get().left_out:
        pass
    summaries = [call for call in model.calls if call.schema is None]
    assert "they spoke of many things" not in summaries[0].text
    assert "they spoke of many things" in summaries[-1].text


@pytest.mark.parametrize("fault", MODEL_FAULTS)
def test_whatever_a_model_does_wrong_nothing_is_lost_and_the_limit_is_kept(open_memory: OpenMemory, fault: str) -> None:
    chat = open_memory(llm=FailingModel(fault)).chat("s", token_limit=300)
    messages = [said(number) for number in range(40)]
    chat.put_many(messages)
    window = chat.get()
    assert window.tokens <= 300
    assert window.trouble
    assert window.left_out == 40 - len(window)
    assert [message.to_dict() for message in chat.get_all()] == messages
    assert chat.summaries() == []
    assert chat.candidates(state=None) == []
    assert chat.status().failures == 1


@pytest.mark.server
def test_a_model_behind_a_server_makes_summaries_once_it_works(open_memory: OpenMemory) -> None:
    with ModelServer() as server:
        settings = {"llm": "openai-compatible", "llm_base_url": server.base_url, "llm_model": "any"}
        chat = open_memory(**settings).chat("s", token_limit=300)
        chat.put_many([said(number) for number in range(12)])
        server.fail("500")
        with pytest.raises(ModelUnavailableError):
            chat.compact()
        assert chat.status().failures == 1
        assert len(chat.get()) == 12
        server.reply(found("the user likes tea"))
        done = chat.compact()
        assert "tea" in present(done.summary).content
        assert present(done.summary).made_by == "any"
        assert [candidate.content for candidate in chat.candidates()] == ["the user likes tea"]
        assert [("response_format" in request) for request in server.requests[-2:]] == [True, False]


def test_what_a_model_thinks_is_no_part_of_the_summary(open_memory: OpenMemory) -> None:
    replies = [found(), "<think>first I look</think>the budget was agreed", found(), "<think>I never come to an end"]
    chat = open_memory(llm=ScriptedModel(replies)).chat("s", token_limit=4_000)
    chat.put_many([said(number) for number in range(20)])
    assert present(chat.compact().summary).content == "the budget was agreed"
    with pytest.raises(ModelReplyError, match="empty"):
        chat.compact()


@pytest.mark.server
def test_a_real_small_model_behind_a_real_server_summarises(
    open_memory: OpenMemory, real_model: OpenAICompatibleModel
) -> None:
    def candidates_by_hand(call: ModelCall) -> str:
        # So small a model cannot be trusted to end a list; what it is here for is the summary.
        if call.schema is not None:
            return found("Anna's birthday is on Friday", kind="date")
        return real_model.complete(call.messages, max_tokens=call.max_tokens, timeout=call.timeout)

    memory = open_memory(llm=ScriptedModel(candidates_by_hand, name=real_model.name))
    # A question that even this model answers in few words.
    chat = memory.chat("s", token_limit=1_200, summarize_prompt="Summarise the conversation in one short sentence.")
    chat.put_many(
        [
            {"role": "user", "content": "My sister Anna has her birthday on Friday. I want to bake a cake for her."},
            {"role": "assistant", "content": "How nice! A lemon cake keeps well, you can bake it on Thursday."},
            {"role": "user", "content": "Good, lemon it is. How many eggs do I need?"},
            {"role": "assistant", "content": "Four eggs, and two lemons."},
            {"role": "user", "content": "And what shall I write on the card?"},
        ]
    )
    done = chat.compact()
    assert done.compacted
    assert present(done.summary).made_by == real_model.name
    assert present(done.summary).content.strip()
    window = chat.get()
    assert present(done.summary).content.splitlines()[0] in window[0].text
    check_whole(chat, window)
