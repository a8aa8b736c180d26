"""Which module has which command. A process that runs one command loads its module only."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import typer

COMMAND_MODULES: Final = {
    "commands_memory": ("store", "recall", "update", "forget", "count", "list", "history"),
    "commands_scopes": ("scopes", "sessions", "changes", "show", "forget-scope"),
    "commands_transfer": ("export", "import"),
    "commands_admin": ("migrate", "verify", "repair", "rebuild", "doctor", "maintain", "jobs"),
    "commands_chat": ("chat",),
    "commands_server": ("mcp", "serve", "console", "keys"),
    "demo": ("demo",),
    "commands_longterm": ("longterm",),
    "commands_notes": ("notes",),
    "commands_runtime": ("runtime",),
}
"""Each module with the commands and groups that importing it registers, in the order of the help."""


def app_for(word: str) -> typer.Typer:
    """The application with the command or group of this name only.

    Loading all commands takes longer than running most of them. If the name is unknown, all commands are loaded, for
    the help and for a good error message.
    """
    module_name = next((module for module, words in COMMAND_MODULES.items() if word in words), None)
    if module_name is None:
        from jiyi.apps.cli.app import app

        return app
    import_module(f"jiyi.apps.cli.{module_name}")
    from jiyi.apps.cli.framework import app

    app.registered_commands[:] = [info for info in app.registered_commands if info.name == word]
    app.registered_groups[:] = [info for info in app.registered_groups if info.name == word]
    return app
