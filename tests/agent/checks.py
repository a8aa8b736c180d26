"""What must hold of a conversation, whatever happened to the processes that led it."""

import json
from pathlib import Path
from typing import Any

from jiyi.model.message import Message
from jiyi.sync import AgentMemory
from jiyi.text.token_count import ESTIMATE, count_message, estimate_tokens
from tests.agent.scripted_server import LIMIT, user_text
from tests.support import database


def check_conversation(memory: AgentMemory, turns: int) -> None:
    """No message twice, none lost, every call with its result, and one reply for each question."""
    messages = memory.chat("s").get_all()
    assert [message.text for message in messages if message.role == "user"] == [user_text(n) for n in range(turns)]
    replies = [m for m in messages if m.role == "assistant" and not m.tool_calls]
    assert [reply.text.split(".")[0] for reply in replies] == [f"Answer number {n}" for n in range(turns)]
    assert len({reply.extra["turn"] for reply in replies}) == turns
    called = [call["id"] for message in messages for call in message.tool_calls or ()]
    answered = [message.tool_call_id for message in messages if message.role == "tool"]
    assert answered == called
    assert memory.agent("s").unfinished() == []


def check_flushes(folder: Path) -> int:
    """Nothing went under a summary before it was searched for candidates; how many summaries there are."""
    with database(folder) as connection:
        flushes = connection.execute(
            "SELECT last_position, created_at FROM chat_flushes WHERE session_id = 's'"
        ).fetchall()
        summaries = connection.execute(
            "SELECT last_position, created_at FROM chat_summaries WHERE session_id = 's'"
        ).fetchall()
    for last, made_at in summaries:
        assert any(end >= last and flushed_at <= made_at for end, flushed_at in flushes)
    return len(summaries)


def check_prompts(requests: list[dict[str, Any]], reply: int) -> None:
    """No prompt exceeds the budget, as we count it."""
    for request in requests:
        if not request.get("stream"):
            continue
        tools = json.dumps(request["tools"], ensure_ascii=False) if request.get("tools") else ""
        sent = sum(count_message(Message.from_dict(message), ESTIMATE) for message in request["messages"])
        assert sent + estimate_tokens(tools) <= LIMIT - reply
