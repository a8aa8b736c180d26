"""Changing one memory: edit, pin, forget, restore, erase. Each form says which version it was made for."""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.responses import Response

from jiyi.apps.server.access import ERASE, WRITE, require
from jiyi.apps.server.console import addresses
from jiyi.apps.server.console.differences import differences
from jiyi.apps.server.console.entries import EntryState, find
from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.request_context import Fields, RequestContext
from jiyi.apps.server.logins import CONSOLE
from jiyi.apps.server.problems import ProblemError
from jiyi.errors import InvalidInputError, VersionConflictError
from jiyi.model import clock
from jiyi.model.domain import DOMAINS
from jiyi.model.entry import MemoryEntry


async def show_edit(context: RequestContext) -> Response:
    """The form with the present values."""
    entry = await _own(context)
    return _form(context, entry, values_of(entry))


async def edit(context: RequestContext) -> Response:
    """Make a new version, if the entry is still the one that the form was made for."""
    entry, form = await _own(context), context.form
    given = {name: form.text(name) for name in values_of(entry)}
    try:
        changes, cleared = _changes(entry, form)
        if changes or cleared:
            await context.memory.update(
                id=entry.id, scope=context.scope, if_version=_version(form), clear=cleared, **changes
            )
    except VersionConflictError:
        return _form(context, await _own(context), given, conflict=True, status=412)
    except InvalidInputError as error:
        return _form(context, entry, given, problem=str(error), status=400)
    return context.go(addresses.entry(entry.id), "saved")


def values_of(entry: MemoryEntry) -> dict[str, str]:
    """The fields of the form, as text."""
    return {
        "content": entry.content,
        "category": str(entry.category),
        "memory_type": entry.memory_type,
        "domain": entry.domain or "",
        "tags": ", ".join(entry.tags),
        "importance": f"{entry.importance_score:g}",
        "occurred_at": "" if entry.occurred_at is None else clock.to_text(entry.occurred_at),
        "expires_at": "" if entry.expires_at is None else clock.to_text(entry.expires_at),
        "metadata": json.dumps(dict(entry.metadata), ensure_ascii=False, indent=2) if entry.metadata else "",
    }


def _changes(entry: MemoryEntry, form: Fields) -> tuple[dict[str, Any], list[str]]:
    """The fields that differ from the present ones, and those that are to be empty."""
    before = values_of(entry)
    typed = {name: form.text(name) if name == "content" else form(name) for name in before}
    different = {name for name, text in typed.items() if text.replace("\r\n", "\n") != before[name]}
    readers: dict[str, Any] = {
        "tags": lambda: form.words("tags"),
        "importance": lambda: _number(typed["importance"]),
        "occurred_at": lambda: form.moment("occurred_at"),
        "expires_at": lambda: form.moment("expires_at"),
        "metadata": lambda: _object(typed["metadata"]),
    }
    changes: dict[str, Any] = {}
    cleared: list[str] = []
    for name in sorted(different):
        if not typed[name] and name in {"domain", "tags", "occurred_at", "expires_at", "metadata"}:
            cleared.append(name)
        else:
            changes[name] = readers.get(name, lambda text=typed[name]: text)()
    return changes, cleared


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"importance {text[:40]!a} must be a number from 0 to 1") from None


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"metadata is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInputError(f"metadata must be a JSON object, not {type(found).__name__}")
    return found


def _version(form: Fields) -> int:
    return form.whole("version", 0, 1, 2**31 - 1)


def _form(
    context: RequestContext,
    entry: MemoryEntry,
    values: dict[str, str],
    *,
    problem: str = "",
    conflict: bool = False,
    status: int = 200,
) -> Response:
    changed = differences(entry.content, values["content"]) if conflict else []
    return context.page(
        "entry_edit.html",
        status,
        entry=entry,
        values=values,
        domains=DOMAINS,
        problem=problem,
        conflict=conflict,
        differences=changed,
    )


# --- pin, forget, restore, erase ------------------------------------------------------------------------------------


