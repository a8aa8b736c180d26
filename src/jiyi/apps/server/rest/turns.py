"""Turns: the loop of an assistant over HTTP. Every step is on disk when its answer comes.

With a model of their own, callers begin a turn, send its messages to the model, do what it asks for with `calls`, and
finish. With the configured model `replies` is the whole turn, as events or as one answer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, Depends, Request, Response

from jiyi.agent.progress import turn_of
from jiyi.agent.tool_call_forms import read_tool_call
from jiyi.apps.server.access import Access
from jiyi.apps.server.problems import ProblemError
from jiyi.apps.server.rest import responses
from jiyi.apps.server.rest.bodies import Reply, ReplyRequest, ToolCalls, TurnBreakOff, TurnStart
from jiyi.apps.server.rest.dependencies import Accept, Memory, OpenStreams, Reader, Writer
from jiyi.apps.server.rest.events import EventStream, event, wants_events
from jiyi.apps.server.rest.idempotency import REPLAYED, IdempotencyKey, once, request_id_of
from jiyi.apps.server.rest.responses import EVENTS, answer, answers
from jiyi.errors import InvalidInputError
from jiyi.model import clock

if TYPE_CHECKING:
    from jiyi.agent import Agent, Turn
    from jiyi.memory import AgentMemory
    from jiyi.model.message import Message
    from jiyi.ports.models import ToolCall

router = APIRouter(prefix="/v1/conversations/{session_id}", tags=["turns"])

_MAX_OPEN: Final = 1_000


class OpenTurns:
    """The turns that were last used, so that the steps of one need not read it from disk each time."""

    def __init__(self, max_open: int = _MAX_OPEN) -> None:
        self._max_open = max_open
        self._turns: OrderedDict[tuple[str, str, str], Turn] = OrderedDict()

    def put(self, turn: Turn) -> None:
        """Keep a turn at hand; the least recently used one is dropped."""
        self._turns[(*turn.session, turn.id)] = turn
        self._turns.move_to_end((*turn.session, turn.id))
        while len(self._turns) > self._max_open:
            self._turns.popitem(last=False)

    def find(self, scope: str, session_id: str, turn_id: str) -> Turn | None:
        """A turn of this session, if it is at hand."""
        return self._turns.get((scope, session_id, turn_id))

    def drop(self, turn: Turn) -> None:
        """A turn that is finished."""
        self._turns.pop((*turn.session, turn.id), None)


async def _turns(request: Request) -> OpenTurns:
    turns: OpenTurns = request.app.state.turns
    return turns


Turns: TypeAlias = Annotated[OpenTurns, Depends(_turns)]


def _agent(memory: AgentMemory, access: Access, session_id: str, body: TurnStart | None = None) -> Agent:
    options: dict[str, Any] = {}
    if body is not None:
        options = {
            "instructions": body.instructions,
            "token_limit": body.token_limit,
            "tools": body.tools,
            "extract": body.extract,
            "time_zone": body.time_zone,
        }
    return memory.agent(session_id, user=access.scope, kind=access.kind, **options)


@router.post("/turns", operation_id="beginTurn", **answers(responses.TurnAnswer, 201, "Begun, or gone on with"))
async def begin_turn(
    memory: Memory,
    access: Writer,
    turns: Turns,
    session_id: str,
    body: TurnStart,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Store what the user said, and put the prompt for the answer together.

    With the same Idempotency-Key again the turn goes on where it stood, and `reply` is set if it was answered;
    `broken_off` says why that reply is only a part of one.
    """
    agent = _agent(memory, access, session_id, body)
    turn = await agent.begin(body.text, name=body.name, request_id=request_id_of(access, idempotency_key))
    turns.put(turn)
    return answer(_turn(turn), 201)


@router.get("/turns", operation_id="listOpenTurns", **answers(responses.TurnsAnswer))
async def list_turns(memory: Memory, access: Reader, session_id: str) -> Response:
    """The turns of the conversation without a reply, oldest first: under way, or broken off by a crash."""
    found = await _agent(memory, access, session_id).unfinished()
    shown = [
        {**asdict(each), "begun_at": None if each.begun_at is None else clock.to_text(each.begun_at)} for each in found
    ]
    return answer({"turns": shown})


@router.get("/turns/{turn_id}", operation_id="getTurn", **answers(responses.TurnAnswer))
async def get_turn(memory: Memory, access: Writer, turns: Turns, session_id: str, turn_id: str) -> Response:
    """A turn as it stands. Tool calls that a crash has interrupted are repeated if that is harmless."""
    return answer(_turn(await _found(memory, access, turns, session_id, turn_id)))


