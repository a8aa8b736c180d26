"""Compactions, appends, resets and rewrites at the same time, in every order that a schedule can give them.

Each actor runs in a thread of its own and stops before every call of the store; the schedule says who goes on. No
clock is involved: the same schedule is the same run.
"""

import json
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from jiyi.group_writer import GroupWriter
from jiyi.sync import AgentMemory
from jiyi.testing.faults import Faults
from tests.chat.support import Model, call, check_whole, found, result, said, use
from tests.support import QUICK

SCHEDULES = 120
GATED = (
    *("append", "snapshot", "following", "last_attempt", "flushed_to", "add_flush", "next_generation", "add_summary"),
    *("start_epoch", "epoch_messages", "add_attempt"),
)
_PATIENCE = 60.0


class Turns:
    """Lets one actor at a time go on, up to its next call of the store."""

    def __init__(self) -> None:
        self._moved = threading.Condition()
        self._allowed: str | None = None
        self._waiting: set[str] = set()
        self._done: set[str] = set()
        self.errors: list[BaseException] = []

    def gate(self, actor: str) -> None:
        """Called by an actor before each step."""
        with self._moved:
            self._waiting.add(actor)
            self._moved.notify_all()
            assert self._moved.wait_for(lambda: self._allowed == actor, _PATIENCE)
            self._allowed = None
            self._waiting.discard(actor)

    def run(self, actors: dict[str, Callable[[], Any]], order: Iterator[str]) -> list[str]:
        """Run all actors to their end; returns who went on, step by step."""
        threads = [threading.Thread(target=self._act, args=(name, act)) for name, act in actors.items()]
        for thread in threads:
            thread.start()
        taken: list[str] = []
        with self._moved:
            while True:
                assert self._moved.wait_for(lambda: self._waiting | self._done == set(actors), _PATIENCE)
                if not self._waiting:
                    break
                name = next(name for name in order if name in self._waiting)
                taken.append(name)
                self._waiting.discard(name)
                self._allowed = name
                self._moved.notify_all()
        for thread in threads:
            thread.join()
        return taken

    def _act(self, name: str, act: Callable[[], Any]) -> None:
        try:
            self.gate(name)
            act()
        except BaseException as error:  # noqa: BLE001 - shown by the test
            self.errors.append(error)
        finally:
            with self._moved:
                self._done.add(name)
                self._moved.notify_all()


