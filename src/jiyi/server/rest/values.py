"""What requests and answers look like. Bounds are checked by the memory, which says what is wrong with a value."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Body(BaseModel):
    """Unknown fields are refused: a misspelt one would be ignored otherwise."""

    model_config = ConfigDict(extra="forbid")


class EntryFields(Body):
    """The fields of an entry that callers set."""

    category: str | None = None
    tags: list[str] | None = None
    importance: float | None = None
    memory_type: str | None = None
    domain: str | None = None
    conversation_id: str | None = None
    occurred_at: datetime | None = None
    metadata: dict[str, Any] | None = None
    namespace: list[str] | None = None
    expires_at: datetime | None = None

    def given(self) -> dict[str, Any]:
        """The fields that stand in the request."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class NewEntry(EntryFields):
    """An entry to be stored: under its key, or without one."""

    content: str = Field(examples=["She drinks green tea"])
    key: str | None = None


class ChangedEntry(EntryFields):
    """What is different from now on; the rest stays."""

    content: str | None = None


class Question(Body):
    """A question to the memory."""

    query: str = Field(examples=["What does she drink?"])
    limit: int = 10
    mode: str = "hybrid"
    category: list[str] | None = None
    memory_types: list[str] | None = None
    domains: list[str] | None = None
    tags: list[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    where: dict[str, Any] | None = None
    namespace: list[str] | None = None
    context: int = 0
    highlights: bool = False
    min_relevance: float = 0.0
    duplicates: bool = False


class Messages(Body):
    """Messages of a conversation, as OpenAI-style APIs have them."""

    messages: list[dict[str, Any]] = Field(examples=[[{"role": "user", "content": "I drink green tea"}]])


class Round(Body):
    """One exchange that is looked through for facts worth keeping, in the background."""

    conversation_id: str
    user: str
    assistant: str = ""


class NoteEntry(Body):
    """A line for today's note."""

    text: str


class Used(Body):
    """Memories that an answer has used, by id or key."""

    useful: list[str]
