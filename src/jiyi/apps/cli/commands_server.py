"""Commands that serve a memory to other programs."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command
from jiyi.apps.cli.renderables import text
from jiyi.apps.cli.session import Session
from jiyi.errors import MissingDependencyError

if TYPE_CHECKING:
    from jiyi.opening import Opening

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
        from jiyi.server.mcp.client_config import client_config

        config, place = client_config(print_config, _mcp_options(session, read_only=read_only, group=group))
        session.output.result({"client": print_config, "file": place, "config": config}, lambda: [text(config)])
        session.output.note(f"paste it into {place}")
        return Code.OK
    _need("mcp")
    from jiyi.server.mcp.stdio import serve_stdio

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
