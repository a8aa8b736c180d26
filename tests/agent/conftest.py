"""A memory with a scripted model, and an agent in it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jiyi.ports import ToolCall
from jiyi.sync import Agent, AgentMemory
from jiyi.testing.models import ModelCall, ScriptedModel

OpenMemory = Callable[..., AgentMemory]
Answer = str | Exception | Sequence[ToolCall]


def call(name: str, _id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(_id, name, json.dumps(arguments, ensure_ascii=False))


def structured(asked: ModelCall) -> str:
    """What a model answers that is asked for JSON, wherever that comes from: nothing is worth keeping."""
    required = set((asked.schema or {}).get("required", ()))
    values: dict[str, Any] = {
        "domains": ["user_preferences"],
        "candidates": [],
        "importance_score": 0.0,
        "extracted_fact": "",
        "domain": "general_chat",
        "facts": [],
    }
    return json.dumps({name: value for name, value in values.items() if name in required})


@dataclass
class Talk:
    """A model with answers, and everything that it was asked as an assistant."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[ModelCall] = field(default_factory=list)
    summary: str = "They talked."

    def model(self) -> ScriptedModel:
        return ScriptedModel(self._answer)

    def _answer(self, asked: ModelCall) -> Any:
        if asked.schema is not None:
            return structured(asked)
        if not asked.streamed:
            return self.summary
        self.asked.append(asked)
        return self.answers.pop(0) if self.answers else "ok"


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def agent(open_memory: OpenMemory, talk: Talk) -> Agent:
    return open_memory(llm=talk.model()).agent("s")
