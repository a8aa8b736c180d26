"""`TransactionHooks`: writes the text index in the transaction that changes the records.

So a recall after an acknowledged write finds it without draining. The statements of the index are behind a savepoint:
if the index cannot be written, the records are committed all the same, the log position stays where it is, and the
change is applied later from the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import psycopg

from jiyi.backends.postgres.connection import PostgresConnection
from jiyi.backends.postgres.session import Connection
from jiyi.backends.postgres.text import tables
from jiyi.backends.postgres.text.small_batch import MAX_SMALL_BATCH, SmallBatchWriter
from jiyi.backends.postgres.text.tables import State
from jiyi.backends.postgres.text.writer import write_current
from jiyi.backends.shared.term_rows import analyse
from jiyi.contexts import on_error
from jiyi.ports import LogPosition
from jiyi.text import Analyzer

_log = logging.getLogger("jiyi.index")

UsableState: TypeAlias = Callable[[Sequence[Sequence[Any]]], State | None]
"""The state in the rows of `STATE_QUERY`; `None` if the index has to be repaired or rebuilt."""

CORRUPTED = (psycopg.errors.InternalError_, psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted)
"""Errors of the server that mean a damaged index, for example after a crash."""
_BATCH = 2_000
_WRITTEN = "jiyi.text_written"
_SEE_ALL_SCOPES = (
    "SELECT set_config('jiyi.seen_before', current_setting('jiyi.whole_store', true), true), "
    "set_config('jiyi.whole_store', 'on', true)"
)
_SEE_AS_BEFORE = "SELECT set_config('jiyi.whole_store', current_setting('jiyi.seen_before'), true)"


class TransactionHooks:
    """What the record store calls before it writes to the change log, and before it commits."""

    def __init__(self, analyzer: Analyzer, usable_state: UsableState) -> None:
        self._analyzer = analyzer
        self._usable_state = usable_state

    def before_log(self, connection: PostgresConnection, changed: Sequence[tuple[str, str]]) -> None:
        """Write the changed entries to the index. The log position follows in `before_commit`.

        The log is not locked yet, so transactions of different scopes do this at the same time.
        """
        driver = connection.driver
        connection.info.pop(_WRITTEN, None)
        ids = list(dict.fromkeys(entry_id for _, entry_id in changed))
        try:
            if len(ids) <= MAX_SMALL_BATCH:
                state = self._write_small(SmallBatchWriter(connection.wire, ids))
            else:
                state = self._write_large(driver, ids)
        except tables.MISSING:
            return  # There is no complete index: it is built from the records when it is needed.
        except psycopg.OperationalError as error:
            if not isinstance(error, psycopg.errors.DiskFull):
                # A lost connection, a lock or a timeout concerns the caller's transaction.
                raise
            # There may be room for the records; if not, their own statements fail.
            _mark_broken(driver, error)
        except psycopg.Error as error:
            _mark_broken(driver, error)
        else:
            if state is not None:
                connection.info[_WRITTEN] = state.identity

    def before_commit(
        self, connection: PostgresConnection, changed: Sequence[tuple[str, str]], head: LogPosition
    ) -> None:
        """Move the log position to the new head, unless the index lacks a change before this transaction."""
        identity = connection.info.pop(_WRITTEN, None)
        if identity is None:
            return
        driver = connection.driver
        # The log is read with the changes of all scopes: other transactions may have written any of them.
        with driver.pipeline():
            driver.execute(_SEE_ALL_SCOPES)
            driver.execute(
                f"UPDATE {tables.STATE} SET sequence = :sequence, fingerprint = :fingerprint "
                "WHERE identity = :identity AND sequence >= "
                "coalesce((SELECT max(sequence) FROM memory_changes WHERE sequence <= :before), 0)",
                {
                    "sequence": head.sequence,
                    "fingerprint": head.fingerprint,
                    "identity": identity,
                    "before": head.sequence - len(changed),
                },
            )
            driver.execute(_SEE_AS_BEFORE)

    def _write_small(self, batch: SmallBatchWriter) -> State | None:
        """Write a few entries; returns the state of the tables, `None` if they cannot be written."""
        with on_error(batch.roll_back):
            state = self._usable_state(batch.read())
            if state is not None:
                batch.write(state.mode, lambda entry: analyse(self._analyzer, entry))
            return state

    def _write_large(self, connection: Connection, ids: Sequence[str]) -> State | None:
        """The same for any number of entries."""
        with connection.transaction():
            state = self._usable_state(connection.execute(tables.STATE_QUERY).fetchall())
            if state is not None:
                for start in range(0, len(ids), _BATCH):
                    write_current(connection, self._analyzer, state.mode, ids[start : start + _BATCH])
            return state


def error_reason(error: psycopg.Error) -> str:
    """The first line of the server's message: the others can contain values of rows."""
    return error.diag.message_primary or type(error).__name__


def _mark_broken(connection: Connection, error: psycopg.Error) -> None:
    """Log that the index lacks a change; a corrupted BM25 index is not used again by any process."""
    _log.warning("the text index could not be written and will be repaired: %s", error_reason(error))
    if isinstance(error, CORRUPTED):
        with connection.transaction():
            if tables.present(connection):
                connection.execute(f"DELETE FROM {tables.INTACT}")
