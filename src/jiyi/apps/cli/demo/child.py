"""The process that the demo kills: it stores one memory, reports it on standard output, and waits.

python -m jiyi.apps.cli.demo.child DATA KEY CONTENT
"""

from __future__ import annotations

import asyncio
import os
import sys

from jiyi.memory import create_memory


async def store_and_wait(path: str, key: str, content: str) -> None:
    """Store one memory and report its id on standard output; nothing is closed."""
    memory = await create_memory(path, background_indexing=False, embedder="none")
    entry = await memory.store(key, content)
    sys.stdout.write(f"{entry.id} {os.getpid()}\n")
    sys.stdout.flush()
    # The parent writes nothing to this pipe and kills this process. The read ends if the parent dies first.
    sys.stdin.read()


if __name__ == "__main__":
    asyncio.run(store_and_wait(*sys.argv[1:4]))
