"""Turn: one round of a conversation, from what the user said to the stored reply."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from jiyi.agent.dependencies import AgentDeps, AgentOptions
from jiyi.agent.progress import BROKEN_OFF, TURN, broken_off, own_last
from jiyi.agent.prompt import Blocks, Prompt, Shares, compose
from jiyi.agent.tool_call_forms import as_openai, read_tool_call, words_of
from jiyi.errors import InvalidInputError, JiyiError, StorageError
from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry
from jiyi.model.identity import text_hash
from jiyi.model.job import ROUND_JOB, JobDraft
from jiyi.model.limits import MAX_TOOL_ANSWER
from jiyi.model.message import Message, MessageLike, check_message
from jiyi.model.message_formats import to_anthropic, to_openai
from jiyi.model.request import OnceRequest, RepeatedRequestError, in_request
from jiyi.model.turn import FinishedTurn, ShownMemory, TurnBudget
from jiyi.text import fold
from jiyi.text.statements.keeping.off_record import MessageText, off_record_text, repeats
from jiyi.tools.answer import MIN_TOKENS

if TYPE_CHECKING:
    from jiyi.chat import ChatWindow
    from jiyi.ports import ToolCall
    from jiyi.tools import Toolbox

_log = logging.getLogger("jiyi.agent")
_USED_SHARE: Final = 0.6
_INTERRUPTED: Final = (
    "Error: the program was interrupted during this call. It may have been carried out or not: look before you repeat "
    "it."
)
_KEEPING: Final = frozenset({"remember", "update", "memory_append"})
"""The tools of the memory that keep a text."""
_NOT_KEPT: Final = "Error: the user has asked not to keep this: nothing was stored."


class Turn:
    """One turn. Get one with `agent.begin(text)`: what the user said is on disk then.

    Send `messages` to a model of your own, with `tools`; do what it asks for with `call`; then `finish`. Every step is
    on disk when it returns.
    """

    def __init__(
        self,
        deps: AgentDeps,
        options: AgentOptions,
        shares: Shares,
        blocks: Blocks,
        *,
        turn_id: str,
        message_id: str,
        question: Message,
        window: ChatWindow,
        reply: str | None = None,
        broken_off: str | None = None,
    ) -> None:
        self._deps = deps
        self._options = options
        self._shares = shares
        self._blocks = blocks
        self._id = turn_id
        self._message_id = message_id
        self._question = question
        self._reply = reply
        self._broken_off = broken_off
        self._left = max(shares.conversation // 2, MIN_TOKENS)
        self._window = window
        self._prompt = self._compose()
        self._tools = self._make_tools()

    # --- what to send -------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The id of the turn: the field `turn` of all its messages."""
        return self._id

    @property
    def session(self) -> tuple[str, str]:
        """The scope and the id of its session."""
        return self._deps.scope, self._deps.session_id

    @property
    def text(self) -> str:
        """What the user said."""
        return self._question.text

    @property
    def messages(self) -> list[Message]:
        """What to send to a model: instructions, notes, memories, passages, then the conversation, this turn last."""
        return list(self._prompt.messages)

    def to_openai(self) -> list[dict[str, Any]]:
        """The messages for `client.chat.completions.create(messages=…)` of OpenAI and compatible servers."""
        return to_openai(self._prompt.messages)

    def to_anthropic(self) -> dict[str, Any]:
        """The arguments `system` and `messages` for `client.messages.create(…)` of Anthropic."""
        return to_anthropic(self._prompt.messages)

    @property
    def tools(self) -> Toolbox:
        """The tools of this turn: `turn.tools.openai()`, `turn.tools.anthropic()`."""
        return self._tools

    @property
    def budget(self) -> TurnBudget:
        """How the tokens are shared out now, and what is missing in the prompt."""
        problems = list(self._blocks.problems)
        if self._prompt.dropped:
            problems.append(f"{self._prompt.dropped} older messages did not fit beside this turn")
        if self._window.left_out:
            problems.append(f"{self._window.left_out} messages are not summarised yet")
        if self._window.trouble is not None:
            problems.append(f"conversation: {self._window.trouble}")
        return TurnBudget(self._options.token_limit, self._options.reply, self._prompt.parts, tuple(problems))

    @property
    def memories(self) -> tuple[ShownMemory, ...]:
        """The memories and passages that went into the prompt."""
        return tuple(self._blocks.shown)

    @property
    def reply(self) -> str | None:
        """The stored reply; `None` until the turn is finished."""
        return self._reply

    @property
    def broken_off(self) -> str | None:
        """Why the stored reply is only a part of one, or empty ("the reader stopped"); `None` when it is whole."""
        return self._broken_off

    # --- tools --------------------------------------------------------------------------------------------------------

    async def call(self, tool_call: Any) -> str:
        """Do what the model asked for, in the form in which its client gives it; returns the text for the model.

        A mistake of the model is a text too, never an exception. Call and result are stored, and are part of `messages`
        from then on.
        """
        return (await self.call_all([tool_call]))[0]

    async def call_all(self, tool_calls: Iterable[Any], *, text: str = "") -> list[str]:
        """The same for all calls of one message of the model; `text` is what it said besides."""
        self._check_open()
        calls = [read_tool_call(given) for given in tool_calls]
        if not calls:
            return []
        said = [as_openai(call) for call in calls]
        return await self._run_calls(calls, Message("assistant", text or None, tool_calls=said, extra={TURN: self._id}))

    async def _run_calls(self, calls: Sequence[ToolCall], asked: Message | None = None) -> list[str]:
        """Store the message that asks for the calls, if it is not on disk; do them, and store each result."""
        texts: list[str] = []
        try:
            if asked is not None:
                await asyncio.shield(self._put(asked))
            for call in calls:
                bound = max(MIN_TOKENS, min(MAX_TOOL_ANSWER, self._left // 2))
                text = self._refusal(call)
                if text is None:
                    text = (await self._tools.answer(call.name, call.arguments, max_tokens=bound)).text
                self._left = max(self._left - self._deps.counter.count(text), 0)
                texts.append(text)
                await asyncio.shield(self._put(_result(call, text, self._id)))
        except BaseException:
            # A task was cancelled, or a tool of the program has failed. Models refuse a prompt in which a call has no
            # result.
            await asyncio.shield(self._put_interrupted(calls[len(texts) :]))
            raise
        await self._refresh()
        return texts

    def _refusal(self, call: ToolCall) -> str | None:
        """The answer to a call that would keep what the user has asked not to keep."""
        of_program = () if self._options.own_tools is None else self._options.own_tools.tools
        named = [tool for tool in self._tools.tools if call.name in {tool.name, *tool.aliases}]
        if not any(tool.name in _KEEPING and tool not in of_program for tool in named):
            return None
        said = [MessageText(one.role, one.name, one.text) for one in own_last(self._window, self._id, self._question)]
        while said and said[-1].role != "user":
            said.pop()
        secret = off_record_text(said)
        return _NOT_KEPT if secret and repeats(words_of(call), secret) else None

    async def record(self, tool_call: Any, result: str) -> None:
        """Store a call of a tool of your own that you have carried out yourself, with its result as text."""
        self._check_open()
        call = read_tool_call(tool_call)
        if not isinstance(result, str):
            raise InvalidInputError(f"result must be text, not {type(result).__name__}")
        asked = Message("assistant", None, tool_calls=[as_openai(call)], extra={TURN: self._id})
        await self._put(asked, _result(call, result, self._id))
        await self._refresh()

    async def settle_interrupted(self, calls: Sequence[ToolCall]) -> None:
        """After a crash: calls that may be repeated are, of the others the model is told that they were interrupted."""
        repeatable = {tool.name for tool in self._tools.tools if tool.read_only or tool.idempotent}
        repeatable |= {alias for tool in self._tools.tools if tool.name in repeatable for alias in tool.aliases}
        for call in calls:
            if call.name in repeatable:
                await self._run_calls([call])
            else:
                await self._put_interrupted([call])
        await self._refresh()

    async def _put_interrupted(self, calls: Sequence[ToolCall]) -> None:
        if calls:
            await self._put(*(_result(call, _INTERRUPTED, self._id) for call in calls))

    # --- the end ------------------------------------------------------------------------------------------------------

    async def finish(self, reply: str | MessageLike, used: Iterable[Any] | None = None) -> FinishedTurn:
        """Store the reply, once, and the job that looks through the round for facts, in one transaction.

        `used` are the memories (ids, keys or entries) that the reply is based on: they are strengthened. `None` means
        those of the prompt whose words the reply contains. Then the window is compacted if that is due.
        """
        return await self._finish(_reply_message(reply), used, None)

    async def break_off(self, partial: str, reason: str) -> FinishedTurn:
        """End the turn with what there is of the reply, which may be nothing, marked as broken off for this reason."""
        return await self._finish(Message("assistant", partial or None), (), reason or "broken off")

    async def _finish(self, message: Message, used: Iterable[Any] | None, reason: str | None) -> FinishedTurn:
        self._check_open()
        extra = {**message.extra, TURN: self._id} | ({} if reason is None else {BROKEN_OFF: reason})
        job = None
        if self._options.extract:
            about = {"conversation_id": self._deps.session_id, "messages": [self._message_id]}
            job = JobDraft(ROUND_JOB, self._deps.scope, about)
        reply = replace(message, extra=extra)
        try:
            with in_request(OnceRequest(self._deps.scope, f"turn-reply:{text_hash(self._id)}", "")):
                [message_id] = await self._append([reply], job)
        except RepeatedRequestError as repeated:
            stored = await self._deps.run(self._deps.stores.store.messages, self._deps.scope, repeated.ids[:1])
            self._reply = stored[0][1].text if stored else ""
            self._broken_off = broken_off(stored[0][1]) if stored else None
            self._check_open()
            raise
        self._reply, self._broken_off = message.text, broken_off(reply)
        names = await self._note_used(message.text, used)
        self._deps.used(self._deps.scope, self._deps.session_id)
        # With a model a compaction goes on in the background; rules are quick.
        await self._deps.chat.get(max_wait=0.0 if self._deps.model is not None else 10.0)
        return FinishedTurn(self._id, message_id, None if job is None else job.id, tuple(names))

    async def _note_used(self, reply: str, used: Iterable[Any] | None) -> list[str]:
        """Strengthen what the reply is based on. The reply is stored: a failure here only costs the strengthening."""
        names = self._guess_used(reply) if used is None else [getattr(each, "id", each) for each in used]
        if not names:
            return []
        try:
            counted: list[str] = await self._deps.run(self._own_ids, names)
            if counted:
                await self._deps.feedback(counted, memory_scope=self._deps.scope)
        except StorageError as error:
            _log.warning("feedback for the memories used failed: %s", type(error).__name__)
            return []
        return counted

    def _own_ids(self, names: Sequence[str]) -> list[str]:
        """The ids of the user's own memories with these ids or keys."""
        scope, store = self._deps.scope, self._deps.stores.store
        found = [*store.by_ids(scope, names), *store.by_keys(scope, names).values()]
        return list(dict.fromkeys(entry.id for entry in found if entry.is_active))

    def _guess_used(self, reply: str) -> list[str]:
        """Memories whose words, beyond those of the question, stand in the reply for the most part."""
        analyzer = self._deps.stores.analyzer

        def terms(text: str) -> frozenset[str]:
            return frozenset(analyzer.analyze(fold(text)).words)

        asked, answered = terms(self._question.text), terms(reply)
        found = []
        for memory in self._blocks.shown:
            own = terms(memory.content) - asked
            if own and len(own & answered) >= _USED_SHARE * len(own):
                found.append(memory.id)
        return found

    # --- inside -------------------------------------------------------------------------------------------------------

    async def _put(self, *messages: Message) -> None:
        await self._append(messages, None)

    async def _append(self, messages: Sequence[Message], job: JobDraft | None) -> list[str]:
        deps = self._deps
        ids: list[str] = await deps.write(
            deps.stores.store.append_messages,
            deps.scope,
            deps.session_id,
            [check_message(message, "message") for message in messages],
            actor=deps.stores.actor,
            recallable=deps.stores.recallable,
            job=job,
        )
        deps.written()
        if job is not None:
            deps.queued()
        return ids

    async def _refresh(self) -> None:
        self._window = await self._deps.chat.get()
        self._prompt = self._compose()

    async def compact_window(self) -> None:
        """The model has found the prompt too long, whatever our count was: move older messages under a summary."""
        try:
            await self._deps.chat.overflowed()
        except JiyiError as error:
            _log.warning("a window that is too long could not be compacted: %s", type(error).__name__)
        await self._refresh()

    def _compose(self) -> Prompt:
        return compose(
            self._blocks,
            self._window,
            self._id,
            self._question,
            shares=self._shares,
            options=self._options,
            counter=self._deps.counter,
        )

    def _make_tools(self) -> Toolbox:
        return allowed_tools(self._deps.toolbox(self._is_shown), self._options)

    def _is_shown(self, entry: MemoryEntry) -> bool:
        """Whether a message of this session stands in the prompt."""
        if entry.memory_type != MESSAGE_TYPE or entry.conversation_id != self._deps.session_id:
            return False
        return any(entry.content.endswith(message.text.strip()) for message in self._window if message.text.strip())

    def _check_open(self) -> None:
        if self._reply is not None:
            raise InvalidInputError("this turn is finished; begin the next one")

    def __repr__(self) -> str:
        state = "finished" if self._reply is not None else "open"
        return f"<Turn {self._id} of session {self._deps.session_id!r} {state}>"


def allowed_tools(tools: Toolbox, options: AgentOptions) -> Toolbox:
    """Those of the memory's tools that the options allow, and those of the program."""
    if options.tool_names is not None:
        tools = tools.select(*options.tool_names)
    return tools if options.own_tools is None else tools + options.own_tools


def _result(call: ToolCall, text: str, turn_id: str) -> Message:
    return Message("tool", text, tool_call_id=call.id, name=call.name or None, extra={TURN: turn_id})


def _reply_message(reply: object) -> Message:
    message = Message("assistant", reply) if isinstance(reply, str) else check_message(reply, "reply")
    if message.role != "assistant":
        raise InvalidInputError(f"the role of a reply is 'assistant', not {message.role!r}")
    if message.tool_calls:
        raise InvalidInputError("a message that asks for tools is no reply; pass its calls to turn.call")
    if not message.text.strip():
        raise InvalidInputError("the reply is empty; leave the turn open, or say why there is no answer")
    return message
