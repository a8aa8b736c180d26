"""Access: in which scope a caller acts, and what it may do there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jiyi.apps.server.problems import ProblemError
from jiyi.errors import InvalidInputError

MCP: Final = "/mcp"
"""The path of MCP over HTTP."""
READ: Final = "read"
WRITE: Final = "write"
ERASE: Final = "erase"
ADMIN: Final = "admin"
METRICS: Final = "metrics"
RIGHTS: Final = (READ, WRITE, ERASE, ADMIN, METRICS)
"""Each is granted by itself, except that whoever may write, erase or administer may read, and that whoever may
administer may see the metrics. With `metrics` alone nothing of any scope can be read."""


@dataclass(frozen=True, slots=True)
class Access:
    """The scope of a caller, its rights, and the key that it was given by. A scope is never an argument of a call."""

    scope: str
    rights: frozenset[str] = frozenset({READ, WRITE})
    kind: str = "main"
    """`group` where several people read the answers: private notes and memories stay out."""
    key_id: str = ""
    """The key that was shown; empty on loopback without keys and over stdio."""

    def may(self, right: str) -> bool:
        """Whether this right was granted."""
        if right == READ:
            return bool(self.rights - {METRICS})
        return right in self.rights or (right == METRICS and ADMIN in self.rights)

    def may_see_notes(self, owner: str) -> bool:
        """Whether the notes are open to this caller: to the scope that they belong to, and in part to groups."""
        return self.kind == "group" or self.scope == owner


def require(access: Access, right: str, *, read_only: bool) -> Access:
    """The access, if it has this right and the server grants it."""
    if not access.may(right):
        raise ProblemError(403, "right_missing", f"the key {access.key_id} does not have the right {right!r}")
    if right != READ and read_only:
        raise ProblemError(403, "read_only", "this server only reads")
    return access


def check_rights(rights: str | list[str] | tuple[str, ...] | frozenset[str]) -> frozenset[str]:
    """Known rights, at least one; given as a list or as words with commas between them."""
    words = [word.strip() for word in rights.split(",")] if isinstance(rights, str) else list(rights)
    unknown = [word for word in words if word not in RIGHTS]
    if unknown or not words:
        raise InvalidInputError(f"rights {', '.join(map(str, words))[:80]!a} must be some of {', '.join(RIGHTS)}")
    return frozenset(words)
