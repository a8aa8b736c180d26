"""`jiyi demo`: a short, true story on a temporary directory."""

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
"""What to try next; the tests try them."""


@command("demo", examples=["jiyi demo"])
def demo(session: Session) -> Code:
    """Tell a short story in Chinese and English on a temporary directory; every step is checked.

    Exit code 1 when a step does not come true. Your own memories and settings are not touched.
    """
    import asyncio
    import tempfile
    import time
    from pathlib import Path

    from jiyi.apps.cli.demo import show, story

    stage = show.Stage(quiet=session.output.json)
    begun = time.monotonic()
    told: list[story.Chapter] = []
    broken: story.StoryBrokenError | None = None
    scratch = tempfile.TemporaryDirectory(prefix="jiyi-demo-", ignore_cleanup_errors=True)
    with interrupts.stoppable(), scratch as folder:
        try:
            asyncio.run(story.tell(Path(folder) / "data", told, stage))
        except story.StoryBrokenError as error:
            broken = error
    seconds = time.monotonic() - begun
    if session.output.json:
        data = {
            "came_true": broken is None,
            "seconds": round(seconds, 3),
            "chapters": [chapter.to_dict() for chapter in told],
            "next": list(NEXT_COMMANDS),
        }
        session.output.result(data, list)
    elif broken is None:
        stage.end(seconds, NEXT_COMMANDS)
    if broken is not None:
        session.output.error("StoryBrokenError", str(broken))
        return Code.NOTHING
    return Code.OK
