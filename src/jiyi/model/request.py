"""Requests that take effect once, however often they are sent: the caller names one, and the store remembers it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from jiyi.model.identity import new_id


@dataclass(frozen=True, slots=True)
class OnceRequest:
    """A request under an id of its caller. What it makes is committed together with that id."""

    scope: str
    id: str
    fingerprint: str
    """Of what is asked for: the same id for something else is a mistake of the caller."""
    attempt: str = field(default_factory=new_id)
    """Tells the transactions of one attempt from those of an earlier one."""


class RepeatedRequestError(Exception):
    """The request was done before, and this attempt has changed nothing. For whoever has named the request."""

    def __init__(self, ids: Sequence[str], *, same: bool) -> None:
        super().__init__("the request was done before")
        self.ids = tuple(ids)
        """What the first attempt has made, in order."""
        self.same = same
        """Whether the same was asked for."""


_CURRENT: Final[ContextVar[OnceRequest | None]] = ContextVar("jiyi_once_request", default=None)


def current_request() -> OnceRequest | None:
    """The request that the caller is in."""
    return _CURRENT.get()


@contextmanager
def in_request(request: OnceRequest) -> Iterator[None]:
    """What is created inside the block belongs to this request; raises `RepeatedRequestError` if it was done before."""
    token = _CURRENT.set(request)
    try:
        yield
    finally:
        _CURRENT.reset(token)
