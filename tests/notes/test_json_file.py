"""JSON files of the data directory are written whole or not at all."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from jiyi.notes.json_file import write_json


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    place = tmp_path / "kept/one.json"
    for data in ({"a": [1, "意大利"]}, {"b": None}):
        write_json(place, data)
        assert json.loads(place.read_text("utf-8")) == data
        assert list(place.parent.iterdir()) == [place]


@pytest.mark.skipif(sys.platform == "win32", reason="no modes of files")
def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    place = tmp_path / "kept/one.json"
    write_json(place, {})
    place.chmod(0o644)
    write_json(place, {"a": 1})
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700


def test_what_is_written_is_on_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "one.json"
    steps: list[object] = []
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        steps.append(os.fstat(descriptor).st_size)
        sync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        steps.append(target.name)
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    write_json(place, {"a": 1})
    assert steps == [place.stat().st_size, "one.json"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    place = tmp_path / "one.json"
    write_json(place, {"a": 1})
    monkeypatch.setattr(*((os, "fsync", full) if step == "fsync" else (Path, "replace", full)))
    with pytest.raises(OSError, match="No space left"):
        write_json(place, {"a": 2})
    assert json.loads(place.read_text("utf-8")) == {"a": 1}
    assert list(tmp_path.iterdir()) == [place]


def test_what_is_no_json_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "one.json"
    write_json(place, {"a": 1})
    with pytest.raises(TypeError):
        write_json(place, {"a": object()})
    assert list(tmp_path.iterdir()) == [place]
    assert json.loads(place.read_text("utf-8")) == {"a": 1}
