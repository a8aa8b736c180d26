"""TLS: by the flags of `jiyi serve`, and by a proxy in front of it, as the guide says."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from jiyi.client import MemoryClient
from tests.server.test_http import serving, token_for
from tests.server.tls import Certificate, make_certificate, tls_proxy

NAME = "memory.example"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"), NAME)


def test_the_flags_serve_rest_mcp_and_the_console_over_tls_and_nothing_without_it(
    tmp_path: Path, certificate: Certificate
) -> None:
    token = token_for(tmp_path, "alice")
    flags = ("--tls-cert", str(certificate.file), "--tls-key", str(certificate.key_file), "--require-keys")

    async def use(address: str) -> None:
        trusted = httpx.AsyncHTTPTransport(verify=certificate.trusted())
        async with MemoryClient(address, key=token, transport=trusted) as memory:
            await memory.store("tea", "She drinks green tea")
            assert [hit.key for hit in await memory.recall("What does she drink?")] == ["tea"]
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx.AsyncClient(headers=headers, timeout=30, verify=certificate.trusted()) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,  # type: ignore[arg-type]
        ):
            assert "green tea" in (await client.call_tool("recall", {"query": "tea"})).model_dump_json()

    with serving(tmp_path, *flags) as (address, _):
        assert address.startswith("https://")
        asyncio.run(use(address))
        page = httpx.get(f"{address}/console/login", verify=certificate.trusted())
        assert page.status_code == 200
        assert "secure" in page.headers["set-cookie"].lower()
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"{address}/healthz", verify=ssl.create_default_context())
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{address.replace('https', 'http')}/healthz")


class Browser:
    """Requests through the proxy under the public name, from an address that the proxy tells."""

    def __init__(self, address: str, certificate: Certificate, client: list[str]) -> None:
        self._client = client
        self.http = httpx.Client(
            base_url=address, headers={"Host": NAME}, verify=certificate.trusted(), timeout=30, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def ask(self, method: str, path: str, *, of: str = "203.0.113.5", **options: Any) -> httpx.Response:
        self._client[0] = of
        return self.http.request(method, path, extensions={"sni_hostname": NAME}, **options)

    def first_data(self, path: str, headers: dict[str, str]) -> str:
        """What the first event of a stream says."""
        more: dict[str, Any] = {"extensions": {"sni_hostname": NAME}}
        with self.http.stream("GET", path, headers={"Accept": "text/event-stream", **headers}, **more) as stream:
            return next(line for line in stream.iter_lines() if line.startswith("data: ")).removeprefix("data: ")


def test_behind_a_proxy_the_public_name_the_scheme_and_the_address_of_the_client_are_known(
    tmp_path: Path, certificate: Certificate
) -> None:
    token = token_for(tmp_path, "alice")
    key = {"Authorization": f"Bearer {token}"}
    client = [""]
    flags = ("--require-keys", "--allow-host", NAME, "--forwarded-allow-ips", "127.0.0.1", "--log-requests")
    with (
        serving(tmp_path, *flags) as (server, _),
        tls_proxy(server, certificate, client=client) as address,
        Browser(address, certificate, client) as through,
    ):
        made = through.ask("POST", "/v1/entries", headers=key, json={"key": "tea", "content": "She drinks tea"})
        assert made.status_code == 201
        assert through.ask("GET", "/v1/entries").status_code == 401
        assert through.ask("GET", "/healthz", headers={"Host": "elsewhere.example"}).status_code == 421
        # A page of the public name may ask, also for the console, whose cookie belongs to HTTPS alone.
        page = through.ask("GET", "/console/login", headers={"Origin": f"https://{NAME}"})
        assert page.status_code == 200
        assert "secure" in page.headers["set-cookie"].lower()
        assert json.loads(through.first_data("/v1/changes?after=0", key))["key"] == "tea"
        # Wrong keys are counted by the address behind the proxy: one that guesses shuts nobody else out.
        wrong = {"Authorization": f"Bearer {token[:-4]}AAAA"}
        refused = [through.ask("GET", "/v1/entries", of="203.0.113.66", headers=wrong).status_code for _ in range(25)]
        assert set(refused) == {401, 429}
        assert through.ask("GET", "/v1/entries", of="203.0.113.7", headers=wrong).status_code == 401
        assert through.ask("GET", "/v1/entries", of="203.0.113.66", headers=key).status_code == 200


def test_nobody_is_believed_about_addresses_unless_the_flag_names_the_proxy(
    tmp_path: Path, certificate: Certificate
) -> None:
    token = token_for(tmp_path, "alice")
    wrong = {"Authorization": f"Bearer {token[:-4]}AAAA"}
    client = [""]
    flags = ("--require-keys", "--allow-host", NAME)
    with (
        serving(tmp_path, *flags) as (server, _),
        tls_proxy(server, certificate, client=client) as address,
        Browser(address, certificate, client) as through,
    ):
        answers = [through.ask("GET", "/v1/entries", of=f"203.0.113.{n}", headers=wrong) for n in range(25)]
        assert {each.status_code for each in answers} == {401, 429}
        assert "secure" not in through.ask("GET", "/console/login").headers["set-cookie"].lower()
