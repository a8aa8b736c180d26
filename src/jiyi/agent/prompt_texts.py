"""What stands in a prompt already: texts by who said them, and the messages that are shown whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry
from jiyi.text import fold

_MIN_REPEATED: Final = 6
"""A shorter text may stand in another by accident."""
_ROUND: Final = 2
MAX_WHOLE: Final = 400
"""Up to so many characters a message is shown whole instead of the facts that were made of it."""


def own_words(entry: MemoryEntry) -> str:
    """What was said, without the name of who said it: messages of groups begin with one."""
    if entry.memory_type == MESSAGE_TYPE and entry.name:
        return entry.content.removeprefix(f"{entry.name}: ")
    return entry.content


class PromptTexts:
    """What stands in the prompt, compared without regard to case, width and spaces.

    The same words of two people are two things: in a group "I'm vegan" of one does not say that the other is.
    """

    def __init__(self, window: Iterable[str] = ()) -> None:
        self._texts: list[tuple[str | None, str]] = []
        self._ids: set[str] = set()
        self._messages: set[str] = set()
        self._window = frozenset(window)

    def add(self, *texts: str, name: str | None = None) -> None:
        """These stand in the prompt now, said by somebody with this name."""
        self._texts += [(name, plain) for text in texts if (plain := _plain(text))]

    def show(self, entry: MemoryEntry) -> None:
        """This memory stands in the prompt now."""
        self.add(own_words(entry), name=entry.name)
        self._ids.add(entry.id)
        if entry.memory_type == MESSAGE_TYPE and entry.role == "user" and len(entry.content) <= MAX_WHOLE:
            self._messages.add(entry.id)

    def shown(self, ids: Iterable[str]) -> bool:
        """Whether one of the memories with these ids stands in the prompt."""
        return not self._ids.isdisjoint(ids)

    def already(self, entry: MemoryEntry) -> bool:
        """Whether a memory is there: itself, the message that it was made of, or its text word for word."""
        if entry.id in self._ids or self._is_part_of_a_message(entry):
            return True
        plain = _plain(own_words(entry))
        said = (text for name, text in self._texts if name == entry.name)
        return any(plain == text or (len(plain) >= _MIN_REPEATED and plain in text) for text in said)

    def _is_part_of_a_message(self, entry: MemoryEntry) -> bool:
        """Whether a fact was made of messages that are shown: "My mum isn't 83" of "My mum is 84, not 83"."""
        references = entry.source.references
        if entry.source.claim is None or not references:
            return False
        if self._window.issuperset(references):
            return True
        # A fact of one round refers to the message and the reply to it.
        of_one_round = len(references) <= _ROUND and entry.source.said_by_user
        return of_one_round and not self._messages.isdisjoint(references)


def _plain(text: str) -> str:
    return "".join(fold(text).split())
