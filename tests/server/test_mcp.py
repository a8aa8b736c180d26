"""MCP: tools, resources and prompts, seen by the official client in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from jiyi.apps.server.access import READ
from jiyi.errors import StoreUnavailableError
from tests.server.conftest import OpenClient

ERAS = ["auto", "legacy"]


async def call(client: Client, name: str, **arguments: Any) -> types.CallToolResult:
    result = await client.call_tool(name, arguments)
    assert isinstance(result, types.CallToolResult)
    return result


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.parametrize("mode", ERAS)
def test_what_a_client_remembers_is_recalled_corrected_and_forgotten(mcp_client: OpenClient, mode: str) -> None:
    async def scenario() -> None:
        async with mcp_client(mode=mode) as (client, memory):
            kept = await call(client, "remember", content="小明对花生过敏", tags=["小明", "花生"])
            assert not kept.is_error
            assert "花生" in text_of(await call(client, "recall", query="小明不能吃什么？"))
            (entry,) = await memory.list(scope="alice")
            await call(client, "update", id=entry.id, content="小明对花生和虾过敏")
            assert "虾" in text_of(await call(client, "recall", query="小明不能吃什么？"))
            assert "Forgotten" in text_of(await call(client, "forget", id=entry.id))
            assert await memory.count(scope="alice") == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ERAS)
def test_the_annotations_say_truly_what_a_tool_may_change(mcp_client: OpenClient, mode: str) -> None:
    async def scenario() -> None:
        async with mcp_client(mode=mode) as (client, _):
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"remember", "recall", "forget", "update", "feedback", "list"}
            hints = {name: tool.annotations for name, tool in tools.items()}
            assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {"recall", "list"}
            assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == {"forget", "update"}
            assert all("scope" not in tool.input_schema["properties"] for tool in tools.values())

    asyncio.run(scenario())


def test_reading_only_hides_and_refuses_what_changes_something(mcp_client: OpenClient) -> None:
    async def scenario() -> None:
        async with mcp_client(rights=frozenset({READ})) as (client, memory):
            assert {tool.name for tool in (await client.list_tools()).tools} == {"recall", "list"}
            refused = await call(client, "remember", content="anything")
            assert refused.is_error
            assert "only reading is allowed" in text_of(refused)
            assert await memory.count(scope="alice") == 0

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("recal", {}, "there is no tool 'recal'"),
        ("recall", {}, "recall needs query"),
        ("recall", {"query": "x", "limit": "many"}, "limit"),
        ("recall", {"query": "x", "scope": "bob"}, "recall has no argument 'scope'"),
        ("forget", {"id": "nothing"}, "no memory"),
    ],
)
def test_mistakes_of_a_model_are_results_in_words(
    mcp_client: OpenClient, name: str, arguments: dict[str, Any], told: str
) -> None:
    async def scenario() -> None:
        async with mcp_client() as (client, _):
            result = await call(client, name, **arguments)
            assert told in text_of(result)
            assert "Traceback" not in text_of(result)

    asyncio.run(scenario())


def test_a_caller_sees_its_own_scope_and_no_other(mcp_client: OpenClient) -> None:
    async def scenario() -> None:
        async with mcp_client(scope="bob") as (client, memory):
            secret = await memory.store("pin", "The canary of alice sings at nine", scope="alice")
            assert "canary" not in text_of(await call(client, "recall", query="canary of alice"))
            assert "canary" not in text_of(await call(client, "list"))
            assert "no memory" in text_of(await call(client, "forget", id=secret.id))
            with pytest.raises(MCPError, match="no resource"):
                await client.read_resource(f"memory://entries/{secret.id}")
            recent = await client.read_resource("memory://recent")
            assert "canary" not in recent.model_dump_json()
            template = types.ResourceTemplateReference(uri="memory://entries/{id}")
            completed = await client.complete(template, {"name": "id", "value": secret.id[:8]})
            assert completed.completion.values == []
            assert await memory.get("pin", scope="alice") is not None

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ERAS)
def test_memories_and_notes_can_be_read_as_resources(mcp_client: OpenClient, tmp_path: Path, mode: str) -> None:
    async def scenario() -> None:
        async with mcp_client(mode=mode, workspace=tmp_path / "notes") as (client, memory):
            await memory.notes.init_workspace()
            await memory.notes.memory_append("The tea is in the blue tin")
            await memory.notes.scan()
            entry = await memory.store("tea", "She drinks green tea")
            listed = {str(resource.uri) for resource in (await client.list_resources()).resources}
            assert {"memory://recent", "memory://notes/MEMORY.md"} <= listed
            (content,) = (await client.read_resource(f"memory://entries/{entry.id}")).contents
            assert isinstance(content, types.TextResourceContents)
            assert json.loads(content.text)["content"] == "She drinks green tea"
            (note,) = [uri for uri in listed if "memory/" in uri]
            (content,) = (await client.read_resource(note)).contents
            assert isinstance(content, types.TextResourceContents)
            assert "blue tin" in content.text
            template = types.ResourceTemplateReference(uri="memory://notes/{+path}")
            completed = await client.complete(template, {"name": "path", "value": "MEM"})
            assert completed.completion.values == ["MEMORY.md"]

    asyncio.run(scenario())


def test_a_group_reads_no_private_note_by_its_address(mcp_client: OpenClient, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with mcp_client(kind="group", scope="group:club", workspace=tmp_path / "notes") as (client, memory):
            await memory.notes.init_workspace()
            with pytest.raises(MCPError, match="no resource"):
                await client.read_resource("memory://notes/MEMORY.md")
            listed = {str(resource.uri) for resource in (await client.list_resources()).resources}
            assert listed == {"memory://recent"}

    asyncio.run(scenario())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_prompts_come_in_both_languages(mcp_client: OpenClient, language: str) -> None:
    async def scenario() -> None:
        async with mcp_client() as (client, _):
            names = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert names == ["remember_conversation", "about_me", "weekly_review"]
            for name in names:
                prompt = await client.get_prompt(name, {"language": language})
                (message,) = prompt.messages
                assert isinstance(message.content, types.TextContent)
                assert ("请" in message.content.text) == (language == "zh")
            with pytest.raises(MCPError, match="en or zh"):
                await client.get_prompt("about_me", {"language": "fr"})

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("agrees", [True, False])
def test_the_person_is_asked_before_something_is_forgotten(mcp_client: OpenClient, mode: str, agrees: bool) -> None:
    asked: list[str] = []

    async def person(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"confirm": agrees})

    async def scenario() -> None:
        async with mcp_client(mode=mode, elicitation_callback=person) as (client, memory):
            entry = await memory.store("tea", "She drinks green tea")
            result = await call(client, "forget", id=entry.id)
            assert result.is_error is not agrees
            assert (await memory.count() == 0) is agrees

    asyncio.run(scenario())
    (question,) = asked
    assert "She drinks green tea" in question


@pytest.mark.parametrize("mode", ERAS)
def test_the_person_is_asked_as_well_when_a_key_names_the_memory(mcp_client: OpenClient, mode: str) -> None:
    async def refuses(_context: Any, _params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async def scenario() -> None:
        async with mcp_client(mode=mode, elicitation_callback=refuses) as (client, memory):
            await memory.store("tea", "She drinks green tea")
            assert (await call(client, "core_memory_forget", memory_id="tea")).is_error
            assert await memory.count() == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_fails_to_ask_has_not_agreed(mcp_client: OpenClient, mode: str) -> None:
    async def fails(_context: Any, _params: Any) -> types.ErrorData:
        return types.ErrorData(code=types.INTERNAL_ERROR, message="no window")

    async def scenario() -> None:
        async with mcp_client(mode=mode, elicitation_callback=fails) as (client, memory):
            entry = await memory.store("tea", "She drinks green tea")
            if mode == "legacy":
                assert (await call(client, "forget", id=entry.id)).is_error
            else:
                with pytest.raises(MCPError):
                    await call(client, "forget", id=entry.id)
            assert await memory.count() == 1

    asyncio.run(scenario())


def test_an_answer_counts_only_for_what_the_person_was_shown(mcp_client: OpenClient) -> None:
    asked: list[str] = []
    change: list[Any] = []

    async def person(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        if len(asked) == 1:
            # Somebody changes the memory while the person reads the question.
            await change[0]("tea", content="She drinks black tea")
        return types.ElicitResult(action="accept", content={"confirm": True})

    async def scenario() -> None:
        async with mcp_client(elicitation_callback=person) as (client, memory):
            entry = await memory.store("tea", "She drinks green tea")
            change.append(memory.update)
            assert not (await call(client, "forget", id=entry.id)).is_error
            assert await memory.count() == 0

    asyncio.run(scenario())
    assert ["green" in question for question in asked] == [True, False]


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_waits_hears_that_the_work_goes_on(
    mcp_client: OpenClient, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jiyi.apps.server.mcp.sessions._PROGRESS_EVERY", 0.01)

    async def scenario() -> None:
        heard: list[tuple[float, str | None]] = []
        enough = asyncio.Event()

        async def heard_of(progress: float, total: float | None, message: str | None) -> None:
            assert total is None
            heard.append((progress, message))
            if len(heard) == 3:
                enough.set()

        async with mcp_client(mode=mode) as (client, memory):
            recall = memory.recall

            async def slow(*given: Any, **more: Any) -> Any:
                await asyncio.wait_for(enough.wait(), 20)
                return await recall(*given, **more)

            monkeypatch.setattr(memory, "recall", slow)
            result = await client.call_tool("recall", {"query": "tea"}, progress_callback=heard_of)
            assert isinstance(result, types.CallToolResult)
            assert not result.is_error
        assert [done for done, _ in heard] == sorted(done for done, _ in heard)
        assert heard[0][1] == "recall goes on"

    asyncio.run(scenario())


def test_a_session_hears_of_errors_from_the_level_that_it_has_chosen(
    mcp_client: OpenClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        told: list[Any] = []

        async def logged(params: types.LoggingMessageNotificationParams) -> None:
            told.append(params)

        async def full(*_: Any, **__: Any) -> Any:
            raise StoreUnavailableError("the disk is full")

        async with mcp_client(mode="legacy", logging_callback=logged) as (client, memory):
            monkeypatch.setattr(memory, "recall", full)
            for level in ("emergency", "warning"):
                with pytest.warns(MCPDeprecationWarning):
                    await client.set_logging_level(level)  # type: ignore[deprecated]
                assert "the disk is full" in text_of(await call(client, "recall", query="tea"))
        (message,) = told
        assert message.level == "error"
        assert "StoreUnavailableError" in message.data

    asyncio.run(scenario())


def test_answers_are_bounded_however_much_is_remembered(mcp_client: OpenClient) -> None:
    async def scenario() -> None:
        async with mcp_client() as (client, memory):
            long = "She drinks green tea in the garden. " * 600
            await memory.store_many([{"key": f"tea-{each}", "content": f"tea {each} {long}"} for each in range(50)])
            for name, arguments in (
                ("recall", {"query": "Who drinks green tea?", "limit": 50}),
                ("list", {"limit": 50}),
            ):
                answer = text_of(await call(client, name, **arguments))
                assert len(answer) < 40_000
                assert "more left out" in answer
            (content,) = (await client.read_resource("memory://recent")).contents
            assert isinstance(content, types.TextResourceContents)
            assert len(content.text) <= 201_000
            recent = json.loads(content.text)
            assert len(recent["memories"]) + recent["left_out"] == 50
            assert recent["left_out"] > 0

    asyncio.run(scenario())


def test_a_client_is_told_no_more_after_it_has_unsubscribed(mcp_client: OpenClient) -> None:
    async def scenario() -> None:
        told: asyncio.Queue[Any] = asyncio.Queue()

        async def received(message: Any) -> None:
            await told.put(str(message.params.uri))

        async with mcp_client(mode="legacy", message_handler=received) as (client, memory):
            entry = await memory.store("tea", "She drinks green tea")
            for ask, uri in (
                (client.subscribe_resource, "memory://recent"),  # type: ignore[deprecated]
                (client.subscribe_resource, f"memory://entries/{entry.id}"),  # type: ignore[deprecated]
                (client.unsubscribe_resource, "memory://recent"),  # type: ignore[deprecated]
            ):
                with pytest.warns(MCPDeprecationWarning):
                    await ask(uri)
            for content in ("She drinks black tea", "She drinks white tea"):
                await memory.update(entry.id, content=content)
                assert await asyncio.wait_for(told.get(), 20) == f"memory://entries/{entry.id}"

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_is_told_when_a_note_is_written_or_appears(
    mcp_client: OpenClient, tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jiyi.apps.server.mcp.changes._NOTES_EVERY", 0.05)
    address = "memory://notes/MEMORY.md"

    async def scenario() -> None:
        told: asyncio.Queue[Any] = asyncio.Queue()

        async def received(message: Any) -> None:
            await told.put(message)

        async with mcp_client(mode=mode, workspace=tmp_path / "notes", message_handler=received) as (client, memory):
            await memory.notes.init_workspace()
            await client.list_resources()
            if mode == "legacy":
                with pytest.warns(MCPDeprecationWarning):
                    await client.subscribe_resource(address)  # type: ignore[deprecated]
                await asyncio.to_thread((tmp_path / "notes" / "MEMORY.md").write_text, "# Tea\n", "utf-8")
                assert isinstance(await asyncio.wait_for(told.get(), 20), types.ResourceUpdatedNotification)
                await asyncio.to_thread((tmp_path / "notes" / "memory" / "2026-01-01.md").write_text, "x\n", "utf-8")
                assert isinstance(await asyncio.wait_for(told.get(), 20), types.ResourceListChangedNotification)
                return
            async with client.listen(resource_subscriptions=[address], resources_list_changed=True) as events:
                coming = aiter(events)
                await asyncio.to_thread((tmp_path / "notes" / "MEMORY.md").write_text, "# Tea\n", "utf-8")
                assert await asyncio.wait_for(anext(coming), 20) == ResourceUpdated(uri=address)
                await asyncio.to_thread((tmp_path / "notes" / "memory" / "2026-01-01.md").write_text, "x\n", "utf-8")
                assert await asyncio.wait_for(anext(coming), 20) == ResourcesListChanged()

    asyncio.run(scenario())


def test_the_list_of_notes_comes_in_pages(mcp_client: OpenClient, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with mcp_client(workspace=tmp_path / "notes") as (client, memory):
            await memory.notes.init_workspace()
            for number in range(120):
                file = tmp_path / "notes" / "memory" / f"topic-{number:03}.md"
                await asyncio.to_thread(file.write_text, f"# {number}\n", "utf-8")
            first = await client.list_resources()
            second = await client.list_resources(cursor=first.next_cursor)
            names = [each.name for each in (*first.resources, *second.resources)]
            assert len(names) == len(set(names)) == 122
            assert second.next_cursor is None
            for ask in (client.list_resources, client.list_tools, client.list_prompts):
                with pytest.raises(MCPError, match="was not given by this server"):
                    await ask(cursor="nonsense")

    asyncio.run(scenario())


def test_a_client_is_told_when_a_memory_changes_whoever_wrote_it(mcp_client: OpenClient) -> None:
    async def scenario() -> None:
        told: asyncio.Queue[Any] = asyncio.Queue()

        async def received(message: Any) -> None:
            await told.put(message)

        async with mcp_client(mode="legacy", message_handler=received) as (client, memory):
            with pytest.warns(MCPDeprecationWarning):
                await client.subscribe_resource("memory://recent")  # type: ignore[deprecated]
            await memory.store("other", "Of another user", scope="bob")
            await memory.store("tea", "She drinks green tea", scope="alice")
            message = await asyncio.wait_for(told.get(), 20)
            assert isinstance(message, types.ResourceUpdatedNotification)
            assert str(message.params.uri) == "memory://recent"

    asyncio.run(scenario())


def test_the_stateless_protocol_streams_the_same_events(mcp_client: OpenClient) -> None:
    async def scenario() -> None:
        recent = ["memory://recent"]
        async with mcp_client() as (client, memory), client.listen(resource_subscriptions=recent) as events:
            await memory.store("other", "Of another user", scope="bob")
            await memory.store("tea", "She drinks green tea", scope="alice")
            event = await asyncio.wait_for(anext(aiter(events)), 20)
            assert event == ResourceUpdated(uri="memory://recent")

    asyncio.run(scenario())
