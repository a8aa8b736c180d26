"""jiyi for LlamaIndex: a summary buffer that destroys nothing, and chat stores that keep conversations.

    from jiyi.integrations.llama_index import JiyiChatStore, build_chat_memory

    memory = build_chat_memory(llm, chat_store=JiyiChatStore("./data"), chat_store_key="alice")
    engine = index.as_chat_engine(chat_mode="condense_plus_context", memory=memory, llm=llm)

Install it with `pip install 'jiyi[llamaindex]'`; conversations in Redis need `jiyi[redis]` as well.
"""

from __future__ import annotations

from jiyi.errors import MissingDependencyError

try:
    from jiyi.integrations.llama_index.block import JiyiMemoryBlock
    from jiyi.integrations.llama_index.buffer import ChatMemory, build_chat_memory, chat_memory_from_config
    from jiyi.integrations.llama_index.redis_store import RedisChatStore
    from jiyi.integrations.llama_index.stores import JiyiChatStore, chat_store_from_config
    from jiyi.integrations.llama_index.window import MemoryWindow
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "llama_index":
        raise
    raise MissingDependencyError(
        "LlamaIndex is not installed; install it with: pip install 'jiyi[llamaindex]'"
    ) from error

__all__ = [
    "ChatMemory",
    "JiyiChatStore",
    "JiyiMemoryBlock",
    "MemoryWindow",
    "RedisChatStore",
    "build_chat_memory",
    "chat_memory_from_config",
    "chat_store_from_config",
]
