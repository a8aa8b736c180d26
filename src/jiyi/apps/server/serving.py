"""Serving over HTTP: what may be listened on, and the server process around the app."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn

from jiyi.apps.server.access import RIGHTS, Access
from jiyi.apps.server.app import build_app
from jiyi.apps.server.gate import LOOPBACK, GateRules
from jiyi.apps.server.keys import Keys
from jiyi.apps.server.log_lines import FORMATS
from jiyi.apps.server.logins import CONSOLE, Logins
from jiyi.apps.server.maintenance import maintenance_task
from jiyi.apps.server.oauth import OAuthRules, TokenVerifier
from jiyi.apps.server.request_limits import MAX_HEADERS, bounded_protocol
from jiyi.apps.server.rest.events import Streams
from jiyi.apps.server.tracing import open_tracing
from jiyi.wiring.keys import open_key_store

if TYPE_CHECKING:
    from types import FrameType

    from jiyi.memory import AgentMemory

GRACE_SECONDS: Final = 10
"""For requests that have begun, when the process is told to stop."""
_FAILURES: Final = 20
_KEEP_ALIVE_SECONDS: Final = 15
_MAX_CONNECTIONS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Serving:
    """Where to listen, and for whom."""

    host: str = "127.0.0.1"
    port: int = 7070
    hosts: tuple[str, ...] = ()
    require_keys: bool = False
    read_only: bool = False
    by_link: bool = False
    """Nobody gets in without a key, but for the browser that opens the one-time link."""
    certificate: str = ""
    private_key: str = ""
    oauth: OAuthRules | None = None
    """Whose tokens are taken besides keys."""
    workers: int = 1
    maintains: bool = True
    """Whether this process does the regular maintenance: of several workers one does."""
    rate: float = 50.0
    """Requests a second of one key; four times as many at once."""
    forwarded_from: str = ""
    """Addresses of proxies whose word on the address of a client is taken."""
    log_format: str = "text"
    log_requests: bool = False
    otel: bool = False

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK

    def problem(self, *, has_keys: bool) -> str:
        """Why it must not start; empty if it may."""
        if self.oauth is not None:
            found = self.oauth.problem()
            if found:
                return found
            has_keys = True
        if not self.on_loopback and not has_keys:
            return (
                f"--host {self.host} can be reached from outside, and there is no valid key; "
                "make one with: jiyi keys add NAME --scope SCOPE"
            )
        if not self.on_loopback and not self.hosts:
            return f"--host {self.host} can be reached from outside: name the server with --allow-host NAME"
        if self.require_keys and not has_keys:
            return "--require-keys lets nobody in: there is no valid key; make one with: jiyi keys add NAME"
        return self._problem_of_options()

    def _problem_of_options(self) -> str:
        if bool(self.certificate) != bool(self.private_key):
            return "--tls-cert and --tls-key belong together"
        missing = [name for name in (self.certificate, self.private_key) if name and not Path(name).is_file()]
        if missing:
            return f"{missing[0]} is no file"
        if self.rate <= 0:
            return f"--rate-limit {self.rate:g} lets nobody in; name a number of requests a second"
        if self.log_format not in FORMATS:
            return f"--log-format {self.log_format[:20]!a} is unknown; use {' or '.join(FORMATS)}"
        return ""

    def rules(self, scope: str) -> GateRules:
        """What the gate lets through."""
        open_to_all = self.on_loopback and not self.require_keys and not self.by_link and self.oauth is None
        anonymous = Access(scope, frozenset(RIGHTS)) if open_to_all else None
        # Each worker sees its share of the requests.
        rate = self.rate / self.workers
        return GateRules(
            hosts=frozenset({*LOOPBACK, *self.hosts}),
            anonymous=anonymous,
            per_second=rate,
            burst=max(1, round(4 * rate)),
            # Whoever expects more requests has to expect more mistakes too.
            failures=max(_FAILURES, round(_FAILURES * rate / 50)),
        )


async def serve_http(
    memory: AgentMemory,
    plan: Serving,
    *,
    on_listening: Callable[[str], None],
    check: bool = False,
    listening: socket.socket | None = None,
) -> str:
    """Serve until the process is told to stop; requests that have begun are finished. Returns why it did not start.

    `on_listening` is called with the address, or with the one-time link, when requests are answered. `listening` is a
    socket that several processes share.
    """
    keys = Keys(await asyncio.to_thread(open_key_store, memory.settings))
    try:
        problem = plan.problem(has_keys=await asyncio.to_thread(keys.any_valid))
        if problem or check:
            return problem
        scope = memory.settings.scope
        rules = plan.rules(scope)
        logins = Logins(keys, failures=rules.failures)
        link = f"{CONSOLE}/open?ticket={logins.ticket(Access(scope, frozenset(RIGHTS)))}" if plan.by_link else ""
        tokens = TokenVerifier(plan.oauth) if plan.oauth is not None else None
        streams = Streams()
        tracing = open_tracing() if plan.otel else None
        app = build_app(
            memory,
            rules=rules,
            keys=keys,
            logins=logins,
            tokens=tokens,
            streams=streams,
            tracing=tracing,
            read_only=plan.read_only,
            alone=plan.workers == 1,
        )
        config = uvicorn.Config(
            app,
            host=plan.host,
            port=plan.port,
            ssl_certfile=plan.certificate or None,
            ssl_keyfile=plan.private_key or None,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="on",
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
            limit_concurrency=_MAX_CONNECTIONS,
            h11_max_incomplete_event_size=MAX_HEADERS,
            http=bounded_protocol(),
            # There is nothing to upgrade to.
            ws="none",
            # Otherwise anybody on this machine could say from where a request comes.
            proxy_headers=bool(plan.forwarded_from),
            forwarded_allow_ips=plan.forwarded_from or None,
        )
        server = _Server(config, lambda address: on_listening(address + link), streams)
        async with maintenance_task(memory) if plan.maintains and not plan.read_only else nullcontext():
            await server.serve(None if listening is None else [listening])
        if tracing is not None:
            await asyncio.to_thread(tracing.close)
        return ""
    finally:
        await asyncio.to_thread(keys.close)


class _Server(uvicorn.Server):
    """Says where it listens, with the port that it was given."""

    def __init__(
        self, config: uvicorn.Config, on_listening: Callable[[str], None], streams: Streams | None = None
    ) -> None:
        super().__init__(config)
        self._on_listening = on_listening
        self._streams = streams

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The process is told to stop. Streams would go on for ever, so they end now."""
        if self._streams is not None:
            self._streams.stop()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: object = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            scheme = "https" if self.config.is_ssl else "http"
            for server in self.servers:
                host, port = server.sockets[0].getsockname()[:2]
                self._on_listening(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
