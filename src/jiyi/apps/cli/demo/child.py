"""The process that the demo kills: it stores, says so, and waits for its end.

python -m jiyi.apps.cli.demo.child DATA KEY CONTENT
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
    # Nobody writes to this pipe: the end comes from outside. Should the parent die first, the read ends.
    sys.stdin.read()


if __name__ == "__main__":
    asyncio.run(store_and_wait(*sys.argv[1:4]))
