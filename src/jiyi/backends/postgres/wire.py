"""Several questions to PostgreSQL in one round trip, in the words of its own library.

A cursor of psycopg takes longer than the server does for a small question, and its pipelines longer still. What every
recall asks goes through `Wire` instead: statements prepared once on each connection, their parameters ready as bytes,
all sent together and answered together.

What is sent together is one transaction, so settings that a first statement makes are local to it.
"""

from __future__ import annotations

import select
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg
from psycopg.adapt import Transformer
from psycopg.pq import ConnStatus, ExecStatus, Format, TransactionStatus

Connection: TypeAlias = "psycopg.Connection[Any]"
Row: TypeAlias = tuple[Any, ...]

TEXT, BYTES, REAL8, UUID = 25, 17, 701, 2950
INT2S, INT4, INT4S, INT8, INT8S, TEXTS, REALS = 1005, 23, 1007, 20, 1016, 1009, 1021
"""Types of parameters, by their numbers in PostgreSQL's catalogue."""
_BINARY: Final = frozenset({BYTES, REALS})


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with parameters `$1`, `$2`, … of these types."""

    sql: str
    types: tuple[int, ...] = ()
    once: bool = False
    """Whether it is sent as it is, and not prepared."""
    name: bytes = field(init=False)
    """Under which it is prepared: the same statement has the same name everywhere."""
    command: bytes = field(init=False)
    formats: tuple[Format, ...] = field(init=False)

    def __post_init__(self) -> None:
        command = self.sql.encode()
        object.__setattr__(self, "command", command)
        object.__setattr__(self, "name", b"jiyi_" + blake2b(command, digest_size=12).hexdigest().encode())
        formats = tuple(Format.BINARY if kind in _BINARY else Format.TEXT for kind in self.types)
        object.__setattr__(self, "formats", formats)


class Question(NamedTuple):
    """A statement and the values of its parameters, as they are sent."""

    statement: Statement
    values: Sequence[bytes | None] = ()


def settings(values: Mapping[str, str], more: Sequence[str] = (), *, generic_plans: bool = True) -> Statement:
    """What makes these settings for one transaction; the values of `more` are its parameters.

    Generic plans are made once for all values: making one takes longer than looking up a few rows.
    """
    fixed = {**values, "plan_cache_mode": "force_generic_plan"} if generic_plans else values
    calls = [f"set_config('{name}', '{value}', true)" for name, value in fixed.items()]
    calls += [f"set_config('{name}', ${place}, true)" for place, name in enumerate(more, 1)]
    return Statement(f"SELECT {', '.join(calls)}", (TEXT,) * len(more))


def text(value: str) -> bytes:
    """A text as a parameter."""
    encoded = value.encode("utf-8")
    if b"\x00" in encoded:
        # It would be cut there, without a word.
        raise psycopg.DataError("a text with the character NUL cannot be in PostgreSQL")
    return encoded


def array(values: Sequence[str]) -> bytes:
    """Texts as a parameter of type `text[]`."""
    escaped = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return text("{" + ",".join(f'"{value}"' for value in escaped) + "}")


def whole_numbers(values: Iterable[int]) -> bytes:
    """Numbers as a parameter of a type such as `integer[]`."""
    return b"{" + ",".join(map(str, values)).encode() + b"}"


class Wire:
    """One connection, in the hands of one thread at a time."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._transformer = Transformer(connection)
        self._prepared: set[bytes] = set()
        self._epoch = b""

    def ask(self, questions: Sequence[Question]) -> list[list[Row]]:
        """The rows that each question is answered with; an error of one is an error of all."""
        try:
            return self._ask(questions)
        except psycopg.errors.InvalidSqlStatementName:
            if self.connection.pgconn.transaction_status != TransactionStatus.IDLE:
                # In a transaction of the caller's, which is to be undone first.
                raise
            return self._ask(questions)

    def _ask(self, questions: Sequence[Question]) -> list[list[Row]]:
        try:
            answers, failed = self._receive(self._send(questions))
            self.connection.pgconn.exit_pipeline_mode()
        except BaseException:
            # Lost, or broken off in the middle of an answer: nobody can go on with it.
            self.connection.close()
            raise
        if failed is not None:
            if isinstance(failed, psycopg.errors.InvalidSqlStatementName):
                # Somebody has cleared what was prepared in this session. Under other names it is prepared again.
                self._prepared.clear()
                self._epoch = b"_%d" % (int(self._epoch[1:] or b"0") + 1)
            raise failed
        return answers

    def _send(self, questions: Sequence[Question]) -> list[bytes | None]:
        """Send everything; returns what is to be answered: names of what is prepared, and `None` for each question."""
        connection = self.connection.pgconn
        unprepared = self.connection.prepare_threshold is None
        sent: list[bytes | None] = []
        connection.enter_pipeline_mode()
        for statement, values in questions:
            if unprepared or statement.once:
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
        """Everything that is answered up to the end of what was sent, and what failed; after that nothing is done.

        Rows are read as soon as they are there: the server goes on with the next statement meanwhile.
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
                # What was prepared stays so, whatever fails after it.
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
    """Until the server has said something, or can be told more."""
    if not hasattr(select, "poll"):
        select.select([descriptor], [descriptor] if writing else [], [])
        return
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN | (select.POLLOUT if writing else 0))
    waiting.poll()
