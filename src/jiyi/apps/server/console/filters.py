"""What templates need to show values: times, numbers, marked words. Nothing here makes markup of stored text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup, escape

from jiyi.apps.server.console import addresses
from jiyi.apps.server.console.markdown import to_html
from jiyi.model import clock

_EXCERPT: Final = 240


def when(moment: datetime | str | None) -> Markup:
    """A moment: in UTC, which a script shows in the zone of the reader."""
    if moment is None or moment == "":
        return Markup("–")
    value = clock.from_text(moment) if isinstance(moment, str) else moment
    utc = value.astimezone(UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"), utc.strftime("%Y-%m-%d %H:%M")
    )


def number(value: float) -> str:
    """A number with separators; a fraction with three digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def percent(value: float) -> str:
    """A share."""
    return f"{100 * value:.0f} %"


def excerpt(text: str, max_chars: int = _EXCERPT) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[:max_chars].rstrip() + "…"


def marked(text: str, ranges: Sequence[tuple[int, int]], max_chars: int = 600) -> Markup:
    """A text with the ranges marked, from a little before the first of them on."""
    first = min((start for start, _ in ranges), default=0)
    begin = max(0, first - max_chars // 4) if len(text) > max_chars else 0
    end = min(len(text), begin + max_chars)
    parts: list[str] = ["…" if begin else ""]
    place = begin
    for start, stop in sorted(ranges):
        if start < place or stop > end:
            continue
        parts += [escape(text[place:start]), Markup("<mark>{}</mark>").format(text[start:stop])]
        place = stop
    parts += [escape(text[place:end]), "…" if end < len(text) else ""]
    return Markup("").join(parts)


def as_json(value: Any) -> str:
    """A value as JSON for people."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "when": when,
    "number": number,
    "percent": percent,
    "excerpt": excerpt,
    "marked": marked,
    "as_json": as_json,
    "markdown": to_html,
    "address": addresses.of_entry,
    "reference": addresses.of_reference,
}
GLOBALS: Final[dict[str, Callable[..., str]]] = {
    "conversation": addresses.conversation,
    "message_address": addresses.message,
}