async def pin(context: RequestContext) -> Response:
    """Pin or unpin a memory: a pinned one is not forgotten."""
    entry = await _own(context)
    pinned = context.form("pinned") == "yes"
    if not await context.memory.longterm.pin(context.scope, entry.id, pinned):
        raise ProblemError(409, "not_pinned", "this memory cannot be pinned")
    return context.go(addresses.entry(entry.id), "pinned" if pinned else "unpinned")


async def forget(context: RequestContext) -> Response:
    """Take a memory out of recall; its versions stay."""
    entry = await _own(context)
    await context.memory.forget(id=entry.id, scope=context.scope, if_version=_version(context.form))
    return context.go(addresses.entry(entry.id), "forgotten")


async def restore(context: RequestContext) -> Response:
    """Bring a memory back: one that has faded as it was, one that was forgotten as a new entry with its last text."""
    found = await find(context)
    entry = found.entry
    if found.state == "inactive":
        restored = await context.memory.longterm.restore(context.scope, [entry.id])
        if not restored:
            raise ProblemError(409, "not_restored", "this memory cannot be brought back")
        return context.go(addresses.entry(entry.id), "restored")
    if found.state == "active" or entry.scope != context.scope:
        raise ProblemError(409, "not_forgotten", "this memory is not forgotten")
    again = await _store_again(context, entry)
    return context.go(addresses.entry(again.id), "restored")


async def _store_again(context: RequestContext, entry: MemoryEntry) -> MemoryEntry:
    fields: dict[str, Any] = {
        "category": str(entry.category),
        "tags": entry.tags,
        "importance": entry.importance_score,
        "memory_type": entry.memory_type,
        "domain": entry.domain,
        "conversation_id": entry.conversation_id,
        "occurred_at": entry.event_time,
        "metadata": dict(entry.metadata) or None,
        "namespace": entry.namespace or None,
    }
    if entry.key is None:
        return await context.memory.add(entry.content, scope=context.scope, **fields)
    if await context.memory.get(entry.key, scope=context.scope) is not None:
        raise ProblemError(409, "key_taken", f"another memory has the key {entry.key[:80]!a} now")
    return await context.memory.store(entry.key, entry.content, scope=context.scope, **fields)


async def show_erase(context: RequestContext) -> Response:
    """Asks before a memory is erased."""
    require(context.access, WRITE, read_only=context.console.read_only)
    found = await find(context)
    _check_own(context, found)
    return context.page("entry_erase.html", entry=found.entry, state=found.state, versions=len(found.versions))


async def erase(context: RequestContext) -> Response:
    """Delete a memory and all its versions, for good. As everywhere, this needs the right to write as well."""
    require(context.access, WRITE, read_only=context.console.read_only)
    found = await find(context)
    _check_own(context, found)
    if context.form("confirmed") != "yes":
        raise ProblemError(400, "not_confirmed", "tick the box to erase the memory for good")
    await context.memory.forget(id=found.entry.id, scope=context.scope, erase=True)
    return context.go(f"{CONSOLE}/entries", "erased")


async def _own(context: RequestContext) -> MemoryEntry:
    """The entry of the address, if it can be changed: public ones are changed with a key of that scope only."""
    found = await find(context)
    _check_own(context, found)
    if found.state != "active":
        raise ProblemError(409, "not_active", "this memory is not active; bring it back first")
    return found.entry


def _check_own(context: RequestContext, found: EntryState) -> None:
    if found.entry.scope != context.scope:
        raise ProblemError(403, "foreign_scope", "this memory belongs to another scope")


PAGES: Final = (
    Page("/entries/{entry_id}/edit", show_edit, right=WRITE),
    form_page("/entries/{entry_id}/edit", edit),
    form_page("/entries/{entry_id}/pin", pin),
    form_page("/entries/{entry_id}/forget", forget),
    form_page("/entries/{entry_id}/restore", restore),
    Page("/entries/{entry_id}/erase", show_erase, right=ERASE),
    form_page("/entries/{entry_id}/erase", erase, right=ERASE),
)
