"""Which module has which command: a process that runs one command loads only its module."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import typer

HOMES: Final = {
    "commands_longterm": ("longterm",),
    "commands_memory": ("store", "recall", "forget", "count", "list", "history"),
    "commands_notes": ("notes",),
    "commands_runtime": ("runtime",),
    "commands_upkeep": ("export", "import", "verify", "repair", "rebuild", "doctor", "maintain", "jobs"),
    "conversation": ("chat",),
    "demo": ("demo",),
}
"""Each module with the commands and groups that importing it registers."""


def app_for(word: str) -> typer.Typer:
    """The application with what this first word calls, and nothing else.

    Loading and preparing all commands takes longer than to run most of them. Where the word calls nothing everything
    is there, for the help and for a good error.
    """
    home = next((module for module, words in HOMES.items() if word in words), None)
    if home is None:
        from jiyi.apps.cli.app import app

        return app
    import_module(f"jiyi.apps.cli.{home}")
    from jiyi.apps.cli.framework import app

    app.registered_commands[:] = [info for info in app.registered_commands if info.name == word]
    app.registered_groups[:] = [info for info in app.registered_groups if info.name == word]
    return app
