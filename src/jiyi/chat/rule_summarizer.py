"""Summaries and candidates by rules: no model, no network, and only sentences that were said."""

from __future__ import annotations

from collections.abc import Sequence

from jiyi.chat.summarizers import Proposal, spoken_text, transcript_text
from jiyi.model.chat import RULES, StoredMessage
from jiyi.ports import TokenCounter
from jiyi.text import detect_language
from jiyi.text.cues import find_statements
from jiyi.text.extractive import summarize

_SPEAKERS = ("user", "assistant")
_NO_WORDS = {"zh": "（没有文字的消息）", "en": "(messages without words)"}


class RuleSummarizer:
    """Extracts sentences from the conversation."""

    made_by = RULES

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def summarize(self, previous: str | None, messages: Sequence[StoredMessage], *, max_tokens: int) -> str:
        """Sentences of the messages and of the previous summary, in their order."""
        texts = [text for text in (transcript_text(one.message) for one in messages) if text]
        if not texts:
            return previous or _NO_WORDS[detect_language(previous or "")]
        made = summarize(texts, max_tokens=max_tokens, counter=self._counter, previous=previous)
        return made or previous or _NO_WORDS[detect_language("\n".join(texts))]

    def propose(self, messages: Sequence[StoredMessage]) -> list[Proposal]:
        """Statements that are found by cue phrases of both languages."""
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
            if one.message.role in _SPEAKERS
            for statement in find_statements(spoken_text(one.message), speaker=one.message.role)
        ]
