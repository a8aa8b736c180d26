"""`ChangeListener`: notifications (LISTEN) of new lines of the change log."""

from __future__ import annotations

import logging
from typing import Any

import psycopg

_log = logging.getLogger("jiyi.feed")


class ChangeListener:
    """A connection of its own that waits for notifications. They are a hint: the log says what has changed."""

    def __init__(self, connection: psycopg.Connection[Any], channel: str) -> None:
        """The connection is in autocommit mode; the channel is a plain name."""
        self._connection = connection
        connection.execute(f"LISTEN {channel}".encode())

    def fileno(self) -> int:
        """The socket, which is readable when a notification has come."""
        return self._connection.fileno()

    def drain(self) -> bool:
        """Read the notifications; `False` when the connection is lost."""
        try:
            for _ in self._connection.notifies(timeout=0):
                pass
        except psycopg.OperationalError as error:
            _log.warning("the connection for notifications is lost, and the store is polled instead: %s", error)
            return False
        return True

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
