"""Summaries and candidates by rules: no model, no network, and only sentences that were said."""

from __future__ import annotations

from collections.abc import Sequence

from jiyi.chat.summarizers import EarlierSummaries, Proposal, keepable_messages, spoken_text, transcript_text
from jiyi.model.chat import MADE_BY_RULES, StoredMessage, Summary
from jiyi.model.message import Message
from jiyi.ports import TokenCounter
from jiyi.text import detect_language
from jiyi.text.extractive import summarize_conversation
from jiyi.text.sentences import sentences
from jiyi.text.statements.keeping.cues import find_statements

_SPEAKERS = ("user", "assistant")
_NO_WORDS = {"zh": "（没有文字的消息）", "en": "(messages without words)"}


class RuleSummarizer:
    """Extracts sentences from the conversation."""

    made_by = MADE_BY_RULES

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    def summarize(self, earlier: EarlierSummaries, messages: Sequence[StoredMessage], *, max_tokens: int) -> str:
        """Sentences of the messages and of the previous summary, in their order, from all of the conversation."""
        texts = [(text, float(one.position)) for one in messages if (text := _with_names(one.message))]
        if not texts:
            return earlier.text or _NO_WORDS[detect_language("")]
        summaries = earlier.all()
        first = summaries[0].first_position if summaries else messages[0].position
        length = max(messages[-1].position - first, 1)
        lines = _lines(earlier.text or "", summaries)
        placed = [(text, (position - first) / length) for text, position in (*lines, *texts)]
        made = summarize_conversation(placed, max_tokens=max_tokens, counter=self._counter)
        return made or earlier.text or _NO_WORDS[detect_language("\n".join(text for text, _ in texts))]

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
            for one in keepable_messages(messages)
            if one.message.role in _SPEAKERS
            for statement in find_statements(spoken_text(one.message), speaker=one.message.role)
        ]


def _with_names(message: Message) -> str:
    """What a message says; each sentence behind the name of who said it, where there is one, as in a group."""
    text = transcript_text(message)
    if message.role != "user" or not message.name:
        return text
    return "\n".join(f"{message.name}: {sentence}" for sentence in sentences(text))


def _lines(previous: str, summaries: Sequence[Summary]) -> list[tuple[str, float]]:
    """The lines of the previous summary, each with the position around which it was said.

    A line was said in the stretch of the first summary that has it.
    """
    positions: dict[str, float] = {}
    for summary in summaries:
        middle = (summary.first_position + summary.last_position) / 2
        for line in summary.content.splitlines():
            positions.setdefault(line, middle)
    return [(line, positions.get(line, 0.0)) for line in previous.splitlines() if line.strip()]
