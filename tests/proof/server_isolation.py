"""Requests to the server: whatever is sent with a key, no byte of another scope comes back, and nothing there changes.

python -m tests.proof.server_isolation --requests 10000

The routes come from the OpenAPI document, the tools, templates and prompts from the lists of MCP, so a new one is
probed as soon as it exists. The server listens on a real socket. The scopes look like each other: another case, a
Cyrillic letter, a wildcard of SQL. Arguments are drawn from what belongs to the other scopes (ids, keys, sessions,
words, scopes) and from junk. Every answer, and every line of the log, is searched for the marks of the other scopes.
"""

import argparse
import json
import logging
import random
import string
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.proof.report import keep
from tests.server.socket_server import SocketServer, socket_server

VICTIM = "alice"
"""Nobody has a key for it. It owns the notes."""
ACTORS = ("alice2", "Alice", "\u0430lice", "alice:", "alice%", "alic_", "group:alice")
GUESSED = "qzxguessed"
"""A word of everybody that all of them know."""
MODERN = "2026-07-28"
ENDLESS = "text/event-stream"
_PRINTABLE = frozenset(string.ascii_letters + string.digits + string.punctuation + " ")
_SECONDS = 20.0
_STREAM_SECONDS = 0.3
_MAX_READ = 4 << 20


def canary(scope: str) -> str:
    """What stands in every text of a scope, and is never sent by another one."""
    return f"canary{(['victim', *map(str, range(len(ACTORS)))])[(VICTIM, *ACTORS).index(scope)]}zq"


@dataclass
class Actor:
    """Somebody with a key."""

    scope: str
    client: httpx.Client
    session: str = ""
    """Of MCP."""
    export: list[str] = field(default_factory=list)


