"""Several statements in one round trip to PostgreSQL, by the functions of libpq.

A cursor of psycopg takes longer than the server needs for a small query, and its pipelines take longer still. The
queries of every recall use `PipelineConnection` instead: statements are prepared once on each connection, parameters
are encoded by the caller, and all statements are sent together.

Statements that are sent together are one transaction, so settings of the first statement are local to it.
"""

from __future__ import annotations

import select
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg
from psycopg.adapt import Transformer
from psycopg.pq import ConnStatus, ExecStatus, Format, TransactionStatus

from jiyi.backends.records.sql import postgres_numbered
from jiyi.contexts import on_error

Connection: TypeAlias = "psycopg.Connection[Any]"
Row: TypeAlias = tuple[Any, ...]

TEXT, BYTEA, FLOAT8, UUID, INT4, INT8 = 25, 17, 701, 2950, 23, 20
INT2_ARRAY, INT4_ARRAY, INT8_ARRAY, TEXT_ARRAY, FLOAT4_ARRAY = 1005, 1007, 1016, 1009, 1021
"""Types of parameters, by their OIDs."""
_BINARY: Final = frozenset({BYTEA, FLOAT4_ARRAY})


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with parameters `:name`, and their types."""

    sql: str
    parameters: Mapping[str, int] = field(default_factory=dict)
    prepare: bool = True
    name: bytes = field(init=False)
    """The name of the prepared statement: the same statement has the same name on every connection."""
    command: bytes = field(init=False)
    """The statement as the server takes it, with parameters `$1`, `$2`, …"""
    names: tuple[str, ...] = field(init=False)
    """The parameters in the order of the server; so are their types and formats."""
    types: tuple[int, ...] = field(init=False)
    formats: tuple[Format, ...] = field(init=False)

    def __post_init__(self) -> None:
        command, names = postgres_numbered(self.sql)
        types = tuple(self.parameters[name] for name in names)
        object.__setattr__(self, "command", command)
        object.__setattr__(self, "name", b"jiyi_" + blake2b(command, digest_size=12).hexdigest().encode())
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "types", types)
        formats = tuple(Format.BINARY if kind in _BINARY else Format.TEXT for kind in types)
        object.__setattr__(self, "formats", formats)

    def bound(self, values: Mapping[str, bytes | None]) -> BoundStatement:
        """The statement with the encoded values of its parameters; there may be more values."""
        return BoundStatement(self, [values[name] for name in self.names])


class BoundStatement(NamedTuple):
    """A statement with the encoded values of its parameters, in the order of the server."""

    statement: Statement
    values: Sequence[bytes | None] = ()


def settings(
    values: Mapping[str, str], more: Mapping[str, str] = MappingProxyType({}), *, generic_plans: bool = True
) -> Statement:
    """A statement that sets these settings for one transaction, and those of `more` to its parameters of these names.

    It also selects generic plans: planning takes longer than looking up a few rows.
    """
    fixed = {**values, "plan_cache_mode": "force_generic_plan"} if generic_plans else values
    calls = [f"set_config('{name}', '{value}', true)" for name, value in fixed.items()]
    calls += [f"set_config('{name}', :{parameter}, true)" for name, parameter in more.items()]
    return Statement(f"SELECT {', '.join(calls)}", dict.fromkeys(more.values(), TEXT))


GENERIC_PLANS: Final = BoundStatement(settings({}))
"""Selects generic plans for one transaction."""


def text_parameter(value: str) -> bytes:
    """A parameter of type `text`."""
    encoded = value.encode("utf-8")
    if b"\x00" in encoded:
        # libpq would truncate the text there.
        raise psycopg.DataError("a text with the character NUL cannot be in PostgreSQL")
    return encoded


def text_array(values: Sequence[str]) -> bytes:
    """A parameter of type `text[]`."""
    joined = '","'.join(values)
    # Ids and scopes have nothing to be escaped, as a rule.
    if "\\" in joined or joined.count('"') > 2 * (len(values) - 1):
        joined = '","'.join(value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return text_parameter(f'{{"{joined}"}}' if values else "{}")


def integer_array(values: Iterable[int]) -> bytes:
    """A parameter of a type such as `integer[]`."""
    return b"{" + ",".join(map(str, values)).encode() + b"}"


class PipelineConnection:
    """Executes pipelines on one connection, for one thread at a time."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._transformer = Transformer(connection)
        self._prepared: set[bytes] = set()
        self._epoch = b""

    def execute(self, statements: Sequence[BoundStatement]) -> list[list[Row]]:
        """The rows of each statement. If one fails, its error is raised and none has an effect."""
        try:
            return self._execute(statements)
        except psycopg.errors.InvalidSqlStatementName:
            if self.connection.pgconn.transaction_status != TransactionStatus.IDLE:
                # The caller has to roll back its own transaction first.
                raise
            return self._execute(statements)

    def _execute(self, statements: Sequence[BoundStatement]) -> list[list[Row]]:
        # After an error the connection is lost, or was interrupted in the middle of a result: it cannot be used again.
        with on_error(self.connection.close):
            answers, failed = self._receive(self._send(statements))
            self.connection.pgconn.exit_pipeline_mode()
        if failed is not None:
            if isinstance(failed, psycopg.errors.InvalidSqlStatementName):
                # The prepared statements of this session were deallocated: prepare them again under other names.
                self._prepared.clear()
                self._epoch = b"_%d" % (int(self._epoch[1:] or b"0") + 1)
            raise failed
        return answers

    def _send(self, statements: Sequence[BoundStatement]) -> list[bytes | None]:
        """Send everything; returns for each expected result the name that is prepared, or `None` for a statement."""
        connection = self.connection.pgconn
        never_prepare = self.connection.prepare_threshold is None
        sent: list[bytes | None] = []
        connection.enter_pipeline_mode()
        for statement, values in statements:
            if never_prepare or not statement.prepare:
                connection.send_query_params(
                    statement.command, values, statement.types, statement.formats, Format.BINARY
                )
            else:
                name = statement.name + self._epoch
                if name not in self._prepared and name not in sent:
                    connection.send_prepare(name, statement.command, statement.types)
                    sent.append(name)
                connection.send_query_prepared(name, values, statement.formats, Format.BINARY)
            sent.append(None)
        connection.pipeline_sync()
        return sent

    def _receive(self, sent: Sequence[bytes | None]) -> tuple[list[list[Row]], psycopg.Error | None]:
        """All results of a pipeline, and the error that aborted it, if any.

        Rows are read as they arrive, while the server executes the next statement.
        """
        connection = self.connection.pgconn
        while connection.flush():
            _wait(connection.socket, writing=True)
            connection.consume_input()
        answers: list[list[Row]] = []
        failed: psycopg.Error | None = None
        waiting = iter(sent)
        while True:
            while connection.is_busy():
                _wait(connection.socket)
                connection.consume_input()
            result = connection.get_result()
            if result is None:
                if connection.status == ConnStatus.BAD:
                    raise psycopg.OperationalError("the connection was lost")
                continue
            status = result.status
            if status == ExecStatus.PIPELINE_SYNC:
                return answers, failed
            if status == ExecStatus.TUPLES_OK:
                next(waiting)
                answers.append(self._rows(result))
            elif status == ExecStatus.COMMAND_OK:
                # A prepared statement remains, even if a later statement fails.
                prepared = next(waiting)
                if prepared is not None:
                    self._prepared.add(prepared)
                else:
                    answers.append([])
            elif status != ExecStatus.PIPELINE_ABORTED:
                failed = psycopg.errors.error_from_result(result)

    def _rows(self, result: Any) -> list[Row]:
        self._transformer.set_pgresult(result, format=Format.BINARY)
        return self._transformer.load_rows(0, result.ntuples, tuple)


def _wait(descriptor: int, *, writing: bool = False) -> None:
    """Wait until the socket can be read, or written."""
    if not hasattr(select, "poll"):
        select.select([descriptor], [descriptor] if writing else [], [])
        return
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN | (select.POLLOUT if writing else 0))
    waiting.poll()
