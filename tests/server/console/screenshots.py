"""Take the pictures of the console for the documents (`make screenshots`).

They are small: one window, no animation, few colours. docs/images/console-<page>-<language>.png is replaced.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from tests.server.console.demo_store import more_memories
from tests.server.console.live import Form, Live

ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = ROOT / "docs" / "images"
SIZE: Final = (1240, 720)
MAX_BYTES: Final = 150_000
QUESTION: Final = {"en": "What is she allergic to?", "zh": "她对什么过敏？"}
PAGES: Final = {
    "overview": "/console",
    "search": "/console/search?q={question}",
    "map": "/console/map",
}


async def take(live: Live, language: str) -> list[Path]:
    """One picture of each page."""
    await live.memory.store_many(more_memories(language))
    for job in await live.memory.jobs():
        await live.memory.retry_job(job.id)
    window = await live.window(Form(language, SIZE))
    taken = []
    for name, path in PAGES.items():
        await window.open(path.format(question=QUESTION[language], entry=live.demo.entry))
        if name == "map":
            await window.page.wait_for_selector("[data-map][data-drawn]")
        await window.page.wait_for_load_state("networkidle")
        place = FOLDER / f"console-{name}-{language}.png"
        await window.page.screenshot(path=place)
        if place.stat().st_size > MAX_BYTES:
            raise SystemExit(f"{place.name} has {place.stat().st_size:,} bytes; at most {MAX_BYTES:,} are kept")
        taken.append(place)
    return taken


def main() -> None:
    """All pages in both languages."""
    from jiyi.apps.server.console import cached_values

    cached_values.MAX_WAIT = 60.0  # type: ignore[misc]
    for language in ("en", "zh"):
        with tempfile.TemporaryDirectory() as folder, Live(Path(folder), language, time_zone="Asia/Shanghai") as live:
            for place in live.run(take(live, language)):
                print(f"{place.relative_to(ROOT)}  {place.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
