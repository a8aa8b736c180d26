"""Every room over REST: long-term, notes, runtime, jobs, transfers; and creating requests that are sent twice."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

from jiyi.apps.server.access import Access
from jiyi.apps.server.app import build_app
from jiyi.apps.server.gate import GateRules
from jiyi.apps.server.mcp.endpoint import McpEndpoint
from jiyi.apps.server.rest import events
from jiyi.errors import StorageError
from tests.server.served import Served, read_events, run, served

NOTED = {"messages": [{"role": "user", "content": "hi"}]}
CREATING: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("/v1/entries", {"content": "Anna likes tea"}, {"content": "Anna likes coffee"}),
    ("/v1/entries", {"key": "a", "content": "Anna likes tea"}, {"key": "a", "content": "x"}),
    (
        "/v1/entries/batch",
        {"entries": [{"key": "a", "content": "1"}, {"key": "b", "content": "2"}]},
        {"entries": [{"key": "c", "content": "3"}]},
    ),
    ("/v1/conversations/t/messages", NOTED, {"messages": [{"role": "user", "content": "ho"}]}),
    (
        "/v1/longterm/rounds",
        {"conversation_id": "t", "user": "My sister lives in Oslo"},
        {"conversation_id": "t", "user": "x"},
    ),
    ("/v1/runtime/memories", {"memory_type": "a", "judgment": "b"}, {"memory_type": "a", "judgment": "c"}),
    ("/v1/runtime/feedback", {"new_memories": [{"memory_type": "a", "judgment": "b"}]}, {"new_memories": []}),
]


async def everything(it: Served) -> dict[str, int]:
    """How much there is of everything that can be created."""
    entries = await it.memory.count(memory_types=["message", "fact", "core", "a", "note"])
    changes = [each for each in await it.memory.changes(limit=1000) if each.operation in {"create", "update"}]
    messages = [
        each for name in await it.memory.list_sessions() for each in await it.memory.load_conversation_history(name)
    ]
    jobs = await it.memory.jobs(states=["queued", "running", "done", "dead"])
    return {"entries": entries, "changes": len(changes), "messages": len(messages), "jobs": len(jobs)}


@pytest.mark.parametrize("number", range(len(CREATING)))
def test_a_creating_request_with_one_key_takes_effect_once_also_after_a_restart(tmp_path: Path, number: int) -> None:
    path, body, other = CREATING[number]

    async def scenario() -> None:
        async with served(tmp_path) as it:
            first = await it.client.post(path, json=body, headers={"Idempotency-Key": "k1"})
            assert first.is_success, first.text
            done = await everything(it)
        async with served(tmp_path) as it:
            again = await asyncio.gather(
                *(it.client.post(path, json=body, headers={"Idempotency-Key": "k1"}) for _ in range(3))
            )
            for each in again:
                assert each.status_code == first.status_code, each.text
                assert each.headers["idempotency-replayed"] == "true"
                assert {**each.json(), "repeated": None} == {**first.json(), "repeated": None}
            assert await everything(it) == done
            reused = await it.client.post(path, json=other, headers={"Idempotency-Key": "k1"})
            assert reused.status_code == 409, reused.text
            assert "request" in reused.json()["detail"]
            assert await everything(it) == done
            fresh = await it.client.post(path, json=body, headers={"Idempotency-Key": "k2"})
            assert "idempotency-replayed" not in fresh.headers
            assert await everything(it) != done

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "before_and_after", [("Pacific/Kiritimati", "Pacific/Honolulu"), ("Pacific/Honolulu", "Pacific/Kiritimati")]
)
def test_an_entry_of_a_note_is_found_again_after_a_change_of_the_time_zone(
    tmp_path: Path, before_and_after: tuple[str, str]
) -> None:
    # These zones are 24 hours apart: the day of one is always beside that of the other.
    async def scenario() -> None:
        answers = []
        (tmp_path / "notes").mkdir()
        for zone in before_and_after:
            async with served(tmp_path / "data", workspace=tmp_path / "notes", time_zone=zone) as it:
                headers = {"Idempotency-Key": "k1"}
                answers.append(await it.client.post("/v1/notes", json={"text": "Anna likes tea"}, headers=headers))
        first, again = answers
        assert again.headers["idempotency-replayed"] == "true"
        assert (again.status_code, again.json()["id"]) == (201, first.json()["id"])

    asyncio.run(scenario())


def test_numbers_flags_and_times_are_taken_as_the_schema_says(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        for right in ({"limit": 5.0}, {"min_relevance": 0}, {"since": "2026-11-16T09:30:00+08:00"}):
            await it.post("/v1/recall", {"query": "tea", **right})
        for wrong in ({"limit": "5"}, {"limit": 5.5}, {"highlights": 1}, {"since": 1_700_000_000}, {"since": "2026"}):
            assert (await it.post("/v1/recall", {"query": "tea", **wrong}, status=422))["code"] == "wrong_form"

    run(tmp_path, scenario)


def test_a_refused_request_says_what_was_wrong_and_how_to_send_it(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        number = await it.post("/v1/recall", {"query": "tea", "limit": "five"}, status=422)
        assert number["detail"].endswith("not 'five'")
        bare = await it.client.post("/v1/recall", content=b'{"query": "tea"}')
        assert bare.status_code == 422
        assert "Content-Type: application/json" in bare.json()["detail"]
        other = await it.client.post("/v1/recall", json={"query": "tea"}, headers={"Host": "memory.example"})
        assert other.status_code == 421
        assert "--allow-host" in other.json()["detail"]

    run(tmp_path, scenario)


def test_a_request_that_was_refused_can_be_sent_again_with_its_key(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        assert (await it.post("/v1/entries", {"content": " "}, key="k", status=400))["code"] == "InvalidInputError"
        assert (await it.post("/v1/entries", {"content": "tea"}, key="k", status=201))["content"] == "tea"

    run(tmp_path, scenario)


def test_of_two_changes_of_one_version_the_second_is_refused(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        made = await it.post("/v1/entries", {"content": "tea"}, status=201)
        url, match = f"/v1/entries/{made['id']}", {"If-Match": '"1"'}
        both = await asyncio.gather(
            *(it.client.patch(url, json={"content": f"tea {number}"}, headers=match) for number in range(2))
        )
        assert sorted(each.status_code for each in both) == [200, 412]
        assert (await it.client.get(url, headers={"If-None-Match": '"2"'})).status_code == 304
        assert (await it.client.delete(url, headers=match)).json()["code"] == "changed_meanwhile"

    run(tmp_path, scenario)


def test_facts_conflicts_reflections_and_forgetting_go_through_the_long_term_room(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        job = await it.post(
            "/v1/longterm/rounds", {"conversation_id": "t", "user": "My sister lives in Oslo"}, status=202
        )
        assert [each["id"] for each in (await it.get("/v1/jobs?state=queued"))["jobs"]] == [job["job_id"]]
        await it.memory.run_jobs()
        [fact] = (await it.get("/v1/longterm/facts"))["entries"]
        assert "Oslo" in fact["content"]
        assert (await it.get(f"/v1/longterm/facts?domain={fact['domain']}"))["entries"][0]["id"] == fact["id"]
        found = await it.post("/v1/longterm/recall", {"query": "Where does my sister live?"})
        assert found["hits"][0]["id"] == fact["id"]
        assert found["routed_by"]
        assert "Oslo" in (await it.post("/v1/longterm/context", {"query": "Where does my sister live?"}))["text"]
        assert (await it.post("/v1/longterm/feedback", {"useful": [fact["id"]]}))["counted"] == [fact["id"]]
        url = f"/v1/longterm/facts/{fact['id']}"
        assert (await it.client.put(f"{url}/pin", json={"pinned": True})).json() == {"pinned": True}
        assert "explanation" in await it.get(f"{url}/explanation")
        plan = await it.post("/v1/longterm/forgetting/plan", {"threshold": 0.1})
        assert plan["count"] == 0
        assert await it.post("/v1/longterm/forgetting", {}) == {"count": 0}
        assert (await it.get("/v1/longterm/conflicts"))["conflicts"] == []
        wrong = {"newer": fact["id"], "older": fact["id"], "keep": "newer"}
        assert (await it.client.post("/v1/longterm/conflicts", json=wrong)).status_code in {400, 404}
        assert (await it.post("/v1/longterm/reflections", {"importance_threshold": 100})) == {"reflection": None}
        assert (await it.get("/v1/longterm/reflections"))["entries"] == []
        assert (await it.get("/v1/longterm/superseded"))["superseded"] == []

    run(tmp_path, scenario)


def test_notes_are_listed_searched_written_and_edited_by_proposals(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        await it.memory.notes.init_workspace()
        note = await it.post("/v1/notes", {"text": "I prefer the dentist in Oslo"}, key="n1", status=201)
        again = await it.post("/v1/notes", {"text": "I prefer the dentist in Oslo"}, key="n1", status=201)
        assert again["id"] == note["id"]
        text = (await it.get(f"/v1/notes/files/{note['path']}"))["text"]
        assert text.count("dentist") == 1
        assert note["path"] in {each["path"] for each in (await it.get("/v1/notes"))["notes"]}
        assert (await it.post("/v1/notes/search", {"query": "When is the dentist?"}))["hits"][0]["path"] == note["path"]
        proposal = await it.post("/v1/notes/proposals", {"days": 7}, status=201)
        assert [each["id"] for each in (await it.get("/v1/notes/proposals"))["proposals"]] == [proposal["id"]]
        url = f"/v1/notes/proposals/{proposal['id']}"
        shown = await it.client.get(url)
        assert shown.json() == proposal
        stale = await it.client.post(f"{url}/accept", json={}, headers={"If-Match": '"0"'})
        assert (stale.status_code, stale.json()["code"]) == (412, "changed_meanwhile")
        assert (await it.post(f"{url}/accept", {"items": [99]}, status=400))["code"] == "InvalidInputError"
        match = {"If-Match": shown.headers["etag"]}
        done = await it.client.post(f"{url}/accept", json={"items": [1]}, headers=match)
        assert "dentist" in done.json()["added"][0]
        assert (await it.post(f"{url}/reject", {}, status=404))["code"] == "no_proposal"
        assert "dentist" in (await it.get("/v1/notes/files/MEMORY.md"))["text"]
        lines = (await it.get("/v1/notes/attribution/MEMORY.md"))["lines"]
        assert {each["origin"] for each in lines} == {"template", "proposal"}
        accepted = next(each for each in lines if each["origin"] == "proposal")
        assert (accepted["by"], accepted["note"], accepted["made_by"]) == ("agent", note["path"], "rules")
        last = accepted["end_line"]
        only = await it.get(f"/v1/notes/attribution/MEMORY.md?from_line={last}&to_line={last}")
        assert only["lines"] == [accepted]

    run(tmp_path / "data", scenario, workspace=tmp_path / "notes")


def test_the_runtime_remembers_recalls_and_learns(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        body = {"memory_type": "preference", "judgment": "Likes short answers", "tags": ["style"]}
        [made] = (await it.post("/v1/runtime/memories", body, status=201))["ids"]
        for how in ("plain", "comprehensive", "chained"):
            found = await it.post("/v1/runtime/recall", {"query": "style of answers", "how": how})
            assert [each["id"] for each in found["memories"]] == [made]
        assert (await it.post("/v1/runtime/feedback", {"useful_memory_ids": [made]}))["strengthened"] == [made]
        url = f"/v1/runtime/memories/{made}"
        changed = await it.client.patch(url, json={"judgment": "Likes very short answers"})
        assert (changed.json()["judgment"], changed.json()["strength"]) == ("Likes very short answers", 2)
        assert (await it.get("/v1/runtime/tags"))["tags"] == [{"tag": "style", "count": 1}]
        report = await it.post("/v1/runtime/consolidation", {})
        assert report["dry_run"] is True
        assert (await it.client.delete(url)).json() == {"forgotten": True, "erased": False}
        assert (await it.post(f"{url}/restore"))["id"] == made
        await it.get("/v1/runtime/memories/unknown", status=404)

    run(tmp_path, scenario)


def test_of_two_changes_of_one_version_of_a_judgment_the_second_is_refused(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        body = {"memory_type": "preference", "judgment": "Likes short answers"}
        [made] = (await it.post("/v1/runtime/memories", body, status=201))["ids"]
        url = f"/v1/runtime/memories/{made}"
        tag = (await it.client.get(url)).headers["etag"]
        match = {"If-Match": tag}
        both = await asyncio.gather(
            *(it.client.patch(url, json={"judgment": f"Likes {number}"}, headers=match) for number in range(2))
        )
        assert sorted(each.status_code for each in both) == [200, 412]
        # Feedback is a change too.
        tag = next(each.headers["etag"] for each in both if each.is_success)
        await it.post("/v1/runtime/feedback", {"useful_memory_ids": [made]})
        refused = await it.client.delete(url, headers={"If-Match": tag})
        assert (refused.status_code, refused.json()["code"]) == (412, "changed_meanwhile")
        assert (await it.client.delete(url, headers={"If-Match": "*"})).is_success
        gone = await it.client.patch("/v1/runtime/memories/unknown", json={"judgment": "x"}, headers=match)
        assert gone.status_code == 404
        public = await it.memory.runtime.remember("fact", "known to all", memory_scope="public")
        assert "etag" not in (await it.client.get(f"/v1/runtime/memories/{public}")).headers

    run(tmp_path, scenario)


def test_a_turn_or_a_note_with_a_key_that_was_used_for_another_text_is_refused(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        for path in ("/v1/conversations/t/turns", "/v1/notes"):
            await it.post(path, {"text": "Anna likes tea"}, key=path, status=201)
            refused = await it.post(path, {"text": "Anna likes coffee"}, key=path, status=409)
            assert refused["code"] == "RequestReusedError"
            await it.post(path, {"text": "Anna likes tea"}, key=path, status=201)
            await it.post(path, {"text": "Anna likes coffee"}, key=f"{path}2", status=201)
        said = await it.get("/v1/conversations/t/messages")
        assert [each["content"] for each in said["messages"]] == ["Anna likes tea", "Anna likes coffee"]
        _, noted = await it.memory.notes.entries_of_day()
        assert [each.entry.text for each in noted] == ["Anna likes tea", "Anna likes coffee"]

    (tmp_path / "notes").mkdir()
    run(tmp_path / "data", scenario, workspace=tmp_path / "notes")


def test_an_export_is_imported_as_a_stream_with_a_dry_run_and_numbered_refusals(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with served(tmp_path / "one") as it:
            for number in range(30):
                await it.memory.store(f"k{number}", f"number {number} {'x' * 3000}")
            await it.memory.store("other", "of bob", scope="bob")
            exported = (await it.client.get("/v1/export")).content
            assert b"of bob" not in exported
        async with served(tmp_path / "two") as it:
            lines = {"Content-Type": "application/x-ndjson"}

            async def pieces() -> Any:
                for start in range(0, len(exported), 7_000):
                    yield exported[start : start + 7_000]

            dry = await it.client.post("/v1/import?dry_run=true", content=pieces(), headers=lines)
            assert (dry.status_code, dry.json()["entries"], await it.memory.count()) == (200, 30, 0)
            bad = exported + json.dumps({"kind": "entry", "scope": "bob"}).encode() + b"\n"
            refused = await it.client.post("/v1/import", content=bad, headers=lines)
            number = bad.count(b"\n")
            assert (refused.status_code, refused.json()["code"]) == (400, "ImportFormatError")
            assert f"line {number}" in refused.json()["detail"]
            assert str(tmp_path) not in refused.text
            assert "/tmp" not in refused.text
            assert await it.memory.count() == 0
            skipped = await it.client.post("/v1/import?skip_bad_rows=true", content=bad, headers=lines)
            assert (skipped.json()["entries"], len(skipped.json()["refused"])) == (30, 1)
            twice = await it.client.post("/v1/import", content=exported, headers=lines)
            assert (twice.json()["entries"], await it.memory.count()) == (0, 30)
            wrong = await it.client.post("/v1/import", content=exported, headers={"Content-Type": "text/html"})
            assert wrong.status_code == 415

    asyncio.run(scenario())


def test_an_import_may_be_larger_than_other_requests(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        rules = GateRules(anonymous=Access("alice"), max_body=1_000, max_upload=5_000)
        transport = httpx.ASGITransport(app=build_app(it.memory, rules=rules))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            lines = {"Content-Type": "application/x-ndjson"}
            header = b'{"kind":"jiyi-export","format":1}\n'
            large = await client.post("/v1/import", content=header + b"\n" * 3_000, headers=lines)
            assert large.status_code == 200, large.text
            assert (await client.post("/v1/import", content=header + b"\n" * 9_000, headers=lines)).status_code == 413
            assert (await client.post("/v1/recall", content=b" " * 3_000)).status_code == 413

    run(tmp_path, scenario)


def test_dead_jobs_are_listed_with_their_reasons_and_retried(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        assert (await it.get("/v1/jobs"))["jobs"] == []
        assert (await it.post("/v1/jobs/unknown/retry", status=404))["code"] == "no_job"
        assert (await it.get("/v1/jobs?state=nonsense", status=422))["code"] == "wrong_form"

    run(tmp_path, scenario)


def test_pages_of_conversations_and_messages_follow_each_other(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        for name in ("a", "b", "c"):
            await it.post(
                f"/v1/conversations/{name}/messages", {"messages": [{"role": "user", "content": name}] * 3}, status=201
            )
        first = await it.get("/v1/conversations?limit=2")
        rest = await it.get(f"/v1/conversations?limit=2&cursor={first['next_cursor']}")
        assert [*first["conversations"], *rest["conversations"]] == ["c", "b", "a"]
        assert rest["next_cursor"] is None
        page = await it.get("/v1/conversations/a/messages?limit=2")
        assert len((await it.get(f"/v1/conversations/a/messages?cursor={page['next_cursor']}"))["messages"]) == 1
        assert (await it.get("/v1/conversations/a/status"))["messages"] == 3
        gone = await it.client.delete("/v1/conversations/a")
        assert gone.status_code == 200
        assert (await it.get("/v1/conversations/a/messages"))["messages"] == []

    run(tmp_path, scenario)


def test_recall_tells_of_its_progress_and_then_gives_the_hits(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        await it.memory.store("tea", "She drinks green tea")
        told = await read_events(it.app, "/v1/recall", {"query": "What does she drink?"})
        assert [hit["key"] for hit in told[-1][1]["hits"]] == ["tea"]
        assert told[-1][0] == "hits"

    run(tmp_path, scenario)


def test_no_answer_names_a_folder_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(it: Served) -> None:
        await it.memory.store("tea", "oolong")
        with closing(sqlite3.connect(tmp_path / "memory.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            busy = await it.client.post("/v1/entries", json={"content": "x"})
        assert (busy.status_code, busy.json()["code"]) == (503, "StoreBusyError")
        assert busy.json()["detail"].startswith("memory.db is locked")

        async def lost(*_: object, **__: object) -> None:
            raise StorageError(f"{tmp_path / 'memory.db'} cannot be read; look at {tmp_path}")

        monkeypatch.setattr(it.memory, "recall", lost)
        told = await it.client.post("/v1/recall", json={"query": "tea"})
        events_told = await read_events(it.app, "/v1/recall", {"query": "tea"})
        shown = await it.client.get("/console/search?q=tea")
        endpoint = McpEndpoint(it.memory, lambda _context: Access("alice"))
        async with Client(endpoint.server) as client:
            called = await client.call_tool("recall", {"query": "tea"})
        await endpoint.changes.close()
        for text in (busy.text, told.text, str(events_told), shown.text, str(called)):
            assert str(tmp_path) not in text
            assert "memory.db" in text

    run(tmp_path, scenario, busy_timeout=0.2)


def test_one_stream_too_many_has_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(it: Served) -> None:
        monkeypatch.setattr(events.Streams, "check", events.Streams(max_open_of_one=0).check)
        refused = await it.client.post("/v1/recall", json={"query": "x"}, headers={"Accept": "text/event-stream"})
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_streams")

    run(tmp_path, scenario)


def test_a_server_that_only_reads_answers_questions_and_refuses_changes(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        assert (await it.post("/v1/recall", {"query": "tea"}))["hits"] == []
        for path, body, _ in CREATING:
            assert (await it.post(path, body, status=403))["code"] == "read_only"

    run(tmp_path, scenario, read_only=True)


def test_every_route_refuses_a_query_parameter_that_it_does_not_have(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        paths = (await it.client.get("/v1/openapi.json")).json()["paths"]
        refused = 0
        for path, operations in paths.items():
            for method in operations:
                url = re.sub(r"\{\w+\}", "x", path)
                answer = await it.client.request(method, f"{url}?wehre=1&wehre=2", json={})
                assert (answer.status_code, answer.json()["code"]) == (422, "wrong_form"), (method, path)
                assert "query.wehre: unknown parameter" in answer.json()["detail"], (method, path)
                refused += 1
        assert refused > 50
        answer = await it.client.get("/v1/entries?wehre=1")
        assert "known are category, conversation_id, cursor" in answer.json()["detail"]
        assert (await it.client.get("/v1/entries?where=[1")).json()["detail"].startswith("where '[1' is not JSON")

    run(tmp_path, scenario)
