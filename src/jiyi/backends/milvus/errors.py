"""Translates errors of Milvus into errors that say what to do."""

from __future__ import annotations

from typing import Any

from jiyi.errors import IndexingError, IndexUnavailableError

# The codes of Milvus's errors (pkg/util/merr in its source).
_COLLECTION_NOT_FOUND, _COLLECTION_NOT_LOADED, _RATE_LIMIT = 100, 101, 8
_UNAUTHENTICATED = frozenset({1400, 1401, 1402})
# Not ready, no memory, no replica, no channel, no node: while the server starts, moves data or is overloaded.
_TRANSIENT = frozenset({1, 2, 3, 4, 5, 6, 7, _RATE_LIMIT, 103, *range(400, 406), *range(500, 506), *range(901, 906)})
_MAX_REASON = 300


class MissingCollectionError(IndexingError):
    """There is no such collection (any more)."""


class NotLoadedError(IndexUnavailableError):
    """The collection is not in the server's memory."""


class NoAnswerError(IndexUnavailableError):
    """The server did not answer; it is not asked again for a while."""


def translated(error: Exception, *, address: str, action: str, reason: str) -> IndexingError:
    """The error of jiyi for an error of pymilvus; `reason` is its message without secrets."""
    import grpc
    from pymilvus.exceptions import MilvusException

    code = error.code if isinstance(error, MilvusException) else None
    status = _grpc_status(error)
    if code == _COLLECTION_NOT_FOUND or "can't find collection" in reason:
        return MissingCollectionError(f"Milvus at {address} has no such collection: {reason}")
    if code == _COLLECTION_NOT_LOADED:
        return NotLoadedError(reason)
    if code in _UNAUTHENTICATED or status == grpc.StatusCode.UNAUTHENTICATED or "auth check failure" in reason:
        return IndexingError(
            f"Milvus at {address} refuses the token; set milvus_token (MILVUS_TOKEN) to a token of it, or to "
            "user:password of a user who may make and write collections"
        )
    if code in _TRANSIENT or isinstance(status, grpc.StatusCode) or _is_connection_error(error, reason):
        kind = IndexUnavailableError if code == _RATE_LIMIT else NoAnswerError
        return kind(
            f"Milvus at {address} does not answer ({action}: {_first_line(reason)}); start it or check "
            "milvus_uri (milvus_host and milvus_port). What it has missed is taken in when it is back"
        )
    return IndexingError(f"Milvus at {address} could not {action}: {_first_line(reason)}")


def _grpc_status(error: BaseException | None) -> Any:
    """The gRPC status, which pymilvus often hides behind an error of its own."""
    import grpc

    # pymilvus also raises errors from themselves.
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, grpc.RpcError):
            code = getattr(error, "code", None)
            return code() if callable(code) else None
        seen.add(id(error))
        error = error.__cause__
    return None


def _is_connection_error(error: Exception, reason: str) -> bool:
    """Whether the connection failed; pymilvus has no error class for most of these cases."""
    named = type(error).__name__ in {"MilvusUnavailableException", "ConnectError", "FutureTimeoutError"}
    words = ("Retry timeout", "Retry run out", "Fail connecting", "UNAVAILABLE", "DEADLINE_EXCEEDED", "not ready")
    return named or any(word in reason for word in words)


def _first_line(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= _MAX_REASON else line[: _MAX_REASON - 1] + "…"
