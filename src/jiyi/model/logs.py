"""Log lines of jiyi: what they name comes from files, models and callers, and is shown without control characters."""

from __future__ import annotations

import logging
import re
from typing import Final

from jiyi.model.storable import INVISIBLE

LOGGERS: Final = (
    *("agent", "chat", "compat.mem0", "config", "feed", "index", "jobs", "longterm", "memory", "notes", "recall"),
    *("runtime", "scope", "requests", "server"),
)
"""The loggers below `jiyi`."""

_UNSAFE: Final = re.compile(INVISIBLE)


class _EscapeControls(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            # A mistake in the call; the handler reports it.
            return True
        if _UNSAFE.search(message):
            record.msg, record.args = escaped(message), ()
        return True


def escaped(text: str) -> str:
    """The text with each such character written as an escape."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def escape_controls() -> None:
    """Let no logger of jiyi write control characters, whoever handles its records."""
    for name in LOGGERS:
        logger = logging.getLogger(f"jiyi.{name}")
        if not any(isinstance(each, _EscapeControls) for each in logger.filters):
            logger.addFilter(_EscapeControls())
