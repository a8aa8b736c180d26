"""A process that works on a store in PostgreSQL with others: `python -m tests.postgres.worker WHAT URL …`."""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

from jiyi.backends.postgres.database import PostgresDatabase
from jiyi.backends.records.chat import SqlChatStore
from jiyi.backends.records.jobs import SqlJobStore
from jiyi.backends.records.longterm import SqlLongtermStore
from jiyi.backends.records.runtime import SqlRuntimeStore
from jiyi.backends.records.store import SqlRecordStore
from jiyi.model import clock
from jiyi.model.feedback import FeedbackOrder, MergeGroup
from jiyi.model.filters import Filters
from jiyi.model.identity import new_id
from jiyi.model.job import JobDraft
from jiyi.model.message import Message
from jiyi.model.scope import visible_scopes
from jiyi.ports import Amendment
from jiyi.testing.conformance.examples import draft, entry

SCOPES = ("alice", "bob", "carol", "public")
TAGS = tuple(f"tag {number}" for number in range(12))
ACTOR = "worker"


def increment(url: str, memory_id: str, times: str) -> None:
    """Say that a memory was useful, each time in a transaction of its own."""
    with closing(PostgresDatabase(url, pool_size=1)) as database:
        runtime = SqlRuntimeStore(database)
        order = FeedbackOrder(scope="main", visible=visible_scopes("main"), useful=(memory_id,))
        for _ in range(int(times)):
            outcome = runtime.give_feedback(order, actor=ACTOR, now=clock.utc_now())
            assert outcome.strengthened == (memory_id,)


def mixed(url: str, seed: str, times: str, threads: str) -> None:
    """Everything that a store is asked to do, in any order, on few scopes and few entries."""
    with closing(PostgresDatabase(url, pool_size=4)) as database:
        done: Counter[str] = Counter()
        with ThreadPoolExecutor(int(threads)) as pool:
            each = int(times) // int(threads)
            for counted in pool.map(
                lambda number: Mixture(database, f"{seed}/{number}").run(each), range(int(threads))
            ):
                done += counted
    sys.stdout.write(json.dumps(done))


class Mixture:
    """One caller."""

    def __init__(self, database: PostgresDatabase, seed: str) -> None:
        self._chance = random.Random(seed)
        self._name = seed
        self._records = SqlRecordStore(database)
        self._runtime = SqlRuntimeStore(database)
        self._chats = SqlChatStore(database)
        self._jobs = SqlJobStore(database)
        self._longterm = SqlLongtermStore(database)

    def run(self, times: int) -> Counter[str]:
        """Do so many things; how often each was done."""
        frequent: list[Callable[[], object]] = [
            self.put,
            self.put_many,
            self.touch,
            self.feedback,
            self.talk,
            self.work,
            self.amend,
            self.read,
        ]
        rare: list[Callable[[], object]] = [self.forget, self.merge, self.save, self.collect, self.import_rows]
        done: Counter[str] = Counter()
        for _ in range(times):
            what = self._chance.choice(frequent if self._chance.random() < 0.85 else rare)
            what()
            done[what.__name__] += 1
        return done

    @property
    def scope(self) -> str:
        return self._chance.choice(SCOPES)

    def _tags(self) -> tuple[str, ...]:
        new = (f"{self._name} {self._chance.random()}",) if self._chance.random() < 0.1 else ()
        return (*self._chance.sample(TAGS, 3), *new)

    def _some(self, scope: str, number: int = 6) -> list[str]:
        """Ids of new entries that the scope can see: those that others are busy with as well."""
        found = self._records.page(Filters(scopes=visible_scopes(scope)), limit=30, offset=0)
        return [one.id for one in self._chance.sample(found, min(number, len(found)))]

    def put(self) -> None:
        key = f"key {self._chance.randrange(8)}"
        self._records.put([draft(key, "x", scope=self.scope, tags=self._tags())], actor=ACTOR)

    def put_many(self) -> None:
        drafts = [draft(f"key {n}", "y", scope=self.scope, tags=self._tags()) for n in self._chance.sample(range(8), 4)]
        self._records.put(drafts, actor=ACTOR)

    def touch(self) -> None:
        self._records.touch(self._some(self.scope), clock.utc_now())

    def feedback(self) -> None:
        scope = self.scope
        new = entry(None, "judgment", scope=scope, tags=self._tags())
        order = FeedbackOrder(
            scope=scope,
            visible=visible_scopes(scope),
            useful=tuple(self._some(scope, 2)),
            recalled=tuple(self._some(scope, 4)),
            new=(new,),
            request_id=new_id(),
        )
        self._runtime.give_feedback(order, actor=ACTOR, now=clock.utc_now())

    def merge(self) -> None:
        scope = self.scope
        group = MergeGroup(tuple(self._some(scope, 3)))
        order = FeedbackOrder(scope=scope, visible=visible_scopes(scope), merges=(group,))
        self._runtime.give_feedback(order, actor=ACTOR, now=clock.utc_now())

    def talk(self) -> None:
        said = [Message("user", "hello"), Message("assistant", "good day")]
        self._chats.append(self.scope, f"session {self._chance.randrange(2)}", said, actor=ACTOR, recallable=True)

    def save(self) -> None:
        scope, session = self.scope, f"session {self._chance.randrange(2)}"
        kept = self._records.load_history(scope, session)[-4:]
        self._records.save_history(scope, session, kept, actor=ACTOR)

    def work(self) -> None:
        self._jobs.add(JobDraft("learn", self.scope, {}, dedupe_key="once"))
        now = clock.utc_now()
        job = self._jobs.claim(self._name, now=now, lease_until=now + timedelta(minutes=1))
        if job is not None:
            self._longterm.commit(job.scope, [], [], actor=ACTOR, finished=job)

    def amend(self) -> None:
        scope = self.scope
        values = {"pinned": self._chance.random() < 0.5}
        self._longterm.amend(scope, [Amendment(each, values) for each in self._some(scope, 3)], actor=ACTOR)

    def forget(self) -> None:
        key = f"key {self._chance.randrange(8)}"
        self._records.forget(self.scope, key, actor=ACTOR, erase=self._chance.random() < 0.5)

    def collect(self) -> None:
        self._records.collect_tags()

    def import_rows(self) -> None:
        one = replace(entry(None, "from elsewhere", scope=self.scope), tags=self._tags())
        self._records.import_rows([{"kind": "entry", **one.to_dict()}], actor=ACTOR)

    def read(self) -> None:
        scope = self.scope
        filters = Filters(scopes=visible_scopes(scope))
        self._records.tagged([1, 2, 3], filters, limit=5)
        self._records.page(filters, limit=5, offset=0)
        self._records.changes_after(0, limit=10)


if __name__ == "__main__":
    work: dict[str, Callable[..., None]] = {"increment": increment, "mixed": mixed}
    work[sys.argv[1]](*sys.argv[2:])
