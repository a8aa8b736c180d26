"""Summaries and candidates by rules: no model, no network, and no sentence that was not said."""

from __future__ import annotations

from collections.abc import Sequence

from jiyi.chat.summarizers import Proposal, readable
from jiyi.model.chat import RULES, StoredMessage
from jiyi.ports import TokenCounter
from jiyi.text import detect_language
from jiyi.text.cues import find_statements
from jiyi.text.extractive import summarize

_SPEAKERS = ("user", "assistant")
_NOTHING_SAID = {"zh": "（没有文字的消息）", "en": "(messages without words)"}


class RuleSummarizer:
    """Extracts; never invents."""

    made_by = RULES

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def summarize(self, previous: str | None, messages: Sequence[StoredMessage], *, max_tokens: int) -> str:
        """Sentences of the messages and of the summary before, in their order."""
        texts = [text for text in (readable(one.message) for one in messages) if text]
        if not texts:
            return previous or _NOTHING_SAID[detect_language(previous or "")]
        made = summarize(texts, max_tokens=max_tokens, counter=self._counter, previous=previous)
        return made or previous or _NOTHING_SAID[detect_language("\n".join(texts))]

    def propose(self, messages: Sequence[StoredMessage]) -> list[Proposal]:
        """Statements that cue phrases of both languages point at."""
        return [
            Proposal(
                statement.content,
                statement.kind,
                statement.confidence,
                one,
                one,
                statement.domain,
                statement.importance,
            )
            for one in messages
            if one.message.role in _SPEAKERS and one.message.text.strip()
            for statement in find_statements(one.message.text, speaker=one.message.role)
        ]