@router.post("/turns/{turn_id}/calls", operation_id="callTools", **answers(responses.CallsAnswer))
async def call_tools(
    memory: Memory,
    access: Writer,
    turns: Turns,
    session_id: str,
    turn_id: str,
    body: ToolCalls,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Do what the model asked for. A mistake of the model is a text for it, not an error."""
    calls = [read_tool_call(given) for given in body.calls]

    async def do() -> Response:
        turn = await _open(memory, access, turns, session_id, turn_id)
        return answer({"results": await turn.call_all(calls, text=body.text), "turn": _turn(turn)})

    async def again(_ids: Sequence[str]) -> Response:
        turn = await _found(memory, access, turns, session_id, turn_id)
        said = await memory.chat(session_id, scope=access.scope).get_all()
        results = _results(calls, [one for one in said if turn_of(one) == turn_id])
        if results is None:
            raise ProblemError(409, "in_progress", "the same request is still being worked on; send it again later")
        return answer({"results": results, "turn": _turn(turn)})

    return await once(access, idempotency_key, body, do, again, about=f"{session_id} {turn_id}")


@router.post("/turns/{turn_id}/finish", operation_id="finishTurn", **answers(responses.FinishedAnswer))
async def finish_turn(
    memory: Memory, access: Writer, turns: Turns, session_id: str, turn_id: str, body: Reply
) -> Response:
    """Store the reply, once, and look through the round for facts in the background.

    The same reply again changes nothing.
    """
    turn = await _found(memory, access, turns, session_id, turn_id)
    done: dict[str, Any] = {"turn_id": turn.id, "message_id": None, "job_id": None, "used": []}
    if turn.reply is None:
        try:
            done = asdict(await turn.finish(body.reply, body.used))
        except InvalidInputError:
            # Another request may have finished it meanwhile, here or in another process.
            if turn.reply is None:
                raise
        else:
            turns.drop(turn)
            return answer(done)
    if turn.reply != body.reply:
        _check_open(turn)
    return answer(done, headers={REPLAYED: "true"})


@router.post("/turns/{turn_id}/break-off", operation_id="breakOffTurn", **answers(responses.FinishedAnswer))
async def break_off_turn(
    memory: Memory, access: Writer, turns: Turns, session_id: str, turn_id: str, body: TurnBreakOff
) -> Response:
    """End a turn with what there is of the reply, which may be nothing."""
    turn = await _open(memory, access, turns, session_id, turn_id)
    done = await turn.break_off(body.partial, body.reason)
    turns.drop(turn)
    return answer(asdict(done))


_REPLY = answers(responses.ReplyAnswer, 200, "The reply; as events with `Accept: text/event-stream`")
_REPLY["responses"][200]["content"] = EVENTS["content"]


@router.post("/replies", operation_id="reply", **_REPLY)
async def reply(
    memory: Memory,
    access: Writer,
    streams: OpenStreams,
    session_id: str,
    body: ReplyRequest,
    accept: Accept = "",
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """The whole turn with the configured model, tools included.

    Events: `turn` (its id), `piece`, `call` and `result` of tools, `end` with the whole reply, or `error`. A client
    that goes away ends the turn with what was said so far. Without a text, or with the same Idempotency-Key, a turn
    that a crash has interrupted goes on.
    """
    agent = _agent(memory, access, session_id, body)
    if not agent.answers:
        raise ProblemError(
            409, "no_model", "no model is configured here: begin a turn, ask a model of your own, and finish the turn"
        )
    events = agent.stream(body.text, name=body.name, request_id=request_id_of(access, idempotency_key))
    if wants_events(accept):
        return EventStream(_as_events(events), streams, access)
    turn_id, pieces, reason = "", list[str](), None
    async with aclosing(events):  # type: ignore[type-var] # a generator
        async for each in events:
            if each.kind == "turn":
                turn_id = each.text
            elif each.kind == "piece":
                pieces.append(each.text)
            elif each.kind == "broken_off":
                reason = each.text
            else:
                # What was said before a call of tools is no part of the reply.
                pieces = []
    return answer({"turn_id": turn_id, "reply": "".join(pieces), "broken_off": reason})


async def _as_events(events: Any) -> AsyncGenerator[str, None]:
    turn_id, pieces, reason = "", list[str](), None
    async with aclosing(events):
        async for each in events:
            if each.kind == "turn":
                turn_id = each.text
                yield event("turn", {"turn_id": turn_id})
            elif each.kind == "piece":
                pieces.append(each.text)
                yield event("piece", {"text": each.text})
            elif each.kind == "call":
                pieces = []
                yield event("call", {"id": each.call_id, "name": each.name, "arguments": each.text})
            elif each.kind == "broken_off":
                reason = each.text
            else:
                yield event("result", {"id": each.call_id, "name": each.name, "text": each.text})
    yield event("end", {"turn_id": turn_id, "reply": "".join(pieces), "broken_off": reason})


async def _found(memory: AgentMemory, access: Access, turns: OpenTurns, session_id: str, turn_id: str) -> Turn:
    turn = turns.find(access.scope, session_id, turn_id)
    if turn is None:
        turn = await _agent(memory, access, session_id).open_turn(turn_id)
        if turn is None:
            raise ProblemError(404, "no_turn", f"the conversation has no turn {turn_id[:80]!a} among its newest")
        turns.put(turn)
    return turn


async def _open(memory: AgentMemory, access: Access, turns: OpenTurns, session_id: str, turn_id: str) -> Turn:
    turn = await _found(memory, access, turns, session_id, turn_id)
    _check_open(turn)
    return turn


def _results(calls: Sequence[ToolCall], said: Sequence[Message]) -> list[str] | None:
    """The results of calls that were made before, from the messages of their turn; `None` while one is missing."""
    wanted = [(call.name, call.arguments) for call in calls]
    texts = {message.tool_call_id: message.text for message in said if message.role == "tool"}
    for message in reversed(said):
        made = [read_tool_call(call) for call in message.tool_calls or ()]
        # By what they ask for: a call without an id gets another one each time it is read.
        if [(call.name, call.arguments) for call in made] == wanted:
            return [texts[call.id] for call in made] if all(call.id in texts for call in made) else None
    return None


def _check_open(turn: Turn) -> None:
    if turn.reply is not None:
        raise ProblemError(409, "turn_finished", "this turn is finished; begin the next one")


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.id,
        "text": turn.text,
        "messages": turn.to_openai(),
        "tools": turn.tools.openai(),
        "budget": turn.budget.to_dict(),
        "memories": [asdict(each) for each in turn.memories],
        "reply": turn.reply,
        "broken_off": turn.broken_off,
    }