class Lines(logging.Handler):
    """What the package has logged."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def fill(folder: Path) -> list[str]:
    """What every scope holds; returns ids and names that others may try."""
    known = [GUESSED, "zebra", "杭州", "*", "%", "_", "own-0", "chat", "session", "MEMORY.md", "memory/2026-01-01.md"]
    workspace = folder / "notes"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text(f"# {GUESSED}\n\nzebra {canary(VICTIM)}\n", "utf-8")
    (workspace / "memory" / "2026-01-01.md").write_text(f"- zebra {canary(VICTIM)} 杭州\n", "utf-8")
    with AgentMemory.open(folder / "data", scope=VICTIM, **settings(folder)) as memory:
        memory.notes.scan()
        for scope in (VICTIM, *ACTORS):
            mark = canary(scope)
            for number in range(4):
                entry = memory.store(f"own-{number}", f"{GUESSED} 杭州 zebra {mark}", scope=scope, tags=["zebra", mark])
                known.append(entry.id)
            said = [{"role": "user", "content": f"{GUESSED} said {mark}"}, {"role": "assistant", "content": mark}]
            memory.save_conversation_history("session", said, scope=scope)
            memory.chat("chat", scope=scope).put(said[0])
            known.append(
                memory.runtime.remember("fact", f"{GUESSED} judged {mark}", mark, ["zebra"], memory_scope=scope)
            )
            known.append(memory.longterm.schedule_round(scope, "chat", f"{GUESSED} I live in {mark}", f"ok {mark}"))
        memory.run_jobs()
    return [*known, VICTIM, *ACTORS]


def settings(folder: Path) -> dict[str, Any]:
    return {
        "embedder": HashEmbedder(),
        "workspace": folder / "notes",
        "background_indexing": False,
        "background_jobs": False,
    }


def holdings(folder: Path) -> str:
    """Everything that the victim has."""
    file = folder / "victim.jsonl"
    with AgentMemory.open(folder / "data", scope=VICTIM, **settings(folder)) as memory:
        memory.export_jsonl(file, scope=VICTIM)
    lines = [line for line in file.read_text("utf-8").splitlines() if '"exported_at"' not in line]
    # What a group writes goes into the folder that the owner shares with groups.
    private = [path for path in (folder / "notes").rglob("*.md") if path.parent.name != "shared"]
    notes = sorted((path.name, path.read_text("utf-8")) for path in private)
    return "\n".join([*sorted(lines), repr(notes)])


class Probe:
    """Makes requests and looks at the answers."""

    def __init__(self, server: SocketServer, known: list[str], seed: int) -> None:
        self.chance = random.Random(seed)
        self.known = known
        self.counts: Counter[str] = Counter()
        self.server = server
        self.actors = [self._actor(scope) for scope in ACTORS]
        self.document = self.actors[0].client.get("/v1/openapi.json").json()
        self.operations = list(self._operations())
        first = self.actors[0]
        listed = [tool for each in self.actors for tool in self._modern(each, "tools/list", {})["tools"]]
        self.tools = list({tool["name"]: tool for tool in listed}.values())
        self.prompts = [each["name"] for each in self._modern(first, "prompts/list", {})["prompts"]]
        templates = self._modern(first, "resources/templates/list", {})["resourceTemplates"]
        self.templates = [each["uriTemplate"] for each in templates] + ["memory://notes/{+path}", "memory://recent"]

    def _actor(self, scope: str) -> Actor:
        kind = "group" if scope.startswith("group:") else "main"
        token = self.server.keys.add(f"key {scope}", scope, "read,write,erase", kind=kind)[1]
        headers = {"Authorization": f"Bearer {token}"}
        actor = Actor(scope, httpx.Client(base_url=self.server.address, headers=headers, timeout=_SECONDS))
        begin = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        answer = self._rpc(actor, "initialize", begin, {})
        actor.session = answer.headers["mcp-session-id"]
        return actor

    def close(self) -> None:
        for actor in self.actors:
            actor.client.close()

    # --- values -------------------------------------------------------------------------------------------------------

    def word(self, actor: Actor) -> str:
        if self.chance.random() < 0.06:
            junk = ["", "\x00", "' OR 1=1 --", "../../etc/passwd", "x" * 3_000, "\ud7ff\uffff", "%00", "{}", "null"]
            return self.chance.choice(junk)
        return canary(actor.scope) if self.chance.random() < 0.05 else self.chance.choice(self.known)

    def value(self, schema: Mapping[str, Any], actor: Actor, name: str = "", depth: int = 0) -> Any:  # noqa: PLR0911
        schema = self._resolved(schema)
        chance = self.chance
        if chance.random() < 0.03:
            return chance.choice([None, -1, 10**20, [], {}, "", True, 0.5, [None], {"scope": VICTIM}])
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                return self.value(chance.choice(schema[several]), actor, name, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return chance.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            properties = schema.get("properties", {})
            found = {
                each: self.value(inner, actor, each, depth + 1)
                for each, inner in properties.items()
                if each in schema.get("required", ()) or (depth < 4 and chance.random() < 0.3)
            }
            if chance.random() < 0.05:
                found[chance.choice(["scope", "scopes", "memory_scope", "user_id", "key_id"])] = VICTIM
            return found if properties else {chance.choice(["key", "scope"]): self.word(actor)}
        if kind == "array":
            return [self.value(schema.get("items", {}), actor, name, depth + 1) for _ in range(chance.randrange(3))]
        if kind in {"integer", "number"}:
            # Waiting for what does not come would only take time.
            return 0 if "wait" in name else chance.choice([0, 1, 2, 5, 50, 0.5 if kind == "number" else 100])
        if kind == "boolean":
            return chance.random() < 0.5
        if schema.get("format") == "date-time":
            return chance.choice(["2026-05-01T00:00:00Z", "2020-01-01T00:00:00+08:00"])
        return chance.choice(["user", "assistant"]) if name == "role" else self.word(actor)

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema:
            found: Any = self.document
            for step in schema["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            schema = found
        return schema

    # --- REST ---------------------------------------------------------------------------------------------------------

    def _operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, methods in sorted(self.document["paths"].items()):
            for method, operation in sorted(methods.items()):
                yield method.upper(), path, operation

    def rest(self, actor: Actor, number: int) -> tuple[str, str]:
        method, path, operation = self.operations[number % len(self.operations)]
        query: dict[str, Any] = {}
        headers: dict[str, str] = {}
        for parameter in operation.get("parameters", []):
            if parameter["in"] != "path" and not parameter.get("required") and self.chance.random() < 0.6:
                continue
            given = self.value(parameter.get("schema", {}), actor, parameter["name"])
            if parameter["in"] == "path":
                path = path.replace(f"{{{parameter['name']}}}", quote(str(given), safe="") or "-")
            elif parameter["in"] == "query":
                query[parameter["name"]] = given
            else:
                headers[parameter["name"]] = "".join(
                    c for c in str(given) if c in string.printable and c >= " "
                ).strip()
        content: bytes | None = None
        for media, body in operation.get("requestBody", {}).get("content", {}).items():
            headers["Content-Type"] = media
            content = self._import(actor) if "ndjson" in media else _json(self.value(body["schema"], actor))
            break
        if ENDLESS in json.dumps(operation["responses"]) and self.chance.random() < 0.2:
            headers["Accept"] = ENDLESS
        request = actor.client.build_request(method, path, params=query, headers=headers, content=content)
        return operation["operationId"], self._read(actor, request)

    def _import(self, actor: Actor) -> bytes:
        """What the scope has exported, as if it belonged to another one."""
        if not actor.export:
            actor.export = actor.client.get("/v1/export").text.splitlines()
        lines = [line for line in actor.export if self.chance.random() < 0.3] or actor.export[:3]
        other = json.dumps(self.chance.choice([VICTIM, "public", *ACTORS]), ensure_ascii=False)
        return "\n".join(line.replace(json.dumps(actor.scope, ensure_ascii=False), other) for line in lines).encode()

    def _read(self, actor: Actor, request: httpx.Request) -> str:
        """All that comes back, or what has come after a while if it does not end."""
        begun, parts, size = time.monotonic(), [], 0
        endless = request.headers.get("accept") == ENDLESS
        request.extensions["timeout"] = httpx.Timeout(_STREAM_SECONDS if endless else _SECONDS).as_dict()
        response = actor.client.send(request, stream=True)
        try:
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > _MAX_READ or (endless and time.monotonic() - begun > _STREAM_SECONDS):
                    break
        except httpx.ReadTimeout:
            assert endless, f"{request.method} {request.url}: no end"
        finally:
            response.close()
        self.counts[f"{response.status_code // 100}xx"] += 1
        head = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
        text = b"".join(parts).decode("utf-8", "replace")
        assert response.status_code not in {500, 502}, f"{request.method} {request.url}: {text[:500]}"
        return f"{head}\n{text}"

    # --- MCP ----------------------------------------------------------------------------------------------------------

    def mcp(self, actor: Actor, number: int) -> tuple[str, str]:
        chance = self.chance
        kinds = ["tools/call"] * 6 + ["resources/read"] * 3
        kinds += ["prompts/get", "completion/complete", "resources/list", "tools/list", "resources/subscribe"]
        method = kinds[number % len(kinds)]
        params: dict[str, Any] = {}
        name = method
        if method == "tools/call":
            tool = self.tools[number // len(kinds) % len(self.tools)]
            name = tool["name"]
            params = {"name": name, "arguments": _object(self.value(tool["inputSchema"], actor))}
        elif method in {"resources/read", "resources/subscribe"}:
            template = chance.choice(self.templates)
            params = {"uri": template.replace("{id}", self._uri(actor)).replace("{+path}", self._uri(actor))}
        elif method == "prompts/get":
            params = {"name": chance.choice(self.prompts), "arguments": {"language": chance.choice(["en", "zh"])}}
        elif method == "completion/complete":
            reference = {"type": "ref/resource", "uri": chance.choice(self.templates)}
            argument = {"name": chance.choice(["id", "path"]), "value": self.word(actor)[: chance.randrange(12)]}
            params = {"ref": reference, "argument": argument}
        modern = method != "resources/subscribe" and chance.random() < 0.5
        request = self._modern_request(actor, method, params) if modern else self._legacy_request(actor, method, params)
        return f"mcp {name}", self._read(actor, request)

    def _uri(self, actor: Actor) -> str:
        return quote(self.word(actor), safe="/")

    def _modern_request(self, actor: Actor, method: str, params: dict[str, Any]) -> httpx.Request:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
        }
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        subject = params.get("name", params.get("uri"))
        if isinstance(subject, str) and subject.isascii():
            headers["Mcp-Name"] = subject
        return self._mcp_request(actor, method, {**params, "_meta": meta}, headers)

    def _legacy_request(self, actor: Actor, method: str, params: dict[str, Any]) -> httpx.Request:
        return self._mcp_request(actor, method, params, {"Mcp-Session-Id": actor.session})

    def _mcp_request(self, actor: Actor, method: str, params: dict[str, Any], headers: dict[str, str]) -> httpx.Request:
        body = {"jsonrpc": "2.0", "id": self.chance.randrange(1 << 30), "method": method, "params": params}
        accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        return actor.client.build_request("POST", "/mcp", headers={**accepted, **headers}, content=_json(body))

    def _rpc(self, actor: Actor, method: str, params: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
        return actor.client.send(self._mcp_request(actor, method, params, headers)).raise_for_status()

    def _modern(self, actor: Actor, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer = actor.client.send(self._modern_request(actor, method, params)).raise_for_status()
        text = answer.text
        if answer.headers["content-type"].startswith(ENDLESS):
            text = next(line for line in text.splitlines() if line.startswith("data:")).removeprefix("data:")
        result: dict[str, Any] = json.loads(text)["result"]
        return result


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def run(folder: Path, *, requests: int, seed: int = 1) -> dict[str, Any]:
    begun = time.monotonic()
    known = fill(folder)
    before = holdings(folder)
    lines = Lines()
    logging.getLogger("jiyi").addHandler(lines)
    names: set[str] = set()
    own = 0
    with socket_server(folder / "data", settings={"scope": VICTIM, **settings(folder)}) as server:
        probe = Probe(server, known, seed)
        try:
            for number in range(requests):
                actor = probe.chance.choice(probe.actors)
                # Two thirds REST, one third MCP.
                round_, place = divmod(number, 3)
                if place == 2:
                    name, answer = probe.mcp(actor, round_)
                else:
                    name, answer = probe.rest(actor, 2 * round_ + place)
                names.add(name)
                foreign = [scope for scope in (VICTIM, *ACTORS) if scope != actor.scope and canary(scope) in answer]
                assert not foreign, f"{name} with the key of {actor.scope!a} shows {foreign!a}: {answer[:2_000]}"
                own += canary(actor.scope) in answer
        finally:
            probe.close()
    logging.getLogger("jiyi").removeHandler(lines)
    assert own > requests // 50, f"only {own} answers show anything of their own scope: the probes look at nothing"
    leaked = [text for text in lines.texts if "canary" in text]
    assert not leaked, leaked[:3]
    after = holdings(folder)
    assert after == before, _difference(before, after)
    expected = {operation["operationId"] for _, _, operation in probe.operations}
    assert expected <= names or requests < 2 * len(expected), expected - names
    return {
        "requests": requests,
        "routes": len(expected),
        "tools": len(probe.tools),
        "answers with own data": own,
        **{f"answers {kind}": count for kind, count in sorted(probe.counts.items())},
        "leaks or foreign changes": 0,
        "seconds": round(time.monotonic() - begun),
    }


def _difference(before: str, after: str) -> str:
    place = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    return f"{before[max(0, place - 300) : place + 300]}\n---\n{after[max(0, place - 300) : place + 300]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        keep("server_isolation", run(Path(folder), requests=options.requests, seed=options.seed))


if __name__ == "__main__":
    main()
