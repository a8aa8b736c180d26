"""What is shown of a conversation, and what leaves it: pure decisions about tokens, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jiyi.chat.groups import RESULT_ROLES, groups, orphaned_results
from jiyi.errors import InvalidInputError
from jiyi.model.chat import Backlog, Snapshot, StoredMessage, Summary
from jiyi.model.limits import check_whole
from jiyi.model.message import Message
from jiyi.model.message_formats import to_anthropic, to_openai

Count: TypeAlias = Callable[[StoredMessage], int]

_MAX_SUMMARY = 2_000
_MIN_SUMMARY = 24
_MIN_PORTION = 4_000
_ANSWER_ROLES = ("assistant", *RESULT_ROLES)


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens there are, and for what."""

    limit: int
    """The window never has more than these."""
    reserve: int
    """A compaction leaves these free, so that the next one is not due at once."""
    soft: int
    """From here on, the messages that will leave next are searched for candidates early."""

    @property
    def target_summary(self) -> int:
        """How long a summary is asked to be."""
        return max(_MIN_SUMMARY, min(_MAX_SUMMARY, self.limit // 6))

    @property
    def max_summary(self) -> int:
        """A longer summary is refused. Twice the target: models count differently, and overshoot a little."""
        return 2 * self.target_summary

    @property
    def portion(self) -> int:
        """How many tokens are summarised at once: they must fit into the model that summarises.

        A small window does not mean a small model, and many small portions would take long.
        """
        return max(self.limit // 2, _MIN_PORTION)


def make_budget(token_limit: object, soft_threshold: object, reserve: object) -> Budget:
    """Check the caller's numbers; a reserve of `None` is a quarter of the limit."""
    limit = check_whole(token_limit, "token_limit", 1, 1 << 40)
    if isinstance(soft_threshold, bool) or not isinstance(soft_threshold, int | float):
        raise InvalidInputError(
            f"soft_threshold must be a share of the limit such as 0.8, not {type(soft_threshold).__name__}: "
            f"{soft_threshold!r}"
        )
    if not 0 < soft_threshold <= 1:
        raise InvalidInputError(f"soft_threshold {soft_threshold} is not a share of the limit (above 0, at most 1)")
    kept_free = limit // 4 if reserve is None else check_whole(reserve, "reserve", 0, limit // 2)
    return Budget(limit, kept_free, max(1, int(limit * soft_threshold)))


class ChatWindow(list[Message]):
    """The messages for the next call of a model: system messages, the summary of older ones, the most recent ones.

    Equal to a plain list of the same messages; what it knows besides is in its attributes.
    """

    def __init__(
        self,
        messages: Iterable[Message] = (),
        *,
        summary: Summary | None = None,
        tokens: int = 0,
        token_limit: int = 0,
        left_out: int = 0,
        over_limit: bool = False,
        compacted: bool = False,
        trouble: str | None = None,
        pending: Backlog | None = None,
        message_ids: Iterable[str] = (),
    ) -> None:
        super().__init__(messages)
        self.summary = summary
        """The summary that is shown, if one is."""
        self.tokens = tokens
        """All of it together, the summary included."""
        self.token_limit = token_limit
        self.left_out = left_out
        """How many messages are missing from this answer only, because no summary covers them yet."""
        self.over_limit = over_limit
        """The newest message with the system messages is larger than the limit by itself, and is shown nevertheless."""
        self.compacted = compacted
        """Whether this call has moved messages under a summary."""
        self.trouble = trouble
        """Why a compaction that was due has not happened, in words."""
        self.pending = pending
        """What is missing in this answer because it is not summarised yet, and how far that work is; or `None`."""
        self.message_ids = tuple(message_ids)
        """The ids of the stored messages that are shown; empty in a client."""

    def to_openai(self) -> list[dict[str, Any]]:
        """The messages for `client.chat.completions.create(messages=…)` of OpenAI and compatible servers."""
        return to_openai(self)

    def to_anthropic(self) -> dict[str, Any]:
        """The arguments `system` and `messages` for `client.messages.create(…)` of Anthropic."""
        return to_anthropic(self)


@dataclass(frozen=True, slots=True)
class WindowChoice:
    """Which messages are shown."""

    messages: tuple[StoredMessage, ...]
    """In the order of the conversation, system messages included."""
    with_summary: bool
    tokens: int
    left_out: int
    """How many messages of the snapshot are not shown."""
    over_limit: bool


def choose_window(snapshot: Snapshot, *, available: int, summary_tokens: int, count: Count) -> WindowChoice:
    """The most that fits into `available` tokens: system messages and the newest group always, summary, older ones."""
    system_messages = [*snapshot.system_messages, *(one for one in snapshot.recent if one.is_system)]
    said = _without_orphans(snapshot)
    missing = sum(not one.is_system for one in snapshot.recent) - len(said)
    grouped = groups(said)
    used = sum(map(count, system_messages))
    shown: list[list[StoredMessage]] = []
    if grouped:
        shown.append(grouped[-1])
        used += sum(map(count, grouped[-1]))
    over_limit = used > available
    with_summary = snapshot.summary is not None and used + summary_tokens <= available
    used += summary_tokens if with_summary else 0
    for group in reversed(grouped[:-1]):
        size = sum(map(count, group))
        if used + size > available:
            break
        used += size
        shown.append(group)
    kept = [one for group in shown for one in group]
    messages = sorted([*system_messages, *kept], key=lambda one: one.position)
    return WindowChoice(tuple(messages), with_summary, used, missing + len(said) - len(kept), over_limit)


def _without_orphans(snapshot: Snapshot) -> list[StoredMessage]:
    """The messages without tool results whose call is not shown: no model accepts one without the other."""
    said = [one for one in snapshot.recent if not one.is_system]
    if snapshot.complete and snapshot.summary is None:
        return said
    orphans = orphaned_results(said)
    # The newest message is shown whatever it is.
    return [one for one in said if one.position not in orphans or one is said[-1]]


def choose_leaving(messages: Sequence[StoredMessage], *, keep: int, portion: int, count: Count) -> list[StoredMessage]:
    """What leaves first when at most `keep` tokens of these messages (all that are there) may stay.

    Oldest first, whole groups, never the newest group, never system messages; at most a portion at once, but one group
    at least. What stays does not begin with an answer, if that is possible: models expect a user's message first.
    """
    grouped = groups([one for one in messages if not one.is_system])
    kept = 0
    split = max(len(grouped) - 1, 0)
    if grouped:
        kept = sum(map(count, grouped[-1]))
    while split > 0:
        size = sum(map(count, grouped[split - 1]))
        if kept + size > keep:
            break
        kept += size
        split -= 1
    while 0 < split < len(grouped) - 1 and _is_answer(grouped[split]):
        split += 1
    return _first_groups(grouped[:split], portion, count)


def first_portion(messages: Sequence[StoredMessage], *, portion: int, count: Count) -> list[StoredMessage]:
    """The same for the beginning of a stretch that was not read to its end: the last group may be incomplete."""
    grouped = groups([one for one in messages if not one.is_system])
    return _first_groups(grouped[:-1], portion, count)


def oldest_groups(messages: Sequence[StoredMessage], *, tokens: int, count: Count) -> list[StoredMessage]:
    """Whole groups from the oldest on until these tokens are reached, without the newest group."""
    found: list[StoredMessage] = []
    size = 0
    for group in groups([one for one in messages if not one.is_system])[:-1]:
        if size >= tokens:
            break
        found += group
        size += sum(map(count, group))
    return found


def _first_groups(grouped: Sequence[list[StoredMessage]], portion: int, count: Count) -> list[StoredMessage]:
    taken = size = 0
    for group in grouped:
        size += sum(map(count, group))
        if taken and size > portion:
            break
        taken += 1
    aligned = taken
    while 1 < aligned < len(grouped) and _is_answer(grouped[aligned]):
        aligned -= 1
    return [one for group in grouped[:aligned] for one in group]


def _is_answer(group: Sequence[StoredMessage]) -> bool:
    return group[0].message.role in _ANSWER_ROLES
