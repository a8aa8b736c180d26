"""Every error jiyi raises, in one tree.

JiyiError
├── InvalidInputError (also a ValueError)   an argument is wrong; nothing was changed
│   ├── InvalidScopeError                   a scope is empty or malformed; it is never guessed
│   ├── VersionConflictError                an entry has another version than the one that was meant
│   └── RequestReusedError                  the id of a request was used for another one before
├── ConfigError                             memory.yaml, the environment or an option is wrong
├── MissingDependencyError                  an optional package is not installed; says which to install
├── RuntimeUnavailableError                 the memory runtime that was asked for cannot start; nothing replaces it
├── SimpleModeError                         simple mode has switched off what was asked for
├── MemoryClosedError                       the memory was used after close()
├── StorageError                            the record store could not do it; `retryable` says whether to try again
│   ├── StoreBusyError                      somebody else holds a lock for too long; retrying can help
│   ├── StoreUnavailableError               the database server cannot be reached, or went away; nothing was kept
│   ├── ResourceLimitError                  no file descriptor or thread is left; retrying can help
│   ├── CommitUnknownError                  the server went away during a commit: look whether the write was kept
│   ├── StoreTooNewError                    the data was written by a newer jiyi
│   ├── StoreIncompleteError                a migration into the store was begun and not completed
│   ├── StoreDamagedError                   the database file cannot be read as a jiyi store
│   └── HistoryUnreadableError              rows of a conversation cannot be decoded
├── IndexingError                           a derived index failed; the records are safe
│   ├── IndexDamagedError                   the index's files are broken; a rebuild repairs it
│   └── IndexUnavailableError               its server or its files cannot be reached now; retrying can help
├── NotesError                              a note file or the workspace could not be read or written
│   └── NoteConflictError                   a file was changed by somebody else meanwhile; nothing was overwritten
├── ImportFormatError                       a line of an import file is not what export writes
└── ModelError                              a model could not do it; `retryable` says whether to ask again
    ├── ModelTimeoutError                   no answer in time
    ├── ModelUnavailableError               no connection, overloaded or broken; `retry_after` if it said when
    ├── ModelReplyError                     an answer that is no use: empty, cut off, not the JSON asked for, refused
    ├── ContextOverflowError                the model says that the input is too long
    └── ModelRejectedError                  key, permission or request refused: asking again cannot help

Each message says what is known (the value, the place) and what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jiyi.model.message import Message

__all__ = [
    "CommitUnknownError",
    "ConfigError",
    "ContextOverflowError",
    "HistoryUnreadableError",
    "ImportFormatError",
    "IndexDamagedError",
    "IndexUnavailableError",
    "IndexingError",
    "InvalidInputError",
    "InvalidScopeError",
    "JiyiError",
    "MemoryClosedError",
    "MissingDependencyError",
    "ModelError",
    "ModelRejectedError",
    "ModelReplyError",
    "ModelTimeoutError",
    "ModelUnavailableError",
    "NoteConflictError",
    "NotesError",
    "RequestReusedError",
    "ResourceLimitError",
    "RuntimeUnavailableError",
    "SimpleModeError",
    "StorageError",
    "StoreBusyError",
    "StoreDamagedError",
    "StoreIncompleteError",
    "StoreTooNewError",
    "StoreUnavailableError",
    "VersionConflictError",
]


class JiyiError(Exception):
    """The root of everything jiyi raises on purpose."""


class InvalidInputError(JiyiError, ValueError):
    """An argument is wrong. Nothing was changed."""


class InvalidScopeError(InvalidInputError):
    """A scope is empty or malformed. Scopes are never guessed or repaired."""


class VersionConflictError(InvalidInputError):
    """An entry was changed meanwhile: it has another version than `if_version` says. Nothing was overwritten."""


class RequestReusedError(InvalidInputError):
    """The id of a request was used before, for something else. Nothing was done: give every request its own."""


class ConfigError(JiyiError):
    """A setting is unknown or has a wrong value."""


class MissingDependencyError(JiyiError):
    """An optional package is needed and not installed."""


class RuntimeUnavailableError(JiyiError):
    """The memory runtime that the settings ask for cannot start. Another one is never taken in its place."""


class SimpleModeError(JiyiError):
    """Simple mode (`enable_simple_memory`) has no text index and no vectors, and what was asked for needs them."""

    @classmethod
    def of(cls, what: str, instead: str) -> SimpleModeError:
        """`what` as in "notes are"; `instead` is what the caller can do."""
        return cls(
            f"{what} off in simple mode (enable_simple_memory is true: records and tags only); {instead}, "
            "or set enable_simple_memory to false"
        )

    @classmethod
    def notes(cls) -> SimpleModeError:
        """The answer to a search of notes."""
        return cls.of("notes are", "use memory.runtime for what is to be found by tags")


class MemoryClosedError(JiyiError):
    """The memory was used after it had been closed."""


class StorageError(JiyiError):
    """The record store could not do what was asked. `retryable` says whether the same call may succeed later."""

    retryable: ClassVar[bool] = False


class StoreBusyError(StorageError):
    """Somebody else held a lock, or the database was busy, for too long. Nothing was changed; retrying can help."""

    retryable = True


class StoreUnavailableError(StorageError):
    """The database server cannot be reached, or went away in the middle. Nothing was kept; retrying can help."""

    retryable = True


class ResourceLimitError(StorageError):
    """The process has no file descriptor or thread left. Nothing was changed and nothing is damaged."""

    retryable = True


class CommitUnknownError(StorageError):
    """The server went away while a write was being committed, and whether it was kept could not be found out.

    Look before writing again; a write under a key can simply be repeated.
    """


class StoreTooNewError(StorageError):
    """The data directory was written by a newer version of jiyi."""


class StoreDamagedError(StorageError):
    """The database file cannot be read as a jiyi store."""


class StoreIncompleteError(StorageError):
    """A migration into this store was begun and not completed. Running it again completes it."""


class HistoryUnreadableError(StorageError):
    """Some rows of a conversation cannot be decoded; the readable ones are kept in `readable`."""

    def __init__(
        self, message: str, *, readable: Sequence[tuple[int, Message]], unreadable: Sequence[tuple[int, str]]
    ) -> None:
        super().__init__(message)
        self.readable = tuple(readable)
        """(position, message) of every row that could be decoded."""
        self.unreadable = tuple(unreadable)
        """(position, reason) of every row that could not."""


class IndexingError(JiyiError):
    """A derived index failed. The records themselves are safe. `retryable` as in `StorageError`."""

    retryable: ClassVar[bool] = False


class IndexDamagedError(IndexingError):
    """An index's files are broken. A rebuild from the records repairs it."""


