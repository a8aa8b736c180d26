"""Background jobs of the scope: what waits, what runs, what failed and why, and trying it again."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from starlette.responses import Response

from jiyi.apps.server.console.page import Page, form_page
from jiyi.apps.server.console.request_context import RequestContext
from jiyi.apps.server.logins import CONSOLE
from jiyi.apps.server.problems import ProblemError
from jiyi.errors import InvalidInputError
from jiyi.model.job import JOB_STATES

_SHOWN: Final = 200
_BY_DEFAULT: Final = ("dead", "running", "queued")


async def show(context: RequestContext) -> Response:
    """The newest jobs in the states that are asked for."""
    wanted = context.query("state")
    if wanted and wanted not in JOB_STATES:
        raise InvalidInputError(f"state {wanted[:40]!a} must be one of {', '.join(JOB_STATES)}")
    states = (wanted,) if wanted else _BY_DEFAULT
    found = await context.memory.jobs(scope=context.scope, states=states, limit=_SHOWN)
    jobs = [replace(job, reason=context.told(job.reason)) for job in found]
    return context.page(
        "jobs.html",
        dead=[job for job in jobs if job.state == "dead"],
        others=[job for job in jobs if job.state != "dead"],
        states=JOB_STATES,
        state=wanted,
        full=len(jobs) == _SHOWN,
        limit=_SHOWN,
    )


async def retry(context: RequestContext) -> Response:
    """Queue a dead job again."""
    if not await context.memory.retry_job(context.form("job"), scope=context.scope):
        raise ProblemError(
            409, "no_dead_job", "the scope has no such dead job; it may have been queued again meanwhile"
        )
    return context.go(f"{CONSOLE}/jobs", "job_queued")


PAGES: Final = (Page("/jobs", show), form_page("/jobs/retry", retry))
