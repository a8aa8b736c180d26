"""The examples run as they stand, with a model server over HTTP."""

import io
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from openai import OpenAI

from jiyi.sync import AgentMemory
from jiyi.testing.model_server import ModelServer
from tests.agent.scripted_server import script
from tests.support import QUICK

EXAMPLES = Path(__file__).parents[1] / "examples"
MAX_LINES = {"assistant": 30, "tool_calling_agent": 40, "service": 65}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.script(_answer)
        yield server


def _answer(request: dict[str, Any]) -> Any:
    if "response_format" in request:
        return script(request)
    last = request["messages"][-1]
    if last["role"] == "user" and "weather" in str(last["content"]):
        return [("weather", {"city": "Hamburg"}), ("remember", {"content": "The user asked about the weather"})]
    if last["role"] == "user":
        return f"You said: {last['content']}"
    return "It is sunny."


@pytest.fixture(autouse=True)
def _offline_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIYI_EMBEDDER", "none")
    monkeypatch.setenv("JIYI_LLM_RETRIES", "0")


@pytest.mark.parametrize("name", sorted(MAX_LINES))
def test_an_example_is_as_short_as_it_promises(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text("utf-8").splitlines()) <= MAX_LINES[name]


def test_the_assistant_answers_and_goes_on_the_next_day(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(EXAMPLES / "assistant.py"))["main"]
    for line in ("I am allergic to penicillin\n\n", "hello\n"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(line))
        main(server.base_url, "m", str(tmp_path))
    assert capsys.readouterr().out == "You said: I am allergic to penicillin\nYou said: hello\n"
    [*_, last] = [request for request in server.requests if request.get("stream")]
    assert "I am allergic to penicillin" in str(last["messages"])


def test_the_agent_calls_its_own_tool_and_those_of_the_memory(server: ModelServer, tmp_path: Path) -> None:
    ask = runpy.run_path(str(EXAMPLES / "tool_calling_agent.py"))["ask"]
    with AgentMemory.open(tmp_path, **QUICK) as memory:
        client = OpenAI(base_url=server.base_url, api_key="none", max_retries=0)
        assert ask(memory, client, "m", "What is the weather in Hamburg?") == "It is sunny."
        results = [message.text for message in memory.chat("demo").get_all() if message.role == "tool"]
        assert results[0] == "It is sunny in Hamburg."
        assert "The user asked about the weather" in [entry.content for entry in memory.list()]
        client.close()


def test_the_service_keeps_its_users_apart_and_answers_a_message_once(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_URL", server.base_url)
    monkeypatch.setenv("MODEL", "m")
    monkeypatch.setenv("DATA", str(tmp_path))
    app = runpy.run_path(str(EXAMPLES / "service.py"))["app"]
    alice, bob = ({"Authorization": f"Bearer key-of-{name}"} for name in ("alice", "bob"))
    with TestClient(app) as client:
        said = {"text": "my code is 4711", "request_id": "1"}
        for _ in range(2):
            answer = client.post("/sessions/s/messages", json=said, headers=alice)
            assert answer.text == "You said: my code is 4711"
        assert client.post("/sessions/s/messages", json={"text": "hello"}, headers=bob).text == "You said: hello"
        asked = [request for request in server.requests if request.get("stream")]
        assert len(asked) == 2
        assert "4711" not in str(asked[-1])
        assert client.get("/memories", headers=bob).json() == []
        assert client.delete("/sessions/s", headers=alice).json() == {"candidates": 0}
        assert client.get("/memories", headers={"Authorization": "Bearer stolen"}).status_code == 401
