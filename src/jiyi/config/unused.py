"""Environment variables of models and of Milvus that are set, and that the settings in force do not use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jiyi.config import Settings

_USES: Final = {
    "DEEPSEEK_API_KEY": ("llm", "deepseek"),
    "DEEPSEEK_API_BASE": ("llm", "deepseek"),
    "QWEN_API_KEY": ("embedder", "qwen"),
    "QWEN_API_BASE": ("embedder", "qwen"),
    "MILVUS_HOST": ("vectors", "milvus"),
    "MILVUS_PORT": ("vectors", "milvus"),
    "MILVUS_URI": ("vectors", "milvus"),
    "MILVUS_TOKEN": ("vectors", "milvus"),
    "MILVUS_MEMORY_COLLECTION": ("vectors", "milvus"),
}
"""Each variable with the setting that makes use of it, and the value that it needs."""


def unused_variables(settings: Settings, environment: Mapping[str, str] | None = None) -> list[str]:
    """A message for each variable that is set and not used; it names the setting that would use it, never a value."""
    env = os.environ if environment is None else environment
    return [
        f"{variable} is set and not used: {name} is {getattr(settings, name)}; it is used with {name}: {value} "
        f"(JIYI_{name.upper()}={value})"
        for variable, (name, value) in _USES.items()
        if env.get(variable) and getattr(settings, name) != value
    ]
