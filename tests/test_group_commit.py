"""Group commit: the writes of many callers in one transaction, each as if it were alone."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi import AgentMemory, group_writer
from jiyi.backends.embedded.database import SqliteDatabase
from jiyi.errors import InvalidInputError, MemoryClosedError, StorageError, StoreBusyError
from jiyi.group_writer import GroupWriter

OPTIONS: dict[str, Any] = {"embedder": "none", "background_indexing": False, "background_jobs": False}
INSERT = "INSERT INTO store_meta (name, value) VALUES (:name, :value)"


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group ends by its number of writes alone: on a slow machine the time would end it too."""
    monkeypatch.setattr(group_writer, "_GROUP_SECONDS", 60.0)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "memory.db", busy_timeout=5.0)
    yield database
    database.close()


class Gate:
    """A transaction that begins when it is told to, so that writes gather before it; counts the commits."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self.open = threading.Event()
        self.begun = threading.Event()
        self.commits = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self.begun.set()
        assert self.open.wait(30)
        with self._database.group():
            yield
        self.commits += 1


def inserted(database: SqliteDatabase, name: str, *, fails: bool = False) -> Callable[[], str]:
    def call() -> str:
        with database.write() as connection:
            connection.execute(INSERT, {"name": name, "value": "1"})
            if fails:
                raise LookupError(name)
        return name

    return call


def kept(path: Path) -> list[str]:
    """The names in the order of writing, as another connection sees them."""
    with closing(sqlite3.connect(path)) as other:
        rows = other.execute("SELECT name FROM store_meta WHERE name LIKE 'test %' ORDER BY rowid")
        return [row[0] for row in rows]


def run_group(database: SqliteDatabase, calls: list[Callable[[], Any]]) -> tuple[list[Any], int]:
    """All calls in one group: what each returned or raised, and how many commits there were."""
    gate = Gate(database)
    writer = GroupWriter(gate, lambda: None)

    async def story() -> list[Any]:
        waiting = [asyncio.ensure_future(writer.run(call)) for call in calls]
        await asyncio.sleep(0)
        gate.open.set()
        return list(await asyncio.gather(*waiting, return_exceptions=True))

    try:
        return asyncio.run(story()), gate.commits
    finally:
        writer.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_of_a_group_those_that_fail_get_their_errors_and_the_others_are_kept(
    tmp_path_factory: pytest.TempPathFactory, schedule: list[bool]
) -> None:
    path = tmp_path_factory.mktemp("group") / "memory.db"
    with closing(SqliteDatabase(path, busy_timeout=5.0)) as database:
        calls = [inserted(database, f"test {place}", fails=fails) for place, fails in enumerate(schedule)]
        answers, commits = run_group(database, calls)
        for place, (fails, answer) in enumerate(zip(schedule, answers, strict=True)):
            if fails:
                assert isinstance(answer, LookupError)
                assert answer.args == (f"test {place}",)
            else:
                assert answer == f"test {place}"
        assert commits == 1
        assert kept(path) == [f"test {place}" for place, fails in enumerate(schedule) if not fails]


def test_a_caller_whose_row_is_refused_by_the_database_takes_nobody_with_it(database: SqliteDatabase) -> None:
    twice = [inserted(database, "test same") for _ in range(2)]
    answers, _ = run_group(database, [inserted(database, "test 1"), *twice, inserted(database, "test 2")])
    assert [answers[0], answers[1], answers[3]] == ["test 1", "test same", "test 2"]
    assert isinstance(answers[2], StorageError)
    assert kept(database.path) == ["test 1", "test same", "test 2"]


def test_the_first_of_a_group_that_fails_is_undone_with_the_writes_inside_it(database: SqliteDatabase) -> None:
    def nested() -> None:
        with database.write() as connection:
            connection.execute(INSERT, {"name": "test outer", "value": "1"})
            with database.write() as inner:
                inner.execute(INSERT, {"name": "test inner", "value": "1"})
            raise LookupError("outer")

    outcomes, commits = run_group(
        database, [nested, inserted(database, "test b"), nested, inserted(database, "test c")]
    )
    assert [type(each) for each in outcomes] == [LookupError, str, LookupError, str]
    assert (kept(database.path), commits) == (["test b", "test c"], 1)


def test_a_caller_that_loses_the_transaction_of_its_group_takes_nobody_with_it(database: SqliteDatabase) -> None:
    def disk_full() -> None:
        with database.write() as connection:
            # As SQLite does by itself when the disk is full.
            connection.execute("ROLLBACK")
            raise sqlite3.OperationalError("database or disk is full")

    calls = [inserted(database, "test 1"), disk_full, inserted(database, "test 2")]
    answers, _ = run_group(database, calls)
    assert (answers[0], answers[2]) == ("test 1", "test 2")
    assert isinstance(answers[1], StorageError)
    assert "no room left" in str(answers[1])
    assert kept(database.path) == ["test 1", "test 2"]


def test_nobody_is_answered_before_the_commit(database: SqliteDatabase) -> None:
    gate = Gate(database)
    writer = GroupWriter(gate, lambda: None)
    seen: list[list[str]] = []

    def look() -> None:
        seen.append(kept(database.path))

    async def story() -> None:
        calls = [inserted(database, "test 1"), look, inserted(database, "test 2"), look]
        first, *others = [asyncio.ensure_future(writer.run(call)) for call in calls]
        first.add_done_callback(lambda _: seen.append(kept(database.path)))
        await asyncio.sleep(0)
        gate.open.set()
        await asyncio.gather(first, *others)

    asyncio.run(story())
    writer.close()
    assert seen == [[], [], ["test 1", "test 2"]]


def test_a_write_of_a_group_reads_what_the_writes_before_it_have_written(database: SqliteDatabase) -> None:
    count = "SELECT count(*) FROM store_meta WHERE name LIKE 'test %'"

    def read() -> list[int]:
        with database.read() as connection:
            return [connection.scalar(count), database.query(count)[0][0]]

    answers, _ = run_group(database, [inserted(database, "test 1"), read, inserted(database, "test 2"), read])
    assert [answers[1], answers[3]] == [[1, 1], [2, 2]]


def test_a_caller_that_is_cancelled_while_it_waits_has_withdrawn_its_write(database: SqliteDatabase) -> None:
    gate = Gate(database)
    writer = GroupWriter(gate, lambda: None)

    async def story() -> None:
        first = asyncio.ensure_future(writer.run(inserted(database, "test 1")))
        await asyncio.to_thread(gate.begun.wait, 30)
        waiting = [asyncio.ensure_future(writer.run(inserted(database, f"test {n}"))) for n in (2, 3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting[0]
        gate.open.set()
        await asyncio.gather(first, waiting[1])

    asyncio.run(story())
    writer.close()
    assert kept(database.path) == ["test 1", "test 3"]


def test_a_caller_that_is_cancelled_after_its_write_began_has_written_it_whole(database: SqliteDatabase) -> None:
    writer = GroupWriter(database.group, lambda: None)
    inside, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        inside.set()
        assert go_on.wait(30)
        inserted(database, "test 1")()

    async def story() -> None:
        waiting = asyncio.ensure_future(writer.run(slow))
        await asyncio.to_thread(inside.wait, 30)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        go_on.set()

    asyncio.run(story())
    writer.close()
    assert kept(database.path) == ["test 1"]


def test_when_the_lock_cannot_be_had_everybody_who_waits_is_told_at_once(tmp_path: Path) -> None:
    with (
        closing(SqliteDatabase(tmp_path / "memory.db", busy_timeout=0.2)) as database,
        closing(SqliteDatabase(tmp_path / "memory.db", busy_timeout=5.0)) as other,
        other.write(),
    ):
        answers, commits = run_group(database, [inserted(database, f"test {n}") for n in range(50)])
    assert commits == 0
    assert all(isinstance(answer, StoreBusyError) for answer in answers)
    assert len({id(answer) for answer in answers}) == 50
    assert kept(tmp_path / "memory.db") == []


def test_a_large_crowd_is_served_in_several_groups_in_the_order_of_asking(database: SqliteDatabase) -> None:
    answers, commits = run_group(database, [inserted(database, f"test {n}") for n in range(600)])
    assert answers == kept(database.path) == [f"test {n}" for n in range(600)]
    assert 3 <= commits < 600


class Items:
    """Writes several names by one call; remembers the calls."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self.calls: list[list[str]] = []

    def write(self, names: list[str]) -> list[str]:
        self.calls.append(names)
        with self._database.write() as connection:
            for name in names:
                connection.execute(INSERT, {"name": name, "value": "1"})
                if "fails" in name:
                    raise InvalidInputError(name)
        return [f"wrote {name}" for name in names]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["item", "item fails", "call", "call fails"]), min_size=1, max_size=20))
