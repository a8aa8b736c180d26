"""Agent: the loop of an assistant in one session, as callers see it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Self

from jiyi.agent.dependencies import AgentDeps, AgentOptions
from jiyi.agent.loop import run_turn
from jiyi.agent.progress import ABANDONED, BROKEN_OFF, REQUEST, TURN, TurnProgress, turns_in
from jiyi.agent.prompt import Blocks, Shares, gather_blocks
from jiyi.agent.sessions import AgentSessions
from jiyi.agent.turn import Turn
from jiyi.errors import ConfigError, InvalidInputError, RequestReusedError
from jiyi.model.identity import new_id, text_hash
from jiyi.model.job import ROUND_JOB, JobDraft
from jiyi.model.message import Message, MessageLike, check_message, time_of_message
from jiyi.model.request import OnceRequest, RepeatedRequestError, in_request
from jiyi.model.storable import storable
from jiyi.model.turn import TurnEvent, UnfinishedTurn

if TYPE_CHECKING:
    from types import TracebackType

    from jiyi.chat.compaction import Compaction
    from jiyi.model.chat import StoredMessage
    from jiyi.ports import ChatModel

_TAIL: Final = 200
"""How many of the newest messages are looked at for turns without a reply, and first for a request made before."""
_ABANDONED_AFTER: Final = timedelta(minutes=10)


class Agent:
    """An assistant in one session. Get one with `memory.agent(session)`.

    A light object: any number may stand for one session, in any number of processes. Turns that you run yourself may
    overlap: each has its own messages at the end of its prompt and stores its own reply. `reply` queues the turns of
    one session in one process.
    """

    def __init__(self, deps: AgentDeps, options: AgentOptions, shares: Shares, sessions: AgentSessions) -> None:
        self._deps = deps
        self._options = options
        self._shares = shares
        self._sessions = sessions
        self._declared = False
        self._prepared = False

    @property
    def session_id(self) -> str:
        """Which conversation this is."""
        return self._deps.session_id

    @property
    def scope(self) -> str:
        """Whose memory it uses: the user's, or that of the group."""
        return self._deps.scope

    @property
    def kind(self) -> str:
        """`main`, or `group`: a group never sees what is private."""
        return self._deps.kind

    @property
    def answers(self) -> bool:
        """Whether a model is configured that `reply` can ask."""
        return self._deps.model is not None

    async def begin(
        self, message: str | MessageLike, *, name: str | None = None, request_id: str | None = None
    ) -> Turn:
        """Store what the user said, and put the prompt for the answer together.

        `name` says who speaks, in a group. With the same `request_id` again, for 30 days, nothing is stored twice: the
        turn goes on where it stood, and `turn.reply` is set if it was answered. `turn.broken_off` says why that reply
        is only a part of one. The same `request_id` for another message is a `RequestReusedError`.
        """
        said = _user_message(message, name)
        wanted = None if request_id is None else _request(request_id)
        await self._declare_kind()
        known = None
        if wanted is not None or not self._prepared:
            tail = await self._tail()
            known = _of_request(tail, wanted)
            await self._close_abandoned([turn for turn in tail if turn is not known])
        if known is not None:
            return await self._repeated(known, said)
        turn_id = new_id()
        extra = {**said.extra, TURN: turn_id} | ({} if wanted is None else {REQUEST: wanted})
        question = replace(said, extra=extra)
        if wanted is None:
            message_id = await self._put(question)
        else:
            once = OnceRequest(self.scope, f"turn:{text_hash(self.session_id, wanted)}", "")
            try:
                with in_request(once):
                    message_id = await self._put(question)
            except RepeatedRequestError:
                # It came twice at the same time, or it is not among the newest messages any more.
                known = _of_request(await self._all_turns(), wanted)
                if known is not None:
                    return await self._repeated(known, said)
                # What was said was deleted since.
                message_id = await self._put(question)
        self._deps.used(self.scope, self.session_id)
        return await self._open(turn_id, message_id, question)

    async def resume(self) -> Turn | None:
        """The newest turn without a reply, if its process has ended in the middle; `None` when there is none.

        Tool calls that were interrupted are repeated if that is harmless; of the others the model is told.
        """
        await self._declare_kind()
        live = self._sessions.live_turns
        for progress in reversed(await self._tail()):
            if progress.reply is None and progress.turn_id not in live:
                return await self._reopen(progress)
        return None

    async def open_turn(self, turn_id: str) -> Turn | None:
        """One of the newest turns by its id, as it stands on disk; `None` when there is none.

        For a program that takes each step of a turn in another process. Interrupted calls are settled as in `resume`.
        """
        live = self._sessions.live_turns.get(turn_id)
        if live is not None and live.session == (self.scope, self.session_id):
            return live
        await self._declare_kind()
        for progress in reversed(await self._tail()):
            if progress.turn_id == turn_id:
                return await self._reopen(progress)
        return None

    async def unfinished(self) -> list[UnfinishedTurn]:
        """The turns of this session without a reply, oldest first: under way, or broken off."""
        return [progress.unfinished() for progress in await self._tail() if progress.reply is None]

    def reply(
        self, message: str | MessageLike | None = None, *, name: str | None = None, request_id: str | None = None
    ) -> AsyncIterator[str]:
        """The whole turn with the configured model: `async for piece in agent.reply("…")`. Tools included.

        Everything is on disk at each step. If the model fails, the turn stays open; without a message the newest open
        turn goes on. A reader that stops ends the turn with what was said so far, marked as broken off.
        """
        return _pieces(self._stream(self._model(), message, name, request_id))

    def stream(
        self, message: str | MessageLike | None = None, *, name: str | None = None, request_id: str | None = None
    ) -> AsyncIterator[TurnEvent]:
        """The same as events: the id of the turn first, then pieces, tool calls and their results as they come."""
        return self._stream(self._model(), message, name, request_id)

    async def _stream(
        self, model: ChatModel, message: str | MessageLike | None, name: str | None, request_id: str | None
    ) -> AsyncGenerator[TurnEvent, None]:
        async with self._turn_of_session():
            if message is None:
                turn = await self.resume()
                if turn is None:
                    raise InvalidInputError("there is no open turn to go on with; pass what the user said")
            else:
                turn = await self.begin(message, name=name, request_id=request_id)
            yield TurnEvent("turn", turn.id)
            async with aclosing(self._run(model, turn)) as events:
                async for event in events:
                    yield event

    def answer(self, turn: Turn) -> AsyncIterator[str]:
        """The same for a turn that was begun: its prompt can be looked at before, with `turn.budget`."""
        return _pieces(self._run(self._model(), turn))

    async def _run(self, model: ChatModel, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        if turn.reply is not None:
            yield TurnEvent("piece", turn.reply)
            if turn.broken_off is not None:
                yield TurnEvent("broken_off", turn.broken_off)
            return
        try:
            async with aclosing(run_turn(self._deps, self._options, turn, model)) as events:
                async for event in events:
                    yield event
        finally:
            # A turn that failed is no longer under way, even if the caller keeps a reference to it.
            self._sessions.live_turns.pop(turn.id, None)

    def _model(self) -> ChatModel:
        if self._deps.model is None:
            raise ConfigError(
                "no model is configured; set llm to openai-compatible with llm_base_url and llm_model, or call begin, "
                "ask a model of your own, and call finish"
            )
        return self._deps.model

    async def reset(self) -> int:
        """Begin the conversation anew, after what was said was searched for what is worth keeping."""
        return await self._deps.chat.reset()

    async def close(self) -> Compaction:
        """The end of the session: what was not searched yet is searched for what is worth keeping.

        The session can go on later. Without this the search happens when the session has been idle for a while, by the
        background worker or by `maintain`.
        """
        done = await self._deps.chat.flush()
        self._sessions.ended(self.scope, self.session_id)
        return done

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Agent {self.session_id!r} scope={self.scope!r} kind={self.kind!r}>"

    # --- inside -------------------------------------------------------------------------------------------------------

    async def _put(self, question: Message) -> str:
        """Store what the user said, at the time that it names itself, or now by the clock of the memory."""
        said_at = None if time_of_message(question) is not None else self._deps.stores.now()
        message_id: str = await self._deps.chat.put(question, created_at=said_at)
        return message_id

    def _turn_of_session(self) -> AbstractAsyncContextManager[object]:
        return self._sessions.lock(self.scope, self.session_id)

    async def _declare_kind(self) -> None:
        """The notes are told once which sessions are those of groups."""
        if not self._declared and self.kind == "group" and self._deps.notes is not None:
            await self._deps.notes.set_session_kind(self.session_id, "group", scope=self.scope)
        self._declared = True

    async def _tail(self) -> list[TurnProgress]:
        """The newest turns. A turn is also known when a part of it is under a summary."""
        deps = self._deps
        return turns_in(await deps.run(deps.stores.chats.newest, self.scope, self.session_id, _TAIL))

    async def _all_turns(self) -> list[TurnProgress]:
        """Every turn of the session, also those before a reset: a reset may come in the middle of a turn."""
        deps, place = self._deps, (self.scope, self.session_id)
        messages: list[StoredMessage] = []
        for epoch in await deps.run(deps.stores.chats.epochs, *place):
            messages += await deps.run(deps.stores.chats.epoch_messages, *place, epoch.epoch)
        return turns_in(messages)

    async def _close_abandoned(self, tail: list[TurnProgress]) -> None:
        """Mark old turns without a reply as broken off; what the user said is looked through for facts all the same."""
        if self._prepared:
            return
        deps = self._deps
        for progress in tail:
            begun = progress.question.created_at
            old = begun is not None and deps.stores.now() - begun > _ABANDONED_AFTER
            if progress.reply is not None or not old or progress.turn_id in self._sessions.live_turns:
                continue
            end = Message("assistant", None, extra={TURN: progress.turn_id, BROKEN_OFF: ABANDONED})
            about = {"conversation_id": self.session_id, "messages": [progress.question.id]}
            # Another agent of the session may be doing the same.
            with (
                suppress(RepeatedRequestError),
                in_request(OnceRequest(self.scope, f"turn-abandoned:{text_hash(progress.turn_id)}", "")),
            ):
                await deps.write(
                    deps.stores.store.append_messages,
                    self.scope,
                    self.session_id,
                    [end],
                    actor=deps.stores.actor,
                    recallable=deps.stores.recallable,
                    job=JobDraft(ROUND_JOB, self.scope, about) if self._options.extract else None,
                )
                deps.queued()
        self._prepared = True

    async def _repeated(self, progress: TurnProgress, said: Message) -> Turn:
        """The turn that an earlier sending of this message has begun."""
        if progress.question.message.text != storable(said.text):
            raise RequestReusedError(
                f"request_id {progress.request_id!a} was used for another message of this session; "
                "give every message an id of its own"
            )
        return await self._reopen(progress)

    async def _reopen(self, progress: TurnProgress) -> Turn:
        stored = progress.question
        if progress.answer is not None:
            return await self._open(progress.turn_id, stored.id, stored.message, progress.answer, progress.broken_off)
        live = self._sessions.live_turns.get(progress.turn_id)
        if live is not None:
            return live
        turn = await self._open(progress.turn_id, stored.id, stored.message)
        pending = progress.pending_calls()
        if pending:
            await turn.settle_interrupted(pending)
        return turn

    async def _open(
        self,
        turn_id: str,
        message_id: str,
        question: Message,
        reply: str | None = None,
        broken_off: str | None = None,
    ) -> Turn:
        window = await self._deps.chat.get()
        blocks = Blocks("")
        if reply is None:
            with self._sessions.prompting(self.scope, message_id):
                blocks = await gather_blocks(self._deps, self._options, self._shares, question.text, window)
        turn = Turn(
            self._deps,
            self._options,
            self._shares,
            blocks,
            turn_id=turn_id,
            message_id=message_id,
            question=question,
            window=window,
            reply=reply,
            broken_off=broken_off,
        )
        if reply is None:
            self._sessions.began(turn, message_id)
        return turn


async def _pieces(events: AsyncGenerator[TurnEvent, None]) -> AsyncIterator[str]:
    async with aclosing(events):
        async for event in events:
            if event.kind == "piece":
                yield event.text


def _user_message(message: object, name: str | None) -> Message:
    said = Message("user", message) if isinstance(message, str) else check_message(message, "message")
    if said.role != "user":
        raise InvalidInputError(f"the role of what the user said is 'user', not {said.role!r}")
    if isinstance(said.content, str) and not said.content.strip():
        raise InvalidInputError("message is empty; pass what the user said")
    return said if name is None else check_message(replace(said, name=name), "message")


def _of_request(turns: Sequence[TurnProgress], request_id: str | None) -> TurnProgress | None:
    """The newest turn of a request."""
    return next((turn for turn in reversed(turns) if request_id is not None and turn.request_id == request_id), None)


def _request(request_id: object) -> str:
    if not isinstance(request_id, str) or not request_id.strip() or len(request_id) > 200:
        raise InvalidInputError(f"request_id must be a text of 1 to 200 characters, not {request_id!a}"[:200])
    return request_id
