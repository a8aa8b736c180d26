"""Who asks, and for which memory."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request

from jiyi.memory import AgentMemory
from jiyi.server.access import ADMIN, ERASE, READ, WRITE, Access, require
from jiyi.server.gate import ACCESS


def _memory(request: Request) -> AgentMemory:
    memory: AgentMemory = request.app.state.memory
    return memory


def needs(right: str) -> Any:
    """A dependency: the access of the request, if it has this right."""

    def check(request: Request) -> Access:
        return require(request.scope[ACCESS], right, read_only=request.app.state.read_only)

    return Depends(check)


Memory: TypeAlias = Annotated[AgentMemory, Depends(_memory)]
Reader: TypeAlias = Annotated[Access, needs(READ)]
Writer: TypeAlias = Annotated[Access, needs(WRITE)]
Eraser: TypeAlias = Annotated[Access, needs(ERASE)]
Administrator: TypeAlias = Annotated[Access, needs(ADMIN)]
