"""The assistant of a memory behind a server: turns, step by step or as a whole."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jiyi import errors
from jiyi.client.connection import Connection, body_of, names_of, part, plain
from jiyi.client.decoding import budget_of, with_times
from jiyi.model.message import Message, MessageLike
from jiyi.model.message_formats import to_anthropic
from jiyi.model.turn import FinishedTurn, ShownMemory, TurnBudget, TurnEvent, UnfinishedTurn

if TYPE_CHECKING:
    from jiyi.chat import Compaction


class ClientTools:
    """The definitions of a turn's tools, for a model. `turn.call` carries a call out on the server."""

    def __init__(self, definitions: list[dict[str, Any]]) -> None:
        self._definitions = definitions

    @property
    def names(self) -> tuple[str, ...]:
        """What the tools are called."""
        return tuple(each["function"]["name"] for each in self._definitions)

    def openai(self) -> list[dict[str, Any]]:
        """Definitions for `tools=` of OpenAI-style chat completions."""
        return [dict(each) for each in self._definitions]

    def anthropic(self) -> list[dict[str, Any]]:
        """Definitions for `tools=` of Anthropic's Messages API."""
        functions = (each["function"] for each in self._definitions)
        return [
            {"name": each["name"], "description": each["description"], "input_schema": each["parameters"]}
            for each in functions
        ]


class ClientTurn:
    """One turn on the server. Every step is on disk when it returns."""

    def __init__(self, connection: Connection, path: str, data: Mapping[str, Any]) -> None:
        self._connection = connection
        self._path = f"{path}/turns/{part(data['id'])}"
        self._take(data)

    def _take(self, data: Mapping[str, Any]) -> None:
        self.id: str = data["id"]
        self.text: str = data["text"]
        self.messages = [Message.from_dict(each) for each in data["messages"]]
        self.tools = ClientTools(data["tools"])
        self.budget: TurnBudget = budget_of(data["budget"])
        self.memories = tuple(
            ShownMemory(**{**each, "corrected_by": tuple(each.get("corrected_by", ()))}) for each in data["memories"]
        )
        self.reply: str | None = data["reply"]
        self.broken_off: str | None = data.get("broken_off")

    def to_openai(self) -> list[dict[str, Any]]:
        """The messages for OpenAI and compatible servers."""
        return [message.to_dict() for message in self.messages]

    def to_anthropic(self) -> dict[str, Any]:
        """The arguments `system` and `messages` for Anthropic."""
        return to_anthropic(self.messages)

    async def call(self, tool_call: Any) -> str:
        """Do what the model asked for; returns the text for the model."""
        return (await self.call_all([tool_call]))[0]

    async def call_all(self, tool_calls: Iterable[Any], *, text: str = "") -> list[str]:
        """The same for all calls of one message of the model."""
        calls = [_call_data(each) for each in tool_calls]
        if not calls:
            return []
        done = await self._connection.create(f"{self._path}/calls", {"calls": calls, "text": text})
        self._take(done["turn"])
        results: list[str] = done["results"]
        return results

    async def finish(self, reply: str | MessageLike, used: Iterable[Any] | None = None) -> FinishedTurn:
        """Store the reply, once."""
        said = reply if isinstance(reply, str) else Message.from_dict(plain(_data(reply))).text
        body = {"reply": said, "used": None if used is None else names_of(used)}
        done = await self._connection.call("POST", f"{self._path}/finish", body=body_of(body), again=True)
        self.reply = said
        return _finished(done)

    async def break_off(self, partial: str, reason: str) -> FinishedTurn:
        """End the turn with what there is of the reply."""
        body = {"partial": partial, "reason": reason}
        done = await self._connection.call("POST", f"{self._path}/break-off", body=body)
        self.reply, self.broken_off = partial, reason or "broken off"
        return _finished(done)


