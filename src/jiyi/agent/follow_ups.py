"""What the user said right after something that is recalled, where it may have changed it.

"The dentist moved it to the 13th" is found by a question for the dentist; "no, a quarter past three" after it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from jiyi.agent.dependencies import AgentDeps
from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry
from jiyi.text import fold
from jiyi.text.statements.replacing.change_words import changes, ends, hints_at_change, is_mistake, is_strong_change

_REACH: Final = 6
"""How many messages further on, replies included."""
_MESSAGES: Final = 2
_MAX_FOLLOWED: Final = 8
"""After so many messages it is looked: each is a read of the store."""
_MAX_LENGTH: Final = 200
"""A longer message is about something of its own."""


def follow_ups(deps: AgentDeps, shown: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """The messages of the user after those that the first memories were made of, each once, in their order."""
    scope, stores = deps.scope, deps.stores
    ids = [each for hit in shown if hit.scope == scope for each in _messages_of(hit)]
    told = [each for each in stores.store.by_ids(scope, list(dict.fromkeys(ids))) if _is_of_user(each)]
    following: dict[str, None] = {}
    for message in told[:_MAX_FOLLOWED]:
        session, place = message.conversation_id or "", message.position or 0
        later, _ = stores.chats.following(scope, session, after=place, before=place + _REACH + 1)
        following |= dict.fromkeys([each.id for each in later if each.message.role == "user"][:_MESSAGES])
    # What may not be quoted has no entry, or one that is not active.
    return [entry for entry in stores.store.by_ids(scope, list(following)) if entry.is_active and _may_change(entry)]


def _is_of_user(entry: MemoryEntry) -> bool:
    return entry.memory_type == MESSAGE_TYPE and entry.role == "user" and entry.conversation_id is not None


def _messages_of(hit: MemoryEntry) -> Iterator[str]:
    if hit.memory_type == MESSAGE_TYPE:
        yield hit.id
    elif hit.source.claim is not None:
        yield from hit.source.references


def _may_change(message: MemoryEntry) -> bool:
    if len(message.content) > _MAX_LENGTH:
        return False
    folded = fold(message.content)
    return any(says(folded) for says in (changes, ends, is_mistake, is_strong_change, hints_at_change))
