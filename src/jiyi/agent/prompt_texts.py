"""What stands in a prompt already: texts by who said them, and the messages that are shown whole."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry
from jiyi.text import fold
from jiyi.text.sentences import columns

_MIN_REPEATED: Final = 6
"""A shorter text may stand in another by accident."""
_ROUND: Final = 2
MAX_WHOLE: Final = 400
"""Up to so many characters a message is shown whole instead of the facts that were made of it."""

_CLAUSE_ENDS: Final = re.compile(r"[，,。.;；!！?？:：\n]+|\s(?:and|but)\s")
# That something is to be remembered is not part of it.
_ASKED_TO_REMEMBER: Final = re.compile(
    r"\s*(?:(?:please|pls|can you|could you) )*(?:remember|note|keep in mind|don'?t forget)\b"
    r"(?:,? (?:that|this|for me)\b)*\W*"
    r"|\s*(?:请|麻烦|拜托)?(?:你|您)?(?:帮我|替我|一定要?)?(?:记住|记下来?|记一下)\W*",
    re.IGNORECASE,
)


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
        self._facts_of: defaultdict[str, list[str]] = defaultdict(list)
        """Id of a message -> the texts of the facts made of it that stand in the prompt."""
        self._window = frozenset(window)

    def add(self, *texts: str, name: str | None = None) -> None:
        """These stand in the prompt now, said by somebody with this name."""
        self._texts += [(name, plain) for text in texts if (plain := _plain(text))]

    def holds(self, text: str) -> bool:
        """Whether a text stands in the prompt, whoever said it."""
        plain = _plain(text)
        return any(plain in said for _, said in self._texts)

    def show(self, entry: MemoryEntry) -> None:
        """This memory stands in the prompt now."""
        self.add(own_words(entry), name=entry.name)
        if entry.source.claim is not None:
            for each in entry.source.references:
                self._facts_of[each].append(_plain(entry.content))
        self._ids.add(entry.id)
        if entry.memory_type == MESSAGE_TYPE and entry.role == "user" and len(entry.content) <= MAX_WHOLE:
            self._messages.add(entry.id)

    def shown(self, ids: Iterable[str]) -> bool:
        """Whether one of the memories with these ids stands in the prompt."""
        return not self._ids.isdisjoint(ids)

    def already(self, entry: MemoryEntry) -> bool:
        """Whether a memory is there: itself, the message that it was made of, its facts, or its text word for word."""
        if entry.id in self._ids or self._is_part_of_a_message(entry) or self._is_said_by_facts(entry):
            return True
        plain = _plain(_without_request(entry))
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

    def _is_said_by_facts(self, entry: MemoryEntry) -> bool:
        """Whether every clause of a message stands in a fact that was made of it and is shown."""
        facts = self._facts_of.get(entry.id, ())
        if entry.memory_type != MESSAGE_TYPE or not facts:
            return False
        clauses = filter(None, map(_plain, _CLAUSE_ENDS.split(_without_request(entry))))
        # A short one, such as "not", may stand in a fact by accident.
        return all(columns(clause) >= _MIN_REPEATED and any(clause in fact for fact in facts) for clause in clauses)


def _without_request(entry: MemoryEntry) -> str:
    """What was said, without the words that ask to remember it."""
    words = own_words(entry)
    found = _ASKED_TO_REMEMBER.match(words) if entry.memory_type == MESSAGE_TYPE else None
    return words if found is None else words[found.end() :]


def _plain(text: str) -> str:
    return "".join(fold(text).split())