def test_items_that_are_written_by_one_call_are_answered_as_if_each_were_alone(
    tmp_path_factory: pytest.TempPathFactory, schedule: list[str]
) -> None:
    path = tmp_path_factory.mktemp("items") / "memory.db"
    with closing(SqliteDatabase(path, busy_timeout=5.0)) as database:
        gate, items = Gate(database), Items(database)
        write = items.write
        writer = GroupWriter(gate, lambda: None)
        names = [f"test {place} {kind}" for place, kind in enumerate(schedule)]

        async def story() -> list[Any]:
            waiting = [
                writer.run_item(write, name)
                if "item" in name
                else writer.run(inserted(database, name, fails="fails" in name))
                for name in names
            ]
            gathered = asyncio.gather(*waiting, return_exceptions=True)
            await asyncio.sleep(0)
            gate.open.set()
            return list(await gathered)

        answers = asyncio.run(story())
        writer.close()
        for name, answer in zip(names, answers, strict=True):
            if "fails" in name:
                assert isinstance(answer, InvalidInputError if "item" in name else LookupError)
                assert answer.args == (name,)
            else:
                assert answer == (f"wrote {name}" if "item" in name else name)
        assert gate.commits == 1
        assert kept(path) == [name for name in names if "fails" not in name]
        if all(kind == "item" for kind in schedule):
            assert items.calls == [names]


