"""Keys: shown once, kept as hashes, bound to a scope and rights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from jiyi.apps.server.keys import Keys
from jiyi.config import load_settings
from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.wiring.keys import open_key_store
from tests.apps.command_line import CommandLine


@pytest.fixture
def keys(tmp_path: Path) -> Iterator[Keys]:
    made = Keys(open_key_store(load_settings(tmp_path / "data")))
    yield made
    made.close()


def test_a_token_gives_the_scope_and_the_rights_of_its_key(keys: Keys) -> None:
    key, token = keys.add("bot", "alice", "read,write")
    access = keys.access_of(token)
    assert access is not None
    assert (access.scope, access.rights, access.key_id) == ("alice", frozenset({"read", "write"}), key.id)
    assert access.may("read")
    assert not access.may("erase")


def test_a_secret_is_in_no_file_of_the_store(keys: Keys, tmp_path: Path) -> None:
    _, token = keys.add("bot", "alice")
    secret = token.rsplit("_", 1)[1].encode()
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert files
    assert [path.name for path in files if secret in path.read_bytes()] == []


@pytest.mark.parametrize(
    "change",
    [
        lambda token: "",
        lambda token: token[:-1] + ("A" if token[-1] != "A" else "B"),
        lambda token: token.upper(),
        lambda token: token + "x",
        lambda token: "jy_000000000000_" + token.rsplit("_", 1)[1],
        lambda token: f"Bearer {token}",
        lambda token: "\udcff" + token,
    ],
)
def test_what_is_no_key_lets_nobody_in(keys: Keys, change: object) -> None:
    _, token = keys.add("bot", "alice")
    assert callable(change)
    assert keys.access_of(change(token)) is None


def test_a_revoked_an_expired_and_a_rotated_key_let_nobody_in(tmp_path: Path) -> None:
    now = [clock.utc_now()]
    keys = Keys(open_key_store(load_settings(tmp_path / "data")), now=lambda: now[0])
    revoked, first = keys.add("a", "alice")
    _, second = keys.add("b", "alice", expires_at=now[0] + timedelta(days=1))
    rotated, third = keys.add("c", "alice")
    assert keys.revoke(revoked.id)
    assert not keys.revoke(revoked.id)
    _, fourth = keys.rotate(rotated.id)
    now[0] += timedelta(days=1)
    assert [keys.access_of(token) is not None for token in (first, second, third, fourth)] == [False] * 3 + [True]
    with pytest.raises(InvalidInputError, match="revoked"):
        keys.rotate(revoked.id)
    keys.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": " ", "scope": "alice"}, "name"),
        ({"name": "a", "scope": ""}, "scope"),
        ({"name": "a", "scope": "alice", "rights": "read,fly"}, "read, write, erase, admin"),
        ({"name": "a", "scope": "alice", "kind": "group"}, "group:alice"),
        ({"name": "a", "scope": "alice", "expires_at": clock.utc_now() - timedelta(days=1)}, "is over"),
    ],
)
def test_a_wrong_key_is_not_made(keys: Keys, arguments: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        keys.add(**arguments)  # type: ignore[arg-type]
    assert keys.all() == []


def test_keys_are_made_listed_rotated_and_revoked_on_the_command_line(jiyi: CommandLine) -> None:
    made = json.loads(jiyi("keys", "add", "laptop", "--scope", "alice", "--json").out)
    assert made["token"].startswith(f"jy_{made['key']['id']}_")
    listed = jiyi("keys", "list")
    assert made["key"]["id"] in listed.out
    assert made["token"] not in listed.out
    assert jiyi("keys", "rotate", made["key"]["id"]).code == 0
    assert jiyi("keys", "revoke", made["key"]["id"]).code == 0
    assert jiyi("keys", "revoke", made["key"]["id"]).code == 1
    assert "revoked" in jiyi("keys", "list").out
