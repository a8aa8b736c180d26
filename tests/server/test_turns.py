"""Turns over REST: step by step with a model of the caller, and whole with the configured model, as events."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jiyi.errors import ModelUnavailableError
from jiyi.ports import ToolCall
from jiyi.tools import ToolAnswer, Toolbox
from tests.server.served import Served, model, read_events, run, served

CALL = {"id": "c1", "function": {"name": "remember", "arguments": '{"content": "She drinks green tea"}'}}


def texts(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in messages]


def test_a_turn_goes_through_calls_to_its_reply_and_is_stored_once(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        turn = await it.post("/v1/conversations/talk/turns", {"text": "I drink green tea"}, key="m1", status=201)
        assert turn["messages"][-1]["content"] == "I drink green tea"
        assert {each["function"]["name"] for each in turn["tools"]} >= {"remember", "recall"}
        url = f"/v1/conversations/talk/turns/{turn['id']}"
        done = await it.post(f"{url}/calls", {"calls": [CALL], "text": ""}, key="c1")
        again = await it.post(f"{url}/calls", {"calls": [CALL], "text": ""}, key="c1")
        assert again["results"] == done["results"]
        assert await it.memory.count() == 1
        nameless = {"calls": [{"function": CALL["function"]}], "text": ""}
        done = await it.post(f"{url}/calls", nameless, key="c2")
        assert (await it.post(f"{url}/calls", nameless, key="c2"))["results"] == done["results"] != [""]
        finished = await it.post(f"{url}/finish", {"reply": "Noted."})
        assert finished["message_id"]
        assert (await it.post(f"{url}/finish", {"reply": "Noted."}))["turn_id"] == turn["id"]
        await it.post(f"{url}/finish", {"reply": "Something else"}, status=409)
        stored = (await it.get("/v1/conversations/talk/messages"))["messages"]
        assert [role for role, _ in texts(stored)] == ["user", *("assistant", "tool") * 2, "assistant"]
        assert (await it.get("/v1/conversations/talk/turns"))["turns"] == []

    run(tmp_path, scenario)


def test_a_reply_that_two_servers_are_given_is_stored_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as one, served(tmp_path) as other:
            turn = await one.post("/v1/conversations/t/turns", {"text": "hello"}, key="m1", status=201)
            await other.post("/v1/conversations/t/turns", {"text": "hello"}, key="m1", status=201)
            url = f"/v1/conversations/t/turns/{turn['id']}/finish"
            assert (await one.post(url, {"reply": "hi"}))["message_id"]
            assert (await other.post(url, {"reply": "hi"}))["message_id"] is None
            await other.post(url, {"reply": "something else"}, status=409)
            stored = (await other.get("/v1/conversations/t/messages"))["messages"]
            assert texts(stored) == [("user", "hello"), ("assistant", "hi")]

    asyncio.run(scenario())


def test_a_repeated_request_does_not_get_the_answer_of_a_tool_that_is_still_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, began, goes_on = Toolbox.answer, asyncio.Event(), asyncio.Event()

    async def slow(toolbox: Toolbox, name: str, arguments: Any, **options: Any) -> ToolAnswer:
        began.set()
        await goes_on.wait()
        return await answer(toolbox, name, arguments, **options)

    monkeypatch.setattr(Toolbox, "answer", slow)

    async def scenario(it: Served) -> None:
        turn = await it.post("/v1/conversations/t/turns", {"text": "I drink tea"}, status=201)
        url, body = f"/v1/conversations/t/turns/{turn['id']}/calls", {"calls": [CALL], "text": ""}
        first = asyncio.create_task(it.post(url, body, key="c1"))
        await began.wait()
        await it.post(url, body, key="c1", status=409)
        goes_on.set()
        done = await first
        assert done["results"] != [""]
        assert (await it.post(url, body, key="c1"))["results"] == done["results"]
        assert await it.memory.count() == 1

    run(tmp_path, scenario)


def test_a_turn_goes_on_after_the_server_was_replaced(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as before:
            turn = await before.post("/v1/conversations/t/turns", {"text": "hello"}, key="m1", status=201)
            assert turn["reply"] is None
        async with served(tmp_path) as after:
            same = await after.post("/v1/conversations/t/turns", {"text": "hello"}, key="m1", status=201)
            assert same["id"] == turn["id"]
            [waiting] = (await after.get("/v1/conversations/t/turns"))["turns"]
            assert waiting["turn_id"] == turn["id"]
            await after.post(f"/v1/conversations/t/turns/{turn['id']}/finish", {"reply": "hi"})
            assert texts((await after.get("/v1/conversations/t/messages"))["messages"]) == [
                ("user", "hello"),
                ("assistant", "hi"),
            ]
            await after.get("/v1/conversations/t/turns/unknown", status=404)
            await after.post(f"/v1/conversations/other/turns/{turn['id']}/finish", {"reply": "hi"}, status=404)

    asyncio.run(scenario())


def test_a_reply_comes_as_events_with_its_tools(tmp_path: Path) -> None:
    asked = [ToolCall("c1", "remember", '{"content": "She drinks green tea"}')]

    async def scenario(it: Served) -> None:
        events = await read_events(it.app, "/v1/conversations/talk/replies", {"text": "I drink green tea"})
        kinds = [kind for kind, _ in events]
        assert kinds[:3] == ["turn", "call", "result"]
        assert (events[1][1]["name"], kinds[-1]) == ("remember", "end")
        assert "".join(data["text"] for kind, data in events if kind == "piece") == "Noted, thank you."
        assert events[-1][1] == {"turn_id": events[0][1]["turn_id"], "reply": "Noted, thank you.", "broken_off": None}
        whole = await it.post("/v1/conversations/talk/replies", {"text": "And now?"})
        assert whole["reply"] == "Tea."

    run(tmp_path, scenario, llm=model(asked, "Noted, thank you.", "Tea."))


def test_what_a_model_fails_at_is_an_event_and_the_turn_can_go_on(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        url = "/v1/conversations/talk/replies"
        events = await read_events(it.app, url, {"text": "hello"})
        kind, problem = events[-1]
        assert (kind, problem["code"], problem["status"]) == ("error", "ModelUnavailableError", 502)
        following = await read_events(it.app, url, {})
        assert (following[-1][0], following[-1][1]["reply"]) == ("end", "Hello.")
        assert following[-1][1]["turn_id"] == events[0][1]["turn_id"]
        assert len((await it.get("/v1/conversations/talk/messages"))["messages"]) == 2

    failing = [ModelUnavailableError("the model is away") for _ in range(2)]
    run(tmp_path, scenario, llm=model(*failing, "Hello."), llm_retries=1)


def test_a_client_that_goes_away_leaves_what_was_said_marked_as_broken_off(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        url = "/v1/conversations/talk/replies"
        asked = {"text": "count"}
        await read_events(it.app, url, asked, key="m1", until=lambda event: event[0] == "piece")
        _, reply = (await it.get("/v1/conversations/talk/messages"))["messages"]
        assert reply["content"]
        assert "one two three four five six seven".startswith(reply["content"])
        assert reply["broken_off"]
        assert (await it.get("/v1/conversations/talk/turns"))["turns"] == []
        turn = await it.post("/v1/conversations/talk/turns", {"text": "count"}, key="m1", status=201)
        assert (turn["reply"], turn["broken_off"]) == (reply["content"], reply["broken_off"])
        whole = await it.post(url, {"text": "count"}, key="m1")
        assert whole == {"turn_id": turn["id"], "reply": turn["reply"], "broken_off": turn["broken_off"]}
        assert (await read_events(it.app, url, asked, key="m1"))[-1] == ("end", whole)

    run(tmp_path, scenario, llm=model("one two three four five six seven"))


def test_without_a_model_the_caller_is_told_what_to_do(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        told = await it.post("/v1/conversations/talk/replies", {"text": "hello"}, status=409)
        assert told["code"] == "no_model"
        assert (await it.get("/v1/conversations/talk/messages"))["messages"] == []

    run(tmp_path, scenario)