class Stage:
    """Handles of one data directory, each for an actor; what they call of the store is a step of the schedule."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.turns: Turns | None = None
        self._memories: dict[str, AgentMemory] = {}

    def memory(self, actor: str) -> AgentMemory:
        if actor not in self._memories:
            memory = AgentMemory.open(self.path, **QUICK, recall_messages=False)
            faults = Faults()
            for method in GATED:
                faults.before(f"chats.{method}", lambda: self._stop(actor))
            store = faults.wrap(memory._target._components.chats, "chats")
            self._stop_before_transactions(memory, actor)
            self._memories[actor] = use(memory, Model(candidates=_one_of_each), store=store)
        return self._memories[actor]

    def _stop_before_transactions(self, memory: AgentMemory, actor: str) -> None:
        """A write of a group is one step: whoever stopped inside it would hold the lock of the store."""
        writer = memory._target._calls._writer
        if not isinstance(writer, GroupWriter):
            return
        begin = writer._transaction

        def transaction() -> Any:
            self._stop(actor, writing=True)
            return begin()

        writer._transaction = transaction

    def _stop(self, actor: str, *, writing: bool = False) -> None:
        inside = threading.current_thread().name == "jiyi-writer" and not writing
        if self.turns is not None and not inside:
            self.turns.gate(actor)

    def close(self) -> None:
        for memory in self._memories.values():
            memory.close()


def _one_of_each(messages: Sequence[Any]) -> str:
    """A candidate for every message it is shown."""
    lines = [line for line in messages[-1].text.splitlines() if line.startswith("> [")]
    return json.dumps(
        {"candidates": [json.loads(found(f"{n}", first=n, last=n))["candidates"][0] for n in range(1, len(lines) + 1)]}
    )


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("races"))
    yield stage
    stage.close()


def flush_spans(stage: Stage, session: str) -> list[tuple[int, int, int]]:
    file = stage.path / "export.jsonl"
    stage.memory("writer").export_jsonl(file)
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    flushes = [row for row in rows if row["kind"] == "flush" and row["session_id"] == session]
    live = [flush for flush in flushes if flush["replaced_at"] is None]
    live.sort(key=lambda flush: (flush["epoch"], flush["number"]))
    return [(flush["epoch"], flush["first_position"], flush["last_position"]) for flush in live]


def check_flushes(stage: Stage, session: str, chat: Any) -> None:
    """Flushed stretches follow each other without gap or overlap, ahead of the pointer; one candidate a message."""
    spans = [span for span in flush_spans(stage, session) if span[0] == chat.epochs()[-1].epoch]
    first = chat.epochs()[-1].first_position
    for _, begin, end in spans:
        assert begin == first
        first = end + 1
    summaries = chat.summaries()
    if summaries:
        assert first > summaries[-1].last_position
    epoch = chat.epochs()[-1].epoch
    live = [c for c in chat.candidates() if c.epoch == epoch]
    assert len({c.first_position for c in live}) == len(live)
    talk = {m.position for m in chat.messages() if m.message.role != "system"}
    assert {c.first_position for c in live} == {position for position in talk if position < first}


def fill(chat: Any) -> list[dict[str, Any]]:
    messages = [{"role": "system", "content": "Be kind."}, *(said(number) for number in range(5)),
                call("f", "c1"), result("c1"), *(said(number) for number in range(5, 10))]  # fmt: skip
    chat.put_many(messages)
    return messages


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_compactions_and_appends_at_once_leave_one_winner_and_no_gap(stage: Stage, seed: int) -> None:
    chance = random.Random(seed)
    session = f"schedule {seed}"
    first = stage.memory("first").chat(session, token_limit=300)
    second = stage.memory("second").chat(session, token_limit=160)
    writer = stage.memory("writer").chat(session, token_limit=300)
    stage.turns = None
    messages = fill(writer)
    added = [said(number, f"said meanwhile {number}") for number in range(100, 104)]

    def append() -> None:
        for message in added:
            writer.put(message)

    stage.turns = turns = Turns()
    actors: dict[str, Callable[[], Any]] = {"first": first.compact, "second": second.get, "writer": append}
    kind = seed % 3
    if kind == 1:
        actors["second"] = second.compact
    weights = [chance.random() + 0.05 for _ in actors]
    order = iter(lambda: chance.choices(list(actors), weights)[0], None)
    turns.run(actors, order)
    stage.turns = None
    assert turns.errors == []
    assert [m.to_dict() for m in writer.get_all()] == [*messages, *added]
    assert writer.summaries()
    check_whole(writer, writer.get())
    check_flushes(stage, session, writer)
    check_whole(second, second.get())


@pytest.mark.parametrize("seed", range(40))
def test_a_reset_or_a_rewrite_during_a_compaction_is_not_overrun(stage: Stage, seed: int) -> None:
    chance = random.Random(1_000 + seed)
    session = f"rewrite {seed}"
    first = stage.memory("first").chat(session, token_limit=300)
    other = stage.memory("writer")
    writer = other.chat(session, token_limit=300)
    stage.turns = None
    messages = fill(writer)
    rewritten = [*messages[:3], said(7, "this was never said"), *messages[4:]]

    def reset() -> None:
        writer.reset()

    def rewrite() -> None:
        stage._stop("writer")
        other.save_conversation_history(session, rewritten)

    stage.turns = turns = Turns()
    disturb = (reset, rewrite)[seed % 2]
    order = iter(lambda: chance.choice(("first", "writer")), None)
    turns.run({"first": first.compact, "writer": disturb}, order)
    stage.turns = None
    assert turns.errors == []
    if disturb is reset:
        assert writer.get_all() == []
        assert writer.summaries() == []
        assert [m.to_dict() for m in writer.get_all(epoch=1)] == messages
    else:
        assert [m.to_dict() for m in writer.get_all()] == rewritten
        # No summary stands for a message that is no longer there: the compaction saw it, or was made again.
        for summary in writer.summaries():
            assert summary.last_position < 3 or summary.id in {s.id for s in first.summaries()}
        check_whole(writer, writer.get())
        check_flushes(stage, session, writer)
