"""The runtime room: tags, how strong memories are, feedback, and what consolidation would do."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.request_context import RequestContext, local_address
from jiyi.apps.server.logins import CONSOLE
from jiyi.apps.server.problems import ProblemError
from jiyi.errors import InvalidInputError

_TAGS: Final = 100
_SHOWN: Final = 20
_VERDICTS: Final = ("useful", "useless")


async def show(context: RequestContext) -> Response:
    """Tags, and the memories of a tag or of a question."""
    question, tag = context.query("q"), context.query("tag")
    runtime = context.memory.runtime
    offset = context.query.whole("offset", 0, 0, 1_000_000)
    # Counting the tags of many memories takes long.
    kept = await context.console.cached("tags").get(
        f"{context.scope} {offset}", lambda: runtime.list_tags(_TAGS + 1, offset, memory_scope=context.scope)
    )
    tags = [] if kept is None else kept.value
    found: list[Any] = []
    notes: tuple[str, ...] = ()
    if question:
        recalled = await runtime.recall(question, _SHOWN, memory_scope=context.scope, touch=False)
        found, notes = list(recalled), recalled.notes
    elif tag:
        entries = await context.memory.list(scope=context.scope, tags=[tag], limit=_SHOWN)
        found = [
            each for each in [await runtime.get(e.id, memory_scope=context.scope) for e in entries] if each is not None
        ]
    return context.page(
        "runtime.html",
        name=runtime.name,
        tags=tags[:_TAGS],
        counting=kept is None,
        more_tags=str(offset + _TAGS) if len(tags) > _TAGS else None,
        offset=offset,
        question=question,
        tag=tag,
        asked=bool(question or tag),
        found=found,
        notes=notes,
        strongest=max((memory.strength for memory in found), default=1),
        plan=await _plan(context),
    )


async def _plan(context: RequestContext) -> Any:
    """What consolidation would do, if that was asked for."""
    if not context.query("plan"):
        return None
    return await context.memory.runtime.consolidate_memories(memory_scope=context.scope, dry_run=True)


async def feedback(context: RequestContext) -> Response:
    """Whether a memory was useful: it becomes stronger, or is noted as recalled for nothing."""
    verdict = context.form("verdict")
    if verdict not in _VERDICTS:
        raise InvalidInputError(f"verdict {verdict[:40]!a} must be one of {', '.join(_VERDICTS)}")
    memory_id = context.form("memory")
    given = {"useful_memory_ids": [memory_id]} if verdict == "useful" else {"recalled_memory_ids": [memory_id]}
    result = await context.memory.runtime.feedback(**given, memory_scope=context.scope)  # type: ignore[arg-type]
    if result.unknown_ids:
        raise ProblemError(409, "no_memory", "there is no such active memory; it may have been changed meanwhile")
    return context.go(_back(context), "feedback")


async def consolidate(context: RequestContext) -> Response:
    """Do what the dry run has told."""
    await context.memory.runtime.consolidate_memories(memory_scope=context.scope)
    return context.go(f"{CONSOLE}/runtime", "consolidated")


def _back(context: RequestContext) -> str:
    kept = {name: context.form(name) for name in ("q", "tag") if context.form(name)}
    return local_address(f"{CONSOLE}/runtime", **kept)


PAGES: Final = (
    Page("/runtime", show),
    form_page("/runtime/feedback", feedback),
    form_page("/runtime/consolidate", consolidate),
)
