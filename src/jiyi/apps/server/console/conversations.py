"""Conversations: the list, what was said, the window of the model, summaries, and what was proposed to be kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from jiyi.apps.server.access import WRITE
from jiyi.apps.server.console.addresses import conversation
from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.visit import Visit
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


async def show_list(visit: Visit) -> Response:
    """The conversations of the scope, the one last written to first."""
    found = await visit.memory.list_sessions(scope=visit.scope)
    after = visit.query("cursor")
    start = found.index(after) + 1 if after in found else 0
    shown = found[start : start + _SESSIONS]
    newest = await asyncio.gather(*(_newest(visit, session_id) for session_id in shown))
    return visit.page(
        "conversations.html",
        sessions=list(zip(shown, newest, strict=True)),
        count=len(found),
        next_cursor=shown[-1] if start + len(shown) < len(found) else "",
        cursor=after,
        candidates=await visit.memory.candidates(scope=visit.scope, limit=_CANDIDATES),
    )


async def _newest(visit: Visit, session_id: str) -> MemoryEntry | None:
    page = await visit.memory.list(scope=visit.scope, conversation_id=session_id, memory_types="message", limit=1)
    return page[0] if page else None


async def show(visit: Visit) -> Response:
    """One conversation: a part of what was said, with what is known about it."""
    chat, status = await _chat(visit)
    epochs = await chat.epochs()
    epoch = visit.query.whole("epoch", epochs[-1].epoch, 0, 2**31 - 1)
    messages = await chat.messages(epoch=epoch)
    start = _start(visit, messages)
    return visit.page(
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
        marked=visit.query("message"),
    )


async def show_position(visit: Visit) -> Response:
    """Go to the message at a position, in whichever epoch it is. Notes know positions, not ids."""
    chat, _ = await _chat(visit)
    position = visit.query.whole("position", 0, 0, 2**31 - 1)
    epoch = next((each.epoch for each in reversed(await chat.epochs()) if each.first_position <= position), 0)
    said = await chat.messages(epoch=epoch)
    found = next((each.id for each in said if each.position == position), "")
    page = conversation(chat.session_id, epoch=str(epoch), message=found)
    return visit.go(f"{page}#m-{found}" if found else page)


def _start(visit: Visit, messages: Sequence[StoredMessage]) -> int:
    """The first message that is shown: the page with the one that was asked for, or else the last page."""
    wanted = visit.query("message")
    place = next((place for place, each in enumerate(messages) if each.id == wanted), None)
    if place is not None:
        return place - place % _MESSAGES
    last = max(0, len(messages) - 1)
    return visit.query.whole("start", last - last % _MESSAGES, 0, 2**31 - 1)


def _tokens_over_time(messages: Sequence[StoredMessage]) -> list[tuple[StoredMessage, int]]:
    """How many tokens had been said up to a message, by the estimate; not more points than a chart can show."""
    total, found = 0, []
    step = max(1, len(messages) // _POINTS)
    for place, each in enumerate(messages, 1):
        total += count_message(each.message, ESTIMATE)
        if each.created_at is not None and (place % step == 0 or place == len(messages)):
            found.append((each, total))
    return found


async def show_window(visit: Visit) -> Response:
    """What a model would be given now. Looking summarises nothing: where that is due, there is a button for it."""
    chat, status = await _chat(visit)
    fits = status.tokens <= status.token_limit
    window = await chat.get(max_wait=0.0) if fits else None
    return visit.page("window.html", session_id=chat.session_id, status=status, window=window)


async def make_window(visit: Visit) -> Response:
    """Make the window now: what does not fit goes under a summary."""
    chat, _ = await _chat(visit)
    await chat.get()
    return visit.go(conversation(chat.session_id, "/window"), "window_made")


async def show_summary(visit: Visit) -> Response:
    """The messages that a summary covers; as a part of the page where a script asks for it."""
    chat, _ = await _chat(visit)
    summaries = {each.id: each for epoch in await chat.epochs() for each in await chat.summaries(epoch=epoch.epoch)}
    summary = summaries.get(visit.query("summary"))
    if summary is None:
        raise ProblemError(404, "no_summary", f"there is no summary {visit.query('summary')[:80]!a}")
    template = "covered.html" if visit.is_part else "summary.html"
    return visit.page(template, session_id=chat.session_id, summary=summary, messages=await chat.expand(summary.id))


async def _chat(visit: Visit) -> tuple[Chat, ChatStatus]:
    """The conversation that the address names; a page with 404 if the scope has none by this name."""
    session_id = visit.query("id")
    chat = visit.memory.chat(session_id, scope=visit.scope) if session_id else None
    status = None if chat is None else await chat.status()
    if chat is None or status is None or (status.is_empty and session_id not in await _names(visit)):
        raise ProblemError(404, "no_conversation", f"there is no conversation {session_id[:80]!a}")
    return chat, status


async def _names(visit: Visit) -> Sequence[str]:
    found: Sequence[str] = await visit.memory.list_sessions(scope=visit.scope)
    return found


# --- candidates -----------------------------------------------------------------------------------------------------


async def take(visit: Visit) -> Response:
    """Keep a candidate as a memory.

    It is stored before it is marked as taken: whatever happens between the two, nothing is lost, and the key lets the
    second try find what the first has stored.
    """
    candidate = await _candidate(visit)
    key = f"candidate:{candidate.id}"
    fields: dict[str, Any] = {
        "domain": candidate.domain,
        "importance": candidate.importance,
        "conversation_id": candidate.session_id,
    }
    stored = await visit.memory.store(key, candidate.content, scope=visit.scope, **fields)
    if not await visit.memory.take_candidate(candidate.id, by="console", scope=visit.scope):
        # Somebody else was quicker, and has stored it.
        await visit.memory.forget(id=stored.id, scope=visit.scope)
        raise ProblemError(409, "candidate_settled", "this proposal was settled meanwhile")
    return visit.go(_back(visit), "taken")


async def reject(visit: Visit) -> Response:
    """Put a candidate aside."""
    candidate = await _candidate(visit)
    if not await visit.memory.reject_candidate(candidate.id, by="console", scope=visit.scope):
        raise ProblemError(409, "candidate_settled", "this proposal was settled meanwhile")
    return visit.go(_back(visit), "rejected")


async def _candidate(visit: Visit) -> Candidate:
    wanted = visit.path("candidate_id")
    found = await visit.memory.candidates(scope=visit.scope, state=None, limit=1_000)
    candidate = next((each for each in found if each.id == wanted), None)
    if candidate is None:
        raise ProblemError(404, "no_candidate", f"there is no proposal {wanted[:80]!a}")
    if candidate.state != "new":
        raise ProblemError(409, "candidate_settled", "this proposal was settled meanwhile")
    return candidate


def _back(visit: Visit) -> str:
    session_id = visit.form("session")
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
