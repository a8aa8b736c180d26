"""`jiyi chat`: a conversation in the terminal, kept and restored."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command
from jiyi.apps.cli.output import is_terminal, show
from jiyi.apps.cli.renderables import Block, Column, Table, text
from jiyi.apps.cli.sanitize import visible
from jiyi.apps.cli.session import Session
from jiyi.errors import InvalidInputError, JiyiError
from jiyi.model.relevance import MIN_RELEVANCE

if TYPE_CHECKING:
    from jiyi.chat import Chat
    from jiyi.memory import AgentMemory
    from jiyi.model.message import Message

_SHOWN = 20
_STYLES = {"user": "key", "assistant": "good", "system": "dim"}
_HELP = (
    ("/history", "everything since the last reset"),
    ("/summary", "the summary that stands for older messages"),
    ("/compact", "move older messages under a summary now"),
    ("/candidates", "what compactions propose to keep"),
    ("/reset", "begin anew; what was said stays readable"),
    ("/quit", "leave; the conversation goes on next time"),
)


@command(
    "chat",
    examples=[
        "jiyi chat --message 我对青霉素过敏",
        "jiyi chat --session trip --message 'remember the passports'",
        "jiyi chat --session trip --message /history",
    ],
)
def chat(
    session: Session,
    *,
    session_id: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="Which conversation; today's date when not given."),
    ] = None,
    message: Annotated[
        list[str] | None,
        typer.Option("--message", "-m", metavar="TEXT", help="Say this (or a /command) and leave; may be repeated."),
    ] = None,
    token_limit: Annotated[
        int | None,
        typer.Option("--token-limit", metavar="TOKENS", help="How long the window is.", show_default=False),
    ] = None,
) -> Code:
    """Talk in the terminal; the conversation is kept and goes on where it stood.

    With a model (settings llm, llm_base_url, llm_model) it answers, as it speaks. Without one, what memory knows about
    your words is shown instead, marked as such. Lines that begin with / are commands: /help lists them.
    """

    async def talk(memory: AgentMemory) -> None:
        conversation = _Conversation(session, memory, memory.chat(session_id, token_limit=token_limit))
        if message is not None:
            for line in message:
                await conversation.hear(line)
            return
        await conversation.welcome()
        while True:
            read = await asyncio.to_thread(_read_line)
            if read is None or not await conversation.hear(read):
                return

    session.run(talk)
    return Code.OK


class _Conversation:
    """Answers one line after the other."""

    def __init__(self, session: Session, memory: AgentMemory, chat: Chat) -> None:
        self._output = session.output
        self._memory = memory
        self._chat = chat
        self._commands: dict[str, Callable[[], Awaitable[None]]] = {
            "/history": self._history,
            "/summary": self._summary,
            "/compact": self._compact,
            "/candidates": self._candidates,
            "/reset": self._reset,
            "/help": self._help,
        }

    async def welcome(self) -> None:
        """Say where the conversation stands."""
        window = await self._chat.get()
        who = "the model answers" if self._chat.answers else "no model: memory answers, and says so"
        await self._say(
            {"session": self._chat.session_id, "messages": len(window)},
            [text(f"session {visible(self._chat.session_id)}; {who}; /help lists commands", "dim")],
        )
        if window:
            await self._say({}, _lines(window[-_SHOWN:]))

    async def hear(self, line: str) -> bool:
        """Answer a line; `False` when the talk is over. What goes wrong with one line does not end it."""
        said = line.strip()
        if said in {"/quit", "/exit"}:
            return False
        if not said:
            return True
        try:
            if said.startswith("/"):
                known = self._commands.get(said)
                if known is None:
                    raise InvalidInputError(f"there is no command {said!r}; /help lists them")
                await known()
            elif self._chat.answers:
                await self._answer(said)
            else:
                await self._remind(said)
        except JiyiError as error:
            if not sys.stdin.isatty():
                raise
            self._output.error(type(error).__name__, str(error))
        return True

    async def _answer(self, said: str) -> None:
        if self._output.json:
            reply = await self._chat.reply({"role": "user", "content": said})
            await self._say({"reply": reply.to_dict(), "made_by": "model"}, [])
            return

        def speak(piece: str) -> None:
            sys.stdout.write(visible(piece) if piece != "\n" else piece)
            sys.stdout.flush()

        await self._chat.reply({"role": "user", "content": said}, on_text=speak)
        sys.stdout.write("\n")

    async def _remind(self, said: str) -> None:
        """Without a model: what is already known, which is not kept as something that was said."""
        hits = await self._memory.recall(said, 3, min_relevance=MIN_RELEVANCE)
        await self._chat.put({"role": "user", "content": said})
        known = [hit.content for hit in hits]
        rows = [text(f"· {visible(content)}", indent=2) for content in known]
        await self._say(
            {"reply": None, "made_by": "rules", "recalled": known},
            [text("[no model] kept. Memory says:" if known else "[no model] kept.", "dim"), *rows],
        )

    async def _history(self) -> None:
        messages = await self._chat.get_all()
        data = {"messages": [message.to_dict() for message in messages]}
        await self._say(data, _lines(messages) or [text("nothing has been said yet", "dim")])

    async def _summary(self) -> None:
        status = await self._chat.status()
        summary = status.summary
        blocks: list[Block] = [text("there is no summary yet", "dim")]
        if summary is not None:
            covered = f"messages up to {summary.last_position + 1}, by {visible(summary.made_by)}"
            blocks = [text(visible(summary.content)), text(covered, "dim")]
        if status.trouble is not None:
            blocks.append(text(f"the last compaction failed: {visible(status.trouble)}", "bad"))
        data = {"summary": None if summary is None else summary.content, "trouble": status.trouble}
        await self._say(data, blocks)

    async def _compact(self) -> None:
        done = await self._chat.compact()
        told = "older messages are under a summary now; /summary shows it" if done.compacted else "nothing to compact"
        await self._say({"compacted": done.compacted}, [text(told, "good" if done.compacted else "dim")])

    async def _candidates(self) -> None:
        found = await self._chat.candidates()
        rows = tuple(
            (text(one.kind, "key"), text(visible(one.content)), text(f"{one.confidence:.2f}")) for one in found
        )
        columns = (Column("kind"), Column("content", "wide"), Column("confidence", "number"))
        data = {"candidates": [{"kind": o.kind, "content": o.content, "confidence": o.confidence} for o in found]}
        await self._say(data, [Table(columns, rows)] if rows else [text("no candidates yet", "dim")])

    async def _reset(self) -> None:
        number = await self._chat.reset()
        await self._say({"epoch": number}, [text(f"begun anew (epoch {number}); what was said is kept", "good")])

    async def _help(self) -> None:
        rows = tuple((text(name, "key"), text(about)) for name, about in _HELP)
        await self._say({"commands": dict(_HELP)}, [Table((Column("command"), Column("does", "wide")), rows)])

    async def _say(self, data: dict[str, Any], blocks: list[Block]) -> None:
        if self._output.json:
            if data:
                self._output.result(data, lambda: blocks)
        else:
            show(blocks, sys.stdout)
            sys.stdout.flush()


def _lines(messages: list[Message]) -> list[Block]:
    return [
        text(f"{message.role}: {visible(message.text or '(no text)')}", _STYLES.get(message.role, ""))
        for message in messages
    ]


def _read_line() -> str | None:
    if is_terminal(sys.stdout):
        sys.stdout.write("> ")
        sys.stdout.flush()
    line = sys.stdin.readline()
    return line or None
