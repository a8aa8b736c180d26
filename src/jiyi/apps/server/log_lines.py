"""The log lines of a server: for people, or one JSON object each. Texts of memories and secrets are in neither."""

from __future__ import annotations

import json
import logging
import sys
from typing import Final, TextIO

from jiyi.model import clock
from jiyi.model.logs import escaped

FORMATS: Final = ("text", "json")


class JsonLines(logging.Formatter):
    """One JSON object in each line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        line = {
            "time": clock.to_text(clock.utc_now()),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info is not None and record.exc_info[0] is not None:
            # The text of an error may quote what somebody has said; where it happened does not.
            line["error"] = record.exc_info[0].__name__
            trace = record.exc_info[2]
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            if trace is not None:
                line["at"] = f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
        return json.dumps(line, ensure_ascii=False)


class TextLines(logging.Formatter):
    """One line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        facts = getattr(record, "facts", {})
        more = "".join(f" {name}={facts[name]}" for name in ("key_id", "request_id") if facts.get(name))
        now = clock.to_text(clock.utc_now())
        return escaped(f"{now} {record.levelname.lower()} {record.name}: {record.getMessage()}{more}")


def log_to(stream: TextIO | None = None, *, form: str = "text", requests: bool = True) -> logging.Handler:
    """Write the log of this process to a stream, standard error if none is named. Returns the handler."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    for name in ("jiyi", "uvicorn"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.propagate = False
    logging.getLogger("jiyi").setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("jiyi.requests").setLevel(logging.INFO if requests else logging.WARNING)
    return handler
