"""What the agents of a memory are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Final

from jiyi.errors import InvalidInputError
from jiyi.model.limits import check_whole
from jiyi.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from jiyi.chat import Chat
    from jiyi.execution import Run
    from jiyi.longterm.api import Longterm
    from jiyi.longterm.dependencies import LongtermDeps
    from jiyi.model.entry import MemoryEntry
    from jiyi.notes import Notes
    from jiyi.ports import ChatModel, TokenCounter
    from jiyi.tools import BoundTools

MAX_ROUNDS: Final = 8
_MIN_TOKENS: Final = 500


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How an agent behaves."""

    token_limit: int
    profile_tokens: int
    """How many tokens the profile of the user may have; 0 means none."""
    instructions: str | None = None
    """Replaces our own."""
    reply_tokens: int = 0
    """Kept free for the reply; 0 means an eighth of the limit, at most 4,096."""
    tool_names: tuple[str, ...] | None = None
    """Only these tools; `None` means all."""
    own_tools: Toolbox | None = None
    """Tools of the program, offered besides."""
    max_rounds: int = MAX_ROUNDS
    """How often the model may ask for tools before it has to answer."""
    extract: bool = True
    """Whether finished rounds are looked through for facts."""

    @property
    def reply(self) -> int:
        """The tokens that are kept free for the reply."""
        return self.reply_tokens or min(4_096, self.token_limit // 8)


def check_options(
    *,
    instructions: object,
    token_limit: object,
    reply_tokens: object,
    tools: object,
    own_tools: BoundTools | None,
    profile_tokens: int,
    max_rounds: object,
    extract: object,
) -> AgentOptions:
    """The caller's options, checked."""
    if instructions is not None and (not isinstance(instructions, str) or not instructions.strip()):
        raise InvalidInputError("instructions must be a text that is not empty, or None for the usual ones")
    limit = check_whole(token_limit, "token_limit", _MIN_TOKENS, 1 << 40)
    if tools is not None and (isinstance(tools, str) or not isinstance(tools, Iterable)):
        raise InvalidInputError(f"tools must be names of tools, or None for all, not {type(tools).__name__}")
    return AgentOptions(
        instructions=instructions,
        token_limit=limit,
        reply_tokens=0 if reply_tokens is None else check_whole(reply_tokens, "reply_tokens", 1, limit // 2),
        tool_names=None if tools is None else tuple(tools),
        own_tools=None if own_tools is None else Toolbox(own_tools),
        profile_tokens=profile_tokens,
        max_rounds=check_whole(max_rounds, "max_rounds", 0, 1_000),
        extract=bool(extract),
    )


@dataclass(frozen=True, slots=True)
class AgentDeps:
    """The rooms and the services that a turn uses, bound to one session."""

    scope: str
    session_id: str
    kind: str
    chat: Chat
    notes: Notes | None
    """`None` when there is no workspace, or it belongs to another scope."""
    longterm: Longterm
    stores: LongtermDeps
    """What the long-term room is made of: facts and chats, the clock, the analyzer, who acts."""
    recall: Callable[..., Any]
    """`AgentMemory.recall`."""
    feedback: Callable[..., Any]
    """`memory.runtime.feedback`."""
    noted: Callable[[str, Sequence[MemoryEntry]], None]
    """Notes for a scope that memories were put before a model."""
    toolbox: Callable[[Callable[[MemoryEntry], bool] | None], Toolbox]
    """Makes the tools; the argument says which memories the model sees already."""
    model: ChatModel | None
    counter: TokenCounter
    run: Run
    write: Run
    """One write."""
    run_model: Run
    written: Callable[[], None]
    queued: Callable[[], None]
    used: Callable[[str, str], None]
    """Told that something was said in a session (scope, id), so that it is flushed when it has been idle."""
    zone: tzinfo
    retries: int
    simple: bool
    """Simple mode: recall by tags, no long-term block."""
