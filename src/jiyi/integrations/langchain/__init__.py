"""jiyi for LangChain: a chat message history that is kept, and a retriever.

    from jiyi.integrations.langchain import JiyiChatMessageHistory, JiyiRetriever

    history = JiyiChatMessageHistory("monday", memory, scope="alice")
    retriever = JiyiRetriever(memory=memory, scope="alice", limit=5)

Install it with `pip install 'jiyi[langchain]'`.
"""

from __future__ import annotations

from jiyi.integrations.opened import missing_framework

try:
    from jiyi.integrations.langchain.history import JiyiChatMessageHistory
    from jiyi.integrations.langchain.retriever import JiyiRetriever
except ModuleNotFoundError as error:
    raise missing_framework(error, "langchain_core", "LangChain", "langchain") from error

__all__ = ["JiyiChatMessageHistory", "JiyiRetriever"]
