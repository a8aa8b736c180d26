"""Commands that look after records and indexes, and that move whole stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from jiyi.apps.cli import views
from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command
from jiyi.apps.cli.progress import progress
from jiyi.apps.cli.renderables import text
from jiyi.apps.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jiyi.indexing import IndexReport

_STORE_HELP = "A data directory, or a postgresql:// address."


@command("migrate", examples=["jiyi migrate ~/.jiyi/data postgresql://ada@db.example.org/jiyi"])
def migrate(
    session: Session,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=_STORE_HELP, show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TARGET", help=_STORE_HELP, show_default=False)],
) -> Code:
    """Copy everything from SOURCE to an empty TARGET, without loss, and compare both row by row.

    If it breaks off, run it again: it goes on where it stopped. Until it is complete nobody can open the target.
    """
    from jiyi.sync import migrate_store

    with progress(session.output, "copying") as advance:
        report = migrate_store(source, target, config=session.options.config, progress=advance)
    session.output.result(report.to_dict(), lambda: views.migrated(report))
    return Code.OK


@command("verify", needs_memory=True, examples=["jiyi verify", "jiyi verify --json"])
def verify(session: Session) -> Code:
    """Compare every record with every index, and change nothing.

    Exit code 4 when they differ; an index that is only behind does not count, the next recall takes that in.
    """
    with progress(session.output, "comparing") as advance:
        found = session.run(lambda memory: memory.verify(progress=advance))
    return _reported(session, found, done="records and indexes agree")


@command("repair", needs_memory=True, examples=["jiyi repair"])
def repair(session: Session) -> Code:
    """Bring the indexes up to date, and rebuild those that differ from the records."""
    with progress(session.output, "repairing") as advance:
        found = session.run(lambda memory: memory.repair(progress=advance))
    return _reported(session, found, done="repaired: records and indexes agree")


@command("rebuild", needs_memory=True, examples=["jiyi rebuild"])
def rebuild(session: Session) -> Code:
    """Build every index anew from the records, beside the old one, and swap."""
    with progress(session.output, "rebuilding") as advance:
        session.run(lambda memory: memory.rebuild(progress=advance))
    session.output.result({"rebuilt": True}, lambda: [text("every index was built anew from the records", "good")])
    return Code.OK


@command("doctor", needs_memory=True, examples=["jiyi doctor", "jiyi doctor --json"])
def doctor(session: Session) -> Code:
    """Report versions, sizes, index lag, dead jobs, and what to do. Exit code 3 or 4 when something is wrong."""
    facts: dict[str, Any] = session.run(lambda memory: memory.doctor())
    session.output.result(facts, lambda: views.diagnosis(facts))
    if facts["healthy"]:
        return Code.OK
    return Code.STORAGE if facts["store_problems"] else Code.INDEX


@command(
    "maintain",
    needs_memory=True,
    examples=["jiyi maintain --dry-run", "jiyi maintain", "jiyi maintain --scope alice --json"],
)
def maintain(
    session: Session,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be forgotten, and change nothing.")
    ] = False,
) -> Code:
    """Do the regular upkeep, for cron: background work that is due, forgetting, unused tags, the dead-letter list.

    Exit code 3 when there is background work that could not be done.
    """
    report: dict[str, Any] = session.run(lambda memory: memory.maintain(scope=session.options.scope, dry_run=dry_run))
    session.output.result(report, lambda: views.upkeep(report))
    return Code.STORAGE if report["dead_jobs"] else Code.OK


@command("jobs", needs_memory=True, examples=["jiyi jobs", "jiyi jobs --state queued --state dead --json"])
def jobs(
    session: Session,
    *,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="WORD", help="queued, running, done or dead (the default); may be repeated."),
    ] = None,
    retry: Annotated[
        str | None, typer.Option("--retry", metavar="ID", help="Queue this dead job again.", show_default=False)
    ] = None,
) -> Code:
    """Show the background work of the scope that could not be done, and why; or queue it again.

    Exit code 1 when there is no such dead job to retry.
    """
    if retry is not None:
        queued = session.run_without_embedder(lambda memory: memory.retry_job(retry))
        said = text(f"queued {retry} again", "good") if queued else text(f"there is no dead job {retry}", "warn")
        session.output.result({"id": retry, "queued": queued}, lambda: [said])
        return Code.OK if queued else Code.NOTHING
    found = session.run_without_embedder(lambda memory: memory.jobs(states=tuple(state or ("dead",)), limit=1_000))
    session.output.result({"jobs": [job.to_dict() for job in found]}, lambda: views.jobs(found))
    return Code.OK


def _reported(session: Session, found: Sequence[IndexReport], *, done: str) -> Code:
    agree = all(report.agrees for report in found)
    data = {
        "agrees": agree,
        "sound": all(report.sound for report in found),
        "indexes": [report.to_dict() for report in found],
    }
    session.output.result(data, lambda: views.reports(found, done=done))
    return Code.OK if agree else Code.INDEX
