"""What requests look like. What a schema cannot say is checked by the memory, which says what is wrong with a value."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from jiyi.model.forgetting_curve import BASE_RETENTION, DEFAULT_THRESHOLD, STRENGTHENING_FACTOR
from jiyi.model.limits import MAX_POSITION, Limits
from jiyi.model.reflection import REFLECTION_COOLDOWN_HOURS, REFLECTION_THRESHOLD
from jiyi.model.scoring import ALPHA, BETA, DECAY_RATE, GAMMA
from jiyi.recall.request import Mode

_LIMITS = Limits()
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d")
MAX_BATCH = 2_000
"""Entries of one request: as many as one transaction takes."""

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=_LIMITS.max_key_characters)]
Tags: TypeAlias = Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=_LIMITS.max_tags)]


def _whole(value: object) -> object:
    """In JSON 5.0 is a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_WHOLE = BeforeValidator(_whole)
# Strict: the text "5" is no number, and 1 is not "true"; the schema says so.
Flag: TypeAlias = Annotated[bool, Field(strict=True)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=_LIMITS.max_results, strict=True), _WHOLE]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1, strict=True)]
Weight: TypeAlias = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]
DecayRate: TypeAlias = Annotated[float, Field(gt=0, le=1, strict=True)]
Ids: TypeAlias = Annotated[list[Name], Field(max_length=_LIMITS.max_results)]


def _time_text(value: object) -> object:
    """A time has to be written as one: a bare number could mean seconds or milliseconds."""
    if isinstance(value, str) and not _TIME.match(value):
        raise ValueError("a time such as 2026-11-16T09:30:00Z is needed")
    if not isinstance(value, str | datetime | None):
        raise ValueError("a time as text is needed, such as 2026-11-16T09:30:00Z")  # noqa: TRY004 - a refusal, no crash
    return value


Time: TypeAlias = Annotated[
    datetime, BeforeValidator(_time_text), Field(description="With its offset from UTC: 2026-11-16T09:30:00Z")
]


