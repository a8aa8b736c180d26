"""JSON files of the data directory: whole or not at all, and for nobody else to read."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def write_json(path: Path, data: Any) -> None:
    """Write a file in one step: whenever the machine stops, it is the old one or the new one."""
    text = json.dumps(data, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with os.fdopen(os.open(temporary, _NEW_FILE, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            # Otherwise the new name may be on disk before what is in the file.
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
