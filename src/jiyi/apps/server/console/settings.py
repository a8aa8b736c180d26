"""Settings in force and the diagnosis, for administrators. Secrets are not shown."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Final

from starlette.responses import Response

from jiyi.apps.server.access import ADMIN
from jiyi.apps.server.console.page import Page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.model.address import mask_passwords

_HIDDEN: Final = "•••"
_PLAIN: Final = (str, int, float, bool, type(None))


async def show(context: RequestContext) -> Response:
    """All settings, and what `doctor` says."""
    kept = await context.console.cached("doctor").get("", context.memory.doctor)
    report: dict[str, Any] | None = None if kept is None else kept.value
    facts = {} if report is None else {name: value for name, value in report.items() if name not in _TOLD}
    return context.page(
        "settings.html",
        settings=shown_settings(context.memory.settings),
        report=report,
        examined_at=None if kept is None else kept.at,
        plain={name: _text(value) for name, value in facts.items() if isinstance(value, _PLAIN)},
        nested={name: _text(value) for name, value in facts.items() if not isinstance(value, _PLAIN)},
    )


_TOLD: Final = frozenset({"healthy", "advice", "notes"})
"""Parts of the report that are shown in words."""


def shown_settings(settings: Any) -> list[tuple[str, str, str]]:
    """Name, value and meaning of every setting; of a secret only whether it is set."""
    found: list[tuple[str, str, str]] = []
    for each in dataclasses.fields(settings):
        value = getattr(settings, each.name)
        if each.metadata.get("secret"):
            text = _HIDDEN if value is not None else "–"
        else:
            text = "–" if value is None else _text(value)
        found.append((each.name, text, str(each.metadata.get("about", ""))))
    return found


def _text(value: Any) -> str:
    if isinstance(value, str):
        return mask_passwords(value)
    if isinstance(value, _PLAIN):
        return str(value)
    if isinstance(value, dict | list | tuple):
        return mask_passwords(json.dumps(value, ensure_ascii=False, indent=2, default=str))
    return mask_passwords(str(value))


PAGES: Final = (Page("/settings", show, right=ADMIN),)