def example(value: dict[str, Any]) -> ConfigDict:
    """Unknown fields are refused: a misspelt one would be ignored otherwise."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [value]})


class Body(BaseModel):
    """The body of a request."""

    def given(self) -> dict[str, Any]:
        """The fields that stand in the request."""
        return {name: getattr(self, name) for name in self.model_fields_set}


# --- entries --------------------------------------------------------------------------------------------------------


class EntryFields(Body):
    """The fields of an entry that callers set."""

    category: Text | None = None
    tags: Tags | None = None
    importance: Share | None = None
    memory_type: Text | None = None
    domain: Text | None = None
    conversation_id: Name | None = None
    occurred_at: Time | None = None
    position: Annotated[int, Field(ge=0, le=MAX_POSITION, strict=True), _WHOLE] | None = None
    metadata: dict[str, Any] | None = None
    namespace: list[Text] | None = None
    expires_at: Time | None = None


class NewEntry(EntryFields):
    """An entry to be stored: under its key, where a later one replaces it, or without one."""

    model_config = example({"key": "tea", "content": "She drinks green tea", "tags": ["tea"], "importance": 0.6})

    content: Text
    key: Name | None = None


class NewEntries(Body):
    """Entries to be stored together, each under a key: all of them or none."""

    model_config = example({"entries": [{"key": "tea", "content": "She drinks green tea"}]})

    entries: Annotated[list[NewEntry], Field(min_length=1, max_length=MAX_BATCH)]


class ChangedEntry(EntryFields):
    """What is different from now on; the rest stays."""

    model_config = example({"content": "She drinks black tea", "clear": ["expires_at"]})

    content: Text | None = None
    clear: Annotated[list[Text], Field(max_length=20)] | None = None


class Conditions(Body):
    """Which entries are meant: those that meet all conditions."""

    category: list[Text] | None = None
    memory_types: list[Text] | None = None
    domains: list[Text] | None = None
    tags: Tags | None = None
    conversation_id: Name | None = None
    key_prefix: Name | None = None
    namespace: list[Text] | None = None
    since: Time | None = None
    until: Time | None = None
    where: dict[str, Any] | None = None


class ForgetRequest(Conditions):
    """Which entries of the scope shall be forgotten; `erase` deletes their texts for good, a dry run only counts."""

    model_config = example({"tags": ["draft"], "dry_run": True})

    erase: Flag = False
    dry_run: Flag = False


class Question(Body):
    """A question to the memory."""

    model_config = example({"query": "What does she drink?", "limit": 5})

    query: Text
    limit: Count = 10
    mode: Mode = "hybrid"
    category: list[Text] | None = None
    memory_types: list[Text] | None = None
    domains: list[Text] | None = None
    tags: Tags | None = None
    since: Time | None = None
    until: Time | None = None
    where: dict[str, Any] | None = None
    namespace: list[Text] | None = None
    weights: Annotated[list[Weight], Field(min_length=3, max_length=3, description="α, β, γ")] | None = None
    decay_rate: DecayRate = DECAY_RATE
    now: Time | None = None
    context: Annotated[int, Field(ge=0, le=50, strict=True), _WHOLE] = 0
    highlights: Flag = False
    min_relevance: Share = 0.0
    duplicates: Flag = False
    time_zone: Text | None = None


# --- conversations and turns ----------------------------------------------------------------------------------------


class Messages(Body):
    """Messages of a conversation, as OpenAI-style APIs have them."""

    model_config = example({"messages": [{"role": "user", "content": "I drink green tea"}]})

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1_000)]


class TurnStart(Body):
    """What the user says: a turn begins with it."""

    model_config = example({"text": "What do I drink in the morning?"})

    text: Text
    name: Text | None = None
    instructions: str | None = None
    token_limit: Annotated[int, Field(ge=1_000, le=2_000_000, strict=True), _WHOLE] | None = None
    tools: list[Text] | None = None
    extract: Flag = True
    time_zone: Text | None = None


class ReplyRequest(TurnStart):
    """What the user says; without a text the newest open turn goes on."""

    model_config = example({"text": "What do I drink in the morning?"})

    text: Text | None = None  # type: ignore[assignment] # optional here


class ToolCalls(Body):
    """The calls of one message of the model, in the form in which its client gives them."""

    model_config = example(
        {"calls": [{"id": "call_1", "function": {"name": "recall", "arguments": '{"query": "drinks"}'}}], "text": ""}
    )

    calls: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=50)]
    text: str = ""


class Reply(Body):
    """The reply of the model, and the memories that it is based on."""

    model_config = example({"reply": "Green tea.", "used": None})

    reply: Text
    used: Ids | None = None


class TurnBreakOff(Body):
    """What there is of a reply that will not be finished, and why."""

    model_config = example({"partial": "Green", "reason": "stopped by the user"})

    partial: str = ""
    reason: Annotated[str, Field(max_length=500)] = ""


class CandidateChoice(Body):
    """Whether a candidate is taken or rejected."""

    model_config = example({"choice": "take"})

    choice: Literal["take", "reject"]


# --- long-term ------------------------------------------------------------------------------------------------------


class Round(Body):
    """One exchange that is looked through for facts worth keeping, in the background."""

    model_config = example({"conversation_id": "2026-11-16", "user": "My sister lives in Oslo", "assistant": "Noted."})

    conversation_id: Name
    user: Text
    assistant: str = ""


class FactQuestion(Body):
    """A question to the long-term room: α·relevance + β·decay + γ·importance."""

    model_config = example({"query": "Where does my sister live?", "limit": 5})

    query: Text
    limit: Count = 10
    alpha: Share = ALPHA
    beta: Share = BETA
    gamma: Share = GAMMA
    decay_rate: DecayRate = DECAY_RATE
    candidates: Annotated[int, Field(ge=1, le=1_000, strict=True), _WHOLE] = 50
    domains: list[Text] | None = None
    as_of: Time | None = None
    fused: Flag = False
    touch: Flag = True
    time_zone: Text | None = None


class PromptQuestion(Body):
    """A question whose answer is a block for a prompt."""

    model_config = example({"query": "Where does my sister live?", "token_budget": 500})

    query: Text
    token_budget: Annotated[int, Field(ge=1, le=100_000, strict=True), _WHOLE] = 1_000
    limit: Count = 10
    time_zone: Text | None = None


class UsedMemories(Body):
    """Memories that an answer has used, by id or key."""

    model_config = example({"useful": ["0199f3a2-0000-7000-8000-000000000001"]})

    useful: Ids


class ConflictResolution(Body):
    """Which of two facts holds, by their ids."""

    model_config = example(
        {
            "newer": "0199f3a2-0000-7000-8000-000000000002",
            "older": "0199f3a2-0000-7000-8000-000000000001",
            "keep": "newer",
        }
    )

    newer: Name
    older: Name
    keep: Literal["newer", "older", "both"] = "newer"


class ReflectionRequest(Body):
    """When to reflect: how much the new facts must matter, and how long ago the last reflection must be."""

    model_config = example({"importance_threshold": 4.0})

    conversation_id: Name | None = None
    importance_threshold: Annotated[float, Field(ge=0, le=1_000, strict=True)] = REFLECTION_THRESHOLD
    cooldown_hours: Annotated[float, Field(ge=0, le=100_000, strict=True)] = REFLECTION_COOLDOWN_HOURS


class Curve(Body):
    """The curve of forgetting, and what is below the threshold."""

    model_config = example({"threshold": 0.1})

    base_retention: Annotated[float, Field(gt=0, le=1, strict=True)] = BASE_RETENTION
    strengthening_factor: Annotated[float, Field(ge=1, le=100, strict=True)] = STRENGTHENING_FACTOR
    threshold: Share = DEFAULT_THRESHOLD
    exclude_memory_types: list[Text] = ["reflection"]


class RestoreRequest(Body):
    """Memories to bring back, by id or key; without names all that the curve has taken."""

    model_config = example({"memories": ["0199f3a2-0000-7000-8000-000000000001"]})

    memories: Ids | None = None


class PinRequest(Body):
    """Whether a memory is kept from being forgotten, corrected or summarised."""

    model_config = example({"pinned": True})

    pinned: Flag


# --- notes ----------------------------------------------------------------------------------------------------------


class NoteEntry(Body):
    """A line for today's note."""

    model_config = example({"text": "The dentist moved to Friday"})

    text: Text


