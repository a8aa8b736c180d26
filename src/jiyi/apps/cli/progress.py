"""Progress of long work: a bar on standard error, and the check for Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jiyi.apps.cli import interrupts
from jiyi.apps.cli.output import Output

if TYPE_CHECKING:
    from jiyi.ports import Progress


@contextmanager
def progress(output: Output, title: str, *, total: int | None = None) -> Iterator[Progress]:
    """A callback (done, total) for long work. `total` is used where the work does not know it."""
    with interrupts.stoppable():
        if output.json or not sys.stderr.isatty():
            yield _quiet
        else:
            with _bar(title, total) as advance:
                yield advance


def _quiet(_done: int, _total: int | None) -> None:
    interrupts.check()


@contextmanager
def _bar(title: str, total: int | None) -> Iterator[Progress]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    from jiyi.apps.cli.render_terminal import make_console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=make_console(sys.stderr), transient=True) as bars:
        task = bars.add_task(title, total=total)
        last = 0

        def advance(done: int, known_total: int | None) -> None:
            nonlocal task, last
            interrupts.check()
            if done < last:
                # The work has begun with its next index.
                bars.stop_task(task)
                task = bars.add_task(title, total=total)
            last = done
            bars.update(task, completed=done, total=known_total or total)

        yield advance
