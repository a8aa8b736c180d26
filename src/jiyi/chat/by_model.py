"""Summaries and candidates by a model. Its failures are failures: nothing here turns into the rule-based form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jiyi.chat.making import Proposal, readable
from jiyi.errors import ModelReplyError
from jiyi.model.chat import StoredMessage
from jiyi.model.replies import parse_json_reply
from jiyi.ports import ChatModel, TokenCounter
from jiyi.prompts.chat import FLUSH_SCHEMA, KINDS, flush_messages, summarize_messages
from jiyi.text.token_count import cut_to_tokens

_FLUSH_TOKENS = 2_000


class ModelMaker:
    """Asks a chat model."""

    def __init__(
        self,
        model: ChatModel,
        counter: TokenCounter,
        *,
        prompt: str | None,
        most_input: int,
        timeout: float | None = None,
    ) -> None:
        """`prompt` takes the place of our own words for summaries; no question is longer than `most_input` tokens."""
        self._model = model
        self._counter = counter
        self._prompt = prompt
        self._most_input = most_input
        self._timeout = timeout

    @property
    def made_by(self) -> str:
        """The name of the model."""
        return self._model.name

    def summarize(self, previous: str | None, messages: Sequence[StoredMessage], *, most_tokens: int) -> str:
        """The model's summary."""
        spoken = self._spoken(messages)
        asked = summarize_messages(previous, spoken, most_tokens=most_tokens, prompt=self._prompt)
        return self._model.complete(asked, max_tokens=most_tokens, timeout=self._timeout)

    def propose(self, messages: Sequence[StoredMessage]) -> list[Proposal]:
        """What the model finds worth keeping; a reply that is not in the agreed form is a failure."""
        spoken = self._spoken(messages)
        if not spoken.strip():
            return []
        reply = self._model.complete(
            flush_messages(spoken), max_tokens=_FLUSH_TOKENS, schema=FLUSH_SCHEMA, timeout=self._timeout
        )
        data = parse_json_reply(reply, FLUSH_SCHEMA)
        return [_proposal(item, messages) for item in data["candidates"]]

    def _spoken(self, messages: Sequence[StoredMessage]) -> str:
        """The messages as numbered lines; a message that is too long by itself is cut, and says so."""
        share = max(self._most_input // max(len(messages), 1), 200)
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
    """One item of the reply, checked: a model promises a form and does not always keep it."""
    content, kind, confidence = item.get("content"), item.get("kind"), item.get("confidence")
    first, last = item.get("first"), item.get("last")
    sound = (
        isinstance(content, str)
        and content.strip()
        and kind in KINDS
        and _is_number(confidence)
        and 0 <= float(confidence or 0) <= 1
        and isinstance(first, int)
        and isinstance(last, int)
        and 1 <= first <= last <= len(messages)
    )
    if not sound:
        raise ModelReplyError(
            "a candidate of the reply is not in the agreed form: content, kind, confidence 0 to 1, and the numbers of "
            "messages that exist",
            reason="wrong schema",
        )
    text = str(content).replace("\x00", " ").encode("utf-8", "replace").decode("utf-8").strip()
    return Proposal(
        text, str(kind), float(confidence or 0), messages[int(first or 1) - 1], messages[int(last or 1) - 1]
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
