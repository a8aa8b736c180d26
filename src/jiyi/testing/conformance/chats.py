"""The conformance suite of chat stores."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from jiyi.errors import InvalidInputError
from jiyi.model.chat import Attempt, Candidate, Span, StoredMessage, Summary
from jiyi.model.identity import new_id
from jiyi.model.message import Message
from jiyi.ports import ChatStore, RecordStore
from jiyi.testing.conformance.examples import ACTOR, LOOK_ALIKE_SCOPES, NOON
from jiyi.testing.conformance.records import StoreFixtures

TURNS = [Message("user" if number % 2 else "assistant", f"turn {number}") for number in range(8)]
SYSTEM_MESSAGE = Message("system", "be kind")
PLACE = ("main", "s")


def never(_message: StoredMessage) -> bool:
    """A stop condition that is never met."""
    return False


def add(chats: ChatStore, messages: list[Message], scope: str = "main") -> list[str]:
    """Put messages into the session."""
    return chats.append(scope, "s", messages, actor=ACTOR, recallable=True)


def span_of(chats: ChatStore, first: int, last: int) -> Span:
    """The current span between two positions."""
    rows, _ = chats.following(*PLACE, after=first - 1, before=last + 1)
    return Span(chats.epochs(*PLACE)[-1].epoch, first, last, len(rows), max((row.row for row in rows), default=0))


def summary_of(chats: ChatStore, last: int, **changed: object) -> Summary:
    """The summary that would be next, up to this position."""
    seen = chats.snapshot(*PLACE, never)
    rows, _ = chats.following(*PLACE, after=seen.pointer, before=last + 1)
    made = Summary(
        id=new_id(),
        scope=PLACE[0],
        session_id=PLACE[1],
        epoch=seen.epoch.epoch,
        generation=chats.next_generation(*PLACE, seen.epoch.epoch),
        first_position=seen.pointer + 1,
        last_position=last,
        first_message_id=rows[0].id,
        last_message_id=rows[-1].id,
        previous_id=seen.summary.id if seen.summary is not None else None,
        content="what was said",
        tokens=5,
        made_by="rules",
        created_at=NOON,
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def candidate(content: str, position: int = 0) -> Candidate:
    """A candidate of the session."""
    return Candidate(
        id=new_id(),
        scope=PLACE[0],
        session_id=PLACE[1],
        epoch=1,
        content=content,
        kind="fact",
        confidence=0.5,
        first_message_id="m",
        last_message_id="m",
        first_position=position,
        last_position=position,
        made_by="rules",
        created_at=NOON,
    )


class ChatStoreConformance(StoreFixtures):
    """Define `make_store(folder)` and `make_chats(store)`, and run it."""

    def make_chats(self, store: RecordStore) -> ChatStore:
        """The chat store over the same data."""
        raise NotImplementedError(f"{type(self).__name__} must say how chats are made: define make_chats(store)")

    @pytest.fixture
    def chats(self, store: RecordStore) -> ChatStore:
        """The chat store of `store`."""
        return self.make_chats(store)

    @pytest.fixture
    def second(self, second_handle: RecordStore) -> ChatStore:
        """Another handle on the same data, as another process has one."""
        return self.make_chats(second_handle)

    # --- messages -------------------------------------------------------------------------------------------------

    def test_a_message_is_put_at_an_index_and_taken_out_again(self, store: RecordStore, chats: ChatStore) -> None:
        """As a list does, and what was derived from the messages behind it is withdrawn."""
        add(chats, TURNS)
        assert chats.add_summary(summary_of(chats, 5), span_of(chats, 0, 5), trigger="limit")
        times = [one.created_at for one in chats.epoch_messages(*PLACE, None)]
        chats.insert(*PLACE, 2, SYSTEM_MESSAGE, actor=ACTOR, recallable=True)
        said = chats.epoch_messages(*PLACE, None)
        assert [one.message for one in said] == [*TURNS[:2], SYSTEM_MESSAGE, *TURNS[2:]]
        assert [one.created_at for one in said if one.message is not said[2].message] == times
        assert chats.summaries(*PLACE, 1) == []
        assert chats.remove(*PLACE, 2, actor=ACTOR, recallable=True) == SYSTEM_MESSAGE
        assert chats.remove(*PLACE, -1, actor=ACTOR, recallable=True) == TURNS[-1]
        assert chats.remove(*PLACE, 7, actor=ACTOR, recallable=True) is None
        assert chats.remove(*PLACE, -8, actor=ACTOR, recallable=True) is None
        assert store.load_history(*PLACE) == TURNS[:-1]
        chats.insert(*PLACE, 99, SYSTEM_MESSAGE, actor=ACTOR, recallable=True)
        chats.insert(*PLACE, -99, SYSTEM_MESSAGE, actor=ACTOR, recallable=True)
        assert store.load_history(*PLACE) == [SYSTEM_MESSAGE, *TURNS[:-1], SYSTEM_MESSAGE]

    def test_a_message_keeps_the_time_at_which_it_was_said(self, store: RecordStore, chats: ChatStore) -> None:
        """The time that was given, the one that it names itself, or now."""
        dated = Message("user", "long ago", extra={"timestamp": 1_600_000_000})
        chats.append(*PLACE, [TURNS[0]], actor=ACTOR, recallable=True, said_at=NOON)
        add(chats, [dated, TURNS[1]])
        first, second, third = chats.epoch_messages(*PLACE, None)
        assert first.created_at == NOON
        assert second.created_at is not None
        assert second.created_at.timestamp() == 1_600_000_000
        assert third.created_at is not None
        assert third.created_at > second.created_at
        store.save_history(*PLACE, [TURNS[0], Message("user", "reworded"), TURNS[1], dated], actor=ACTOR)
        times = [one.created_at for one in chats.epoch_messages(*PLACE, None)]
        assert times == [NOON, second.created_at, third.created_at, second.created_at]

    def test_messages_of_two_handles_stand_in_one_line(
        self, store: RecordStore, chats: ChatStore, second: ChatStore
    ) -> None:
        ids = [add(handle, [message])[0] for message, handle in zip(TURNS, [chats, second] * 4, strict=True)]
        found = chats.epoch_messages(*PLACE, None)
        assert [(one.id, one.position, one.message) for one in found] == list(zip(ids, range(8), TURNS, strict=True))
        assert store.load_history(*PLACE) == TURNS
        assert add(chats, []) == []

    def test_a_snapshot_reads_backwards_until_there_is_enough(self, chats: ChatStore) -> None:
        add(chats, [SYSTEM_MESSAGE, *TURNS])
        seen = chats.snapshot(*PLACE, lambda stored: stored.position == 6)
        assert [one.position for one in seen.recent] == [6, 7, 8]
        assert [one.message for one in seen.system_messages] == [SYSTEM_MESSAGE]
        assert not seen.complete
        assert (seen.summary, seen.pointer, seen.epoch.epoch) == (None, -1, 1)
        assert chats.snapshot(*PLACE, never).complete
        assert chats.count_between(*PLACE, after=-1, before=6) == 5
        head, whole = chats.following(*PLACE, after=-1, before=6, stop_at=lambda stored: stored.position == 2)
        assert ([one.position for one in head], whole) == ([0, 1, 2], False)

    def test_the_newest_messages_are_those_of_the_current_epoch_whatever_a_summary_covers(
        self, chats: ChatStore
    ) -> None:
        add(chats, TURNS)
        assert chats.add_summary(summary_of(chats, 6), span_of(chats, 0, 6), trigger="limit")
        assert [one.position for one in chats.newest(*PLACE, 3)] == [5, 6, 7]
        assert [one.message for one in chats.newest(*PLACE, 100)] == TURNS
        chats.start_epoch(*PLACE)
        assert chats.newest(*PLACE, 3) == []
        add(chats, TURNS[:2])
        assert [one.message for one in chats.newest(*PLACE, 1)] == TURNS[1:2]

    def test_an_unknown_session_is_empty(self, chats: ChatStore) -> None:
        seen = chats.snapshot(*PLACE, never)
        assert (seen.recent, seen.system_messages, seen.complete, seen.summary) == ((), (), True, None)
        assert [epoch.epoch for epoch in chats.epochs(*PLACE)] == [1]
        assert chats.start_epoch(*PLACE).epoch == 1

    # --- the pointer ----------------------------------------------------------------------------------------------

    def test_a_summary_moves_the_pointer_and_system_messages_stay_in_sight(
        self, chats: ChatStore, second: ChatStore
    ) -> None:
        add(chats, [TURNS[0], SYSTEM_MESSAGE, *TURNS[1:]])
        made = summary_of(chats, 3)
        assert chats.add_summary(made, span_of(chats, 0, 3), trigger="limit")
        seen = second.snapshot(*PLACE, never)
        assert (seen.summary, seen.pointer) == (made, 3)
        assert [one.position for one in seen.recent] == [4, 5, 6, 7, 8]
        assert [one.message for one in seen.system_messages] == [SYSTEM_MESSAGE]
        assert second.summaries(*PLACE, 1) == [made]
        assert second.summary(*PLACE, made.id) == made
        last = second.last_attempt(*PLACE, 1)
        assert last is not None
        assert (last.state, last.attempt) == ("done", 0)

    def test_of_two_summaries_at_once_one_wins(self, chats: ChatStore, second: ChatStore) -> None:
        add(chats, TURNS)
        mine, theirs = summary_of(chats, 3), summary_of(second, 5)
        spans = span_of(chats, 0, 3), span_of(second, 0, 5)
        assert second.add_summary(theirs, spans[1], trigger="limit")
        assert not chats.add_summary(mine, spans[0], trigger="limit")
        assert not chats.add_summary(replace(mine, generation=2), spans[0], trigger="limit")
        assert chats.summaries(*PLACE, 1) == [theirs]
        following = summary_of(chats, 6)
        assert following.previous_id == theirs.id
        assert chats.add_summary(following, span_of(chats, 6, 6), trigger="explicit")

    def test_a_summary_of_what_was_rewritten_or_reset_is_refused(self, store: RecordStore, chats: ChatStore) -> None:
        add(chats, TURNS)
        made, span = summary_of(chats, 3), span_of(chats, 0, 3)
        store.save_history(*PLACE, [*TURNS[:2], Message("user", "reworded"), *TURNS[3:]], actor=ACTOR)
        assert not chats.add_summary(made, span, trigger="limit")
        made, span = summary_of(chats, 3), span_of(chats, 0, 3)
        store.save_history(*PLACE, TURNS[:3], actor=ACTOR)
        assert not chats.add_summary(made, span, trigger="limit")
        made, span = summary_of(chats, 1), span_of(chats, 0, 1)
        chats.start_epoch(*PLACE)
        assert not chats.add_summary(made, span, trigger="limit")
        assert chats.summaries(*PLACE, 1) == []

    def test_rewriting_retires_what_stands_for_it(self, store: RecordStore, chats: ChatStore) -> None:
        add(chats, TURNS)
        span = span_of(chats, 0, 5)
        found = [candidate("kept", 1), candidate("withdrawn", 4)]
        assert chats.add_flush(*PLACE, span, found, trigger="soft", made_by="rules")
        first = summary_of(chats, 2)
        assert chats.add_summary(first, span_of(chats, 0, 2), trigger="limit")
        second = summary_of(chats, 5)
        assert chats.add_summary(second, span_of(chats, 3, 5), trigger="limit")
        store.save_history(*PLACE, [*TURNS[:4], Message("user", "reworded")], actor=ACTOR)
        assert chats.summaries(*PLACE, 1) == [first]
        assert chats.flushed_to(*PLACE, chats.epochs(*PLACE)[-1]) == 3
        assert [one.content for one in chats.candidates("main", state="new")] == ["kept"]
        again = summary_of(chats, 4)
        assert again.generation == 3
        assert chats.add_summary(again, span_of(chats, 3, 4), trigger="limit")

    # --- flushes --------------------------------------------------------------------------------------------------

    def test_a_stretch_is_looked_through_once(self, chats: ChatStore, second: ChatStore) -> None:
        add(chats, TURNS)
        epoch = chats.epochs(*PLACE)[-1]
        assert chats.flushed_to(*PLACE, epoch) == -1
        spans = span_of(chats, 0, 2), span_of(second, 0, 4)
        assert chats.add_flush(*PLACE, spans[0], [candidate("a")], trigger="soft", made_by="rules")
        assert not second.add_flush(*PLACE, spans[1], [candidate("b")], trigger="limit", made_by="rules")
        assert second.flushed_to(*PLACE, epoch) == 2
        assert second.add_flush(*PLACE, span_of(second, 3, 4), [candidate("c")], trigger="limit", made_by="rules")
        assert [one.content for one in chats.candidates("main")] == ["a", "c"]

    def test_a_candidate_is_settled_once(self, chats: ChatStore, second: ChatStore) -> None:
        add(chats, TURNS)
        found = [candidate("a"), candidate("b")]
        chats.add_flush(*PLACE, span_of(chats, 0, 2), found, trigger="soft", made_by="rules")
        assert second.candidates("main", session_id="s") == found
        assert not second.settle_candidate("other", found[0].id, state="taken", by="me")
        assert second.settle_candidate("main", found[0].id, state="taken", by="me")
        assert not chats.settle_candidate("main", found[0].id, state="rejected", by="you")
        [taken] = chats.candidates("main", state="taken")
        assert (taken.id, taken.taken_by) == (found[0].id, "me")
        assert taken.state_at is not None

    # --- epochs ---------------------------------------------------------------------------------------------------

    def test_a_new_epoch_hides_the_old_one_and_loses_nothing(self, store: RecordStore, chats: ChatStore) -> None:
        add(chats, TURNS)
        old = summary_of(chats, 3)
        assert chats.add_summary(old, span_of(chats, 0, 3), trigger="limit")
        assert chats.start_epoch(*PLACE).epoch == 2
        assert chats.start_epoch(*PLACE).epoch == 2
        seen = chats.snapshot(*PLACE, never)
        assert (seen.recent, seen.summary, seen.epoch.epoch) == ((), None, 2)
        assert store.load_history(*PLACE) == []
        add(chats, [TURNS[0]])
        assert [one.position for one in chats.epoch_messages(*PLACE, None)] == [8]
        assert [one.message for one in chats.epoch_messages(*PLACE, 1)] == TURNS
        assert chats.summaries(*PLACE, 1) == [old]
        with pytest.raises(InvalidInputError):
            chats.epoch_messages(*PLACE, 3)

    def test_deleting_is_complete_and_counted(self, store: RecordStore, chats: ChatStore) -> None:
        add(chats, TURNS)
        chats.add_flush(*PLACE, span_of(chats, 0, 3), [candidate("a")], trigger="soft", made_by="rules")
        assert chats.add_summary(summary_of(chats, 3), span_of(chats, 0, 3), trigger="limit")
        with pytest.raises(InvalidInputError):
            chats.delete_epoch(*PLACE, 1, actor=ACTOR)
        chats.start_epoch(*PLACE)
        add(chats, TURNS[:2])
        receipt = chats.delete_epoch(*PLACE, 1, actor=ACTOR)
        assert (receipt.messages, receipt.entries, receipt.summaries, receipt.candidates) == (8, 8, 1, 1)
        assert [epoch.epoch for epoch in chats.epochs(*PLACE)] == [2]
        receipt = chats.forget_session(*PLACE, actor=ACTOR)
        assert (receipt.messages, receipt.entries) == (2, 2)
        assert store.sessions("main") == []
        assert chats.candidates("main") == []
        assert [row["kind"] for row in store.export_rows(None) if row["kind"] not in {"jiyi-export", "change"}] == []

    # --- attempts and scopes --------------------------------------------------------------------------------------

    def test_the_last_attempt_is_the_one_that_counts(self, chats: ChatStore) -> None:
        add(chats, TURNS)
        assert chats.last_attempt(*PLACE, 1) is None
        for number in (1, 2):
            attempt = Attempt(
                id=new_id(),
                trigger="limit",
                state="failed",
                reason="slow",
                attempt=number,
                next_attempt_at=NOON + timedelta(minutes=number),
                created_at=NOON,
            )
            chats.add_attempt(*PLACE, 1, attempt)
            assert chats.last_attempt(*PLACE, 1) == attempt
        assert chats.failing_sessions(NOON) == 1
        assert chats.failing_sessions(NOON + timedelta(days=1)) == 0
        assert chats.add_summary(summary_of(chats, 3), span_of(chats, 0, 3), trigger="limit")
        assert chats.failing_sessions(NOON) == 0

    def test_sessions_whose_end_was_not_searched_are_listed(self, chats: ChatStore) -> None:
        hour = timedelta(hours=1)
        for scope, said_at in (("main", NOON), ("other", NOON), ("late", NOON + 2 * hour)):
            chats.append(scope, "s", TURNS, actor=ACTOR, recallable=True, said_at=said_at)
        around: dict[str, Any] = {"since": NOON - hour, "before": NOON + hour}
        assert chats.unflushed_sessions(**around) == [("main", "s"), ("other", "s")]
        assert chats.unflushed_sessions(**around, scopes=("other",)) == [("other", "s")]
        assert chats.add_flush(*PLACE, span_of(chats, 0, len(TURNS) - 1), [], trigger="end", made_by="rules")
        assert chats.unflushed_sessions(**around) == [("other", "s")]
        chats.append(*PLACE, TURNS[:1], actor=ACTOR, recallable=True, said_at=NOON)
        assert chats.unflushed_sessions(**around) == [("main", "s"), ("other", "s")]

    def test_a_reset_ends_the_trouble(self, chats: ChatStore) -> None:
        add(chats, TURNS)
        failed = Attempt(
            id=new_id(),
            trigger="limit",
            state="failed",
            reason="slow",
            attempt=1,
            next_attempt_at=NOON,
            created_at=NOON,
        )
        chats.add_attempt(*PLACE, 1, failed)
        chats.start_epoch(*PLACE)
        assert chats.failing_sessions(NOON) == 0
        assert chats.last_attempt(*PLACE, 2) is None

    def test_sessions_of_look_alike_scopes_are_apart(self, chats: ChatStore) -> None:
        for scope in LOOK_ALIKE_SCOPES:
            add(chats, [Message("user", f"of {scope}")], scope)
        chats.start_epoch(LOOK_ALIKE_SCOPES[0], "s")
        for scope in LOOK_ALIKE_SCOPES:
            found = chats.epoch_messages(scope, "s", 1)
            assert [one.message.text for one in found] == [f"of {scope}"]
            assert len(chats.epochs(scope, "s")) == (2 if scope == LOOK_ALIKE_SCOPES[0] else 1)