class ClientAgent:
    """An assistant in one session on the server."""

    def __init__(self, connection: Connection, session_id: str, user: str | None, options: Mapping[str, Any]) -> None:
        unknown = set(options) - {"kind", "instructions", "token_limit", "tools", "extract", "time_zone"}
        if unknown:
            raise errors.InvalidInputError(f"{', '.join(sorted(unknown))} cannot be set through a server")
        self._connection = connection
        self._user = user
        self._options = body_of({name: value for name, value in options.items() if name != "kind"})
        self._path = f"/v1/conversations/{part(session_id)}"
        self.session_id = session_id

    async def begin(
        self, message: str | MessageLike, *, name: str | None = None, request_id: str | None = None
    ) -> ClientTurn:
        """Store what the user said, and put the prompt for the answer together."""
        await self._connection.own(self._user)
        body = body_of({"text": _text(message), "name": name, **self._options})
        headers = {"Idempotency-Key": request_id or secrets.token_hex(16)}
        begun = await self._connection.call("POST", f"{self._path}/turns", body=body, headers=headers, again=True)
        return ClientTurn(self._connection, self._path, begun)

    async def open_turn(self, turn_id: str) -> ClientTurn | None:
        """One of the newest turns by its id; `None` when there is none."""
        await self._connection.own(self._user)
        found = await self._connection.get(f"{self._path}/turns/{part(turn_id)}", missing=True)
        return None if found is None else ClientTurn(self._connection, self._path, found)

    async def unfinished(self) -> list[UnfinishedTurn]:
        """The turns of this session without a reply, oldest first."""
        await self._connection.own(self._user)
        found = (await self._connection.get(f"{self._path}/turns"))["turns"]
        return [UnfinishedTurn(**with_times(each, "begun_at")) for each in found]

    async def resume(self) -> ClientTurn | None:
        """The newest turn without a reply; `None` when there is none."""
        waiting = await self.unfinished()
        return await self.open_turn(waiting[-1].turn_id) if waiting else None

    async def reply(
        self, message: str | MessageLike | None = None, *, name: str | None = None, request_id: str | None = None
    ) -> AsyncIterator[str]:
        """The whole turn with the model of the server: pieces as they come. A reader that stops ends the turn."""
        async for event in self.stream(message, name=name, request_id=request_id):
            if event.kind == "piece":
                yield event.text

    async def stream(
        self, message: str | MessageLike | None = None, *, name: str | None = None, request_id: str | None = None
    ) -> AsyncIterator[TurnEvent]:
        """The same as events: the id of the turn, pieces, tool calls and their results."""
        await self._connection.own(self._user)
        body = body_of({"text": None if message is None else _text(message), "name": name, **self._options})
        headers = {} if request_id is None else {"Idempotency-Key": request_id}
        async for kind, data in self._connection.events("POST", f"{self._path}/replies", json=body, headers=headers):
            if kind == "turn":
                yield TurnEvent("turn", data["turn_id"])
            elif kind == "piece":
                yield TurnEvent("piece", data["text"])
            elif kind == "call":
                yield TurnEvent("call", data["arguments"], data["name"], data["id"])
            elif kind == "result":
                yield TurnEvent("result", data["text"], data["name"], data["id"])
            elif kind == "end" and data.get("broken_off") is not None:
                yield TurnEvent("broken_off", data["broken_off"])

    async def reset(self) -> int:
        """Begin the conversation anew."""
        await self._connection.own(self._user)
        return int((await self._connection.call("POST", f"{self._path}/reset"))["epoch"])

    async def close(self) -> Compaction:
        """The end of the session: what was not searched yet is searched for what is worth keeping."""
        from jiyi.client.rooms import ClientChat

        return await ClientChat(self._connection, self.session_id, self._user).flush()


def _text(message: str | MessageLike) -> str:
    return message if isinstance(message, str) else Message.from_dict(plain(_data(message))).text


def _data(message: MessageLike) -> Mapping[str, Any]:
    return message.to_dict() if isinstance(message, Message) else message


def _call_data(given: Any) -> dict[str, Any]:
    """A tool call as the server takes it, with an id: a repetition is recognised by it."""
    from jiyi.agent.tool_call_forms import as_openai, read_tool_call

    return as_openai(read_tool_call(given))


def _finished(done: Mapping[str, Any]) -> FinishedTurn:
    return FinishedTurn(done["turn_id"], done["message_id"] or "", done["job_id"], tuple(done["used"]))
