"""What every test stands on: hypothesis profiles, no sight of the developer's own memories and keys, and memories
that are closed again.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, settings

from jiyi.ports import Embedder
from jiyi.providers.openai_compatible import OpenAICompatibleModel
from jiyi.sync import AgentMemory
from tests.support import QUICK

# Checks that several tests share say what differs, as assertions of tests do.
pytest.register_assert_rewrite("tests.agent.checks")
pytest_plugins = ["tests.servers.fixtures", "tests.servers.milvus_fixtures", "tests.servers.profiles"]

# `ci` draws the same examples every time: a red run is red again on the next machine. `thorough` searches for
# new ones (make test ARGS=--hypothesis-profile=thorough). Neither has a deadline: slow is not wrong.
settings.register_profile(
    "ci",
    derandomize=True,
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("thorough", settings.get_profile("ci"), derandomize=False, max_examples=1_000)
settings.load_profile("ci")

_SETTING_PREFIXES = ("JIYI_", "MEMORY_", "MILVUS_", "OPENAI_", "QWEN_", "DEEPSEEK_")

OpenMemory: TypeAlias = Callable[..., AgentMemory]


def pytest_configure(config: pytest.Config) -> None:
    """Give the run an empty home and no settings, so that it never touches what is not its own.

    It happens before any test module is imported, and reaches the processes that tests start.
    """
    home = tempfile.TemporaryDirectory(prefix="jiyi-test-home-", ignore_cleanup_errors=True)
    config.add_cleanup(home.cleanup)
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    for name in list(os.environ):
        if name.startswith(_SETTING_PREFIXES):
            patch.delenv(name)
    patch.setenv("HOME", home.name)
    patch.setenv("USERPROFILE", home.name)


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[OpenMemory]:
    """Opens memories that are closed when the test ends: `open_memory("folder", embedder=..., scope=...)`.

    The folder is one below `tmp_path` (the same one again when none is named). Without other words there is no
    embedder and no background thread: recall brings the indexes up to date itself.
    """
    opened: list[AgentMemory] = []

    def open_one(folder: str = "data", **settings: Any) -> AgentMemory:
        memory = AgentMemory.open(tmp_path / folder, **{**QUICK, **settings})
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> AgentMemory:
    """An empty memory without an embedder."""
    return open_memory()


@pytest.fixture(scope="session")
def bundled_embedder() -> Embedder:
    """The real embedder; it takes seconds to load, so every test of meaning shares this one."""
    from jiyi.providers.bundled import BundledEmbedder

    return BundledEmbedder()


@pytest.fixture(scope="session")
def judging_embedder() -> Embedder:
    """The embedder by whose vectors texts are judged without a model."""
    from jiyi.wiring.models import judging_embedder as shared

    return shared()


@pytest.fixture(scope="session")
def real_model() -> Iterator[OpenAICompatibleModel]:
    """A real small model behind a real server, started once."""
    from tests.real_model import NAME, running

    with running() as address:
        model = OpenAICompatibleModel(address, NAME, timeout=120)
        yield model
        model.close()
