"""A chat with the caller's own summarizer and the caller's own count of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from jiyi.chat.rule_summarizer import RuleSummarizer
from jiyi.chat.service import ChatDeps
from jiyi.chat.session_window import TokenCounts
from jiyi.chat.summarizers import EarlierSummaries, Summarizer
from jiyi.chat.window import Budget
from jiyi.errors import InvalidInputError
from jiyi.model.chat import StoredMessage
from jiyi.model.message import Message
from jiyi.ports import TokenCounter
from jiyi.text.token_count import count_message, counter_for

SummarizeFunction: TypeAlias = Callable[[str | None, Sequence[Message], int], str]
"""From the summary before, the messages that leave the window and the most tokens, to the next summary."""


def with_overrides(
    deps: ChatDeps, summarizer: SummarizeFunction | None, count_tokens: Callable[[str], int] | None
) -> ChatDeps:
    """The dependencies of a chat, with what the caller gives in place of ours."""
    for name, given in (("summarizer", summarizer), ("count_tokens", count_tokens)):
        if given is not None and not callable(given):
            raise InvalidInputError(f"{name} must be a function, not {type(given).__name__}")
    counter = counter_for(None) if count_tokens is None else CallerCounter(count_tokens)
    if count_tokens is not None:
        counts = TokenCounts(lambda message: count_message(message, counter))
        deps = replace(deps, window=replace(deps.window, counts=counts))
    if summarizer is None:
        return deps

    def make_summarizer(_budget: Budget, _prompt: str | None) -> Summarizer:
        return CallerSummarizer(counter, summarizer)

    return replace(deps, make_summarizer=make_summarizer)


class CallerCounter:
    """Counts tokens with a function of the caller."""

    name = "caller"

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count

    def count(self, text: str) -> int:
        """How many tokens the text has."""
        return self._count(text)


class CallerSummarizer(RuleSummarizer):
    """Summaries by the caller, candidates by rules."""

    def __init__(self, counter: TokenCounter, summarizer: SummarizeFunction) -> None:
        super().__init__(counter)
        self._summarizer = summarizer

    @property
    def made_by(self) -> str:  # type: ignore[override] # a class attribute there
        """What the caller calls it."""
        return str(getattr(self._summarizer, "name", "caller"))

    def summarize(self, earlier: EarlierSummaries, messages: Sequence[StoredMessage], *, max_tokens: int) -> str:
        """The caller's summary."""
        return self._summarizer(earlier.text, [stored.message for stored in messages], max_tokens)
