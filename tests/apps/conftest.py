"""The command line that the tests of the apps type at."""

from pathlib import Path

import pytest

from tests.apps.command_line import CommandLine


@pytest.fixture
def jiyi(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "data")
