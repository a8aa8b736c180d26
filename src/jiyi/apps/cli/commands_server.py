"""Commands that serve a memory to other programs."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import app, command
from jiyi.apps.cli.renderables import Column, Table, text
from jiyi.apps.cli.sanitize import visible
from jiyi.apps.cli.session import Session
from jiyi.errors import ConfigError, InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    from jiyi.apps.server.keys import Keys
    from jiyi.apps.server.serving import Serving
    from jiyi.opening import Opening

_MAX_WORKERS: Final = 64
_HTTP: Final = ("fastapi", "mcp", "uvicorn", "jinja2", "markdown_it", "jwt")

ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="Offer only the tools that change nothing.")]
GroupOption = Annotated[bool, typer.Option("--group", help="Several people read the answers: private notes stay out.")]


def _need(*modules: str) -> None:
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise MissingDependencyError(
            f"the server needs {', '.join(missing)}, which is not installed: pip install 'jiyi[server]'"
        )


def _opened(session: Session, **settings: Any) -> Opening:
    """The memory of a process that stays: its threads index and work in the background."""
    from jiyi.memory import AgentMemory

    if session.options.scope is not None:
        settings["scope"] = session.options.scope
    return AgentMemory.open(session.options.data, config=session.options.config, **settings)


@command("mcp", examples=["jiyi mcp --print-config claude", "jiyi mcp --scope alice --read-only --print-config vscode"])
def mcp(
    session: Session,
    *,
    read_only: ReadOnlyOption = False,
    group: Annotated[
        bool, typer.Option("--group", help="Several people read the answers: private notes stay out.")
    ] = False,
    print_config: Annotated[
        str,
        typer.Option("--print-config", metavar="CLIENT", help="Print what to paste: claude, cursor, vscode or zed."),
    ] = "",
) -> Code:
    """Serve the memory over MCP on standard input and output, for desktop clients and agents.

    The scope is fixed by --scope; no tool has it as an argument. Many clients may use one data directory at once.
    """
    if print_config:
        from jiyi.apps.server.mcp.client_config import client_config

        config, place = client_config(print_config, _mcp_options(session, read_only=read_only, group=group))
        session.output.result({"client": print_config, "file": place, "config": config}, lambda: [text(config)])
        session.output.note(f"paste it into {place}")
        return Code.OK
    _need("mcp")
    from jiyi.apps.server.mcp.stdio import serve_stdio

    async def serve() -> None:
        async with _opened(session) as memory:
            await serve_stdio(memory, read_only=read_only, kind="group" if group else "main")

    asyncio.run(serve())
    return Code.OK


def _mcp_options(session: Session, *, read_only: bool, group: bool) -> list[str]:
    """The options of this command line that the client has to give again."""
    from pathlib import Path

    given = session.options
    options: list[str] = []
    if given.data is not None:
        # A client starts the server in a directory of its own.
        options += ["--data", given.data if "://" in given.data else str(Path(given.data).expanduser().resolve())]
    if given.config is not None:
        options += ["--config", str(given.config.expanduser().resolve())]
    if given.scope is not None:
        options += ["--scope", given.scope]
    return [*options, *(["--read-only"] if read_only else []), *(["--group"] if group else [])]


# --- jiyi serve -----------------------------------------------------------------------------------------------------


@command("serve", examples=["jiyi serve --check", "jiyi serve --port 7171 --read-only --check"])
def serve(
    session: Session,
    *,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="The port to listen on; 0 takes a free one.")
    ] = 7070,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", metavar="NAME", help="A name of this server; may be repeated.")
    ] = None,
    require_keys: Annotated[bool, typer.Option("--require-keys", help="Ask for a key on loopback too.")] = False,
    read_only: ReadOnlyOption = False,
    tls_cert: Annotated[str, typer.Option("--tls-cert", metavar="FILE", help="The certificate, for HTTPS.")] = "",
    tls_key: Annotated[str, typer.Option("--tls-key", metavar="FILE", help="The private key of the certificate.")] = "",
    oauth_issuer: Annotated[
        str, typer.Option("--oauth-issuer", metavar="URL", help="Take the tokens of this OAuth issuer besides keys.")
    ] = "",
    oauth_audience: Annotated[
        str, typer.Option("--oauth-audience", metavar="TEXT", help="What its tokens have as audience for this server.")
    ] = "",
    oauth_resource: Annotated[
        str, typer.Option("--oauth-resource", metavar="URL", help="The public address, where it is not the audience.")
    ] = "",
    oauth_scope_claim: Annotated[
        str, typer.Option("--oauth-scope-claim", metavar="NAME", help="The claim that is the scope of the memory.")
    ] = "sub",
    workers: Annotated[
        int, typer.Option("--workers", help="How many processes answer; more than one needs PostgreSQL.")
    ] = 1,
    rate_limit: Annotated[
        float,
        typer.Option("--rate-limit", metavar="N", help="Requests a second of one key; four times as many at once."),
    ] = 50.0,
    forwarded_allow_ips: Annotated[
        str,
        typer.Option(
            "--forwarded-allow-ips", metavar="IPS", help="Proxies whose X-Forwarded-For is believed: 10.0.0.1,…"
        ),
    ] = "",
    log_format: Annotated[
        str, typer.Option("--log-format", help="text, or json: one object a line, requests included.")
    ] = "text",
    log_requests: Annotated[bool, typer.Option("--log-requests", help="A line for each request as text too.")] = False,
    otel: Annotated[bool, typer.Option("--otel", help="Send spans to OTEL_EXPORTER_OTLP_ENDPOINT.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only check whether it could start.")] = False,
) -> Code:
    """Serve the memory over HTTP: MCP at /mcp, REST under /v1, the console, /healthz, /readyz and /metrics.

    On loopback no key is needed unless --require-keys is given. Any other address needs keys (jiyi keys add) and the
    names of the server (--allow-host).
    """
    _need(*_HTTP)
    from jiyi.apps.server.oauth import OAuthRules
    from jiyi.apps.server.serving import Serving

    if not oauth_issuer and (oauth_audience or oauth_resource):
        raise ConfigError("--oauth-audience and --oauth-resource belong to --oauth-issuer")
    oauth = OAuthRules(oauth_issuer, oauth_audience, oauth_resource, oauth_scope_claim) if oauth_issuer else None

    plan = Serving(
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        require_keys=require_keys,
        read_only=read_only,
        certificate=tls_cert,
        private_key=tls_key,
        oauth=oauth,
        workers=workers,
        rate=rate_limit,
        forwarded_from=forwarded_allow_ips,
        log_format=log_format,
        log_requests=log_requests,
        otel=otel,
    )

    def on_listening(address: str) -> None:
        if log_format == "json":
            logging.getLogger("jiyi.server").info("serving %s", address, extra={"facts": {"address": address}})
            return
        addresses = f"MCP at {address}/mcp, REST under {address}/v1, the console at {address}/console"
        session.output.note(f"serving {address}: {addresses}; stop with Ctrl-C")

    return _serve(session, plan, on_listening, check=check)


def _serve(session: Session, plan: Serving, on_listening: Callable[[str], None], *, check: bool) -> Code:
    from jiyi.apps.server.serving import serve_http

    if plan.workers != 1:
        return _serve_by_workers(session, plan, on_listening, check=check)
    if not check:
        _log(plan)

    async def run() -> str:
        # Many chats share this process: a call of the runtime must name its scope.
        async with _opened(session, strict_scope=True) as memory:
            return await serve_http(memory, plan, on_listening=on_listening, check=check)

    problem = asyncio.run(run())
    if problem:
        raise ConfigError(problem)
    if check:
        session.output.result({"ready": True}, lambda: [text("it could start")])
    return Code.OK


def _log(plan: Serving) -> None:
    """Write the log of this process; without requests as text, what the command line shows is enough."""
    from jiyi.apps.server.log_lines import log_to

    if plan.log_format == "json" or plan.log_requests:
        log_to(form=plan.log_format)


def _serve_by_workers(session: Session, plan: Serving, on_listening: Callable[[str], None], *, check: bool) -> Code:
    from jiyi.apps.server.workers import MemoryOptions, WorkerProcesses
    from jiyi.config import load_settings
    from jiyi.model.address import EMBEDDED

    if not 1 <= plan.workers <= _MAX_WORKERS:
        raise ConfigError(f"--workers {plan.workers} is not between 1 and {_MAX_WORKERS}")
    given: dict[str, Any] = {} if session.options.scope is None else {"scope": session.options.scope}
    settings = load_settings(session.options.data, config=session.options.config, **given)
    if settings.storage == EMBEDDED:
        raise ConfigError(
            f"--workers {plan.workers} needs PostgreSQL (JIYI_STORAGE=postgresql://…): the embedded profile is for one "
            "process that answers, which uses all cores for searching anyway"
        )
    with _keys(session) as (keys, _):
        problem = plan.problem(has_keys=keys.any_valid())
    if problem:
        raise ConfigError(problem)
    if check:
        session.output.result({"ready": True}, lambda: [text("it could start")])
        return Code.OK
    _log(plan)
    WorkerProcesses(
        MemoryOptions(session.options.data, session.options.config, session.options.scope), plan, on_listening
    ).run()
    return Code.OK


@command("console", examples=["jiyi console --check", "jiyi console --no-browser --port 7171 --check"])
def console(
    session: Session,
    *,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="The port to listen on; 0 takes a free one.")
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the link.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show, and change nothing.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only check whether it could start.")] = False,
) -> Code:
    """Look at the memory in a browser, ask it and correct it: serves the console on this machine and opens it.

    The link works once, for five minutes: it lets this browser in, and nobody else on this machine. Programs need a
    key, as with jiyi serve --require-keys.
    """
    _need(*_HTTP)
    from jiyi.apps.server.serving import Serving

    def on_listening(link: str) -> None:
        session.output.note(f"the console: {link} (works once); stop with Ctrl-C")
        if not no_browser:
            import webbrowser

            # A browser that does not start must not hold up the server.
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

    return _serve(session, Serving(port=port, read_only=read_only, by_link=True), on_listening, check=check)


# --- jiyi keys ------------------------------------------------------------------------------------------------------

keys_app = typer.Typer(name="keys", help="Keys of the server: who may use which scope, and how.", no_args_is_help=True)
app.add_typer(keys_app, name="keys")


@command(
    "add", into=keys_app, examples=["jiyi keys add laptop", "jiyi keys add bot --scope alice --rights write,erase"]
)
def add_key(
    session: Session,
    name: Annotated[str, typer.Argument(help="Who uses the key.")],
    *,
    rights: Annotated[str, typer.Option("--rights", help="Some of read, write, erase, admin, metrics.")] = "read,write",
    group: GroupOption = False,
    days: Annotated[int, typer.Option("--days", help="After how many days it expires; 0 means never.")] = 0,
) -> Code:
    """Make a key for --scope. It is shown this once; only a hash of it is kept."""
    from datetime import timedelta

    from jiyi.model import clock

    if days < 0:
        raise InvalidInputError(f"--days {days} must not be negative")
    until = clock.utc_now() + timedelta(days=days) if days else None
    with _keys(session) as (keys, scope):
        key, token = keys.add(name, scope, rights, kind="group" if group else "main", expires_at=until)
    session.output.result({"key": key.to_dict(), "token": token}, lambda: [text(token)])
    session.output.note(f"key {key.id} for scope {visible(key.scope)}; keep it now, it cannot be shown again")
    return Code.OK


@command("list", into=keys_app, examples=["jiyi keys list", "jiyi keys list --json"])
def list_keys(session: Session) -> Code:
    """Show all keys, with their scopes, rights and last use."""
    with _keys(session) as (keys, _):
        found = keys.all()

    def draw() -> list[Any]:
        if not found:
            return [text("there are no keys; make one with: jiyi keys add NAME", "dim")]
        columns = tuple(Column(each) for each in ("id", "name", "scope", "rights", "state"))
        rows = tuple(
            (
                text(key.id, "key"),
                text(visible(key.name)),
                text(visible(key.scope)),
                text(", ".join(sorted(key.rights))),
                text(_state_of(key.to_dict())),
            )
            for key in found
        )
        return [Table(columns, rows)]

    session.output.result({"keys": [key.to_dict() for key in found]}, draw)
    return Code.OK


@command("revoke", into=keys_app, examples=["jiyi keys revoke 0123456789ab"])
def revoke_key(session: Session, key_id: Annotated[str, typer.Argument(help="The id, as list shows it.")]) -> Code:
    """Revoke a key: it lets nobody in from now on."""
    with _keys(session) as (keys, _):
        revoked = keys.revoke(key_id)
    session.output.result({"revoked": revoked}, lambda: [text("revoked" if revoked else "there is no such valid key")])
    return Code.OK if revoked else Code.NOTHING


@command("rotate", into=keys_app, examples=["jiyi keys rotate 0123456789ab"])
def rotate_key(session: Session, key_id: Annotated[str, typer.Argument(help="The id, as list shows it.")]) -> Code:
    """Give a key another secret: the old token ends now, and the new one is shown this once."""
    with _keys(session) as (keys, _):
        key, token = keys.rotate(key_id)
    session.output.result({"key": key.to_dict(), "token": token}, lambda: [text(token)])
    return Code.OK


def _state_of(key: dict[str, Any]) -> str:
    if key["revoked_at"]:
        return "revoked"
    used = f"last used {key['last_used_at']}" if key["last_used_at"] else "not used yet"
    return f"{used}, until {key['expires_at']}" if key["expires_at"] else used


@contextmanager
def _keys(session: Session) -> Iterator[tuple[Keys, str]]:
    """The keys of the store, and the scope of the command line."""
    from jiyi.apps.server.keys import Keys
    from jiyi.config import load_settings
    from jiyi.wiring.keys import open_key_store

    given: dict[str, Any] = {} if session.options.scope is None else {"scope": session.options.scope}
    settings = load_settings(session.options.data, config=session.options.config, **given)
    store = open_key_store(settings)
    try:
        yield Keys(store), settings.scope
    finally:
        store.close()
