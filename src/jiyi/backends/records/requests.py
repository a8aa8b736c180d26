"""Requests that were done, each kept in the transaction that does it: the same request again changes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from jiyi.backends.records.schema import runtime_requests
from jiyi.backends.records.sql import Connection
from jiyi.model import clock
from jiyi.model.request import RepeatedRequestError, current_request

_DONE: Final = "SELECT fingerprint, outcome FROM runtime_requests WHERE scope = :scope AND request_id = :id"
_MORE: Final = "UPDATE runtime_requests SET outcome = :outcome WHERE scope = :scope AND request_id = :id"


def keep_request(connection: Connection, made: Sequence[str]) -> None:
    """Note what the request of the caller has made, if it has named one; refuse one that was done before."""
    request = current_request()
    if request is None:
        return
    place = {"scope": request.scope, "id": request.id}
    row = connection.row(_DONE, place)
    if row is None:
        outcome = json.dumps({"attempt": request.attempt, "ids": list(made)})
        values = {
            "scope": request.scope,
            "request_id": request.id,
            "fingerprint": request.fingerprint,
            "outcome": outcome,
            "answered_at": clock.utc_now(),
        }
        connection.execute(runtime_requests.insert, values)
        return
    fingerprint, outcome = row
    done = json.loads(outcome)
    if done.get("attempt") != request.attempt:
        raise RepeatedRequestError(done.get("ids", ()), same=fingerprint == request.fingerprint)
    # Another transaction, or another part, of the same attempt.
    done["ids"] = [*done["ids"], *made]
    connection.execute(_MORE, {**place, "outcome": json.dumps(done)})