class IndexUnavailableError(IndexingError):
    """The server or the files of an index cannot be reached now. Recall goes on without it; it catches up later."""

    retryable = True


class NotesError(JiyiError):
    """A note file or the workspace could not be read or written."""


class NoteConflictError(NotesError):
    """A note was changed by somebody else meanwhile. Nothing was overwritten."""


class ImportFormatError(JiyiError):
    """A line of an import file is not in the export format."""


class ModelError(JiyiError):
    """A model could not do what was asked. `retryable` says whether the same question may succeed later."""

    retryable: ClassVar[bool] = False


class ModelTimeoutError(ModelError):
    """The model did not answer in time."""

    retryable = True


class ModelUnavailableError(ModelError):
    """The model cannot be reached, is overloaded or broken (no connection, 429, 5xx)."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds that the server asked to wait, if it said so."""


ReplyFault: TypeAlias = Literal["empty", "not json", "truncated", "wrong schema", "too long", "refused"]
"""What is wrong with a reply."""


class ModelReplyError(ModelError):
    """The model answered, and the answer is no use: `reason` says why. Models vary, so asking again can help."""

    retryable = True

    def __init__(self, message: str, *, reason: ReplyFault) -> None:
        super().__init__(message)
        self.reason: ReplyFault = reason


class ContextOverflowError(ModelError):
    """The model says that the input is too long for it. Only a shorter input can help."""


class ModelRejectedError(ModelError):
    """The model refuses the key, the permission or the form of the request. Asking again cannot help."""
