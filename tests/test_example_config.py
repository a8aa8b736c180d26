"""The example of memory.yaml in the repository names every setting with its default."""

import dataclasses
import re
from pathlib import Path

import pytest

from jiyi import load_memory_config
from jiyi.config import Settings, load_settings

EXAMPLE = Path(__file__).parents[1] / "configs/memory.yaml"


def test_the_example_changes_nothing_and_is_found_from_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLE.parents[1])
    assert load_memory_config(defaults=False) == {}


def test_every_setting_stands_in_the_example_and_its_default_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "memory.yaml"
    file.write_text(re.sub(r"(?m)^  # (?=\w+: \S+$)", "  ", EXAMPLE.read_text("utf-8")), "utf-8")
    assert set(load_memory_config(file, defaults=False)) == {field.name for field in dataclasses.fields(Settings)}
    assert load_settings(config=file, environment={}) == load_settings(environment={})
