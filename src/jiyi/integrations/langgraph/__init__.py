"""jiyi for LangGraph: a store whose items are durable, and found by words and by meaning in Chinese and English.

    from jiyi.integrations.langgraph import JiyiStore

    with JiyiStore("./data") as store:
        graph = builder.compile(store=store)

Install it with `pip install 'jiyi[langgraph]'`. Differences from LangGraph's own stores: docs/guides/frameworks.md.
"""

from __future__ import annotations

from jiyi.integrations.opened import missing_framework

try:
    from jiyi.integrations.langgraph.store import JiyiStore
except ModuleNotFoundError as error:
    raise missing_framework(error, "langgraph", "LangGraph", "langgraph") from error

__all__ = ["JiyiStore"]
