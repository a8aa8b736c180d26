"""MemoryClient: the same program runs on a memory here and on one behind a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from jiyi import AgentMemory, errors
from jiyi.apps.server.access import RIGHTS, Access
from jiyi.apps.server.app import build_app
from jiyi.apps.server.gate import GateRules
from jiyi.client import MemoryClient
from jiyi.ports import ToolCall
from jiyi.testing.models import ScriptedModel
from tests.server.served import model
from tests.support import present


async def program(memory: Any) -> list[object]:
    """What a user of a memory does, and what it sees."""
    seen: list[object] = []
    first = await memory.store("tea", "她爱喝绿茶", tags=["茶"], metadata={"cups": 3})
    seen.append((first.key, first.version, first.tags, dict(first.metadata)))
    changed = await memory.update("tea", content="她爱喝红茶")
    seen.append((changed.content, changed.version, changed.tags))
    await memory.add("The car is in the garage")
    hits = await memory.recall("她喝什么？", 1)
    seen.append([(hit.content, hit.confident, round(hit.relevance_score, 3), hit.matched) for hit in hits])
    seen.append([version.operation for version in await memory.history("tea")])
    page = await memory.list(limit=1)
    following = await memory.list(limit=1, cursor=page.next_cursor)
    seen.append([entry.content for entry in [*page, *following]])
    seen.append([change.operation for change in await memory.changes(after=0)])
    seen.append((await memory.forget("tea"), await memory.forget("tea"), await memory.get("tea"), await memory.count()))
    for wrong in (memory.store("", "x"), memory.recall("x", limit=0), memory.update("nothing", content="x")):
        with pytest.raises(errors.InvalidInputError):
            await wrong
    return seen


async def more_of_it(memory: Any) -> list[object]:
    """The same for what is done by many, by pages and by administrators."""
    seen: list[object] = []
    many = await memory.store_many({"key": f"k{n}", "content": f"number {n}", "tags": ["n"]} for n in range(5))
    seen.append([(entry.key, entry.content) for entry in many])
    seen.append((await memory.count(tags=["n"]), await memory.count(key_prefix="k1")))
    await memory.add("filed away", namespace=("work", "x"))
    seen.append(await memory.list_namespaces())
    done = await memory.forget_many(tags=["n"], dry_run=True)
    seen.append((done.matched, done.forgotten, done.dry_run))
    seen.append((await memory.forget_many(key_prefix="k")).forgotten)
    entry = await memory.store("tea", "green")
    with pytest.raises(errors.VersionConflictError):
        await memory.update("tea", content="black", if_version=entry.version + 1)
    seen.append((await memory.update("tea", content="red", if_version=entry.version)).content)
    seen.append(await memory.last_position() > 0)
    seen.append([job.state for job in await memory.jobs(states=["queued", "dead"])])
    seen.append(await memory.retry_job("unknown"))
    return seen


async def conditions(memory: Any) -> list[object]:
    """The conditions of a list, the fields of an entry and the options of recall."""
    seen: list[object] = []
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    await memory.store("a", "green tea", metadata={"p": "x"}, conversation_id="talk", position=1, importance=0.1)
    await memory.store("b", "coffee, no milk", metadata={"p": "y"}, importance=0.9)
    await memory.store("c", "green tea with lemon", metadata={"p": "x"}, conversation_id="talk", position=2)
    await memory.store("d", "cheap tea", expires_at=now + timedelta(hours=1))
    seen.append([entry.key for entry in await memory.list(where={"p": "x"}, sort="key")])
    seen.append(
        (await memory.count(where={"p": {"$in": ["y", "z"]}}), await memory.count(), await memory.count(now=now))
    )
    seen.append([entry.key for entry in await memory.list(sort="key", category=iter(["core"]), offset=1)])
    seen.append((await memory.get("a")).position)
    with pytest.raises(errors.InvalidInputError, match="near"):
        await memory.count(where={"p": {"$near": 1}})
    [hit] = await memory.recall("tea with lemon", 1, context=1, highlights=True, duplicates=True)
    assert hit.context
    assert hit.explanation.highlights
    seen.append((hit.key, [entry.key for entry in hit.context], hit.explanation.highlights))
    weighted = await memory.recall("green tea", weights=(0, 0.5, 1), decay_rate=0.5, now=now, duplicates=True)
    seen.append([(hit.key, round(hit.final_score, 6)) for hit in weighted])
    return seen


async def rooms(memory: Any) -> list[object]:
    """Conversations, long-term and runtime."""
    seen: list[object] = []
    chat = memory.chat("talk")
    await chat.put({"role": "user", "content": "I am allergic to penicillin", "extra": 1})
    await chat.put_many([{"role": "assistant", "content": "Noted"}, {"role": "user", "content": "Thanks"}])
    seen.append([message.to_dict() for message in await chat.get_all()])
    window = await chat.get()
    seen.append(([message.text for message in window], window.tokens, window.token_limit))
    seen.append(await memory.list_sessions())
    seen.append(await memory.save_conversation_history("other", [{"role": "user", "content": "hello"}]))
    seen.append([message.text for message in await memory.load_conversation_history("other")])
    await memory.forget_session("other")
    seen.append(list(await memory.load_conversation_history("other")))
    lt = memory.longterm
    assert await lt.schedule_round("alice", "round", "My sister lives in Oslo", "Noted")
    await memory.store("sister", "My sister lives in Oslo", memory_type="fact", domain="social_and_relationships")
    found = await lt.retrieve_relevant_memories("alice", "Where does my sister live?", touch=False)
    seen.append([(hit.content, round(hit.final_score, 2), sorted(hit.score_parts)) for hit in found])
    seen.append((found.domains, found.routed_by))
    seen.append("Oslo" in await lt.get_memory_context_for_prompt("alice", "Where does my sister live?"))
    seen.append(len(await lt.feedback("alice", found)))
    plan = await lt.cleanup_forgotten_memories("alice", dry_run=True)
    seen.append((plan.count, plan.considered, [each.entry.content for each in plan.memories]))
    seen.append(
        (await lt.cleanup_forgotten_memories("alice"), await lt.conflicts("alice"), await lt.superseded("alice"))
    )
    seen.append((await lt.pin("alice", found[0]), await lt.pin("alice", "unknown")))
    seen.append((sorted(await lt.explain("alice", found[0])), await lt.explain("alice", "unknown")))
    seen.append(await lt.try_generate_reflection("alice", importance_threshold=100))
    rt = memory.runtime
    made = await rt.remember("preference", "Likes short answers", "said so", ["style"])
    [hit] = await rt.recall("style of answers")
    seen.append((hit.judgment, hit.reasoning, hit.tags, hit.id == made, hit.matched))
    seen.append(
        (await rt.feedback([made], new_memories=[{"memory_type": "a", "judgment": "b"}])).strengthened == (made,)
    )
    seen.append((await rt.get(made)).strength)
    changed = await rt.update(made, judgment="Likes very short answers", if_version=(await rt.get(made)).version)
    seen.append((changed.judgment, changed.version))
    with pytest.raises(errors.VersionConflictError):
        await rt.forget(made, if_version=1)
    seen.append((await rt.list_tags(), (await rt.consolidate_memories(memory_scope="alice", dry_run=True)).dry_run))
    seen.append((await rt.forget(made), (await rt.restore(made)).id == made, await rt.get("unknown")))
    return seen


async def turns(memory: Any) -> list[object]:
    """An assistant, with a model of the program and with the configured one."""
    seen: list[object] = []
    agent = memory.agent("turns")
    turn = await agent.begin("What do I drink?", request_id="m1")
    seen.append((turn.text, [message.text for message in turn.messages][-1], turn.reply))
    seen.append(sorted(each["function"]["name"] for each in turn.tools.openai()))
    call = {"id": "c1", "function": {"name": "list", "arguments": "{}"}}
    seen.append(bool(await turn.call(call)))
    assert [each.turn_id for each in await agent.unfinished()] == [turn.id]
    assert (await agent.open_turn(turn.id)).id == turn.id
    seen.append((await turn.finish("Green tea.")).used)
    seen.append((await agent.begin("What do I drink?", request_id="m1")).reply)
    part = await agent.begin("And for breakfast?", request_id="m2")
    await part.break_off("Green", "no time")
    seen.append((part.reply, part.broken_off))
    again = await agent.begin("And for breakfast?", request_id="m2")
    seen.append((again.reply, again.broken_off))
    repeated = [(event.kind, event.text) async for event in agent.stream("And for breakfast?", request_id="m2")]
    seen.append(repeated[1:])
    seen.append("".join([piece async for piece in agent.reply("And in the evening?")]))
    events = [(event.kind, event.name) async for event in agent.stream("Remember it")]
    seen.append([event for event in events if event[0] != "piece"])
    seen.append([message.role for message in await memory.chat("turns").get_all()])
    return seen


async def notes(memory: Any) -> list[object]:
    """The notes of the workspace."""
    written = await memory.notes.memory_append("I prefer green tea")
    hits = await memory.notes.memory_search("What is preferred?", 1)
    text = await memory.notes.memory_get(written.path)
    proposal = await memory.notes.curate()
    waiting = [each.id for each in await memory.notes.proposals()]
    seen: list[object] = [written.path, [hit.path for hit in hits], "green tea" in text, waiting == [proposal.id]]
    done = await memory.notes.accept(proposal, items=[proposal.items[0].number])
    told = await memory.notes.attribution("MEMORY.md")
    seen.append([(each.start_line, each.end_line, each.origin, each.by, each.note, each.made_by) for each in told])
    assert all((each.at is not None) == (each.origin == "proposal") for each in told)
    seen.append((done.added, [item.text for item in proposal.items], await memory.notes.proposals()))
    return seen


def assistant() -> ScriptedModel:
    remember = [ToolCall("c1", "remember", '{"content": "She drinks green tea"}')]
    return model("Camomile.", remember, "Done.")


PROGRAMS: dict[str, Any] = {
    "program": program,
    "more": more_of_it,
    "conditions": conditions,
    "rooms": rooms,
    "turns": turns,
    "notes": notes,
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_one_program_sees_the_same_here_and_behind_a_server(tmp_path: Path, name: str) -> None:
    act = PROGRAMS[name]

    def settings(place: str) -> dict[str, Any]:
        extra: dict[str, Any] = {"llm": assistant()} if name == "turns" else {}
        if name == "notes":
            extra = {"workspace": tmp_path / f"notes-{place}"}
        return {"scope": "alice", "background_jobs": False, **extra}

    async def here() -> Any:
        async with AgentMemory.open(tmp_path / "here", **settings("here")) as memory:
            if name == "notes":
                await memory.notes.init_workspace()
            return await act(memory)

    async def there() -> Any:
        async with AgentMemory.open(tmp_path / "there", **settings("there")) as memory:
            if name == "notes":
                await memory.notes.init_workspace()
            rights = frozenset(RIGHTS)
            app = build_app(memory, rules=GateRules(anonymous=Access("alice", rights), per_second=1e6, burst=10_000))
            transport = httpx.ASGITransport(app=app)
            async with MemoryClient("http://127.0.0.1", transport=transport) as client:
                return await act(client)

    assert asyncio.run(there()) == asyncio.run(here())


@asynccontextmanager
async def connected(
    path: Path, sent: list[httpx.Request] | None = None
) -> AsyncIterator[tuple[AgentMemory, MemoryClient]]:
    """A memory and a client of it; `sent` gets the requests."""

    class Counting(httpx.ASGITransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if sent is not None:
                sent.append(request)
            return await super().handle_async_request(request)

    async with AgentMemory.open(path, scope="alice", background_jobs=False) as memory:
        app = build_app(memory, rules=GateRules(anonymous=Access("alice"), per_second=1e6, burst=10_000))
        async with MemoryClient("http://127.0.0.1", transport=Counting(app=app)) as client:
            yield memory, client


def test_a_client_learns_that_a_message_was_corrected(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path) as (memory, client):
            for said in ("我住在杭州", "我搬到成都了"):
                await memory.longterm.extract_and_store_memories_for_round("alice", "c1", said, "好的。")
            hits = await client.recall("我住在杭州吗", duplicates=True)
            [old] = [hit for hit in hits if hit.content == "我住在杭州"]
            assert [fact.content for fact in old.corrected_by] == ["我搬到成都了"]

    asyncio.run(scenario())


def test_many_entries_are_stored_by_one_request(tmp_path: Path) -> None:
    async def scenario() -> None:
        sent: list[httpx.Request] = []
        async with connected(tmp_path, sent) as (memory, client):
            stored = await client.store_many({"key": f"k{n}", "content": f"number {n}"} for n in range(20))
            assert stored == [await memory.get(f"k{n}") for n in range(20)]
            assert [request.url.path for request in sent] == ["/v1/entries/batch"]

    asyncio.run(scenario())


def test_a_misspelt_condition_is_an_error_for_a_client(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path) as (_, client):
            with pytest.raises(errors.InvalidInputError, match="wehre"):
                await client.list(wehre={"p": "x"})

    asyncio.run(scenario())


def test_a_key_of_one_scope_is_no_key_of_another(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with AgentMemory.open(tmp_path) as memory:
            app = build_app(memory, rules=GateRules(anonymous=Access("alice")))
            async with MemoryClient("http://127.0.0.1", transport=httpx.ASGITransport(app=app)) as client:
                assert (await client.store("tea", "green", scope="alice")).scope == "alice"
                for wrong in (
                    client.store("tea", "black", scope="bob"),
                    client.longterm.conflicts("bob"),
                    client.runtime.recall("x", memory_scope="bob"),
                    client.agent("s", user="bob").begin("x"),
                ):
                    with pytest.raises(errors.InvalidInputError, match="belongs to scope 'alice'"):
                        await wrong

    asyncio.run(scenario())


def test_everything_goes_from_one_server_to_another_as_a_file(tmp_path: Path) -> None:
    async def scenario() -> None:
        for name in ("one", "two"):
            async with AgentMemory.open(tmp_path / name) as memory:
                app = build_app(memory, rules=GateRules(anonymous=Access("alice")))
                async with MemoryClient("http://127.0.0.1", transport=httpx.ASGITransport(app=app)) as client:
                    if name == "one":
                        await client.store("tea", "She drinks green tea")
                        assert await client.export_jsonl(tmp_path / "all.jsonl") >= 2
                        continue
                    assert (await client.import_jsonl(tmp_path / "all.jsonl", dry_run=True)).entries == 1
                    assert await client.count() == 0
                    assert (await client.import_jsonl(tmp_path / "all.jsonl")).entries == 1
                    assert present(await client.get("tea")).content == "She drinks green tea"

    asyncio.run(scenario())


def test_a_request_that_got_lost_on_the_way_is_sent_again_and_doubles_nothing(tmp_path: Path) -> None:
    class Lossy(httpx.AsyncBaseTransport):
        """Loses every answer once, after the server has done what was asked."""

        def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
            self.inner, self.lost = inner, 0

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            answer = await self.inner.handle_async_request(request)
            self.lost += 1
            if self.lost % 2:
                raise httpx.ReadError("the connection broke")
            return answer

    async def scenario() -> None:
        async with AgentMemory.open(tmp_path, scope="main") as memory:
            app = build_app(memory, rules=GateRules(anonymous=Access("alice")))
            transport = Lossy(httpx.ASGITransport(app=app))
            async with MemoryClient("http://127.0.0.1", transport=transport) as client:
                for number in range(3):
                    await client.add(f"number {number}")
                assert await memory.count(scope="alice") == 3

    asyncio.run(scenario())


def test_a_wrong_key_and_an_absent_server_are_errors_with_a_remedy(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with AgentMemory.open(tmp_path) as memory:
            transport = httpx.ASGITransport(app=build_app(memory, rules=GateRules()))
            async with MemoryClient("http://127.0.0.1", key="jy_wrong", transport=transport) as client:
                with pytest.raises(errors.ConfigError, match="jiyi keys add"):
                    await client.count()
        async with MemoryClient("http://127.0.0.1:9") as client:
            with pytest.raises(errors.StoreUnavailableError, match="jiyi serve"):
                await client.chat("talk").put({"role": "user", "content": "x"})

    asyncio.run(scenario())
