"""Idempotency keys: the same creating request again, also after a crash of the server, changes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Final, TypeAlias

from fastapi import Header, Response
from pydantic import BaseModel

from jiyi.apps.server.access import Access
from jiyi.errors import RequestReusedError
from jiyi.model.request import OnceRequest, RepeatedRequestError, in_request

REPLAYED: Final = "Idempotency-Replayed"
REUSED: Final = "this Idempotency-Key was used for another request; take a new one"

IdempotencyKey: TypeAlias = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="The same key with the same request again changes nothing: safe to send twice, for 30 days",
    ),
]


def request_id_of(access: Access, key: str | None) -> str | None:
    """The id of a request in the store: keys of different callers are different."""
    return None if key is None else "rest:" + _digest(access.key_id, key)


async def once(
    access: Access,
    key: str | None,
    body: BaseModel,
    do: Callable[[], Awaitable[Response]],
    again: Callable[[Sequence[str]], Awaitable[Response]],
    *,
    about: str = "",
) -> Response:
    """Do what is asked for, once; `again` answers a repetition from the ids of what was made. `about` is the path."""
    name = request_id_of(access, key)
    if name is None:
        return await do()
    fingerprint = _digest(type(body).__name__, about, body.model_dump_json(exclude_unset=True))
    try:
        with in_request(OnceRequest(access.scope, name, fingerprint)):
            return await do()
    except RepeatedRequestError as repeated:
        if not repeated.same:
            raise RequestReusedError(REUSED) from None
        response = await again(repeated.ids)
        response.headers[REPLAYED] = "true"
        return response


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:48]
