"""Fifty turns with a model server over HTTP and the real client: tools, faults, compactions, and nothing is lost."""

from collections.abc import Callable
from pathlib import Path

from jiyi.errors import ModelError
from jiyi.sync import AgentMemory
from jiyi.testing.model_server import ModelServer
from tests.agent.checks import check_conversation, check_flushes, check_prompts
from tests.agent.scripted_server import LIMIT, TURNS, script, user_text

OpenMemory = Callable[..., AgentMemory]
FAULTS = {5: "500", 11: "stream cut off", 20: "connection reset", 26: "not json", 33: "stream cut off", 40: "401"}


def test_fifty_turns_with_tools_and_faults_lose_nothing_and_stay_inside_the_budget(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    faults = dict(FAULTS)
    with ModelServer() as server:
        server.script(lambda request: script(request, faults))
        memory = open_memory(
            llm="openai-compatible", llm_base_url=server.base_url, llm_model="m", background_jobs=True, llm_retries=0
        )
        agent = memory.agent("s", token_limit=LIMIT, tools=["remember", "recall", "list"])
        failed = 0
        for number in range(TURNS):
            try:
                said = "".join(agent.reply(user_text(number)))
            except ModelError:
                failed += 1
                said = "".join(agent.reply())
            assert said.startswith(f"Answer number {number}.")
        asked = [request for request in server.requests if request.get("stream")]
        reply = agent.begin("one more").budget.reply
        memory.chat("s").pop_message()
        assert failed == len(FAULTS)
        assert not faults
        check_conversation(memory, TURNS)
        check_prompts(server.requests, reply)
        assert check_flushes(tmp_path / "data") >= 2
        memory.run_jobs()
        # What was said in turn 3 left the window long ago, and is in the prompt that asks for it.
        last = [request for request in asked if request["messages"][-1]["content"] == user_text(TURNS - 1)][-1]
        assert "penicillin" in str(last["messages"])
        assert "penicillin, please" not in "".join(str(message["content"]) for message in last["messages"][1:])
