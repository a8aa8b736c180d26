"""Summaries and candidates by a model. Its failures are failures: nothing here turns into the rule-based form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jiyi.chat.summarizers import Proposal, readable
from jiyi.errors import ModelReplyError
from jiyi.model.chat import StoredMessage
from jiyi.model.replies import parse_json_reply
from jiyi.model.storable import storable
from jiyi.ports import ChatModel, TokenCounter
from jiyi.prompts.chat import flush_messages, flush_schema, summarize_messages
from jiyi.text.token_count import cut_to_tokens

_FLUSH_TOKENS = 2_000
# What a model says to itself before it answers is no part of the answer; without an end it is no answer at all.
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)


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
        """`prompt` takes the place of our own words for summaries; no question is longer than `max_input` tokens."""
        self._model = model
        self._counter = counter
        self._prompt = prompt
        self._max_input = max_input
        self._timeout = timeout

    @property
    def made_by(self) -> str:
        """The name of the model."""
        return self._model.name

    def summarize(self, previous: str | None, messages: Sequence[StoredMessage], *, max_tokens: int) -> str:
        """The model's summary. It is asked for `max_tokens` and cut off at twice as many: some more does no harm."""
        spoken = self._spoken(messages)
        asked = summarize_messages(previous, spoken, max_tokens=max_tokens, prompt=self._prompt)
        reply = self._model.complete(asked, max_tokens=2 * max_tokens, timeout=self._timeout)
        return _THINKING.sub(" ", reply)

    def propose(self, messages: Sequence[StoredMessage]) -> list[Proposal]:
        """What the model finds worth keeping; a reply that is not in the agreed form is a failure."""
        spoken = self._spoken(messages)
        if not spoken.strip():
            return []
        schema = flush_schema(len(messages))
        reply = self._model.complete(
            flush_messages(spoken), max_tokens=_FLUSH_TOKENS, schema=schema, timeout=self._timeout
        )
        data = parse_json_reply(reply, schema)
        return [_proposal(item, messages) for item in data["candidates"]]

    def _spoken(self, messages: Sequence[StoredMessage]) -> str:
        """The messages as numbered lines; a message that is too long by itself is cut, and says so."""
        share = max(self._max_input // max(len(messages), 1), 200)
        sizes = [self._counter.count(readable(one.message)) for one in messages]
        # Short messages leave their share to long ones.
        spare = sum(max(share - size, 0) for size in sizes)
        long = sum(size > share for size in sizes)
        most = share + (spare // long if long else 0)
        lines = []
        for number, (one, size) in enumerate(zip(messages, sizes, strict=True), start=1):
            text = readable(one.message)
            if size > most:
                text = f"{cut_to_tokens(text, most, self._counter)} […]"
            who = f"{one.message.role} ({one.message.name})" if one.message.name else one.message.role
            lines.append(f"[{number}] {who}: {text}")
        return "\n".join(lines)


def _proposal(item: Mapping[str, Any], messages: Sequence[StoredMessage]) -> Proposal:
    """One item of the reply, which fits the schema; what a schema cannot say is checked here."""
    content = storable(str(item["content"])).strip()
    if not content:
        raise ModelReplyError("a candidate of the reply is empty", reason="wrong schema")
    first, last = sorted((int(item["first"]), int(item["last"])))
    return Proposal(content, item["kind"], float(item["confidence"]), messages[first - 1], messages[last - 1])
