"""Conversations: the list, what was said, the window of the model, summaries, and what was proposed to be kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from jiyi.apps.server.access import WRITE
from jiyi.apps.server.console.addresses import conversation
from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.problems import ProblemError
from jiyi.text.token_count import ESTIMATE, count_message

if TYPE_CHECKING:
    from jiyi.chat import Chat
    from jiyi.chat.service import ChatStatus
    from jiyi.model.chat import Candidate, StoredMessage
    from jiyi.model.entry import MemoryEntry

_SESSIONS: Final = 25
_MESSAGES: Final = 100
_CANDIDATES: Final = 100
_POINTS: Final = 200


async def show_list(context: RequestContext) -> Response:
    """The conversations of the scope, the one last written to first."""
    found = await context.memory.list_sessions(scope=context.scope)
    after = context.query("cursor")
    start = found.index(after) + 1 if after in found else 0
    shown = found[start : start + _SESSIONS]
    newest = await asyncio.gather(*(_newest(context, session_id) for session_id in shown))
    return context.page(
        "conversations.html",
        sessions=list(zip(shown, newest, strict=True)),
        count=len(found),
        next_cursor=shown[-1] if start + len(shown) < len(found) else "",
        cursor=after,
        candidates=await context.memory.candidates(scope=context.scope, limit=_CANDIDATES),
    )


async def _newest(context: RequestContext, session_id: str) -> MemoryEntry | None:
    page = await context.memory.list(scope=context.scope, conversation_id=session_id, memory_types="message", limit=1)
    return page[0] if page else None


async def show(context: RequestContext) -> Response:
    """One conversation: a part of what was said, with what is known about it."""
    chat, status = await _chat(context)
    epochs = await chat.epochs()
    epoch = context.query.whole("epoch", epochs[-1].epoch, 0, 2**31 - 1)
    messages = await chat.messages(epoch=epoch)
    start = _start(context, messages)
    return context.page(
        "conversation.html",
        session_id=chat.session_id,
        status=status,
        epochs=epochs,
        epoch=epoch,
        messages=messages[start : start + _MESSAGES],
        count=len(messages),
        start=start,
        before=max(0, start - _MESSAGES) if start else None,
        behind=start + _MESSAGES if start + _MESSAGES < len(messages) else None,
        summaries=await chat.summaries(epoch=epoch),
        candidates=await chat.candidates(),
        growth=_tokens_over_time(messages),
        marked=context.query("message"),
    )


async def show_position(context: RequestContext) -> Response:
    """Go to the message at a position, in whichever epoch it is. Notes know positions, not ids."""
    chat, _ = await _chat(context)
    position = context.query.whole("position", 0, 0, 2**31 - 1)
    epoch = next((each.epoch for each in reversed(await chat.epochs()) if each.first_position <= position), 0)
    said = await chat.messages(epoch=epoch)
    found = next((each.id for each in said if each.position == position), "")
    page = conversation(chat.session_id, epoch=str(epoch), message=found)
    return context.go(f"{page}#m-{found}" if found else page)


def _start(context: RequestContext, messages: Sequence[StoredMessage]) -> int:
    """The first message that is shown: the page with the one that was asked for, or else the last page."""
    wanted = context.query("message")
    place = next((place for place, each in enumerate(messages) if each.id == wanted), None)
    if place is not None:
        return place - place % _MESSAGES
    last = max(0, len(messages) - 1)
    return context.query.whole("start", last - last % _MESSAGES, 0, 2**31 - 1)


def _tokens_over_time(messages: Sequence[StoredMessage]) -> list[tuple[StoredMessage, int]]:
    """How many tokens had been said up to a message, by the estimate; not more points than a chart can show."""
    total, found = 0, []
    step = max(1, len(messages) // _POINTS)
    for place, each in enumerate(messages, 1):
        total += count_message(each.message, ESTIMATE)
        if each.created_at is not None and (place % step == 0 or place == len(messages)):
            found.append((each, total))
    return found


async def show_window(context: RequestContext) -> Response:
    """What a model would be given now. Looking summarises nothing: where that is due, there is a button for it."""
    chat, status = await _chat(context)
    fits = status.tokens <= status.token_limit
    window = await chat.get(max_wait=0.0) if fits else None
    return context.page("window.html", session_id=chat.session_id, status=status, window=window)


async def make_window(context: RequestContext) -> Response:
    """Make the window now: what does not fit goes under a summary."""
    chat, _ = await _chat(context)
    await chat.get()
    return context.go(conversation(chat.session_id, "/window"), "window_made")


async def show_summary(context: RequestContext) -> Response:
    """The messages that a summary covers; as a part of the page where a script asks for it."""
    chat, _ = await _chat(context)
    summaries = {each.id: each for epoch in await chat.epochs() for each in await chat.summaries(epoch=epoch.epoch)}
    summary = summaries.get(context.query("summary"))
    if summary is None:
        raise ProblemError(404, "no_summary", f"there is no summary {context.query('summary')[:80]!a}")
    template = "covered.html" if context.is_part else "summary.html"
    return context.page(template, session_id=chat.session_id, summary=summary, messages=await chat.expand(summary.id))


async def _chat(context: RequestContext) -> tuple[Chat, ChatStatus]:
    """The conversation that the address names; a page with 404 if the scope has none by this name."""
    session_id = context.query("id")
    chat = context.memory.chat(session_id, scope=context.scope) if session_id else None
    status = None if chat is None else await chat.status()
    if chat is None or status is None or (status.is_empty and session_id not in await _names(context)):
        raise ProblemError(404, "no_conversation", f"there is no conversation {session_id[:80]!a}")
    return chat, status


async def _names(context: RequestContext) -> Sequence[str]:
    found: Sequence[str] = await context.memory.list_sessions(scope=context.scope)
    return found


# --- candidates -----------------------------------------------------------------------------------------------------


async def take(context: RequestContext) -> Response:
    """Keep a candidate as a memory.

    It is stored before it is marked as taken: whatever happens between the two, nothing is lost, and the key lets the
    second try find what the first has stored.
    """
    candidate = await _candidate(context)
    key = f"candidate:{candidate.id}"
    fields: dict[str, Any] = {
        "domain": candidate.domain,
        "importance": candidate.importance,
        "conversation_id": candidate.session_id,
    }
    stored = await context.memory.store(key, candidate.content, scope=context.scope, **fields)
    if not await context.memory.take_candidate(candidate.id, by="console", scope=context.scope):
        # Somebody else was quicker, and has stored it.
        await context.memory.forget(id=stored.id, scope=context.scope)
        raise ProblemError(409, "candidate_settled", "this proposal was settled meanwhile")
    return context.go(_back(context), "taken")


async def reject(context: RequestContext) -> Response:
    """Put a candidate aside."""
    candidate = await _candidate(context)
    if not await context.memory.reject_candidate(candidate.id, by="console", scope=context.scope):
        raise ProblemError(409, "candidate_settled", "this proposal was settled meanwhile")
    return context.go(_back(context), "rejected")


async def _candidate(context: RequestContext) -> Candidate:
    wanted = context.path("candidate_id")
    found = await context.memory.candidates(scope=context.scope, state=None, limit=1_000)
    candidate = next((each for each in found if each.id == wanted), None)
    if candidate is None:
        raise ProblemError(404, "no_candidate", f"there is no proposal {wanted[:80]!a}")
    if candidate.state != "new":
        raise ProblemError(409, "candidate_settled", "this proposal was settled meanwhile")
    return candidate


def _back(context: RequestContext) -> str:
    session_id = context.form("session")
    return conversation(session_id) if session_id else conversation()


PAGES: Final = (
    Page("/conversations", show_list),
    Page("/conversation", show),
    Page("/conversation/position", show_position),
    Page("/conversation/window", show_window),
    form_page("/conversation/window", make_window),
    Page("/conversation/summary", show_summary),
    form_page("/candidates/{candidate_id}/take", take, WRITE),
    form_page("/candidates/{candidate_id}/reject", reject, WRITE),
)