def test_an_unforeseen_error_of_items_written_together_leaves_nobody_waiting(database: SqliteDatabase) -> None:
    def write(names: list[str]) -> list[str]:
        if len(names) > 1:
            raise MemoryError("too many at once")
        return [inserted(database, name)() for name in names]

    gate = Gate(database)
    writer = GroupWriter(gate, lambda: None)

    async def story() -> list[Any]:
        items = [writer.run_item(write, name) for name in ("test 1", "test 2")]
        waiting = asyncio.gather(*items, writer.run(inserted(database, "test 3")), return_exceptions=True)
        gate.open.set()
        async with asyncio.timeout(30):
            return list(await waiting)

    try:
        assert asyncio.run(story()) == ["test 1", "test 2", "test 3"]
    finally:
        writer.close()
    assert kept(database.path) == ["test 1", "test 2", "test 3"]


def test_callers_of_two_event_loops_share_a_writer(database: SqliteDatabase) -> None:
    writer = GroupWriter(database.group, lambda: None)
    answers: list[str] = []

    def in_a_loop(first: int) -> None:
        async def story() -> list[str]:
            return await asyncio.gather(*(writer.run(inserted(database, f"test {first + n}")) for n in range(20)))

        answers.extend(asyncio.run(story()))

    threads = [threading.Thread(target=in_a_loop, args=(first,)) for first in (0, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert sorted(answers) == sorted(kept(database.path)) == sorted(f"test {n}" for n in range(40))


def test_closing_finishes_what_is_queued_and_refuses_what_comes_later(database: SqliteDatabase) -> None:
    gate = Gate(database)
    writer = GroupWriter(gate, lambda: None)

    async def story() -> list[str]:
        waiting = [asyncio.ensure_future(writer.run(inserted(database, f"test {n}"))) for n in range(3)]
        await asyncio.sleep(0)
        closing_it = asyncio.ensure_future(asyncio.to_thread(writer.close))
        gate.open.set()
        await closing_it
        with pytest.raises(MemoryClosedError):
            await writer.run(inserted(database, "test late"))
        return await asyncio.gather(*waiting)

    assert asyncio.run(story()) == kept(database.path) == ["test 0", "test 1", "test 2"]


# --- a memory ---------------------------------------------------------------------------------------------------------


def test_every_room_of_a_crowd_keeps_what_it_acknowledged_and_refuses_what_it_must(tmp_path: Path) -> None:
    async def story() -> None:
        async with AgentMemory.open(tmp_path, **OPTIONS) as memory:
            chat = memory.chat("s")
            crowd = [
                *(memory.store(f"key {n}", f"text {n}") for n in range(40)),
                *(chat.put({"role": "user", "content": f"said {n}"}) for n in range(40)),
                *(memory.update(f"nobody {n}", content="x") for n in range(10)),
                *(memory.runtime.remember("fact", f"judged {n}", tags=["tea"]) for n in range(10)),
                *(memory.longterm.schedule_round("main", "round", f"asked {n}", f"answered {n}") for n in range(10)),
                *(memory.add(f"added {n}") for n in range(10)),
            ]
            answers = await asyncio.gather(*crowd, return_exceptions=True)
            refused = [answer for answer in answers if isinstance(answer, BaseException)]
            assert len(refused) == 10
            assert all(isinstance(answer, InvalidInputError) for answer in refused)
            assert [message.text for message in await chat.get_all()] == [f"said {n}" for n in range(40)]
            for n in range(40):
                entry = await memory.get(f"key {n}")
                assert entry is not None
                assert entry.content == f"text {n}"
            assert len(await memory.load_conversation_history("round")) == 20
            assert (await memory.doctor())["store_problems"] == []

    asyncio.run(story())


def test_one_key_written_by_many_at_once_has_all_their_versions_in_the_order_of_asking(tmp_path: Path) -> None:
    async def story() -> None:
        async with AgentMemory.open(tmp_path, **OPTIONS) as memory:
            await asyncio.gather(*(memory.store("tea", f"cup {n}") for n in range(30)))
            versions = await memory.history("tea")
            assert [version.entry.content for version in versions if version.entry is not None] == [
                f"cup {n}" for n in range(30)
            ]

    asyncio.run(story())


def test_a_program_that_holds_the_database_holds_the_writes_and_not_the_event_loop(tmp_path: Path) -> None:
    async def story() -> None:
        async with AgentMemory.open(tmp_path, **OPTIONS) as memory:
            with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as foreign:
                foreign.execute("BEGIN IMMEDIATE")
                writing = [asyncio.ensure_future(memory.store(f"key {n}", "text")) for n in range(3)]
                # Reads go on, and so does the loop, which has to release what the writers wait for.
                assert await memory.count() == 0
                assert not any(each.done() for each in writing)
                foreign.execute("ROLLBACK")
            await asyncio.gather(*writing)
            assert await memory.count() == 3

    asyncio.run(story())
