"""Copying a whole store from one engine to another."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jiyi.config import load_settings
from jiyi.errors import InvalidInputError
from jiyi.model.address import EMBEDDED, IN_MEMORY, check_postgres_url, is_postgres_url, mask_passwords
from jiyi.wiring.profiles import DATABASE_FILE, open_database

if TYPE_CHECKING:
    from jiyi.backends.records.sql import Database
    from jiyi.config import Settings
    from jiyi.model.migration import MigrationReport
    from jiyi.ports import Progress


def migrate_store(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    config: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> MigrationReport:
    """Copy everything from `source` to `target`; each is a data directory or the address of a PostgreSQL database."""
    from jiyi.backends.records.copy import copy_store

    read, names = load_settings(config=config, **settings), (_named(source, "source"), _named(target, "target"))
    if names[0] == names[1]:
        raise InvalidInputError(f"source and target are both {names[0]}; name another target")
    if not is_postgres_url(source) and not (Path(source).expanduser() / DATABASE_FILE).is_file():
        raise InvalidInputError(f"there is no memory in {names[0]}: it has no file {DATABASE_FILE}")
    with closing(_open(source, read)) as origin, closing(_open(target, read)) as copy:
        return copy_store(origin, copy, names=names, progress=progress)


def _named(place: str | os.PathLike[str], what: str) -> str:
    """The name of the place for messages. Raises `InvalidInputError` for what cannot be a store."""
    if is_postgres_url(place):
        return mask_passwords(str(place))
    if not isinstance(place, str | os.PathLike) or not os.fspath(place):
        raise InvalidInputError(f"the {what} must be a data directory or a postgresql:// address, not {place!r}")
    text = os.fspath(place)
    if text == str(IN_MEMORY):
        raise InvalidInputError(f"the {what} cannot be {IN_MEMORY}, which keeps nothing; name a data directory")
    if "://" in text:
        raise InvalidInputError(
            f"the {what} {mask_passwords(text)!r} is neither a data directory nor a postgresql:// address"
        )
    folder = Path(text).expanduser()
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"the {what} {folder} is a file; name the data directory that it is in")
    return str(folder.resolve())


def _open(place: str | os.PathLike[str], settings: Settings) -> Database:
    if not is_postgres_url(place):
        return open_database(replace(settings, storage=EMBEDDED, path=Path(place).expanduser()))
    try:
        return open_database(replace(settings, storage=check_postgres_url(str(place))))
    except ValueError as error:
        raise InvalidInputError(f"{mask_passwords(str(place))!r} is not valid: {error}") from None
