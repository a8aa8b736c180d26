"""Servers that are not there, and secrets that nobody may see."""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from jiyi.errors import StorageError, StoreUnavailableError
from jiyi.sync import AgentMemory
from tests.apps.command_line import CommandLine
from tests.servers.fixtures import NewDatabase
from tests.servers.postgres import PostgresServer
from tests.support import QUICK

ROOT = Path(__file__).parents[2]


def test_a_server_that_cannot_be_reached_is_an_error_and_nothing_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JIYI_HOME", str(tmp_path / "data"))
    with pytest.raises(StoreUnavailableError, match="try again") as caught:
        AgentMemory.open("postgresql://ada:s3cr3t@127.0.0.1:1/jiyi", **QUICK)
    assert "s3cr3t" not in str(caught.value)
    assert not (tmp_path / "data").exists()


@pytest.mark.server
def test_no_password_is_in_logs_errors_or_the_doctor(
    postgres_server: PostgresServer, new_postgres: NewDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = new_postgres().rpartition("/")[2]
    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        connection.execute("CREATE ROLE ada SUPERUSER LOGIN PASSWORD 's3cr3t'")
    try:
        # The server of the tests trusts everybody, so any password is right; another database is not there.
        address = f"postgresql://ada:s3cr3t@127.0.0.1:{postgres_server.port}/{database}"
        with caplog.at_level(logging.DEBUG), AgentMemory.open(address, **QUICK) as memory:
            memory.store("k", "v")
            memory.recall("v")
            shown = [repr(memory), repr(memory.settings), json.dumps(memory.doctor(), default=str)]
        with pytest.raises(StorageError) as caught:
            AgentMemory.open(f"{address}_missing", **QUICK)
        line = CommandLine(tmp_path / "data")
        shown += [str(caught.value), caplog.text, line("doctor", "--data", address).out]
        shown.append(line("count", "--data", f"{address}_missing").err)
        assert not any("s3cr3t" in text for text in shown)
        assert "postgresql" in shown[0]
    finally:
        with psycopg.connect(postgres_server.url(database), autocommit=True) as connection:
            connection.execute("DROP OWNED BY ada CASCADE")
            connection.execute("DROP ROLE ada")


@pytest.mark.server
def test_the_doctor_speaks_of_the_engines_in_use(new_postgres: NewDatabase, tmp_path: Path) -> None:
    with AgentMemory.open(tmp_path / "data", **QUICK, storage=new_postgres()) as memory:
        memory.store("k", "v")
        memory.recall("v")
        facts = memory.doctor()
    assert facts["store"]["engine"] == "postgresql"
    assert facts["store"]["bypasses_row_security"] is True
    assert [index["engine"] for index in facts["indexes"]] == ["postgresql"]
    assert facts["packages"]["psycopg"] != "not installed"
    assert "pymilvus" not in facts["packages"]
    assert not any("memory.db" in note for note in facts["notes"])
    assert any("bypasses row-level security" in note for note in facts["notes"])
    assert not (tmp_path / "data").exists()


@pytest.mark.server
def test_servers_for_developers_start_print_their_settings_and_stop() -> None:
    command = [sys.executable, "-m", "tests.servers", "redis"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ) as running:
        assert running.stdout is not None
        lines = []
        for line in running.stdout:
            lines.append(line.strip())
            if "Ctrl-C" in line:
                break
        running.send_signal(signal.SIGINT)
        assert running.wait() == 0
    (setting,) = [line for line in lines if line.startswith("export ")]
    assert json.loads(setting.partition("=")[2].strip("'"))["backend"] == "redis"
