"""Both runtimes keep one contract."""

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from jiyi import AgentMemory, create_memory
from jiyi.runtime import MemoryRuntime
from jiyi.testing.conformance import MemoryRuntimeConformance


class _OfMemory(MemoryRuntimeConformance):
    settings: ClassVar[dict[str, Any]] = {}
    memory: AgentMemory

    def make_runtime(self, folder: Path) -> MemoryRuntime:
        self.memory = asyncio.run(create_memory(folder, background_indexing=False, **self.settings))
        return self.memory.runtime

    def close_runtime(self) -> None:
        asyncio.run(self.memory.close())


class TestSimpleMemoryRuntime(_OfMemory):
    settings: ClassVar[dict[str, Any]] = {"enable_simple_memory": True}


class TestVectorMemoryRuntime(_OfMemory):
    settings: ClassVar[dict[str, Any]] = {"enable_simple_memory": False, "embedder": "none"}
