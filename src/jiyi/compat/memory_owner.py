"""Copying and closing objects that use an open memory."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from jiyi.sync import AgentMemory


class SharesMemory:
    """A copy works on the same open memory, which stays the original's to close (`_owned`).

    Pickling reaches the memory, which says what to do instead.
    """

    def __copy__(self) -> Self:
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        if "_owned" in vars(copied):
            vars(copied)["_owned"] = False
        return copied

    def __deepcopy__(self, memo: object) -> Self:
        return self.__copy__()


class ClosesOwnMemory:
    """A context manager that closes the memory at the end if it has opened it itself (`_owned`)."""

    _memory: AgentMemory
    _owned: bool

    def close(self) -> None:
        """Close the memory if it was opened here."""
        if self._owned:
            self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
