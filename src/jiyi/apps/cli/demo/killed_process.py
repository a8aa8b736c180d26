"""The process that the demo kills: it stores a memory, acknowledges it, and waits.

python -m jiyi.apps.cli.demo.killed_process DATA KEY CONTENT
"""

from __future__ import annotations

import asyncio
import os
import sys

from jiyi.opening import create_memory


async def store_and_wait(path: str, key: str, content: str) -> None:
    """Store one memory, acknowledge it on standard output, and never close anything."""
    memory = await create_memory(path, background_indexing=False, embedder="none")
    entry = await memory.store(key, content)
    sys.stdout.write(f"{entry.id} {os.getpid()}\n")
    sys.stdout.flush()
    # Nothing is written to this pipe: the demo kills this process. If the demo ends first, the read ends.
    sys.stdin.read()


if __name__ == "__main__":
    asyncio.run(store_and_wait(*sys.argv[1:4]))
