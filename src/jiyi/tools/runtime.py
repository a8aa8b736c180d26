"""The tools of the runtime: `core_memory_remember` and `core_memory_recall`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.tools.tool import Tool
from jiyi.tools.toolbox import Toolbox

_DEFAULT_TYPE: Final = "fact"
_DEFAULT_LIMIT: Final = 10
_MAX_LIMIT: Final = 50

CORE_MEMORY_REMEMBER: Final = Tool(
    "core_memory_remember",
    "Keep something worth knowing later: a fact, preference, event or skill. "
    "State one judgment, say why you hold it, and give the words by which it shall be found again.",
    {
        "judgment": {"type": "string", "minLength": 1, "description": "What is to be remembered, in one sentence."},
        "reasoning": {"type": "string", "description": "Why you believe it, or where it comes from."},
        "tags": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "description": (
                "Names and topics as people say them, such as 小明, 火锅, budget. "
                "The memory comes back when one of them is mentioned."
            ),
        },
        "memory_type": {
            "type": "string",
            "description": "One word for its kind, such as fact, preference, event, skill.",
            "default": _DEFAULT_TYPE,
        },
        "strength": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "default": 1,
            "description": "How strong the memory is at first; stronger ones fade later.",
        },
    },
    ("judgment", "tags"),
)
CORE_MEMORY_RECALL: Final = Tool(
    "core_memory_recall",
    "Look up what is remembered about what is being talked about.",
    {
        "query": {
            "type": "string",
            "minLength": 1,
            "description": "A question, or the latest part of the conversation.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": _MAX_LIMIT,
            "default": _DEFAULT_LIMIT,
            "description": "How many memories at most.",
        },
    },
    ("query",),
)


class RecalledMemory(Protocol):
    """What the tools show of a memory."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def memory_type(self) -> str:
        """What kind of memory it is."""
        ...

    @property
    def score(self) -> float | None:
        """How relevant it is to the question."""
        ...

    @property
    def judgment(self) -> str:
        """What is remembered."""
        ...

    @property
    def reasoning(self) -> str:
        """Why it is believed."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """The words it is found by."""
        ...

    @property
    def strength(self) -> int:
        """How strong it is."""
        ...

    @property
    def created_at(self) -> datetime:
        """When it was stored."""
        ...


class RuntimeCalls(Protocol):
    """What the tools call: `memory.runtime`."""

    async def remember(
        self,
        memory_type: str,
        judgment: str,
        reasoning: str = "",
        tags: Iterable[str] = (),
        *,
        strength: int = 1,
        memory_scope: str | None = None,
    ) -> str:
        """Store a memory."""
        ...

    async def recall(self, query: str, limit: int = 10, *, memory_scope: str | None = None) -> Sequence[RecalledMemory]:
        """Find memories."""
        ...


def runtime_tools(runtime: RuntimeCalls, memory_scope: str | None = None) -> Toolbox:
    """The tools for this runtime and this scope; `None` is the scope the memory was opened with."""

    async def remember(given: dict[str, Any]) -> dict[str, Any]:
        memory_id = await runtime.remember(
            given.get("memory_type", _DEFAULT_TYPE),
            given["judgment"],
            given.get("reasoning", ""),
            given["tags"],
            strength=given.get("strength", 1),
            memory_scope=memory_scope,
        )
        return {"memory_id": memory_id}

    async def recall(given: dict[str, Any]) -> dict[str, Any]:
        limit = given.get("limit", _DEFAULT_LIMIT)
        found = await runtime.recall(given["query"], limit, memory_scope=memory_scope)
        # What does not fit is kept from the model; a runtime without relevance leaves it out.
        return {
            "memories": [_shown(memory) for memory in found if memory.score is None or memory.score >= MIN_RELEVANCE]
        }

    return Toolbox([(CORE_MEMORY_REMEMBER, remember), (CORE_MEMORY_RECALL, recall)])


def _shown(memory: RecalledMemory) -> dict[str, Any]:
    return {
        "memory_id": memory.id,
        "memory_type": memory.memory_type,
        "judgment": memory.judgment,
        "reasoning": memory.reasoning,
        "tags": list(memory.tags),
        "strength": memory.strength,
        "created_at": memory.created_at.isoformat(timespec="minutes"),
    }
