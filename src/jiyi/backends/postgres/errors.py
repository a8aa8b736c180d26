"""Translates errors of PostgreSQL into errors that say what to do."""

from __future__ import annotations

from typing import Any

from jiyi.errors import MissingDependencyError, StorageError, StoreBusyError, StoreDamagedError, StoreUnavailableError

try:
    import psycopg
except ImportError as error:
    raise MissingDependencyError(
        "PostgreSQL as storage needs the package psycopg; install it: pip install 'jiyi[postgres]'"
    ) from error

# By code (see "PostgreSQL Error Codes" in its documentation), or by the first two characters of the code.
_BUSY = {
    "55P03": "a lock was held by another session for too long",
    "57014": "a statement took longer than statement_timeout",
    "40001": "another transaction changed the same rows at the same time",
    "40P01": "two transactions waited for each other, and this one gave way",
    "25P03": "the transaction stood idle for too long and the server ended it",
    "53300": "the server has no connection left (max_connections); use smaller pools or raise it",
}
_GONE = ("08", "57P01", "57P02", "57P03", "57P05")
_FAULTS = {
    "53": ("has no room left", "nothing of this write was kept"),
    "25006": ("takes no writes", "point jiyi at the primary server"),
    "42501": ("does not let this role do that", "grant it, or use another role"),
    "42P01": ("lacks a table", "check the database and the search_path of the role"),
    "28": ("refuses the connection", "check user and password in the URL"),
    "3D000": ("refuses the connection", "check the name of the database in the URL"),
}
# Before there is a session the library gives words and no code.
_REFUSED = (
    "authentication failed",
    "no password supplied",
    "pg_hba.conf",
    "does not exist",
    "permission denied",
    "not permitted to log in",
    "could not translate host name",
    "failed to resolve host",
    "invalid",
)


def is_lost(connection: psycopg.Connection[Any] | None, error: BaseException | None) -> bool:
    """Whether the session is lost."""
    code = getattr(error, "sqlstate", None) or ""
    return connection is None or connection.closed or connection.broken or code.startswith(_GONE) or code == "25P03"


def storage_error(where: str, error: BaseException | None, *, connected: bool = True) -> StorageError:
    """The error of jiyi for an error of the server; `connected` is whether there was a session."""
    code = getattr(error, "sqlstate", None) or ""
    reason = _reason(error)
    if code in _BUSY:
        return StoreBusyError(f"{where}: {_BUSY[code]} ({reason}); nothing was changed, try again")
    if code.startswith(("XX001", "XX002")):
        return StoreDamagedError(f"{where} is damaged ({reason}); restore it from a backup or an export")
    for beginning, (problem, remedy) in _FAULTS.items():
        if code.startswith(beginning):
            return StorageError(f"{where} {problem} ({reason}); {remedy}")
    if not code.startswith(_GONE) and (code or not isinstance(error, psycopg.OperationalError)):
        return StorageError(f"the record store {where} failed: {reason}")
    if not connected and not code and any(word in reason for word in _REFUSED):
        return StorageError(f"{where} refuses the connection ({reason}); check the URL")
    lost = "the connection was lost" if connected else "the server cannot be reached"
    return StoreUnavailableError(f"{where}: {lost} ({reason}); nothing was kept, try again")


def _reason(error: BaseException | None) -> str:
    """The first line of the server's words: the others can hold values of rows."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary
    return next(iter(str(error).splitlines()), type(error).__name__)
