"""Variables of the long-term design that are set and not used are named; a key that stands twice is refused."""

import logging
from pathlib import Path

import pytest

from jiyi import load_memory_config
from jiyi.config import load_settings
from jiyi.config.unused import unused_variables
from jiyi.errors import ConfigError
from jiyi.sync import AgentMemory
from tests.support import QUICK


def test_an_unused_variable_is_named_with_the_setting_that_would_use_it() -> None:
    environment = {"DEEPSEEK_API_KEY": "secret", "MILVUS_HOST": "db"}
    told = unused_variables(load_settings(":memory:", environment={}), environment)
    assert [message.split()[0] for message in told] == ["DEEPSEEK_API_KEY", "MILVUS_HOST"]
    assert "JIYI_LLM=deepseek" in told[0]
    assert "secret" not in str(told)


def test_a_variable_that_is_used_is_not_named() -> None:
    environment = {"DEEPSEEK_API_KEY": "secret"}
    settings = load_settings(":memory:", environment=environment, llm="deepseek")
    assert unused_variables(settings, environment) == []


def test_opening_logs_it_once_and_doctor_says_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("QWEN_API_KEY", "secret")
    monkeypatch.setattr("jiyi.wiring.assembly._logged", set())
    with caplog.at_level(logging.INFO, "jiyi.config"):
        for _ in range(2):
            with AgentMemory.open(":memory:", **QUICK) as memory:
                assert any("QWEN_API_KEY" in note for note in memory.doctor()["notes"])
    assert [record.message.split()[0] for record in caplog.records if record.name == "jiyi.config"] == ["QWEN_API_KEY"]


def test_a_key_that_stands_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    file = tmp_path / "memory.yaml"
    file.write_text("memory:\n  scope: ada\n  actor: ada\n  scope: bob\n", "utf-8")
    with pytest.raises(ConfigError, match=r"line 4: memory\.scope was set in line 2 already"):
        load_memory_config(file)
