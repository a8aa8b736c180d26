"""Every profile passes the same suite."""

from pathlib import Path
from typing import Any

from jiyi.sync import AgentMemory
from jiyi.testing.conformance import ProfileConformance
from jiyi.testing.fakes import HashEmbedder


class TestEmbedded(ProfileConformance):
    def open(self, folder: Path, **settings: Any) -> AgentMemory:
        return AgentMemory.open(folder, **{"embedder": HashEmbedder(), **settings})
