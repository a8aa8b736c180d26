"""No control character reaches a log, whatever a log line names."""

import logging
import re
from pathlib import Path

import pytest

import jiyi
from jiyi.model.logs import LOGGERS
from tests.notes.conftest import Desk, OpenDesk, desk, open_desk, slow_machine  # noqa: F401 - fixtures


def test_every_logger_of_the_package_escapes_controls(caplog: pytest.LogCaptureFixture) -> None:
    names = {
        name
        for file in Path(jiyi.__file__).parent.rglob("*.py")
        for name in re.findall(r'getLogger\("jiyi\.([\w.]+)"', file.read_text("utf-8"))
    }
    assert names == set(LOGGERS)
    for name in names:
        logging.getLogger(f"jiyi.{name}").warning("a note %s is odd", "x\x1b[2J\r\nforged: line\u202e")
    assert caplog.messages == [r"a note x\x1b[2J\r\nforged: line\u202e is odd"] * len(names)


def test_the_name_of_a_file_does_not_write_a_log_line_of_its_own(
    desk: Desk,  # noqa: F811
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk.write("memory/a\x1b[31m\nERROR forged.md", "text\n")
    with caplog.at_level(logging.DEBUG):
        assert len(desk.notes.scan().problems) == 1
    assert "forged" in caplog.text
    assert not any(character in message for message in caplog.messages for character in "\n\x1b")
