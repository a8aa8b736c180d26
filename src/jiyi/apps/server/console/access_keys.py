"""Scopes and keys, for administrators: who may enter where. A key is shown once, when it is made."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.responses import Response

from jiyi.apps.server.access import ADMIN, READ, RIGHTS, WRITE
from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.keys import Keys
from jiyi.apps.server.logins import CONSOLE
from jiyi.apps.server.problems import ProblemError
from jiyi.model import clock

ADDRESS: Final = f"{CONSOLE}/keys"
_LINES: Final = 50


async def show(context: RequestContext) -> Response:
    """All scopes, all keys, and the last lines of the access log."""
    return await _page(context)


async def _page(context: RequestContext, *, token: str = "", made: str = "") -> Response:
    keys = context.console.keys
    now = clock.utc_now()
    known = await asyncio.to_thread(keys.all) if keys is not None else []
    log = await asyncio.to_thread(keys.logged, limit=_LINES) if keys is not None else []
    # Counting what all scopes hold takes long in a large store.
    counted = await context.console.cached("scopes").get("", context.memory.scopes)
    return context.page(
        "keys.html",
        has_store=keys is not None,
        scopes=None if counted is None else counted.value,
        counted_at=None if counted is None or counted.current else counted.at,
        valid=[key for key in known if key.is_valid(now)],
        ended=[key for key in known if not key.is_valid(now)],
        names={key.id: key.name for key in known},
        own=context.access.key_id,
        log=log,
        rights=RIGHTS,
        by_default=(READ, WRITE),
        token=token,
        made=made,
    )


async def add(context: RequestContext) -> Response:
    """Make a key, and show it. The page is the answer to the form: no address ever leads to a key."""
    keys = _keys(context)
    key, token = await asyncio.to_thread(
        keys.add,
        context.form("name"),
        context.form("scope"),
        context.form.all("right"),
        kind=context.form("kind") or "main",
        expires_at=context.form.moment("expires", end_of_day=True),
    )
    return await _page(context, token=token, made=key.name)


async def rotate(context: RequestContext) -> Response:
    """Give a key another secret, and show it."""
    key, token = await asyncio.to_thread(_keys(context).rotate, context.form("id"))
    return await _page(context, token=token, made=key.name)


async def revoke(context: RequestContext) -> Response:
    """End a key."""
    if not context.form("sure"):
        raise ProblemError(400, "not_confirmed", "revoking a key has to be confirmed")
    if not await asyncio.to_thread(_keys(context).revoke, context.form("id")):
        raise ProblemError(409, "no_valid_key", "there is no such valid key; it may have been revoked meanwhile")
    return context.go(ADDRESS, "key_revoked")


def _keys(context: RequestContext) -> Keys:
    if context.console.keys is None:
        raise ProblemError(409, "no_key_store", "this server keeps no keys")
    return context.console.keys


PAGES: Final = (
    Page("/keys", show, right=ADMIN),
    form_page("/keys/add", add, ADMIN),
    form_page("/keys/rotate", rotate, ADMIN),
    form_page("/keys/revoke", revoke, ADMIN),
)
