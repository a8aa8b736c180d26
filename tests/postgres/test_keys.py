"""The keys of a server in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from jiyi.apps.server.keys import Keys
from jiyi.config import load_settings
from jiyi.model import clock
from jiyi.model.access_key import AccessLine
from jiyi.wiring.keys import open_key_store

pytestmark = pytest.mark.server


def test_keys_and_the_access_log_are_shared_by_all_processes_of_a_database(postgres_url: str, tmp_path: Path) -> None:
    settings = load_settings(tmp_path / "data", storage=postgres_url)
    first, second = (Keys(open_key_store(settings)) for _ in range(2))
    key, token = first.add("bot", "alice", "read,write")
    access = second.access_of(token)
    assert access is not None
    assert (access.scope, access.key_id) == ("alice", key.id)
    second.log([AccessLine(clock.utc_now(), key.id, "alice", "POST /v1/entries", "", 201)])
    assert [line.action for line in first.logged()] == ["POST /v1/entries"]
    assert second.revoke(key.id)
    assert first.access_of(token) is None
    assert [each.last_used_at is not None for each in first.all()] == [True]
    for keys in (first, second):
        keys.close()
