"""REST and the gate before it, seen by an HTTP client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from jiyi import AgentMemory
from jiyi.apps.server.access import METRICS, Access
from jiyi.apps.server.app import build_app
from jiyi.apps.server.audit import AuditLog
from jiyi.apps.server.gate import GateRules
from jiyi.apps.server.keys import Keys
from jiyi.apps.server.mcp.endpoint import McpEndpoint
from jiyi.wiring.keys import open_key_store

Scenario = Callable[["Served"], Awaitable[None]]


class Served:
    """A memory behind the app, its keys, and a client."""

    def __init__(self, memory: AgentMemory, keys: Keys, client: httpx.AsyncClient, audit: AuditLog) -> None:
        self.memory = memory
        self.keys = keys
        self.client = client
        self.audit = audit

    def bearer(self, scope: str, rights: str = "read,write") -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys.add('test', scope, rights)[1]}"}


@asynccontextmanager
async def served(folder: Path, **rules: Any) -> AsyncIterator[Served]:
    async with AgentMemory.open(folder, scope="main", background_jobs=False) as memory:
        keys = Keys(open_key_store(memory.settings))
        audit = AuditLog(keys)
        app = build_app(memory, rules=GateRules(**rules), keys=keys, audit=audit)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield Served(memory, keys, client, audit)
        keys.close()


def run(tmp_path: Path, scenario: Scenario, **rules: Any) -> None:
    async def whole() -> None:
        async with served(tmp_path / "data", **rules) as each:
            await scenario(each)

    asyncio.run(whole())


def test_an_entry_is_stored_read_changed_and_forgotten(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        headers = it.bearer("alice")
        made = await it.client.post(
            "/v1/entries", json={"key": "tea", "content": "She drinks green tea", "tags": ["tea"]}, headers=headers
        )
        assert made.status_code == 201
        assert made.headers["etag"] == '"1"'
        url = f"/v1/entries/{made.json()['id']}"
        changed = await it.client.patch(
            url, json={"content": "She drinks black tea"}, headers={**headers, "If-Match": '"1"'}
        )
        assert changed.json()["tags"] == ["tea"]
        of_same_name = {"key": made.json()["id"], "content": "Its key is the id of another"}
        await it.client.post("/v1/entries", json=of_same_name, headers=headers)
        again = await it.client.patch(url, json={"tags": ["tea"]}, headers=headers)
        assert (again.json()["id"], again.json()["version"]) == (made.json()["id"], 3)
        late = await it.client.patch(url, json={"content": "late"}, headers={**headers, "If-Match": '"1"'})
        assert (late.status_code, late.json()["code"]) == (412, "changed_meanwhile")
        found = await it.client.post("/v1/recall", json={"query": "What does she drink?"}, headers=headers)
        assert found.json()["hits"][0]["content"] == "She drinks black tea"
        assert len((await it.client.get(f"{url}/history", headers=headers)).json()["versions"]) == 3
        assert (await it.client.delete(url, headers=headers)).json() == {"forgotten": True, "erased": False}
        assert (await it.client.get(url, headers=headers)).status_code == 404

    run(tmp_path, scenario)


def test_a_request_that_is_sent_twice_with_one_idempotency_key_stores_once(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        headers = {**it.bearer("alice"), "Idempotency-Key": "one"}
        first, second = [
            await it.client.post("/v1/entries", json={"content": "once"}, headers=headers) for _ in range(2)
        ]
        assert first.json()["id"] == second.json()["id"]
        other = await it.client.post(
            "/v1/entries", json={"content": "once"}, headers={**it.bearer("alice"), "Idempotency-Key": "one"}
        )
        assert other.json()["id"] != first.json()["id"]
        assert await it.memory.count(scope="alice") == 2

    run(tmp_path, scenario)


def test_a_key_reaches_its_own_scope_and_no_other(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        secret = await it.memory.store("pin", "The canary sings at nine", scope="alice")
        chat = it.memory.chat("talk", scope="alice")
        await chat.put({"role": "user", "content": "The canary is yellow"})
        for scope in ("bob", "alic", "alice2", "ALICE", "group:alice"):
            headers = it.bearer(scope)
            for path in (
                f"/v1/entries/{secret.id}",
                f"/v1/entries/{secret.id}/history",
                "/v1/entries",
                "/v1/entries?key_prefix=pin",
                "/v1/conversations",
                "/v1/conversations/talk/messages",
                "/v1/conversations/talk/window",
                "/v1/changes?after=0",
                "/v1/export",
                "/v1/jobs?state=done",
            ):
                answer = await it.client.get(path, headers=headers)
                assert "canary" not in answer.text, (scope, path)
                assert secret.id in path or secret.id not in answer.text, (scope, path)
            for body in ({"query": "canary"}, {"query": "canary", "mode": "keyword"}):
                assert "canary" not in (await it.client.post("/v1/recall", json=body, headers=headers)).text
            changed = await it.client.patch(f"/v1/entries/{secret.id}", json={"content": "x"}, headers=headers)
            assert changed.status_code == 404
            assert (await it.client.delete(f"/v1/entries/{secret.id}", headers=headers)).status_code == 404
            assert (await it.client.get("/v1/scopes", headers=headers)).status_code == 403
        assert (await it.memory.get("pin", scope="alice")) is not None

    run(tmp_path, scenario, per_second=10_000.0, burst=10_000)


@pytest.mark.parametrize(
    ("method", "path", "rights", "status"),
    [
        ("POST", "/v1/entries", "read", 403),
        ("DELETE", "/v1/entries/{id}", "read", 403),
        ("DELETE", "/v1/entries/{id}?erase=true", "read,write", 403),
        ("DELETE", "/v1/entries/{id}?erase=true", "write,erase", 200),
        ("GET", "/v1/doctor", "read,write,erase", 403),
        ("GET", "/v1/doctor", "admin", 200),
        ("DELETE", "/v1/scopes/alice", "admin", 403),
        ("DELETE", "/v1/scopes/alice", "admin,erase", 200),
    ],
)
def test_a_key_does_what_its_rights_allow(tmp_path: Path, method: str, path: str, rights: str, status: int) -> None:
    async def scenario(it: Served) -> None:
        entry = await it.memory.store("tea", "She drinks green tea", scope="alice")
        body = {"content": "x"} if method == "POST" else None
        headers = it.bearer("alice", rights)
        answer = await it.client.request(method, path.format(id=entry.id), headers=headers, json=body)
        assert answer.status_code == status, answer.text

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 401, "key_needed"),
        ({"Authorization": "Bearer jy_000000000000_" + "a" * 43}, 401, "key_needed"),
        ({"Authorization": "Basic YTpi"}, 401, "key_needed"),
        ({"Host": "evil.example"}, 421, "unknown_host"),
        ({"Host": ""}, 421, "unknown_host"),
        ({"Host": "[broken"}, 421, "unknown_host"),
        ({"Origin": "https://evil.example"}, 403, "foreign_origin"),
        ({"Origin": "null"}, 403, "foreign_origin"),
    ],
)
def test_what_the_gate_refuses_is_a_problem_with_a_code(
    tmp_path: Path, headers: dict[str, str], status: int, code: str
) -> None:
    async def scenario(it: Served) -> None:
        for path in ("/v1/entries", "/mcp", "/metrics"):
            answer = await it.client.get(path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (status, code)
            assert answer.headers["content-type"] == "application/problem+json"

    run(tmp_path, scenario)


def test_many_wrong_keys_and_many_requests_have_to_wait(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        wrong = {"Authorization": "Bearer nonsense"}
        codes = [(await it.client.get("/v1/entries", headers=wrong)).status_code for _ in range(7)]
        assert codes == [401] * 5 + [429] * 2
        headers = it.bearer("alice")
        answers = [await it.client.get("/v1/entries/count", headers=headers) for _ in range(12)]
        assert [each.status_code for each in answers[:10]] == [200] * 10
        assert answers[11].status_code == 429
        assert int(answers[11].headers["retry-after"]) >= 1

    run(tmp_path, scenario, failures=5, per_second=0.01, burst=10)


def test_bodies_that_are_too_large_or_broken_are_refused_in_words(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        headers = {**it.bearer("alice"), "Content-Type": "application/json"}

        async def dripped() -> AsyncIterator[bytes]:
            for _ in range(30):
                yield b" " * 100

        cases: list[tuple[Any, int]] = [
            (b'{"content": "' + b"x" * 3000 + b'"}', 413),
            (dripped(), 413),
            (b'{"content": "\xff\xfe"}', 400),
            (b"{", 422),
            (b"[" * 900, 422),
            (b'{"content": 3}', 422),
            (b'{"content": "x", "scope": "bob"}', 422),
            (b'{"content": ""}', 422),
            (b'{"content": " "}', 400),
        ]
        for content, status in cases:
            answer = await it.client.post("/v1/entries", content=content, headers=headers)
            assert answer.status_code == status, (status, answer.text)
            assert answer.json()["detail"]
        assert await it.memory.count(scope="alice") == 0

    run(tmp_path, scenario, max_body=2_000)


def test_changes_are_told_to_those_who_wait_for_them(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        headers = it.bearer("alice")
        begun = asyncio.ensure_future(it.client.get("/v1/changes?wait=20", headers=headers))
        while not begun.done():
            await it.memory.store("tea", "She drinks green tea", scope="alice")
            await asyncio.wait({begun}, timeout=0.3)
        told = begun.result().json()
        assert told["changes"][0]["key"] == "tea"
        assert (await it.client.get(f"/v1/changes?after={told['after']}", headers=headers)).json()["changes"] == []

    run(tmp_path, scenario)


def test_messages_windows_rounds_and_notes_go_through_their_rooms(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        headers = it.bearer("alice")
        put = await it.client.post(
            "/v1/conversations/talk/messages",
            json={"messages": [{"role": "user", "content": "I am allergic to penicillin"}]},
            headers=headers,
        )
        assert len(put.json()["ids"]) == 1
        window = (await it.client.get("/v1/conversations/talk/window", headers=headers)).json()
        assert window["messages"][-1]["content"] == "I am allergic to penicillin"
        round_ = {"conversation_id": "other", "user": "My sister lives in Oslo", "assistant": "Noted"}
        assert (await it.client.post("/v1/longterm/rounds", json=round_, headers=headers)).status_code == 202
        await it.memory.run_jobs()
        facts = await it.client.post(
            "/v1/longterm/recall", json={"query": "Where does my sister live?"}, headers=headers
        )
        assert "Oslo" in facts.text
        for part in ("files", "attribution"):
            refused = await it.client.get(f"/v1/notes/{part}/MEMORY.md", headers=headers)
            assert refused.json()["code"] == "no_notes"
        assert (await it.client.get("/v1/conversations", headers=headers)).json()["conversations"]

    run(tmp_path, scenario)


def test_who_changed_what_is_in_the_access_log_without_texts(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        headers = it.bearer("alice")
        made = await it.client.post("/v1/entries", json={"content": "the secret text"}, headers=headers)
        await it.client.delete(f"/v1/entries/{made.json()['id']}", headers=headers)
        await it.audit.write()
        lines = it.keys.logged()
        assert [(line.scope, line.action, line.status) for line in lines] == [
            ("alice", "DELETE /v1/entries/{entry_id}", 200),
            ("alice", "POST /v1/entries", 201),
        ]
        assert lines[0].target == made.json()["id"]
        assert "secret text" not in str(lines)
        of_monitoring = it.bearer("monitoring", "metrics")
        assert 'route="/v1/entries",status="201"' in (await it.client.get("/metrics", headers=of_monitoring)).text

    run(tmp_path, scenario)


def test_the_metrics_of_all_scopes_are_shown_to_those_who_operate_the_server(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        await it.memory.store("tea", "of bob", scope="bob")
        for rights in ("read", "read,write,erase"):
            refused = await it.client.get("/metrics", headers=it.bearer("alice", rights))
            assert (refused.status_code, refused.json()["code"]) == (403, "right_missing")
            assert "jiyi_" not in refused.text
        for rights in ("metrics", "admin"):
            assert "jiyi_store_bytes" in (await it.client.get("/metrics", headers=it.bearer("alice", rights))).text

    run(tmp_path, scenario)


def test_a_key_for_metrics_reads_nothing_else(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        await it.memory.store("tea", "She drinks oolong", scope="alice")
        headers = it.bearer("alice", "metrics")
        for path in ("/v1/entries", "/v1/entries/count", "/v1/changes?after=0", "/v1/export", "/v1/conversations"):
            answer = await it.client.get(path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "right_missing")
        endpoint = McpEndpoint(it.memory, lambda _context: Access("alice", frozenset({METRICS})))
        async with Client(endpoint.server) as client:
            for ask in (client.call_tool("list", {}), client.list_tools(), client.read_resource("memory://recent")):
                with pytest.raises(MCPError, match="right 'read'"):
                    await ask

    run(tmp_path, scenario)


def test_an_import_erases_nothing_for_a_key_that_may_not_erase(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        made = await it.memory.store("pin", "the pin is 4711", scope="alice")
        await it.memory.store("pin", "the pin is 4712", scope="alice")
        line = {
            "kind": "change",
            "entry_id": made.id,
            "scope": "alice",
            "key": "pin",
            "version": 3,
            "operation": "erase",
            "changed_by": "somebody",
            "changed_at": "2099-01-01T00:00:00.000000Z",
            "changed": [],
            "before": None,
        }
        rows = [{"kind": "jiyi-export", "format": 1, "scope": "alice"}, line]
        content = "".join(json.dumps(row) + "\n" for row in rows)
        kind = {"Content-Type": "application/x-ndjson"}
        refused = await it.client.post(
            "/v1/import?update=true", content=content, headers={**it.bearer("alice"), **kind}
        )
        assert (refused.status_code, refused.json()["code"]) == (403, "right_missing")
        assert len(await it.memory.history("pin", scope="alice")) == 2
        headers = {**it.bearer("alice", "write,erase"), **kind}
        assert (await it.client.post("/v1/import?update=true", content=content, headers=headers)).is_success
        assert await it.memory.get("pin", scope="alice") is None

    run(tmp_path, scenario)


def test_the_description_of_the_api_names_every_operation_once(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        described = (await it.client.get("/v1/openapi.json", headers=it.bearer("alice"))).json()
        assert described["openapi"].startswith("3.1")
        operations = [operation["operationId"] for path in described["paths"].values() for operation in path.values()]
        assert len(operations) == len(set(operations)) >= 20
        taken = {
            parameter["name"]
            for path in described["paths"].values()
            for operation in path.values()
            if operation["operationId"] != "forgetScope"
            for parameter in operation.get("parameters", [])
        }
        assert "scope" not in taken

    run(tmp_path, scenario)


def test_an_unknown_method_is_told_all_methods_that_are_known(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        answer = await it.client.put("/v1/entries", headers=it.bearer("alice"))
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
        answer = await it.client.put("/v1/entries/x", headers=it.bearer("alice"))
        assert answer.headers["allow"] == "DELETE, GET, PATCH"

    run(tmp_path, scenario)
