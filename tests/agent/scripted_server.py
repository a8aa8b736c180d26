"""A model server with a script, over real HTTP: it talks, asks for tools, keeps facts, and fails."""

import json
import re
from typing import Any

ALLERGY = "I am allergic to penicillin, please remember that."
TURNS = 50
LIMIT = 5_000


def user_text(number: int) -> str:
    if number == 3:
        return ALLERGY
    if number == TURNS - 1:
        return "What was I allergic to?"
    return f"Message number {number}: tell me something about topic {number}. " + "There is more to say. " * 10


def script(request: dict[str, Any], faults: dict[int, str] | None = None) -> Any:
    """The answer to a request: to the assistant, or to one of the tasks of the memory."""
    if "response_format" in request:
        return _task(request)
    said = [message for message in request["messages"] if message["role"] == "user"]
    if not request.get("stream"):
        return "They talked about many topics."
    text = said[-1]["content"]
    numbers = re.findall(r"Message number (\d+)", text)
    number = int(numbers[-1]) if numbers else (3 if text == ALLERGY else TURNS - 1)
    last = request["messages"][-1]
    if last["role"] == "user" and "tools" in request and number % 3 == 0:
        return [("remember", {"content": f"topic {number} was asked for"}), ("recall", {"query": text, "limit": "3"})]
    if last["role"] == "user" and "tools" in request and number % 7 == 0:
        return [("no_such_tool", "{"), ("list", None)]
    if faults and (fault := faults.pop(number, None)) is not None:
        return {"fail": fault}
    return f"Answer number {number}. " + "That is all that is known. " * 10


def _task(request: dict[str, Any]) -> str:
    asked = request["response_format"].get("json_schema", {}).get("schema", {})
    required = set(asked.get("required", ()))
    if "domains" in required:
        return json.dumps({"domains": ["user_preferences"]})
    if "candidates" in required:
        return json.dumps({"candidates": []})
    if "memories" in required:
        told = json.dumps(request["messages"][-1], ensure_ascii=False)
        fact = {"importance_score": 0.9, "extracted_fact": "The user is allergic to penicillin", "corrects": None}
        found = [{**fact, "domain": "user_preferences"}] if "allergic to penicillin, please" in told else []
        return json.dumps({"memories": found})
    return json.dumps(dict.fromkeys(required, "a summary"))
