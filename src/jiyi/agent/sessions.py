"""What the agents of one memory share: live turns, the order of replies, and which sessions were used when."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakValueDictionary

from jiyi.text.statements.keeping.fact_kinds import states_nothing

if TYPE_CHECKING:
    from jiyi.agent.turn import Turn

Session: TypeAlias = tuple[str, str]
"""Scope and id."""


class AgentSessions:
    """The sessions that agents of this process have used."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.live_turns: WeakValueDictionary[str, Turn] = WeakValueDictionary()
        """The turns that are under way in this process; one that is dropped unfinished is under way no more."""
        self._questions: dict[str, str] = {}
        """Turn -> the id of the message that it is about."""
        self._prompted: dict[str, str] = {}
        """Message for which a prompt is being made -> its scope."""
        self._locks: WeakValueDictionary[tuple[str, str, int], asyncio.Lock] = WeakValueDictionary()
        self._used: dict[Session, float] = {}
        self._guard = threading.Lock()
        self._monotonic = monotonic

    def lock(self, scope: str, session_id: str) -> asyncio.Lock:
        """Held while a reply of the session is under way in this event loop."""
        name = (scope, session_id, id(asyncio.get_running_loop()))
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    def open_questions(self, scopes: Collection[str]) -> frozenset[str]:
        """The ids of messages that open turns of these scopes are about, if they are bare questions or requests.

        While its prompt is made, whatever a message is: it stands in the conversation.
        """
        with self._guard:
            turns = [turn for turn in list(self.live_turns.values()) if turn.reply is None]
            self._questions = {turn.id: self._questions[turn.id] for turn in turns if turn.id in self._questions}
            own = [(turn, self._questions[turn.id]) for turn in turns if turn.session[0] in scopes]
            prompted = [message_id for message_id, scope in self._prompted.items() if scope in scopes]
        return frozenset((*prompted, *(message_id for turn, message_id in own if states_nothing(turn.text))))

    @contextmanager
    def prompting(self, scope: str, message_id: str) -> Iterator[None]:
        """The prompt of a turn about this message is being made."""
        with self._guard:
            self._prompted[message_id] = scope
        try:
            yield
        finally:
            with self._guard:
                self._prompted.pop(message_id, None)

    def began(self, turn: Turn, message_id: str) -> None:
        """A turn about this message is under way."""
        with self._guard:
            self.live_turns[turn.id] = turn
            self._questions[turn.id] = message_id

    def used(self, scope: str, session_id: str) -> None:
        """Something was said in the session."""
        with self._guard:
            self._used[scope, session_id] = self._monotonic()

    def ended(self, scope: str, session_id: str) -> None:
        """The session was flushed."""
        with self._guard:
            self._used.pop((scope, session_id), None)

    def idle(self, seconds: float) -> list[Session]:
        """The sessions in which nothing was said for so long, and that were not flushed since."""
        before = self._monotonic() - seconds
        with self._guard:
            return [session for session, last in self._used.items() if last <= before]
