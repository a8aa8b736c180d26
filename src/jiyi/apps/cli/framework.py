"""The typer application: options that all commands share, errors, exit codes."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer._click.exceptions import ClickException  # has no public name in the oldest typer that is supported
from typer.core import TyperGroup

from jiyi.apps.cli import exit_codes as exits
from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.interrupts import Interrupted
from jiyi.apps.cli.output import Output
from jiyi.apps.cli.session import Options, Session, warnings_as_notes
from jiyi.errors import JiyiError

_PANEL = "Options of every command"

DataOption = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="PATH",
        help="The data directory, or a postgresql:// address. Not given: JIYI_HOME, or else ~/.jiyi/data.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A memory.yaml. Not given: JIYI_CONFIG, or else the one in the data directory.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
ScopeOption = Annotated[
    str | None,
    typer.Option(
        "--scope",
        metavar="NAME",
        help="Whose memories: this scope is written, this scope and 'public' are read.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Write JSON, also for errors (on standard error).", rich_help_panel=_PANEL),
]


class _Group(TyperGroup):
    """Says every error in one line and turns it into its exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run and exit; with `standalone_mode=False` run and return the code."""
        words = sys.argv[1:] if args is None else list(args)
        try:
            code = super().main(
                args,
                prog_name or "jiyi",
                complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )
        except ClickException as error:
            code = _usage_error(error, json="--json" in words)
        if not standalone_mode:
            return code
        sys.exit(int(code or Code.OK))


def _usage_error(error: ClickException, *, json: bool) -> Code:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "jiyi"
    message = error.format_message().rstrip(".")
    if not message:
        # A group without a command has just shown its help.
        return Code.OK
    Output(json=json).error("UsageError", f"{message}; see: {command} --help")
    return Code.BAD_INPUT


app = typer.Typer(
    name="jiyi",
    cls=_Group,
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=exits.table(),
)


@app.callback()
def start(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    scope: ScopeOption = None,
    json: JsonOption = False,
) -> Code:
    """A memory (记忆) for AI agents that never loses a word.

    Store what matters, recall it in Chinese and English by words and by meaning, and see why each hit was found.
    """
    context.obj = Options(data=data, config=config, scope=scope, json=json)
    if version:
        from importlib.metadata import version as version_of

        from jiyi.apps.cli.renderables import text

        number = version_of("jiyi")
        Output(json=json).result({"version": number}, lambda: [text(f"jiyi {number}")])
        raise typer.Exit(Code.OK)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
    return Code.OK


_COMMON = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, annotation, default in (
        ("data", DataOption, None),
        ("config", ConfigOption, None),
        ("scope", ScopeOption, None),
        ("json", JsonOption, False),
    )
]
_CONTEXT = inspect.Parameter("typer_context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

Command = Callable[..., Code]


def group(name: str, about: str) -> typer.Typer:
    """A command that has commands of its own: `jiyi notes append`."""
    made = typer.Typer(name=name, help=about, no_args_is_help=True, rich_markup_mode="rich")
    app.add_typer(made, name=name)
    return made


def command(
    name: str, *, examples: Sequence[str], into: typer.Typer | None = None, needs_memory: bool = False
) -> Callable[[Command], Command]:
    """Make a function `(session, arguments...) -> Code` a command that also takes the options of every command.

    The examples stand at the end of its help; the tests run them. `into` is the group it belongs to. A
    command that `needs_memory` is refused where there is none; the others make one.
    """

    def decorate(function: Command) -> Command:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        def run(typer_context: typer.Context, **values: Any) -> Code:
            options = Options(**{parameter.name: values.pop(parameter.name) for parameter in _COMMON})
            session = Session(options.over(typer_context.obj))
            return _guarded(session, function, values, needs_memory=needs_memory)

        run.__module__ = function.__module__
        keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        parameters = [_CONTEXT, *keyword_only, *_COMMON]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        epilog = "\n".join(["Examples:", *(f"  {example}" for example in examples)])
        (into or app).command(name, help=inspect.getdoc(function), epilog=epilog)(run)
        return function

    return decorate


def _guarded(session: Session, function: Command, values: dict[str, Any], *, needs_memory: bool) -> Code:
    output = session.output
    try:
        with warnings_as_notes(output):
            if needs_memory:
                session.require_memory()
            return function(session, **values)
    except Interrupted as stopped:
        output.error("Interrupted", str(stopped))
        return Code.INTERRUPTED
    except JiyiError as error:
        output.error(type(error).__name__, str(error))
        return exits.code_of(error)
    except BrokenPipeError:
        # What is still in the buffer has no reader: without this, Python would complain when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Code.READER_GONE
    except OSError as error:
        output.error(type(error).__name__, str(error))
        return exits.code_of(error)
