"""The regular maintenance, for cron: due jobs, forgetting, unused tags, and the dead-letter list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from jiyi.longterm.dependencies import LongtermDeps
from jiyi.longterm.forgetting import Forgetter
from jiyi.model.entry import REFLECTION_TYPE
from jiyi.model.forgetting_curve import DEFAULT_THRESHOLD, EbbinghausForgetting

KEEP_DONE_JOBS = timedelta(days=7)
_MAX_DEAD = 100


def maintain(deps: LongtermDeps, scopes: Sequence[str] | None, *, dry_run: bool) -> dict[str, Any]:
    """Do it for these scopes, or for all; a report of what was done.

    What concerns the whole store (unused tags, old jobs) is done with all scopes only: its counts tell of all.
    """
    ran = 0 if dry_run else deps.runner.run_due(scopes=scopes)
    forgetter = Forgetter(deps)
    curve = EbbinghausForgetting()
    forgotten: dict[str, int] = {}
    for scope in deps.store.scopes() if scopes is None else scopes:
        if dry_run:
            count = forgetter.plan(scope, curve, DEFAULT_THRESHOLD, (REFLECTION_TYPE,)).count
        else:
            count = forgetter.cleanup(scope, curve, DEFAULT_THRESHOLD, (REFLECTION_TYPE,))
        if count:
            forgotten[scope] = count
    whole_store = scopes is None and not dry_run
    dead = deps.jobs.list(states=("dead",), scopes=scopes, limit=_MAX_DEAD)
    return {
        "dry_run": dry_run,
        "jobs_run": ran,
        "forgotten": forgotten,
        "tags_removed": deps.records.collect_tags() if whole_store else 0,
        "jobs_purged": deps.jobs.purge(before=deps.now() - KEEP_DONE_JOBS) if whole_store else 0,
        "jobs": deps.jobs.counts(scopes),
        "dead_jobs": [job.to_dict() for job in dead],
    }
