"""Undoing what was begun when a block fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_error(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` when the block is left by any error, an interruption included; the error is raised again."""
    try:
        yield
    except BaseException:
        undo()
        raise
