"""Who asks, and for which memory."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request

from jiyi.memory import AgentMemory
from jiyi.server.access import ADMIN, ERASE, READ, WRITE, Access
from jiyi.server.gate import ACCESS
from jiyi.server.problems import ProblemError


def _memory(request: Request) -> AgentMemory:
    memory: AgentMemory = request.app.state.memory
    return memory


def needs(right: str) -> Any:
    """A dependency: the access of the request, if it has this right."""

    def check(request: Request) -> Access:
        access: Access = request.scope[ACCESS]
        if not access.may(right):
            raise ProblemError(403, "right_missing", f"the key {access.key_id} does not have the right {right!r}")
        if right in {WRITE, ERASE, ADMIN} and request.app.state.read_only:
            raise ProblemError(403, "read_only", "this server only reads")
        return access

    return Depends(check)


Memory: TypeAlias = Annotated[AgentMemory, Depends(_memory)]
Reader: TypeAlias = Annotated[Access, needs(READ)]
Writer: TypeAlias = Annotated[Access, needs(WRITE)]
Eraser: TypeAlias = Annotated[Access, needs(ERASE)]
Administrator: TypeAlias = Annotated[Access, needs(ADMIN)]
