"""Ids: unique, increasing, and not repeated by a forked process."""

from __future__ import annotations

import os
import time
import uuid

import pytest

from jiyi.model.identity import new_id, new_ids


def test_ids_are_uuids_of_version_7_in_increasing_order() -> None:
    made = [new_id(), *new_ids(300), new_id(), *new_ids(0), *new_ids(3), *new_ids(2_000)]
    assert made == sorted(set(made))
    assert {(each.version, each.variant) for each in map(uuid.UUID, made)} == {(7, uuid.RFC_4122)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_the_random_digits_of_a_forked_process_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    new_id()
    monkeypatch.setattr(time, "time_ns", lambda: 2**60)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, new_id().encode())
        os._exit(0)
    os.close(writing)
    own = new_id()
    with os.fdopen(reading) as pipe:
        theirs = pipe.read()
    os.waitpid(child, 0)
    assert own.split("-")[:3] == theirs.split("-")[:3]
    assert own != theirs
