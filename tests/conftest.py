"""What every test stands on: hypothesis profiles, and no sight of the developer's own memories and keys."""

import os
import tempfile

import pytest
from hypothesis import HealthCheck, settings

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
