"""Conversations: the saved history of sessions, chats inside a token limit, and what chats propose to remember."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from jiyi.errors import InvalidInputError
from jiyi.memory.base import MemoryBase
from jiyi.model import clock
from jiyi.model.message import Message, MessageLike, check_messages

if TYPE_CHECKING:
    from jiyi.chat import Chat
    from jiyi.chat.overrides import SummarizeFunction
    from jiyi.model.chat import Candidate, Erased


class Conversations(MemoryBase):
    """The methods for sessions and their messages."""

    async def save_conversation_history(
        self,
        session_id: str | None,
        messages: Sequence[MessageLike],
        *,
        created_at: datetime | None = None,
        scope: str | None = None,
    ) -> str:
        """Make `messages` the record of the session, in one transaction; returns the session id.

        `None` as id means today's date in the user's time zone. Messages that are new in it were said at `created_at`,
        at the time in their own `created_at`, `timestamp`, `create_time` or `date`, or now.
        """
        session = self._session(session_id)
        said_at = None if created_at is None else clock.require_aware(created_at, "created_at")
        checked = check_messages(messages)
        own = self._scope(scope)
        await self._write(
            self._store.save_history,
            own,
            session,
            checked,
            actor=self._settings.actor,
            recallable=self._settings.recall_messages,
            said_at=said_at,
        )
        self._written()
        return session

    async def load_conversation_history(
        self, session_id: str | None = None, *, scope: str | None = None
    ) -> Sequence[Message]:
        """The record of the session since its last reset, exactly as it was saved or put; empty when there is none."""
        return await self._run(self._store.load_history, self._scope(scope), self._session(session_id))

    async def list_sessions(self, *, scope: str | None = None) -> Sequence[str]:
        """Ids of the scope's sessions, the one last written to first."""
        return await self._run(self._store.sessions, self._scope(scope))

    async def forget_session(self, session_id: str, *, scope: str | None = None, facts: bool = False) -> Erased:
        """Delete a conversation permanently: messages, their index entries, summaries, candidates; returns a receipt.

        Facts that were made of it stay, and the receipt says how many; with `facts` those that were made of nothing
        else are deleted for good as well.
        """
        session = self._limits.check_session_id(session_id)
        own = self._scope(scope)
        receipt = await self._write(
            self._components.chats.forget_session, own, session, actor=self._settings.actor, facts=bool(facts)
        )
        self._written()
        return receipt

    async def forgotten_sessions(self, session_ids: Iterable[str], *, scope: str | None = None) -> set[str]:
        """Which of these sessions of the scope were deleted by `forget_session` and have no message now."""
        if isinstance(session_ids, str | bytes) or not isinstance(session_ids, Iterable):
            raise InvalidInputError(f"session_ids must be a list of ids, not {type(session_ids).__name__}")
        checked = [self._limits.check_session_id(each) for each in session_ids]
        found: set[str] = await self._run(self._components.chats.forgotten_sessions, self._scope(scope), checked)
        return found

    def chat(
        self,
        session_id: str | None = None,
        *,
        token_limit: int | None = None,
        scope: str | None = None,
        soft_threshold: float | None = None,
        reserve: int | None = None,
        summarize_prompt: str | None = None,
        summarizer: SummarizeFunction | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> Chat:
        """The conversation of a session, kept inside a token limit: `put`, `get`, `get_all`, `reset`, `compact`.

        `None` as id means today's date in the user's time zone; other arguments that are `None` come from the settings.
        An existing session continues. Its messages are those of `load_conversation_history`. `summarizer` is called
        with the previous summary, the messages that leave the window and the maximum of tokens, and returns the next
        summary; `count_tokens` counts the tokens of a text as your model does.
        """
        from jiyi.chat import Chat, ChatService, make_budget
        from jiyi.chat.overrides import with_overrides

        settings = self._settings
        limit = settings.token_limit if token_limit is None else token_limit
        if reserve is None and settings.reserve_tokens is not None and isinstance(limit, int):
            # The setting may have been chosen for a larger limit than the one given here.
            reserve = min(settings.reserve_tokens, limit // 2)
        budget = make_budget(limit, settings.soft_threshold if soft_threshold is None else soft_threshold, reserve)
        prompt = settings.summarize_prompt if summarize_prompt is None else self._limits.check_content(summarize_prompt)
        deps = self._chat_deps()
        if summarizer is not None or count_tokens is not None:
            deps = with_overrides(deps, summarizer, count_tokens)
        service = ChatService(deps, self._scope(scope), self._session(session_id), budget, prompt)
        return Chat(service, self._run, self._write, self._run_compaction, self._written, self._components.model)

    async def candidates(
        self,
        *,
        scope: str | None = None,
        session_id: str | None = None,
        state: str | None = "new",
        limit: int = 100,
    ) -> Sequence[Candidate]:
        """What compactions of the scope's chats propose to remember, oldest first; `None` as state means all."""
        from jiyi.chat import check_state

        session = None if session_id is None else self._limits.check_session_id(session_id)
        return await self._run(
            self._components.chats.candidates,
            self._scope(scope),
            session_id=session,
            state=check_state(state),
            limit=self._limits.check_limit(limit),
        )

    async def take_candidate(self, candidate_id: str, *, by: str | None = None, scope: str | None = None) -> bool:
        """Claim a new candidate; `False` when it does not exist or is settled. Only one of several callers gets it."""
        return await self._settle(candidate_id, "taken", by, scope)

    async def reject_candidate(self, candidate_id: str, *, by: str | None = None, scope: str | None = None) -> bool:
        """Reject a new candidate; `False` when it does not exist or is settled."""
        return await self._settle(candidate_id, "rejected", by, scope)

    async def _settle(self, candidate_id: str, state: str, by: str | None, scope: str | None) -> bool:
        checked = self._limits.check_id(candidate_id, "candidate_id")
        who = self._settings.actor if by is None else self._limits.check_id(by, "by")
        return await self._write(
            self._components.chats.settle_candidate, self._scope(scope), checked, state=state, by=who
        )
