"""`jiyi migrate`, and commands on the store that it has made."""

from pathlib import Path

import pytest

from tests.apps.command_line import CommandLine
from tests.servers.fixtures import NewDatabase

pytestmark = pytest.mark.server


@pytest.fixture
def jiyi(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "data")


def test_a_memory_moves_with_one_command(jiyi: CommandLine, postgres_url: str, tmp_path: Path) -> None:
    jiyi("store", "city", "lives in Oslo")
    jiyi("store", "city", "搬到了卑尔根")
    moved = jiyi("migrate", str(jiyi.home), postgres_url)
    assert moved.code == 0
    assert "both were compared and are equal" in moved.out
    assert "the first recall there builds them" in moved.out
    assert jiyi("list", "--data", postgres_url).out == jiyi("list").out
    assert jiyi("history", "city", "--data", postgres_url).out == jiyi("history", "city").out
    for place in (str(jiyi.home), postgres_url):
        assert jiyi("export", str(tmp_path / f"{len(place)}.jsonl"), "--data", place).code == 0
    exports = [file.read_text("utf-8").partition("\n")[2] for file in tmp_path.glob("*.jsonl")]
    assert len(exports) == 2
    assert exports[0] == exports[1]


def test_what_it_did_is_told_as_json_too(jiyi: CommandLine, tmp_path: Path) -> None:
    jiyi("store", "city", "lives in Oslo")
    moved = jiyi("migrate", str(jiyi.home), str(tmp_path / "copy"), "--json").data
    assert moved["rows"]["memory_records"] == 1
    assert moved["target"] == str(tmp_path / "copy")
    assert not moved["resumed"]


def test_what_cannot_be_moved_is_told_with_its_exit_code(jiyi: CommandLine, new_postgres: NewDatabase) -> None:
    address = new_postgres()
    missing = jiyi("migrate", str(jiyi.home), address)
    assert (missing.code, missing.out) == (2, "")
    assert "there is no memory in" in missing.err
    jiyi("store", "city", "lives in Oslo")
    jiyi("migrate", str(jiyi.home), address)
    again = jiyi("migrate", str(jiyi.home), address, "--json")
    assert again.code == 2
    assert "is not empty" in again.error["message"]
    unreachable = jiyi("migrate", str(jiyi.home), "postgresql://ada:s3cr3t@127.0.0.1:1/jiyi")
    assert unreachable.code == 3
    assert "s3cr3t" not in unreachable.err
