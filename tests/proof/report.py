"""Prints the counts of a program and keeps them as its last result in docs/RELIABILITY.md."""

import fcntl
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "RELIABILITY.md"


def keep(name: str, counts: dict[str, Any]) -> None:
    """Print it, and put it into the line of this program, unless RELIABILITY_PAGE says that nothing is to be kept."""
    said = "; ".join(f"{_number(value)} {what}" for what, value in counts.items())
    print(f"{name}: {said}", flush=True)
    if os.environ.get("RELIABILITY_PAGE") != "keep":
        return
    with PAGE.open("r+", encoding="utf-8") as page:
        fcntl.flock(page, fcntl.LOCK_EX)
        text = page.read()
        line = f"| `{name}` | {datetime.now(UTC):%Y-%m-%d} | {said} |"
        found, count = re.subn(rf"^\| `{re.escape(name)}` \|.*$", lambda _: line, text, flags=re.MULTILINE)
        if count != 1:
            raise SystemExit(f"{PAGE.name} has no line for {name}")
        page.seek(0)
        page.write(found)
        page.truncate()


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
