"""jiyi for AG2: a knowledge store whose files are durable, versioned, and recalled like every other memory.

    from jiyi.integrations.ag2 import JiyiKnowledgeStore

    store = JiyiKnowledgeStore(memory, scope="alice")
    agent = Agent("assistant", knowledge=KnowledgeConfig(store=store), ...)

Install it with `pip install 'jiyi[ag2]'`.
"""

from __future__ import annotations

from jiyi.integrations.opened import missing_framework

try:
    from jiyi.integrations.ag2.knowledge import JiyiKnowledgeStore
except ModuleNotFoundError as error:
    raise missing_framework(error, "ag2", "AG2", "ag2") from error

__all__ = ["JiyiKnowledgeStore"]
