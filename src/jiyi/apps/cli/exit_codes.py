"""Exit codes: the one table that `--help` shows and scripts rely on."""

from __future__ import annotations

from enum import IntEnum

from jiyi.errors import (
    ConfigError,
    ImportFormatError,
    IndexingError,
    InvalidInputError,
    JiyiError,
    MissingDependencyError,
    ModelError,
    RuntimeUnavailableError,
    SimpleModeError,
)


class Code(IntEnum):
    """How a command ended."""

    OK = 0
    NOTHING = 1
    BAD_INPUT = 2
    STORAGE = 3
    INDEX = 4
    MODEL = 5
    INTERRUPTED = 130
    READER_GONE = 141


MEANINGS = {
    Code.OK: "done",
    Code.NOTHING: "nothing found (recall, forget, history); a step of demo failed",
    Code.BAD_INPUT: "wrong usage, input, file or settings; nothing was changed",
    Code.STORAGE: "the record store or a note failed, is locked, damaged, or too new",
    Code.INDEX: "an index failed or differs; the records are safe: jiyi repair",
    Code.MODEL: "a model failed or refused; what was said is safe",
    Code.INTERRUPTED: "interrupted with Ctrl-C",
    Code.READER_GONE: "the program that read the output went away",
}


_OF_THE_CALLER = (
    InvalidInputError,
    ConfigError,
    ImportFormatError,
    MissingDependencyError,
    RuntimeUnavailableError,
    SimpleModeError,
)


def code_of(error: JiyiError | OSError) -> Code:
    """The exit code that tells a script what kind of error this is."""
    if isinstance(error, _OF_THE_CALLER):
        return Code.BAD_INPUT
    if isinstance(error, IndexingError):
        return Code.INDEX
    if isinstance(error, ModelError):
        return Code.MODEL
    return Code.STORAGE


def table() -> str:
    """The exit codes for the end of `--help`."""
    lines = [f"{int(code):>3}  {meaning}" for code, meaning in MEANINGS.items()]
    return "\n".join(["Exit codes:", *lines])
