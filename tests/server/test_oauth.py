"""OAuth: tokens of an issuer instead of keys. The issuer is a real one on another port."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from jiyi import AgentMemory
from jiyi.apps.server.app import build_app
from jiyi.apps.server.gate import GateRules
from jiyi.apps.server.keys import Keys
from jiyi.apps.server.oauth import OAuthRules, TokenVerifier
from jiyi.apps.server.oauth_keys import IssuerKeys
from jiyi.wiring.keys import open_key_store
from tests.apps.command_line import CommandLine
from tests.server.issuer import AUDIENCE, Issuer, running_issuer
from tests.server.test_http import serving

Ask = Callable[..., Awaitable[httpx.Response]]


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as each:
        yield each


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def protected(folder: Path, issuer: Issuer, clock: Clock, **more: Any) -> AsyncIterator[tuple[Ask, Keys]]:
    async with AgentMemory.open(folder, scope="main", background_jobs=False) as memory:
        await memory.store("tea", "She drinks green tea", scope="alice")
        keys = Keys(open_key_store(memory.settings))
        rules = OAuthRules(issuer.address, AUDIENCE, **more)
        verifier = TokenVerifier(rules, IssuerKeys(issuer.address, clock))
        app = build_app(memory, rules=GateRules(failures=1_000), keys=keys, tokens=verifier)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1") as client:

            async def ask(token: str = "", path: str = "/v1/entries", **given: Any) -> httpx.Response:
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                return await client.request(given.pop("method", "GET"), path, headers=headers, **given)

            yield ask, keys
        keys.close()


def run(folder: Path, issuer: Issuer, scenario: Callable[[Ask, Clock], Awaitable[None]], **more: Any) -> None:
    async def whole() -> None:
        clock = Clock()
        async with protected(folder / "data", issuer, clock, **more) as (ask, _):
            await scenario(ask, clock)

    asyncio.run(whole())


def test_a_token_opens_the_scope_that_it_names_with_the_rights_that_it_has(tmp_path: Path, issuer: Issuer) -> None:
    async def scenario(ask: Ask, _clock: Clock) -> None:
        assert "green tea" in (await ask(issuer.token())).text
        assert "green tea" not in (await ask(issuer.token(sub="bob"))).text
        reading = issuer.token(scope="memory:read")
        assert (await ask(reading)).status_code == 200
        refused = await ask(reading, method="POST", json={"content": "x"})
        assert (refused.status_code, refused.json()["code"]) == (403, "right_missing")
        as_list = issuer.token(scope=None, scp=["memory:write"])
        assert (await ask(as_list, method="POST", json={"content": "x"})).status_code == 201

    run(tmp_path, issuer, scenario)


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
def test_every_usual_kind_of_signature_is_taken(tmp_path: Path, issuer: Issuer, algorithm: str) -> None:
    issuer.keys.clear()
    issuer.add("one", algorithm)

    async def scenario(ask: Ask, _clock: Clock) -> None:
        assert (await ask(issuer.token())).status_code == 200

    run(tmp_path, issuer, scenario)


BAD: dict[str, tuple[Callable[[Issuer], str], str]] = {
    "another audience": (lambda it: it.token(aud="http://127.0.0.1/other"), "another server"),
    "no audience": (lambda it: it.token(aud=None), "lacks a claim"),
    "another issuer": (lambda it: it.token(iss="https://evil.example"), "another issuer"),
    "an issuer that begins the same": (lambda it: it.token(iss=it.address + "/"), "another issuer"),
    "no issuer": (lambda it: it.token(iss=None), "lacks a claim"),
    "expired": (lambda it: it.token(exp=int(time.time()) - 60), "expired"),
    "no expiry": (lambda it: it.token(exp=None), "lacks a claim"),
    "not valid yet": (lambda it: it.token(nbf=int(time.time()) + 600), "not valid yet"),
    "made in the future": (lambda it: it.token(iat=int(time.time()) + 600), "not valid yet"),
    "alg none": (lambda it: it.unsigned(), "not signed with a public key"),
    "alg None in another case": (lambda it: it.unsigned("NONE"), "not signed with a public key"),
    "no signature": (lambda it: it.unsigned("ES256"), "signature of the token is wrong"),
    "HS256 with the public key": (lambda it: it.signed_with_public_key(), "not signed with a public key"),
    "a signature of another token": (
        lambda it: it.token(sub="bob").rpartition(".")[0] + "." + it.token().rpartition(".")[2],
        "signature of the token is wrong",
    ),
    "an unknown kid": (lambda it: it.token(header={"kid": "other"}), "does not have"),
    "a kid that is a path": (lambda it: it.token(header={"kid": "../../keys"}), "does not have"),
    "bound to its client": (lambda it: it.token(cnf={"jkt": "x"}), "bound to a key"),
    "no subject": (lambda it: it.token(sub=None), "is no scope"),
    "the scope of all": (lambda it: it.token(sub="public"), "several people"),
    "the scope of a group": (lambda it: it.token(sub="group:club"), "several people"),
    "a subject with invisible characters": (lambda it: it.token(sub="alice\u200b"), "is no scope"),
    "junk": (lambda _: "a.b.c", "cannot be read"),
    "no token at all": (lambda _: "junk", "cannot be read"),
    "very long": (lambda it: it.token(more="x" * 20_000), "too long"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_token_is_refused_with_the_reason_and_where_to_get_another(
    tmp_path: Path, issuer: Issuer, kind: str
) -> None:
    make, told = BAD[kind]

    async def scenario(ask: Ask, _clock: Clock) -> None:
        for path in ("/v1/entries", "/mcp"):
            refused = await ask(make(issuer), path)
            assert refused.status_code == 401, refused.text
            assert told in refused.json()["detail"]
            challenge = refused.headers["www-authenticate"]
            assert challenge.startswith('Bearer error="invalid_token"')
            assert 'resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource/mcp"' in challenge
        assert (await ask(issuer.token())).status_code == 200

    run(tmp_path, issuer, scenario)


def test_a_token_without_any_right_here_is_told_which_ones_there_are(tmp_path: Path, issuer: Issuer) -> None:
    async def scenario(ask: Ask, _clock: Clock) -> None:
        refused = await ask(issuer.token(scope="openid email"))
        assert (refused.status_code, refused.json()["code"]) == (403, "insufficient_scope")
        assert "memory:read" in refused.json()["detail"]
        assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]

    run(tmp_path, issuer, scenario)


def test_a_client_finds_the_issuer_without_a_token(tmp_path: Path, issuer: Issuer) -> None:
    async def scenario(ask: Ask, _clock: Clock) -> None:
        unknown = await ask()
        assert unknown.status_code == 401
        address = unknown.headers["www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
        for path in (httpx.URL(address).path, "/.well-known/oauth-protected-resource"):
            told = (await ask(path=path)).json()
            assert told["resource"] == AUDIENCE
            assert told["authorization_servers"] == [issuer.address]
            assert "memory:write" in told["scopes_supported"]

    run(tmp_path, issuer, scenario)


def test_a_new_key_of_the_issuer_is_found_and_an_old_one_ends(tmp_path: Path, issuer: Issuer) -> None:
    async def scenario(ask: Ask, clock: Clock) -> None:
        old = issuer.token()
        assert (await ask(old)).status_code == 200
        issuer.keys.clear()
        issuer.add("two")
        clock.now += 31
        assert (await ask(issuer.token("two"))).status_code == 200
        assert (await ask(old)).status_code == 401

    run(tmp_path, issuer, scenario)


def test_unknown_keys_do_not_make_the_server_ask_the_issuer_again_and_again(tmp_path: Path, issuer: Issuer) -> None:
    async def scenario(ask: Ask, clock: Clock) -> None:
        assert (await ask(issuer.token())).status_code == 200
        before = len(issuer.asked)
        for number in range(50):
            clock.now += 0.5
            assert (await ask(issuer.token(header={"kid": f"k{number}"}))).status_code == 401
        assert len(issuer.asked) == before

    run(tmp_path, issuer, scenario)


def test_an_issuer_that_is_down_is_told_apart_from_a_bad_token(tmp_path: Path, issuer: Issuer) -> None:
    async def scenario(ask: Ask, clock: Clock) -> None:
        issuer.down = True
        down = await ask(issuer.token())
        assert (down.status_code, down.json()["code"]) == (503, "issuer_unavailable")
        assert int(down.headers["retry-after"]) > 0
        assert (await ask(issuer.unsigned())).status_code == 401
        issuer.down = False
        clock.now += 31
        assert (await ask(issuer.token())).status_code == 200
        # Keys that are known are used for a while without the issuer, and not for ever.
        issuer.down = True
        clock.now += 1_200
        assert (await ask(issuer.token())).status_code == 200
        clock.now += 3_600
        assert (await ask(issuer.token())).status_code == 503

    run(tmp_path, issuer, scenario)


@pytest.mark.parametrize("trouble", ["metadata of another issuer", "a redirect"])
def test_keys_are_taken_only_from_the_issuer_itself(tmp_path: Path, issuer: Issuer, trouble: str) -> None:
    async def scenario(ask: Ask, _clock: Clock) -> None:
        with running_issuer() as other:
            if trouble == "a redirect":
                issuer.redirects_to = f"{other.address}/.well-known/openid-configuration"
            else:
                issuer.claims_to_be = other.address
            assert (await ask(issuer.token())).status_code == 503
            assert other.asked == []

    run(tmp_path, issuer, scenario)


def test_an_issuer_of_openid_connect_is_found_too(tmp_path: Path, issuer: Issuer) -> None:
    issuer.openid_only = True

    async def scenario(ask: Ask, _clock: Clock) -> None:
        assert (await ask(issuer.token())).status_code == 200

    run(tmp_path, issuer, scenario)


def test_another_claim_may_be_the_scope(tmp_path: Path, issuer: Issuer) -> None:
    async def scenario(ask: Ask, _clock: Clock) -> None:
        assert "green tea" in (await ask(issuer.token(sub="7f3a", memory="alice"))).text
        assert (await ask(issuer.token())).status_code == 401

    run(tmp_path, issuer, scenario, scope_claim="memory")


def test_keys_of_the_server_work_beside_the_tokens_of_the_issuer(tmp_path: Path, issuer: Issuer) -> None:
    async def scenario() -> None:
        async with protected(tmp_path / "data", issuer, Clock()) as (ask, keys):
            token = keys.add("laptop", "alice")[1]
            assert "green tea" in (await ask(token)).text
            assert (await ask(token + "x")).status_code == 401
            assert issuer.asked == []

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_mcp_client_with_a_token_uses_its_memory(tmp_path: Path, issuer: Issuer, mode: Any) -> None:
    async def remembered(address: str, token: str) -> str:
        async with (
            httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,  # type: ignore[arg-type]
        ):
            result = await client.call_tool("remember", {"content": "She drinks green tea"})
            assert isinstance(result, types.CallToolResult)
            return result.model_dump_json()

    options = ["--oauth-issuer", issuer.address, "--oauth-audience", AUDIENCE]
    with serving(tmp_path, *options) as (address, _):
        assert "Remembered" in asyncio.run(remembered(address, issuer.token()))
        assert httpx.get(f"{address}/v1/entries").status_code == 401
        headers = {"Authorization": f"Bearer {issuer.token()}"}
        assert httpx.get(f"{address}/v1/entries", headers=headers).json()["entries"][0]["scope"] == "alice"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--oauth-issuer", "http://issuer.example", "--oauth-audience", "x"], "must begin with https://"),
        (["--oauth-issuer", "issuer", "--oauth-audience", "x"], "must be an address"),
        (["--oauth-issuer", "https://issuer.example"], "needs --oauth-audience"),
        (["--oauth-issuer", "https://issuer.example", "--oauth-audience", "api"], "--oauth-resource"),
        (["--oauth-audience", "https://memory.example/mcp"], "belong to --oauth-issuer"),
        (
            ["--oauth-issuer", "https://i.example", "--oauth-audience", "https://m.example", "--oauth-scope-claim", ""],
            "claim",
        ),
    ],
)
def test_settings_that_could_not_be_trusted_do_not_start(jiyi: CommandLine, options: list[str], told: str) -> None:
    refused = jiyi("serve", "--check", *options)
    assert refused.code == 2
    assert told in refused.err


def test_an_issuer_instead_of_keys_is_enough_for_an_address_that_others_reach(jiyi: CommandLine) -> None:
    options = ["--host", "0.0.0.0", "--allow-host", "memory.example"]
    issuer = ["--oauth-issuer", "https://issuer.example", "--oauth-audience", "https://memory.example/mcp"]
    assert jiyi("serve", "--check", *options, *issuer).code == 0
