"""The application with all its commands, in the order of the help."""

from __future__ import annotations

from importlib import import_module

from jiyi.apps.cli.command_modules import COMMAND_MODULES
from jiyi.apps.cli.framework import app

__all__ = ["app"]

# Importing a module registers its commands.
for _name in COMMAND_MODULES:
    import_module(f"jiyi.apps.cli.{_name}")