class NoteQuestion(Body):
    """A question to the notes."""

    model_config = example({"query": "When is the dentist?", "limit": 5})

    query: Text
    limit: Count = 10
    path: Text | None = None
    since: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")] | None = None
    until: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")] | None = None
    mode: Literal["hybrid", "keyword", "semantic"] = "hybrid"


class Curation(Body):
    """From the notes of how many days an edit of MEMORY.md shall be proposed."""

    model_config = example({"days": 7})

    days: Annotated[int, Field(ge=1, le=365, strict=True), _WHOLE] = 7


_Number: TypeAlias = Annotated[int, Field(ge=1, le=100_000, strict=True), _WHOLE]


class Items(Body):
    """The items of a proposal, by number; without numbers all of them."""

    model_config = example({"items": [1, 3]})

    items: Annotated[list[_Number], Field(min_length=1, max_length=1_000)] | None = None


# --- runtime --------------------------------------------------------------------------------------------------------


class Judgment(Body):
    """A judgment to remember, why, and the tags by which it is found."""

    model_config = example(
        {"memory_type": "preference", "judgment": "Likes short answers", "reasoning": "Said so", "tags": ["style"]}
    )

    memory_type: Text
    judgment: Text
    reasoning: str = ""
    tags: Tags = []
    strength: Annotated[int, Field(ge=1, le=1_000, strict=True), _WHOLE] = 1
    is_active: Flag = True


class ChangedJudgment(Body):
    """What is different from now on; the rest stays."""

    model_config = example({"judgment": "Likes very short answers"})

    judgment: Text | None = None
    reasoning: str | None = None
    tags: Tags | None = None
    strength: Annotated[int, Field(ge=1, le=1_000, strict=True), _WHOLE] | None = None


class RuntimeQuestion(Body):
    """A question to the runtime: plain, with a fair share for every type, or one step further by links."""

    model_config = example({"query": "How long should answers be?", "limit": 5})

    query: Text
    limit: Count = 10
    how: Literal["plain", "comprehensive", "chained"] = "plain"
    memory_types: list[Text] | None = None
    min_relevance: Share = 0.0
    time_zone: Text | None = None
    touch: Flag = True


class Feedback(Body):
    """What was useful, what was recalled for nothing, what is new, and what is the same."""

    model_config = example({"useful_memory_ids": ["0199f3a2-0000-7000-8000-000000000001"], "recalled_memory_ids": []})

    useful_memory_ids: Ids = []
    recalled_memory_ids: Ids = []
    new_memories: Annotated[list[Judgment], Field(max_length=500)] = []
    merge_groups: Annotated[list[Ids | dict[str, Any]], Field(max_length=500)] = []


class Consolidation(Body):
    """A consolidation of the scope; a dry run, which is the default, changes nothing and tells the same."""

    model_config = example({"dry_run": True})

    dry_run: Flag = True


class Maintenance(Body):
    """The regular maintenance; a dry run changes nothing."""

    model_config = example({"dry_run": True})

    dry_run: Flag = False
