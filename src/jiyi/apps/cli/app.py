"""The application with all its commands, in the order of the help."""

from __future__ import annotations

from jiyi.apps.cli import (
    commands_admin,
    commands_chat,
    commands_longterm,
    commands_memory,
    commands_notes,
    commands_runtime,
    demo,
)
from jiyi.apps.cli.framework import app

# Importing a module of commands registers them.
__all__ = [
    "app",
    "commands_admin",
    "commands_chat",
    "commands_longterm",
    "commands_memory",
    "commands_notes",
    "commands_runtime",
    "demo",
]
