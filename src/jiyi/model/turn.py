"""What a turn of an agent says about itself: its budget of tokens, how it ended, and what was broken off."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class BudgetPart:
    """One part of a prompt."""

    name: str
    """`instructions`, `tools`, `notes`, `profile`, `long-term`, `recalled` or `conversation`."""
    tokens: int
    limit: int
    """How many it may have."""
    detail: str = ""
    """What it consists of, or why it is empty."""


@dataclass(frozen=True, slots=True)
class TurnBudget:
    """How the tokens of one turn are shared out."""

    limit: int
    """Prompt and reply together never have more."""
    reply: int
    """Kept free for the reply."""
    parts: tuple[BudgetPart, ...]
    problems: tuple[str, ...] = ()
    """What is missing in the prompt and why; empty as a rule."""

    @property
    def tokens(self) -> int:
        """Of the whole prompt, the definitions of tools included."""
        return sum(part.tokens for part in self.parts)

    @property
    def free(self) -> int:
        """What is left beside the reply; negative if the newest message alone is too large."""
        return self.limit - self.reply - self.tokens

    def explain(self) -> str:
        """The shares in words, one line for each part."""
        lines = [f"{self.tokens:,} of {self.limit - self.reply:,} tokens ({self.reply:,} more are kept for the reply)"]
        width = max((len(part.name) for part in self.parts), default=0)
        lines += [
            f"  {part.name:<{width}}  {part.tokens:>6,} of {part.limit:,}" + (f"  {part.detail}" if part.detail else "")
            for part in self.parts
        ]
        return "\n".join([*lines, *(f"  missing: {problem}" for problem in self.problems)])

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {**asdict(self), "parts": [asdict(part) for part in self.parts], "tokens": self.tokens}


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory that went into a prompt."""

    id: str
    content: str
    part: str
    """`long-term`, `recalled`, or `profile`: that one stands in every prompt, whatever is asked."""
    score: float | None
    source: str = ""
    """Where it comes from, such as `MEMORY.md:3-4` or a session."""
    corrected_by: tuple[str, ...] = ()
    """Of a message of which a fact was corrected: the texts of the facts that hold now."""


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    """What `finish` did."""

    turn_id: str
    message_id: str
    """The id of the stored reply."""
    job_id: str | None
    """The job that looks through the round for facts; `None` when that is off."""
    used: tuple[str, ...] = ()
    """Ids of the memories that were counted as used."""


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """Something that happens while a turn is answered."""

    kind: Literal["turn", "piece", "call", "result", "broken_off"]
    """The turn has begun, a piece of the reply came, a tool is called, its result is stored.
    `broken_off` is the last event of a request that was made before: the stored reply is only a part of one."""
    text: str = ""
    """The id of the turn, the piece, the arguments as JSON, the result, or why the reply was broken off."""
    name: str = ""
    """The tool."""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class UnfinishedTurn:
    """A turn that has no reply: it is under way, or its process has ended in the middle."""

    turn_id: str
    text: str
    """What the user said."""
    begun_at: datetime | None
    calls: int
    """How many tool calls are on disk."""
    request_id: str | None = None
