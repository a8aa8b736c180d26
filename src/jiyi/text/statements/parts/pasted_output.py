"""Lines of code, tracebacks and logs that stand in a message without marks around them. They state nothing."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["without_pasted_output"]

_BEGINS_CODE: Final = re.compile(
    r"^\s*(?:def \w+\(.*\).*:|class \w+.*:|async def |from [\w.]+ import |import [\w.]+$|function \w*\(|const \w+ ="
    r"|let \w+ =|var \w+ =|public |private |#include\b"
    r"|fn \w+\(|func \w*\(|SELECT .+ FROM |if \(.*\) ?\{|for \(.*\) ?\{)"
)
_INSIDE: Final = re.compile(
    r"^(?:\s{2,}\S|\t\S|\s*[})\]];?,?$|\s*(?://|#|/\*|\*)\s|\s*(?:return|else|elif|except|try|finally|raise|print|end)\b"
    r"|.*[;{]$)"
)
_OUTPUT: Final = re.compile(
    r"^\s*(?:Traceback\b|File \"|\w+(?:Error|Exception|Warning)\b.*:|at [\w.$<>]+\(|Caused by:|\+\+\+|---|@@|>>> |\$ )"
    r"|^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|^\s*\[?(?:INFO|DEBUG|WARN(?:ING)?|ERROR|FATAL|TRACE)\b[\]:]?\s"
)


def without_pasted_output(text: str) -> str:
    """The text without lines of code, tracebacks and logs."""
    lines = text.split("\n")
    kept: list[str] = []
    code = False
    for line in lines:
        if _BEGINS_CODE.search(line):
            code = True
            continue
        code = code and (not line.strip() or _INSIDE.search(line) is not None)
        if not code and not _OUTPUT.search(line):
            kept.append(line)
    return text if len(kept) == len(lines) else "\n".join(kept)
