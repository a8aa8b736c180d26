"""Copies of objects that stand on an open memory."""

from __future__ import annotations

from typing import Self


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
