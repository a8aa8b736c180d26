"""The rooms of a memory behind a server: conversations, long-term, notes, runtime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from jiyi.client.connection import Connection, body_of, listed, names_of, part, plain
from jiyi.client.decoding import entry_of, hit_of, known, with_times
from jiyi.model.entry import Explanation, MemoryEntry
from jiyi.model.forgetting_curve import BASE_RETENTION, DEFAULT_THRESHOLD, STRENGTHENING_FACTOR
from jiyi.model.message import Message, MessageLike
from jiyi.model.reflection import REFLECTION_COOLDOWN_HOURS, REFLECTION_THRESHOLD
from jiyi.model.scoring import ALPHA, BETA, DECAY_RATE, GAMMA

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from jiyi.chat import ChatWindow, Compaction
    from jiyi.longterm.conflicts import Conflict, Replaced
    from jiyi.longterm.forgetting import ForgettingPlan
    from jiyi.longterm.retrieval import RelevantMemories
    from jiyi.model.note import AppendedNote, LineAttribution, NoteHit, NoteText
    from jiyi.notes.promotion import Accepted
    from jiyi.notes.proposals import Proposal


def message_data(message: MessageLike) -> dict[str, Any]:
    """A message as it is sent."""
    return message.to_dict() if isinstance(message, Message) else dict(plain(message))


class ClientChat:
    """One conversation on the server."""

    def __init__(self, connection: Connection, session_id: str, scope: str | None) -> None:
        self._connection = connection
        self._scope = scope
        self._path = f"/v1/conversations/{part(session_id)}"
        self.session_id = session_id

    async def put(self, message: MessageLike) -> str:
        """Add a message; on disk when this returns. Returns its id."""
        return (await self.put_many([message]))[0]

    async def put_many(self, messages: Sequence[MessageLike]) -> list[str]:
        """Add messages in one transaction; returns their ids."""
        await self._connection.own(self._scope)
        body = {"messages": [message_data(message) for message in messages]}
        ids: list[str] = (await self._connection.create(f"{self._path}/messages", body))["ids"]
        return ids

    async def get(self, *, initial_tokens: int = 0, max_wait: float = 10.0) -> ChatWindow:
        """The messages for the next call of a model."""
        from jiyi.chat import ChatWindow

        await self._connection.own(self._scope)
        found = await self._connection.get(f"{self._path}/window", initial_tokens=initial_tokens, max_wait=max_wait)
        return ChatWindow(
            [Message.from_dict(each) for each in found["messages"]],
            tokens=found["tokens"],
            token_limit=found["token_limit"],
            left_out=found["left_out"],
            trouble=found.get("trouble"),
        )

    async def get_all(self) -> list[Message]:
        """Every message since the last reset, exactly as it was put."""
        await self._connection.own(self._scope)
        messages: list[Message] = []
        cursor = None
        while True:
            page = await self._connection.get(f"{self._path}/messages", cursor=cursor)
            messages += [Message.from_dict(each) for each in page["messages"]]
            cursor = page["next_cursor"]
            if cursor is None:
                return messages

    async def reset(self, *, flush: bool = True) -> int:
        """Begin a new epoch; returns its number."""
        await self._connection.own(self._scope)
        query = {"flush": flush}
        return int((await self._connection.call("POST", f"{self._path}/reset", query=query))["epoch"])

    async def compact(self) -> Compaction:
        """Move the older half of the window under a summary now."""
        return await self._compaction("compact")

    async def flush(self) -> Compaction:
        """Search what was said and not searched yet for what is worth keeping."""
        return await self._compaction("flush")

    async def _compaction(self, what: str) -> Compaction:
        from jiyi.chat import Compaction

        await self._connection.own(self._scope)
        done = await self._connection.call("POST", f"{self._path}/{what}", timeout=300)
        return Compaction(done["compacted"], done["messages"], done["candidates"], None, done["trouble"])


class ClientLongterm:
    """The long-term room on the server. `user_id` has to be the scope of the key."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def schedule_round(
        self, user_id: str, conversation_id: str, user_content: str, assistant_content: str
    ) -> str:
        """Put the round on disk and look through it for facts in the background; returns the id of the job."""
        await self._connection.own(user_id)
        body = {"conversation_id": conversation_id, "user": user_content, "assistant": assistant_content}
        return str((await self._connection.create("/v1/longterm/rounds", body))["job_id"])

    async def retrieve_relevant_memories(
        self,
        user_id: str,
        query: str,
        alpha: float = ALPHA,
        beta: float = BETA,
        gamma: float = GAMMA,
        decay_rate: float = DECAY_RATE,
        top_k_semantic: int = 50,
        top_k_final: int = 10,
        *,
        domains: Iterable[str] | None = None,
        as_of: datetime | None = None,
        fused: bool = False,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RelevantMemories:
        """The memories that answer best, by α·relevance + β·decay + γ·importance."""
        from jiyi.longterm.retrieval import RelevantMemories

        await self._connection.own(user_id)
        asked = {
            "query": query,
            "alpha": alpha,
            "beta": beta,
            "gamma": gamma,
            "decay_rate": decay_rate,
            "candidates": top_k_semantic,
            "limit": top_k_final,
            "domains": listed(domains),
            "as_of": as_of,
            "fused": fused,
            "touch": touch,
            "time_zone": time_zone,
        }
        found = await self._connection.ask("/v1/longterm/recall", body_of(asked))
        return RelevantMemories(
            [hit_of(each) for each in found["hits"]],
            domains=tuple(found["domains"]),
            routed_by=found["routed_by"],
            notes=tuple(found["notes"]),
        )

    async def get_memory_context_for_prompt(
        self,
        user_id: str,
        query: str,
        *,
        token_budget: int = 1000,
        top_k_final: int = 10,
        time_zone: str | tzinfo | None = None,
    ) -> str:
        """The block of long-term memory for a prompt."""
        await self._connection.own(user_id)
        body = {"query": query, "token_budget": token_budget, "limit": top_k_final, "time_zone": time_zone}
        return str((await self._connection.ask("/v1/longterm/context", body_of(body)))["text"])

    async def feedback(self, user_id: str, useful: Any) -> list[str]:
        """Count memories as used; returns the ids counted."""
        await self._connection.own(user_id)
        body = {"useful": names_of(useful)}
        counted: list[str] = (await self._connection.call("POST", "/v1/longterm/feedback", body=body))["counted"]
        return counted

    async def cleanup_forgotten_memories(
        self,
        user_id: str,
        base_retention: float = BASE_RETENTION,
        strengthening_factor: float = STRENGTHENING_FACTOR,
        threshold: float = DEFAULT_THRESHOLD,
        exclude_memory_types: Sequence[str] = ("reflection",),
        dry_run: bool = False,  # noqa: FBT001, FBT002 - as in the long-term room
    ) -> int | ForgettingPlan:
        """Take out of recall what has fallen below the threshold; a dry run returns the plan."""
        from jiyi.longterm.forgetting import FadingMemory, ForgettingPlan

        await self._connection.own(user_id)
        body = {
            "base_retention": base_retention,
            "strengthening_factor": strengthening_factor,
            "threshold": threshold,
            "exclude_memory_types": list(exclude_memory_types),
        }
        if not dry_run:
            return int((await self._connection.call("POST", "/v1/longterm/forgetting", body=body))["count"])
        plan = await self._connection.ask("/v1/longterm/forgetting/plan", body)
        memories = tuple(
            FadingMemory(**{**with_times(each, "falls_below_at"), "entry": entry_of(each["entry"])})
            for each in plan["memories"]
        )
        return ForgettingPlan(plan["count"], plan["considered"], memories, plan["exempt"])

    async def restore(self, user_id: str, memories: Any = None) -> list[MemoryEntry]:
        """Bring back memories that were forgotten or corrected."""
        await self._connection.own(user_id)
        body = {} if memories is None else {"memories": names_of(memories)}
        done = await self._connection.call("POST", "/v1/longterm/restore", body=body)
        return [entry_of(each) for each in done["entries"]]

    async def pin(self, user_id: str, memory: Any, pinned: bool = True) -> bool:  # noqa: FBT001, FBT002
        """Pin or unpin a memory: a pinned one is not forgotten; `False` if there is none."""
        await self._connection.own(user_id)
        path = f"/v1/longterm/facts/{part(names_of(memory)[0])}/pin"
        done = await self._connection.call("PUT", path, body={"pinned": pinned}, again=True, missing=True)
        return done is not None

    async def conflicts(self, user_id: str, *, limit: int = 100) -> list[Conflict]:
        """Pairs of current facts that may contradict each other, the newest first."""
        from jiyi.longterm.conflicts import Conflict

        await self._connection.own(user_id)
        found = (await self._connection.get("/v1/longterm/conflicts", limit=limit))["conflicts"]
        return [Conflict(entry_of(each["newer"]), entry_of(each["older"])) for each in found]

    async def settle_conflict(self, user_id: str, newer: Any, older: Any, *, keep: str = "newer") -> bool:
        """Say which of two facts holds; `False` when there is no such conflict."""
        await self._connection.own(user_id)
        body = {"newer": names_of(newer)[0], "older": names_of(older)[0], "keep": keep}
        done = await self._connection.call("POST", "/v1/longterm/conflicts", body=body, missing=True)
        return done is not None

    async def superseded(self, user_id: str, *, limit: int = 100, reflections: bool = False) -> list[Replaced]:
        """Facts that were replaced, the last first."""
        from jiyi.longterm.conflicts import Replaced

        await self._connection.own(user_id)
        path = "/v1/longterm/superseded"
        found = (await self._connection.get(path, limit=limit, reflections=reflections))["superseded"]
        return [
            Replaced(entry_of(each["entry"]), None if each["by"] is None else entry_of(each["by"])) for each in found
        ]

    async def try_generate_reflection(
        self,
        user_id: str,
        conversation_id: str | None = None,
        importance_threshold: float = REFLECTION_THRESHOLD,
        cooldown_hours: float = REFLECTION_COOLDOWN_HOURS,
    ) -> MemoryEntry | None:
        """Reflect on the facts that no reflection covers yet, if they matter enough."""
        await self._connection.own(user_id)
        asked = {
            "conversation_id": conversation_id,
            "importance_threshold": importance_threshold,
            "cooldown_hours": cooldown_hours,
        }
        made = await self._connection.call("POST", "/v1/longterm/reflections", body=body_of(asked), timeout=300)
        return None if made["reflection"] is None else entry_of(made["reflection"])

    async def explain(self, user_id: str, memory: Any) -> dict[str, Any] | None:
        """Where a memory came from and how it stands; `None` when there is none."""
        await self._connection.own(user_id)
        path = f"/v1/longterm/facts/{part(names_of(memory)[0])}/explanation"
        found = await self._connection.get(path, missing=True)
        return None if found is None else dict(found["explanation"])


class ClientNotes:
    """The notes of the server's workspace."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def memory_append(self, text: str) -> AppendedNote:
        """Write an entry into today's note; in the file when this returns."""
        from jiyi.model.note import AppendedNote

        done = await self._connection.create("/v1/notes", {"text": text})
        return AppendedNote(**known(AppendedNote, with_times(done, "at")))

    async def memory_search(self, query: str, limit: int = 10, **options: Any) -> list[NoteHit]:
        """The pieces of notes that answer best; options as in `Notes.memory_search`."""
        from jiyi.model.note import NoteHit

        found = await self._connection.ask("/v1/notes/search", body_of({"query": query, "limit": limit, **options}))
        hits = []
        for each in found["hits"]:
            day = each.get("date")
            explained = Explanation(dict((each.get("explanation") or {}).get("parts", {})))
            told = {**each, "date": None if day is None else date.fromisoformat(day), "explanation": explained}
            hits.append(NoteHit(**{"id": "", **known(NoteHit, told)}))
        return hits

    async def memory_get(self, path: str, from_line: int = 1, to_line: int | None = None) -> NoteText:
        """Lines of a note."""
        from jiyi.model.note import NoteText

        found = await self._connection.get(
            f"/v1/notes/files/{'/'.join(map(part, path.split('/')))}", from_line=from_line, to_line=to_line
        )
        return NoteText(**known(NoteText, found))

    async def attribution(self, path: str, from_line: int = 1, to_line: int | None = None) -> list[LineAttribution]:
        """Who wrote which lines of a note."""
        from jiyi.model.note import LineAttribution

        found = await self._connection.get(
            f"/v1/notes/attribution/{'/'.join(map(part, path.split('/')))}", from_line=from_line, to_line=to_line
        )
        return [LineAttribution(**known(LineAttribution, with_times(each, "at"))) for each in found["lines"]]

    async def list_files(self) -> list[Mapping[str, Any]]:
        """Every note file that is known."""
        found: list[Mapping[str, Any]] = (await self._connection.get("/v1/notes"))["notes"]
        return found

    async def curate(self, *, days: int = 7) -> Proposal:
        """Propose an edit of MEMORY.md from the notes of the last days."""
        return _proposal(await self._connection.call("POST", "/v1/notes/proposals", body={"days": days}, timeout=300))

    async def proposals(self) -> list[Proposal]:
        """The proposals that wait, oldest first."""
        return [_proposal(each) for each in (await self._connection.get("/v1/notes/proposals"))["proposals"]]

    async def accept(self, proposal: Proposal | str, *, items: Sequence[int] | None = None) -> Accepted:
        """Apply a proposal, or some of its items."""
        from jiyi.notes.promotion import Accepted

        return Accepted(**known(Accepted, await self._settle(proposal, "accept", items)))

    async def reject(self, proposal: Proposal | str, *, items: Sequence[int] | None = None) -> tuple[str, ...]:
        """Drop a proposal, or some of its items."""
        return tuple((await self._settle(proposal, "reject", items))["rejected"])

    async def _settle(self, proposal: Proposal | str, how: str, items: Sequence[int] | None) -> Any:
        path = f"/v1/notes/proposals/{part(getattr(proposal, 'id', None) or str(proposal))}/{how}"
        body = {} if items is None else {"items": list(items)}
        return await self._connection.call("POST", path, body=body)


def _proposal(data: Mapping[str, Any]) -> Proposal:
    from jiyi.notes.proposals import Proposal, ProposalItem

    items = tuple(ProposalItem(**known(ProposalItem, each)) for each in data["items"])
    told = with_times(data, "created_at")
    return Proposal(told["id"], told["diff"], "", "", told["made_by"], items, told["created_at"])
