"""Context managers: undoing what was begun when a block fails, and a block that takes hardly any time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@contextmanager
def on_error(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` when the block is left by any error, an interruption included; the error is raised again."""
    try:
        yield
    except BaseException:
        undo()
        raise


class Block(AbstractContextManager[T_co, None], Generic[T_co]):
    """A block that begins with one function and ends with another, which gets the error that leaves it, or `None`.

    `contextmanager` does the same with a generator; three of these take as long as a small statement of SQL. The error
    is raised again, unless `end` raises another.
    """

    __slots__ = ("_begin", "_end")

    def __init__(self, begin: Callable[[], T_co], end: Callable[[BaseException | None], None]) -> None:
        self._begin = begin
        self._end = end

    def __enter__(self) -> T_co:
        return self._begin()

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._end(error)
