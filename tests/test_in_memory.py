"""A memory in `:memory:` keeps nothing on disk; other paths mean what they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jiyi.config import load_settings
from jiyi.errors import ConfigError, InvalidInputError
from jiyi.sync import AgentMemory, migrate_store
from tests.support import QUICK


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files and the current directory, both empty."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.chdir(folder)
    return folder


def test_nothing_remains_of_a_memory_in_memory_after_close(scratch: Path) -> None:
    with AgentMemory.open(":memory:", **QUICK) as memory:
        memory.store("pet", "the cat is called Mochi")
        assert [hit.key for hit in memory.recall("what is the cat called")] == ["pet"]
        assert not (scratch / ":memory:").exists()
    assert list(scratch.iterdir()) == []


def test_two_memories_in_memory_share_nothing(scratch: Path) -> None:
    with AgentMemory.open(":memory:", **QUICK) as one, AgentMemory.open(":memory:", **QUICK) as other:
        one.store("pet", "Mochi")
        assert other.get("pet") is None
        assert len(list(scratch.iterdir())) == 2


def test_nothing_remains_when_the_process_ends_without_close(scratch: Path) -> None:
    code = "from jiyi.sync import AgentMemory; AgentMemory.open(':memory:', embedder='none').store('pet', 'Mochi')"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"TMPDIR": str(scratch)}, cwd=scratch)
    assert list(scratch.iterdir()) == []


def test_nothing_remains_when_the_opening_fails(scratch: Path) -> None:
    with pytest.raises(ConfigError):
        AgentMemory.open(":memory:", **QUICK, user_dictionary="no-such-file").recall("cat")
    assert list(scratch.iterdir()) == []


def test_a_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings("~/data", environment={}).path == tmp_path / "data"


@pytest.mark.parametrize("path", [":memory", "memory:", ":MEMORY:", "file::memory:?cache=shared"])
def test_what_looks_like_memory_and_is_not_is_refused_with_the_right_name(path: str) -> None:
    with pytest.raises(ConfigError, match="is written :memory:"):
        load_settings(path, environment={})


def test_a_directory_called_memory_is_a_directory() -> None:
    assert load_settings("memory", environment={}).path == Path("memory")


@pytest.mark.parametrize("path", ["", "sqlite:///data.db", "~no-such-user-here/data"])
def test_a_path_that_cannot_be_used_is_refused_with_those_that_can(path: str) -> None:
    with pytest.raises(ConfigError, match=r"\./data \(in the current directory\), ~/data .* or :memory:"):
        load_settings(path, environment={})


def test_a_memory_in_memory_is_no_end_of_a_migration(tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path / "data", **QUICK) as memory:
        memory.store("pet", "Mochi")
    with pytest.raises(InvalidInputError, match="keeps nothing"):
        migrate_store(tmp_path / "data", ":memory:")
