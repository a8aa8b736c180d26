"""Administration: background jobs, maintenance, user words, indexes, diagnosis, export and import."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from jiyi.errors import IndexingError, InvalidInputError
from jiyi.memory.base import MemoryBase
from jiyi.model.filters import make_filters
from jiyi.model.limits import check_whole
from jiyi.model.scope import check_scope, visible_scopes
from jiyi.ports import ImportCounts, Progress

if TYPE_CHECKING:
    from jiyi.indexing import IndexReport
    from jiyi.model.change import MemoryChange
    from jiyi.model.entry import MemoryEntry
    from jiyi.model.job import Job
    from jiyi.model.scope_report import ScopeInfo, ScopeReceipt, ScopeStatistics
    from jiyi.notes.erasure import ErasedNotes
    from jiyi.ports.administration import ChangeSignal

_ARCHIVE_AT_ONCE = 500
_OVER_SINCE = timedelta(days=30)
"""Sessions that have been over for longer are not searched by `maintain`."""
_MAX_INTERVAL = 3_600


class Administration(MemoryBase):
    """The methods for those who operate a memory."""

    async def jobs(
        self, *, scope: str | None = None, states: str | Iterable[str] = "dead", limit: int = 100
    ) -> Sequence[Job]:
        """The background jobs of the scope in these states (`queued`, `running`, `done`, `dead`), newest first."""
        from jiyi.model.job import JOB_STATES

        wanted = (states,) if isinstance(states, str) or not isinstance(states, Iterable) else tuple(states)
        if not wanted or not all(state in JOB_STATES for state in wanted):
            raise InvalidInputError(f"states {ascii(states)[:80]} must be some of {', '.join(JOB_STATES)}")
        limit = self._limits.check_limit(limit)
        return await self._run(self._longterm_deps.jobs.list, states=wanted, scopes=(self._scope(scope),), limit=limit)

    async def retry_job(self, job_id: str, *, scope: str | None = None) -> bool:
        """Queue a dead job of the scope again; `False` when the scope has no such dead job."""
        checked = self._limits.check_id(job_id, "job_id")
        requeued = await self._write(
            self._longterm_deps.jobs.requeue, checked, (self._scope(scope),), now=self._longterm_deps.now()
        )
        self._queued()
        return requeued

    async def run_jobs(self, limit: int = 1_000) -> int:
        """Run at most `limit` background jobs of any scope that are due; returns how many were started.

        It also waits for those that the background thread of this process is doing: what was due is done when it
        returns.
        """
        return await self._run(self._longterm_deps.runner.run_due, self._limits.check_limit(limit), waits=True)

    async def maintain(self, *, scope: str | None = None, dry_run: bool = False) -> dict[str, Any]:
        """The regular maintenance, for cron: what has expired, due background jobs, forgetting, unused tags, dead jobs.

        `None` as scope means every scope, for administration only: then unused tags and old jobs are removed, and the
        indexes are compared with the records and repaired as well. A dry run changes nothing and reports how much would
        be forgotten, and which indexes differ.
        """
        from jiyi.longterm.maintenance import maintain

        scopes = None if scope is None else (check_scope(scope),)
        expired = await self._expire(scopes, dry_run=bool(dry_run))
        sessions = await self._flush_idle(scopes, dry_run=bool(dry_run))
        report = await self._run(maintain, self._longterm_deps, scopes, dry_run=bool(dry_run))
        self._written()
        consolidated = await self._make_runtime().consolidate_memories(memory_scope=scope, dry_run=bool(dry_run))
        repaired = await self._repair_indexes(dry_run=bool(dry_run)) if scope is None else []
        return {
            **report,
            "expired": expired,
            "sessions": sessions,
            "consolidated": consolidated.to_dict(),
            "indexes_mended": repaired,
        }

    async def _repair_indexes(self, *, dry_run: bool) -> list[str]:
        """Repair the indexes that differ from the records; their names. What they hold rightly is taken over.

        An index of an earlier version does not hold the vectors of summarised facts, for example.
        """
        from jiyi.indexing import repair

        wrong = [report.index for report in await self.verify() if not report.agrees]
        if wrong and not dry_run:
            indexes = [index for index in self._components.indexes if index.name in wrong]
            await self._run(repair, self._store, self._components.drainer, indexes)
        return wrong

    async def _flush_idle(self, scopes: tuple[str, ...] | None, *, dry_run: bool) -> dict[str, int]:
        """Search the sessions that are over for what is worth keeping; how many were searched, and how many not.

        What was said long ago is left: a history that was imported is not looked through by itself.
        """
        now = self._longterm_deps.now()
        idle = timedelta(minutes=self._settings.session_idle_minutes)
        found = await self._run(
            self._components.chats.unflushed_sessions, since=now - _OVER_SINCE - idle, before=now - idle, scopes=scopes
        )
        if dry_run:
            return {"flushed": len(found), "failed": 0}
        return await self._run_compaction(self._flush_sessions, found)

    async def _expire(self, scopes: tuple[str, ...] | None, *, dry_run: bool) -> int:
        """Archive the entries whose `expires_at` has passed; returns how many there were."""
        now = self._longterm_deps.now()
        if dry_run:
            return await self._run(self._store.count_expired, scopes, now)
        archived = 0
        while True:
            some = await self._write(
                self._store.archive_expired, scopes, now, actor=self._settings.actor, limit=_ARCHIVE_AT_ONCE
            )
            archived += some
            if some < _ARCHIVE_AT_ONCE:
                return archived

    async def scopes(self) -> Sequence[ScopeInfo]:
        """Every scope of the store with counts and the time of its last change, by name. For administration only."""
        return await self._run(self._components.administration.scopes)

    async def statistics(self, *, scope: str | None = None) -> ScopeStatistics:
        """How many entries the scope sees, by type, category, domain and day, counted in one pass over all of them."""
        filters = make_filters(visible_scopes(self._scope(scope)))
        return await self._run(self._components.administration.statistics, filters)

    async def changes(
        self, *, after: int = 0, scopes: str | Iterable[str] | None = None, limit: int = 100
    ) -> Sequence[MemoryChange]:
        """The changes of entries behind the position `after`, in order, from any process; at most `limit`.

        `None` as scopes means every scope: for administration only. Positions survive restarts.
        """
        check_whole(after, "after", 0, 2**63 - 1)
        wanted = self._feed_scopes(scopes)
        return await self._run(self._components.administration.changes, after, wanted, self._limits.check_limit(limit))

    async def last_position(self) -> int:
        """The position of the last change: `changes(after=…)` with it returns what comes next."""
        return (await self._run(self._store.head)).sequence

    def watch(
        self, *, after: int | None = None, scopes: str | Iterable[str] | None = None, interval: float = 0.5
    ) -> AsyncIterator[MemoryChange]:
        """Every change behind `after` as it happens, in order and once; `None` begins with what comes next.

        PostgreSQL tells when there is something new; in any case the store is asked every `interval` seconds. To go on
        later, keep the position of the last change.
        """
        wanted = self._feed_scopes(scopes)
        if not isinstance(interval, int | float) or not 0 < interval <= _MAX_INTERVAL:
            raise InvalidInputError(f"interval {interval!r} must be a number of seconds up to {_MAX_INTERVAL}")
        return self._watch(after, wanted, float(interval))

    async def _watch(
        self, after: int | None, wanted: tuple[str, ...] | None, interval: float
    ) -> AsyncIterator[MemoryChange]:
        position = await self.last_position() if after is None else after
        signal = await self._run(self._components.administration.listen)
        if signal is not None:
            self._signals.add(signal)
        try:
            while True:
                found = await self.changes(after=position, scopes=wanted, limit=min(1_000, self._limits.max_results))
                for change in found:
                    position = change.position
                    yield change
                if not found and not await self._wait_for_change(signal, interval):
                    signal = None
        finally:
            if signal is not None:
                self._stop_listening(signal)

    def _stop_listening(self, signal: ChangeSignal) -> None:
        self._signals.discard(signal)
        signal.close()

    async def _wait_for_change(self, signal: ChangeSignal | None, interval: float) -> bool:
        """Wait until there may be something new, at most `interval` seconds; `False` without a signal that works."""
        if signal is None:
            await asyncio.sleep(interval)
            return False
        loop, ready, file = asyncio.get_running_loop(), asyncio.Event(), signal.fileno()
        try:
            loop.add_reader(file, ready.set)
        except NotImplementedError:
            # The event loop of Windows cannot wait for it.
            self._stop_listening(signal)
            return False
        try:
            async with asyncio.timeout(interval):
                await ready.wait()
        except TimeoutError:
            return True
        finally:
            loop.remove_reader(file)
        if await self._run(signal.drain):
            return True
        self._stop_listening(signal)
        return False

    @staticmethod
    def _feed_scopes(scopes: str | Iterable[str] | None) -> tuple[str, ...] | None:
        if scopes is None:
            return None
        if not isinstance(scopes, Iterable):
            raise InvalidInputError(f"scopes must be a scope or several, not {type(scopes).__name__}")
        return tuple(check_scope(each) for each in ((scopes,) if isinstance(scopes, str) else scopes))

    async def entries_by_id(
        self, id_prefix: str, *, scope: str | None = None, limit: int = 10
    ) -> Sequence[MemoryEntry]:
        """The entries that the scope sees and whose id begins with `id_prefix`, oldest first."""
        text = self._limits.check_id(id_prefix, "id_prefix")
        limit = self._limits.check_limit(limit)
        visible = visible_scopes(self._scope(scope))
        return await self._run(self._components.administration.entries_by_id_prefix, text, visible, limit)

    async def forget_scope(self, scope: str, *, erase: bool = True) -> ScopeReceipt:
        """Remove a whole scope from every room, index, job, candidate, journal and history; returns a receipt.

        Nothing of it can be read afterwards: of its lines in the change log only ids and times stay, under the scope
        `erased`. Without `erase` its entries leave recall, and their history and the conversations stay readable.
        The files of notes belong to the user: the receipt names them, and they are not deleted. The engine overwrites
        the bytes of deleted rows in time; `VACUUM` and `rebuild` do it at once.
        """
        own = check_scope(scope)
        store = self._components.administration
        receipt = await self._write(store.forget_scope, own, actor=self._settings.actor, erase=bool(erase))
        # The indexes drop entries by the lines of the log, which name the scope: they read them first.
        await self.drain()
        if not erase:
            return receipt
        notes = await self._run(self._erase_notes, own, receipt.note_workspaces)
        return replace(
            receipt,
            remaining=await self._write(store.forget_name, own),
            removed={**receipt.removed, **notes.removed},
            note_workspaces=notes.workspaces,
            note_files=notes.files,
        )

    def _erase_notes(self, scope: str, workspaces: Sequence[str]) -> ErasedNotes:
        from jiyi.notes.erasure import erase_notes

        settings = self._settings
        own = settings.workspace if settings.scope == scope else None
        erased = erase_notes(settings.path, scope, workspaces, own, lock_timeout=settings.busy_timeout)
        if own is not None and self._make_notes.made:
            self._make_notes().was_erased()
        return erased

    async def add_word(self, word: str) -> bool:
        """Add a word to the segmenter of the whole store; `False` if it is known. The text index is rebuilt with it.

        For administration only: the word counts for every scope, and the answer tells what others have added.
        """
        checked = self._limits.check_user_word(word)
        added = await self._run(self._add_word, checked)
        self._written()
        return added

    def _add_word(self, word: str) -> bool:
        from jiyi.text import Analyzer

        # Raises for a word that cannot be indexed, before anything is written.
        Analyzer([word])
        added = self._store.add_user_word(word)
        self._components.vocabulary.refresh()
        return added

    async def drain(self, *, progress: Progress | None = None) -> int:
        """Bring every index up to date now; returns how many changes were indexed."""
        # Another process may have changed what all indexes are made by: user words, searched metadata.
        await self._run(self._components.vocabulary.refresh)
        drain = self._components.drainer.drain
        if progress is None:
            # The text and the vector index use different libraries: in parallel they use two processors.
            return sum(await asyncio.gather(*(self._run(drain, index) for index in self._components.indexes)))
        return sum([await self._run(drain, index, progress=progress) for index in self._components.indexes])

    async def verify(self, *, progress: Progress | None = None) -> Sequence[IndexReport]:
        """Compare the ids and hashes of records and indexes. Changes nothing."""
        from jiyi.indexing import verify

        return [
            await self._run(verify, self._store, self._components.drainer, index, progress=progress)
            for index in self._components.indexes
        ]

    async def repair(self, *, progress: Progress | None = None) -> Sequence[IndexReport]:
        """Bring the indexes up to date and rebuild those that differ from the records."""
        from jiyi.indexing import repair

        return await self._run(
            repair, self._store, self._components.drainer, self._components.indexes, progress=progress
        )

    async def rebuild(self, *, progress: Progress | None = None) -> None:
        """Build every index again from the records, beside the old one, and swap."""
        for index in self._components.indexes:
            await self._run(index.rebuild, self._store, progress=progress)

    def _reranker_usage(self) -> dict[str, Any]:
        """What the reranker was asked so far, if there is one."""
        reranker = getattr(self._components.engine, "reranker", None)
        return {} if reranker is None else {"reranker": reranker.usage.to_dict()}

    async def doctor(self) -> dict[str, Any]:
        """Versions, sizes, index lag, problems and what to do about them. For administration only.

        It tells of every scope, with the reasons of their dead jobs; `jobs` tells a scope of its own.
        """
        from jiyi.config.unused import unused_variables
        from jiyi.indexing.doctor import examine

        components = self._components
        facts = await self._run(
            examine,
            self._store,
            components.drainer,
            components.indexes,
            components.indexer,
            components.chats,
            jobs=self._longterm_deps.jobs,
            worker=components.worker,
            usage=self._longterm_deps.models.usage() | self._reranker_usage(),
        )
        facts["notes"] += unused_variables(self._settings)
        facts["note_problems"] = []
        if self._settings.enable_simple_memory:
            facts["notes"].append("simple mode (enable_simple_memory) has no indexes: recall is by tags alone")
            if self._settings.workspace is not None:
                facts["notes"].append("the workspace of notes is not read: notes are off in simple mode")
        elif self._settings.has_notes:
            problems = await self._run((await self._notes_made()).problems)
            facts["note_problems"] = [problem.to_dict() for problem in problems]
            if problems:
                facts["healthy"] = False
                first = f"{problems[0].path}: {problems[0].reason}"
                facts["advice"].append(f"{len(problems)} note(s) cannot be searched: see note_problems, e.g. {first}")
        return {**facts, "runtime": self._make_runtime().name}

    async def gauges(self) -> dict[str, dict[str, int | None]]:
        """Numbers for monitoring, quickly: changes that each index is `behind`, `jobs` by state, `bytes` by part.

        For administration only: they are those of the whole store.
        """
        return await self._run(self._gauges)

    def _gauges(self) -> dict[str, dict[str, int | None]]:
        behind: dict[str, int | None] = {}
        sizes: dict[str, int | None] = {"records": self._store.describe().get("bytes")}
        for index in self._components.indexes:
            try:
                behind[index.name] = self._components.drainer.state(index).behind
                sizes[index.name] = index.describe().get("bytes")
            except IndexingError:
                # It cannot be asked now: that it has no number says so.
                behind[index.name] = None
        return {"behind": behind, "jobs": dict(self._longterm_deps.jobs.counts()), "bytes": sizes}

    async def export_jsonl(
        self, path: str | os.PathLike[str], *, scope: str | None = None, progress: Progress | None = None
    ) -> int:
        """Write everything of the database (or one scope) to a JSON Lines file; returns how many lines.

        Files are not in it: notes, and in the data directory the folders `notes_…` (kinds of sessions, proposals).
        """
        from jiyi.transfer import export_file

        own = check_scope(scope) if scope is not None else None
        return await self._run(export_file, self._store, path, own, progress)

    async def import_jsonl(
        self,
        path: str | os.PathLike[str],
        *,
        update: bool = False,
        skip_bad_rows: bool = False,
        scope: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportCounts:
        """Import a file written by `export_jsonl`. What is there stays as it is: only what is new is added.

        With `update` the newer of two states of an entry or a conversation wins, the other stays in the history, and
        what was forgotten or erased there is forgotten or erased here. A bad row is an error that names its line, and
        nothing is imported; with `skip_bad_rows` the others are, and `refused` of the result names the bad ones.
        With `scope` a row of another scope is a bad row. A dry run changes nothing and counts the same.
        """
        from jiyi.transfer import import_file

        counts = await self._run(
            import_file,
            self._store,
            path,
            self._settings.actor,
            progress,
            update=bool(update),
            skip_bad_rows=bool(skip_bad_rows),
            limits=self._limits,
            scope=None if scope is None else self._scope(scope),
            dry_run=bool(dry_run),
        )
        if dry_run:
            return counts
        if counts.words:
            await self._run(self._components.vocabulary.refresh)
        self._written()
        return counts
