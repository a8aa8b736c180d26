"""A fake model for the long-term room: it recognises each task by its schema and answers it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jiyi.prompts.longterm import COMPRESS_SCHEMA, EXTRACT_SCHEMA, REFLECT_SCHEMA, ROUTE_SCHEMA
from jiyi.testing.models import ModelCall, ScriptedModel


def task_of(call: ModelCall) -> str:
    names = {
        "scorer": EXTRACT_SCHEMA,
        "router": ROUTE_SCHEMA,
        "reflection": REFLECT_SCHEMA,
        "compression": COMPRESS_SCHEMA,
    }
    return next(task for task, schema in names.items() if call.schema == schema)


def data_of(call: ModelCall) -> dict[str, Any]:
    """What the model was given to look at."""
    data = json.loads(call.messages[-1].text)
    assert isinstance(data, dict)
    return data


def fact(
    text: str, score: float = 0.9, domain: str = "user_preferences", corrects: int | None = None
) -> dict[str, Any]:
    return {"importance_score": score, "extracted_fact": text, "domain": domain, "corrects": corrects}


def scored(*facts: Mapping[str, Any]) -> str:
    return json.dumps({"memories": list(facts)}, ensure_ascii=False)


def model(
    score: Callable[[dict[str, Any]], Sequence[Mapping[str, Any]]] | None = None,
    domains: Sequence[str] = ("user_preferences",),
    name: str = "fake",
) -> ScriptedModel:
    """Scores by a function of the round; by default the user's words are one fact."""

    def answer(call: ModelCall) -> str:
        data = data_of(call)
        match task_of(call):
            case "scorer":
                found = score(data) if score is not None else [fact(data["user"])]
                return scored(*found)
            case "router":
                return json.dumps({"domains": list(domains)})
            case "reflection":
                return json.dumps({"reflection": "总结：" + "；".join(data["facts"])}, ensure_ascii=False)
            case _:
                return json.dumps({"summary": "; ".join(data["memories"])}, ensure_ascii=False)

    return ScriptedModel(answer, name=name)
