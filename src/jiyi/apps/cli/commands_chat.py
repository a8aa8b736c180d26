"""`jiyi chat`: a conversation in the terminal, with memory, notes and tools, kept and restored."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command
from jiyi.apps.cli.line_editor import LineEditor
from jiyi.apps.cli.lookup import by_key_or_id
from jiyi.apps.cli.output import show
from jiyi.apps.cli.renderables import Block, Column, Table, text
from jiyi.apps.cli.sanitize import visible
from jiyi.apps.cli.session import Session
from jiyi.errors import InvalidInputError, JiyiError, ModelError
from jiyi.model.entry import FACT_TYPE, MESSAGE_TYPE
from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.text import detect_language
from jiyi.text.questions import question_share
from jiyi.text.statements.keeping.fact_kinds import states_nothing

if TYPE_CHECKING:
    from jiyi.agent import Agent, Turn
    from jiyi.chat import Chat
    from jiyi.memory import AgentMemory
    from jiyi.model.entry import MemoryEntry
    from jiyi.model.message import Message

_SHOWN = 20
_FACTS_LOOKED_AT = 50
_MAX_RECALLED = 3
_EXTRACTION_LOOKS = 100
_EXTRACTION_PAUSE = 0.02
_WORDS_WITHOUT_MODEL = {
    "en": {
        "kept": "[no model] kept.",
        "known": " Memory says:",
        "nothing": " Memory knows nothing about that.",
        "corrected": " → corrected later: ",
    },
    "zh": {
        "kept": "[没有模型] 已保存。",
        "known": "记忆里有：",
        "nothing": "记忆里没有相关内容。",
        "corrected": " → 后来已更正：",
    },
}
_STYLES = {"user": "key", "assistant": "good", "system": "dim"}
_HELP = (
    ("/recall QUESTION", "what memory knows about it, with scores"),
    ("/remember TEXT", "keep this"),
    ("/forget ID", "forget a memory, by the id that /recall and /facts show"),
    ("/facts", "what is remembered, the newest first"),
    ("/notes", "the notes of today"),
    ("/why", "what went into the last prompt, and how many tokens it cost"),
    ("/history", "everything since the last reset"),
    ("/summary", "the summary that stands for older messages"),
    ("/compact", "move older messages under a summary now"),
    ("/candidates", "what this conversation proposes to keep"),
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
        typer.Option("--token-limit", metavar="TOKENS", help="How long a prompt is.", show_default=False),
    ] = None,
) -> Code:
    """Talk in the terminal; the conversation is kept and goes on where it stood.

    With a model (settings llm, llm_base_url, llm_model) it answers as it speaks, with your memories and notes in its
    prompt and with tools for them. Without one, what memory knows about your words is shown instead, marked as such.
    Lines that begin with / are commands: /help lists them.
    """

    async def converse(memory: AgentMemory) -> None:
        conversation = Conversation(session, memory, session_id, token_limit, one_shot=message is not None)
        if message is not None:
            for line in message:
                await conversation.handle(line)
            return
        await conversation.welcome()
        folder = memory.settings.path
        editor = LineEditor(folder / "chat_history" if folder.is_dir() else None, tuple(name for name, _ in _NAMES))
        try:
            while True:
                typed = await asyncio.to_thread(editor.read)
                if typed is None or not await conversation.handle(typed):
                    break
        finally:
            editor.close()
        await conversation.close()

    # In a conversation the worker keeps facts while the user types; a single message does not wait for it.
    session.run(converse, **({} if message is not None else {"background_jobs": True}))
    return Code.OK


_NAMES = tuple((name.partition(" ")[0], about) for name, about in _HELP)


class Conversation:
    """Answers one line after the other."""

    def __init__(
        self,
        session: Session,
        memory: AgentMemory,
        session_id: str | None,
        token_limit: int | None,
        *,
        one_shot: bool,
    ) -> None:
        self._output = session.output
        self._memory = memory
        self._agent: Agent = memory.agent(session_id, token_limit=token_limit)
        self._chat: Chat = memory.chat(self._agent.session_id)
        self._one_shot = one_shot
        self._last: Turn | None = None
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/recall": self._recall,
            "/remember": self._remember,
            "/forget": self._forget,
            "/facts": self._facts,
            "/notes": self._notes,
            "/why": self._why,
            "/history": self._history,
            "/summary": self._summary,
            "/compact": self._compact,
            "/candidates": self._candidates,
            "/reset": self._reset,
            "/help": self._help,
        }

    async def welcome(self) -> None:
        """Say where the conversation stands."""
        said = [one for one in await self._chat.get() if one.text.strip() and one.role != "tool"]
        who = "the model answers" if self._agent.answers else "no model: memory answers, and says so"
        await self._say(
            {"session": self._agent.session_id, "messages": len(said)},
            [text(f"session {visible(self._agent.session_id)}; {who}; /help lists commands", "dim")],
        )
        if said:
            await self._say({}, _lines(said[-_SHOWN:]))
        for turn in await self._agent.unfinished():
            await self._say({}, [text(f"broken off, without an answer: {visible(turn.text)}", "bad")])

    async def handle(self, line: str) -> bool:
        """Answer a line; `False` at the end of the conversation. On a terminal an error of one line does not end it."""
        said = line.strip()
        if said in {"/quit", "/exit"}:
            return False
        if not said:
            return True
        try:
            if said.startswith("/"):
                name, _, rest = said.partition(" ")
                known = self._commands.get(name)
                if known is None:
                    raise InvalidInputError(f"there is no command {said!r}; /help lists them")
                await known(rest.strip())
            elif self._agent.answers:
                await self._answer(said)
            else:
                await self._reply_without_model(said)
        except JiyiError as error:
            if self._one_shot or not sys.stdin.isatty():
                raise
            self._output.error(type(error).__name__, str(error))
        return True

    async def close(self) -> None:
        """End the session: what is worth keeping is searched for. A model that fails does not delay the exit."""
        try:
            await self._agent.close()
        except ModelError as error:
            self._output.note(f"what is worth keeping is searched for later: {error}")

    # --- talking ------------------------------------------------------------------------------------------------------

    async def _answer(self, said: str) -> None:
        turn = await self._agent.begin(said)
        self._last = turn
        pieces = []
        async for piece in self._agent.answer(turn):
            pieces.append(piece)
            if not self._output.json:
                sys.stdout.write("\n".join(map(visible, piece.split("\n"))))
                sys.stdout.flush()
        if self._output.json:
            reply = {"role": "assistant", "content": "".join(pieces)}
            await self._say({"reply": reply, "made_by": "model"}, [])
            return
        sys.stdout.write("\n")
        await self._status(turn)

    async def _status(self, turn: Turn) -> None:
        """How much of the prompt is used, and how many facts this round has brought."""
        if self._one_shot:
            return
        budget = turn.budget
        used = f"{budget.tokens:,} of {budget.limit - budget.reply:,} tokens"
        # With a model facts are looked for in the background, while the user types.
        waiting = await self._memory.jobs(states=("queued", "running"), limit=1)
        kept = "being looked for" if waiting else f"kept: {await self._facts_of(turn):,}"
        await self._say({}, [text(f"[{used} · memories shown: {len(turn.memories)} · facts {kept}]", "dim")])

    async def _facts_of(self, turn: Turn) -> int:
        """How many facts were made of what the user said in this turn."""
        session = self._agent.session_id
        said = await self._memory.list(memory_types=MESSAGE_TYPE, conversation_id=session, limit=_SHOWN)
        message = next((each for each in said if each.role == "user"), None)
        if message is None or message.content.strip() != turn.text.strip():
            return 0  # not to be quoted, so that nothing is kept of it either
        facts = await self._memory.list(memory_types=FACT_TYPE, conversation_id=session, limit=_FACTS_LOOKED_AT)
        return sum(message.id in fact.source.references for fact in facts)

    async def _reply_without_model(self, said: str) -> None:
        """Without a model: what is already known, which is not kept as something that was said."""
        turn = await self._agent.begin(said)
        self._last = turn
        asked = question_share(said) >= 0.5
        answers = await self._answers(said) if asked else []
        finished = await turn.break_off("", "no model")
        words = _WORDS_WITHOUT_MODEL[detect_language(said)]
        # The profile stands in every prompt: it says nothing about what was asked.
        relevant = [one for one in turn.memories if one.part != "profile"]
        shown = [(one.content, *one.corrected_by) for one in relevant]
        known = list(dict.fromkeys(words["corrected"].join(one) for one in answers or shown))
        nothing = words["nothing"] if asked else ""
        await self._say(
            {"reply": None, "made_by": "rules", "recalled": known[:_MAX_RECALLED]},
            [
                text(f"{words['kept']}{words['known'] if known else nothing}", "dim"),
                *(text(f"· {visible(content)}", indent=2) for content in known[:_MAX_RECALLED]),
            ],
        )
        await self._extract_facts(finished.job_id)
        if not self._output.json:
            await self._status(turn)

    async def _answers(self, question: str) -> list[tuple[str, ...]]:
        """What answers a question, each with its corrections, also where it was said in this conversation.

        A prompt does not repeat what stands in the conversation; here nobody reads the conversation.
        """
        hits = await self._memory.recall(question, 2 * _MAX_RECALLED, min_relevance=MIN_RELEVANCE)
        # What stands right before a question borrows its words: that alone does not make it an answer.
        said = [hit for hit in hits if _fits(hit) and not states_nothing(hit.content)]
        return [(hit.content, *(newer.content for newer in hit.corrected_by)) for hit in said]

    async def _extract_facts(self, job_id: str | None) -> None:
        """Keep the facts of this line before the next one is answered. Rules need milliseconds for that."""
        await self._memory.run_jobs()
        for _ in range(_EXTRACTION_LOOKS):  # the worker may be at it
            if all(job.id != job_id for job in await self._memory.jobs(states=("queued", "running"))):
                return
            await asyncio.sleep(_EXTRACTION_PAUSE)

    # --- memory -------------------------------------------------------------------------------------------------------

    async def _recall(self, question: str) -> None:
        hits = await self._memory.recall(_needed(question, "/recall QUESTION"), 10, min_relevance=MIN_RELEVANCE)
        rows = tuple(
            (
                text(f"{hit.relevance_score or 0:.2f}", "dim"),
                text("\n→ corrected later: ".join(visible(each.content) for each in (hit, *hit.corrected_by))),
                text(hit.id[:18], "dim"),
            )
            for hit in hits
        )
        columns = (Column("score", "number"), Column("content", "wide"), Column("id"))
        await self._say(
            {"hits": [{"id": hit.id, "content": hit.content, "score": hit.relevance_score} for hit in hits]},
            [Table(columns, rows)] if rows else [text("nothing is remembered about that", "dim")],
        )

    async def _remember(self, content: str) -> None:
        kept = await self._memory.tools().call("remember", {"content": _needed(content, "/remember TEXT")})
        told = "kept" if kept["new"] else "this was kept already"
        await self._say(kept, [text(f"{told}: {kept['id'][:18]}", "good")])

    async def _forget(self, name: str) -> None:
        entry = await by_key_or_id(self._memory, _needed(name, "/forget ID"))
        gone = entry is not None and await self._memory.forget(id=entry.id)
        if entry is None or not gone:
            raise InvalidInputError(f"there is no memory {name!r} of yours; /facts and /recall show the ids")
        await self._say({"forgotten": entry.id}, [text(f"forgotten: {visible(entry.content)}", "good")])

    async def _facts(self, _: str) -> None:
        page = await self._memory.list(limit=_SHOWN)
        rows = tuple((text(visible(entry.content)), text(entry.id[:18], "dim")) for entry in page)
        await self._say(
            {"facts": [{"id": entry.id, "content": entry.content} for entry in page]},
            [Table((Column("content", "wide"), Column("id")), rows)] if rows else [text("nothing yet", "dim")],
        )

    async def _notes(self, _: str) -> None:
        path, entries = await self._memory.notes.entries_of_day()
        said = [placed.entry.text for placed in entries]
        rows = [text(f"· {visible(one)}", indent=2) for one in said]
        await self._say(
            {"path": path, "entries": said}, [text(path, "key"), *rows] if rows else [text(f"{path}: empty", "dim")]
        )

    async def _why(self, _: str) -> None:
        if self._last is None:
            await self._say({"budget": None}, [text("nothing was asked yet in this conversation", "dim")])
            return
        shown = [
            text(
                f"· {memory.part} {memory.score or 0:.2f} {visible(memory.content)} ({visible(memory.source)})",
                indent=2,
            )
            for memory in self._last.memories
        ]
        data = {
            "budget": self._last.budget.to_dict(),
            "memories": [{"id": memory.id, "content": memory.content} for memory in self._last.memories],
        }
        lines: list[Block] = [text(line) for line in visible(self._last.budget.explain()).splitlines()]
        await self._say(data, [*lines, *shown])

    # --- the window ---------------------------------------------------------------------------------------------------

    async def _history(self, _: str) -> None:
        messages = [one for one in await self._chat.get_all() if one.text.strip() or one.tool_calls]
        data = {"messages": [_shown(message) for message in messages]}
        await self._say(data, _lines(messages) or [text("nothing has been said yet", "dim")])

    async def _summary(self, _: str) -> None:
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

    async def _compact(self, _: str) -> None:
        done = await self._chat.compact()
        told = "older messages are under a summary now; /summary shows it" if done.compacted else "nothing to compact"
        await self._say({"compacted": done.compacted}, [text(told, "good" if done.compacted else "dim")])

    async def _candidates(self, _: str) -> None:
        found = await self._chat.candidates()
        rows = tuple(
            (text(one.kind, "key"), text(visible(one.content)), text(f"{one.confidence:.2f}")) for one in found
        )
        columns = (Column("kind"), Column("content", "wide"), Column("confidence", "number"))
        data = {"candidates": [{"kind": o.kind, "content": o.content, "confidence": o.confidence} for o in found]}
        await self._say(data, [Table(columns, rows)] if rows else [text("no candidates yet", "dim")])

    async def _reset(self, _: str) -> None:
        number = await self._agent.reset()
        await self._say({"epoch": number}, [text(f"begun anew (epoch {number}); what was said is kept", "good")])

    async def _help(self, _: str) -> None:
        rows = tuple((text(name, "key"), text(about)) for name, about in _HELP)
        await self._say({"commands": dict(_HELP)}, [Table((Column("command"), Column("does", "wide")), rows)])

    async def _say(self, data: dict[str, Any], blocks: list[Block]) -> None:
        if self._output.json:
            if data:
                self._output.result(data, lambda: blocks)
        else:
            show(blocks, sys.stdout)
            sys.stdout.flush()


def _fits(hit: MemoryEntry) -> bool:
    """Whether it has a word of the question, or is surely an answer."""
    return hit.confident or (hit.explanation is not None and bool(hit.explanation.matched_terms))


def _needed(given: str, usage: str) -> str:
    if not given:
        raise InvalidInputError(f"something is missing: {usage}")
    return given


def _shown(message: Message) -> dict[str, Any]:
    """The message as a program reads it, without what only jiyi uses."""
    return {name: value for name, value in message.to_dict().items() if name not in {"turn", "request_id"}}


def _lines(messages: list[Message]) -> list[Block]:
    return [
        text(f"{message.role}: {visible(message.text or _calls(message))}", _STYLES.get(message.role, ""))
        for message in messages
    ]


def _calls(message: Message) -> str:
    names = [call.get("function", {}).get("name", "?") for call in message.tool_calls or () if isinstance(call, dict)]
    return f"(asks for {', '.join(names)})" if names else "(no text)"
