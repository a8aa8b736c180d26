"""Summaries and candidates by a model. A failure of the model is a failure: rules never take its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jiyi.chat.summarizers import EarlierSummaries, Proposal, keepable_messages, transcript_text
from jiyi.errors import ModelReplyError
from jiyi.model.chat import StoredMessage
from jiyi.model.message import Message
from jiyi.model.replies import parse_json_reply
from jiyi.model.storable import storable
from jiyi.ports import ChatModel, TokenCounter
from jiyi.prompts.chat import flush_messages, flush_schema, summarize_messages, transcript_line
from jiyi.text.token_count import cut_to_tokens

_MAX_FLUSH_TOKENS = 2_000
_MIN_MESSAGE_TOKENS = 200


class ModelSummarizer:
    """Asks a chat model."""

    def __init__(
        self,
        model: ChatModel,
        counter: TokenCounter,
        *,
        prompt: str | None,
        max_input: int,
        timeout: float | None = None,
    ) -> None:
        """`prompt` replaces our own instruction for summaries; no transcript is longer than `max_input` tokens."""
        self._model = model
        self._counter = counter
        self._prompt = prompt
        self._max_input = max_input
        self._timeout = timeout

    @property
    def made_by(self) -> str:
        """The name of the model."""
        return self._model.name

    def summarize(self, earlier: EarlierSummaries, messages: Sequence[StoredMessage], *, max_tokens: int) -> str:
        """The model's summary."""
        return self.summary_of(earlier.text, [one.message for one in messages], max_tokens)

    def summary_of(self, previous: str | None, messages: Sequence[Message], max_tokens: int) -> str:
        """Ask for a summary of `max_tokens`; the reply may have twice as many."""
        transcript = self._transcript(messages)
        question = summarize_messages(previous, transcript, max_tokens=max_tokens, prompt=self._prompt)
        return self._model.complete(question, max_tokens=2 * max_tokens, timeout=self._timeout)

    def propose(self, messages: Sequence[StoredMessage]) -> list[Proposal]:
        """What the model finds worth keeping; a reply that is not in the agreed form is a failure."""
        # What the user asks not to keep is not shown to it.
        transcript = self._transcript([one.message for one in keepable_messages(messages)])
        if not transcript.strip():
            return []
        schema = flush_schema(len(messages))
        reply = self._model.complete(
            flush_messages(transcript), max_tokens=_MAX_FLUSH_TOKENS, schema=schema, timeout=self._timeout
        )
        data = parse_json_reply(reply, schema)
        return [_proposal(item, messages) for item in data["candidates"]]

    def _transcript(self, messages: Sequence[Message]) -> str:
        """The messages as numbered lines; a message that is too long by itself is cut, and marked as cut."""
        share = max(self._max_input // max(len(messages), 1), _MIN_MESSAGE_TOKENS)
        texts = list(map(transcript_text, messages))
        sizes = list(map(self._counter.count, texts))
        # What short messages leave of their share goes to long ones.
        spare = sum(max(share - size, 0) for size in sizes)
        long = sum(size > share for size in sizes)
        max_tokens = share + (spare // long if long else 0)
        lines = []
        for number, (message, text, size) in enumerate(zip(messages, texts, sizes, strict=True), start=1):
            shown = f"{cut_to_tokens(text, max_tokens, self._counter)} […]" if size > max_tokens else text
            lines.append(transcript_line(number, message.role, message.name, shown))
        return "\n".join(lines)


def _proposal(item: Mapping[str, Any], messages: Sequence[StoredMessage]) -> Proposal:
    """One item of a reply that fits the schema; what a schema cannot express is checked here."""
    content = storable(str(item["content"])).strip()
    if not content:
        raise ModelReplyError("a candidate of the reply is empty", reason="wrong schema")
    first, last = sorted((int(item["first"]), int(item["last"])))
    return Proposal(content, item["kind"], float(item["confidence"]), messages[first - 1], messages[last - 1])
