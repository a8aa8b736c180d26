"""`jiyi demo`: shows what a memory does, on a temporary directory."""

from __future__ import annotations

from jiyi.apps.cli import interrupts
from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command
from jiyi.apps.cli.session import Session

NEXT_COMMANDS = (
    "jiyi store pet 我家的猫叫年糕",
    "jiyi recall 'What is our cat called?' --explain",
    "jiyi doctor",
)
"""What to try next; the tests run them."""


@command("demo", examples=["jiyi demo"])
def demo(session: Session) -> Code:
    """Show what a memory does, in Chinese and English, on a temporary directory; every step is checked.

    Exit code 1 when a step fails. Your own memories and settings are not touched.
    """
    import asyncio
    import tempfile
    import time
    from pathlib import Path

    from jiyi.apps.cli.demo import scenario, screen

    view = screen.Screen(quiet=session.output.json)
    begun = time.monotonic()
    passed: list[scenario.Chapter] = []
    failure: scenario.DemoFailedError | None = None
    scratch = tempfile.TemporaryDirectory(prefix="jiyi-demo-", ignore_cleanup_errors=True)
    with interrupts.stoppable(), scratch as folder:
        try:
            asyncio.run(scenario.play(Path(folder) / "data", passed, view))
        except scenario.DemoFailedError as error:
            failure = error
    seconds = time.monotonic() - begun
    if session.output.json:
        data = {
            "came_true": failure is None,
            "seconds": round(seconds, 3),
            "chapters": [chapter.to_dict() for chapter in passed],
            "next": list(NEXT_COMMANDS),
        }
        session.output.result(data, list)
    elif failure is None:
        view.end(seconds, NEXT_COMMANDS)
    if failure is not None:
        session.output.error("DemoFailedError", str(failure))
        return Code.NOTHING
    return Code.OK
