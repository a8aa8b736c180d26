"""Messages that answer no question: "OK", "Sorry. Let me check.", "No idea, hold on.", 稍等，我查一下."""

from __future__ import annotations

from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.not_known import says_not_known
from jiyi.text.putting_off import puts_off
from jiyi.text.sentences import sentences
from jiyi.text.statements.keeping.smalltalk import is_small_talk, says_nothing

__all__ = ["is_empty_reply"]

_MAX_CHARACTERS: Final = 200
"""Longer ones are not looked at: they say something."""


def is_empty_reply(text: str) -> bool:
    """Whether each sentence is small talk, puts off an answer, or says that something is not known."""
    if says_nothing(text):
        return True
    if len(text) > _MAX_CHARACTERS:
        return False
    return all(is_small_talk(each) or puts_off(each) or says_not_known(fold(each)) for each in sentences(text))
