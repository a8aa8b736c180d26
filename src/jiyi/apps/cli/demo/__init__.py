"""`jiyi demo`: shows what a memory does, on a temporary directory; every step is checked."""

from __future__ import annotations

import sys

from jiyi.apps.cli import interrupts
from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command
from jiyi.apps.cli.session import Session

NEXT_ARGUMENTS = (
    "store pet 我家的猫叫年糕",
    "recall 'What is our cat called?' --explain",
    "doctor",
)
"""What to try after the demo, without the name of the program."""


def next_commands() -> list[str]:
    """The commands to try after the demo, as they can be typed in the current directory."""
    program = program_as_typed(sys.argv[0])
    return [f"{program} {arguments}" for arguments in NEXT_ARGUMENTS]


def program_as_typed(started_as: str) -> str:
    """How a shell starts this program from the current directory, given how it was started now.

    `jiyi` alone where PATH leads to the same file; a path where it does not, as after `make demo`.
    """
    import shlex
    import shutil
    from pathlib import Path

    script = Path(started_as)
    if script.stem != "jiyi" or not script.is_file():
        return f"{shlex.quote(sys.executable)} -m jiyi"
    on_path = shutil.which("jiyi")
    if on_path is not None and script.samefile(on_path):
        return "jiyi"
    absolute, here = Path.cwd() / script, Path.cwd()
    if not absolute.is_relative_to(here):
        return shlex.quote(str(absolute))
    inside = absolute.relative_to(here)
    return shlex.quote(str(inside) if inside.parent.name else f"./{inside}")


@command("demo", examples=["jiyi demo"])
def demo(session: Session) -> Code:
    """Show what a memory does, in Chinese and English, on a temporary directory; every step is checked.

    Exit code 1 when a check fails. Your own memories and settings are not touched.
    """
    import asyncio
    import tempfile
    import time
    from pathlib import Path

    from jiyi.apps.cli.demo import scenario, screen

    view = screen.Screen(quiet=session.output.json)
    begun = time.monotonic()
    passed: list[scenario.DemoStep] = []
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
            "chapters": [step.to_dict() for step in passed],
            "next": next_commands(),
        }
        session.output.result(data, list)
    elif failure is None:
        view.end(seconds, next_commands())
    if failure is not None:
        session.output.error("DemoFailedError", str(failure))
        return Code.NOTHING
    return Code.OK
