"""Whether an object has the methods of an optional port."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

__all__ = ["provides"]

if TYPE_CHECKING:
    # To a type checker it is the same.
    from builtins import isinstance as provides
else:

    def provides(value: object, port: type) -> bool:
        """The same as `isinstance(value, port)` for a protocol of methods, without its 5 µs."""
        return _class_provides(type(value), port)


@cache
def _class_provides(kind: type, port: type) -> bool:
    return issubclass(kind, port)
