"""A chat service for many users: FastAPI, streamed replies, one memory for all, each user in a scope of their own.

MODEL_URL=http://localhost:8080/v1 MODEL=qwen3 fastapi run examples/service.py
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from jiyi import AgentMemory

USERS = {"key-of-alice": "alice", "key-of-bob": "bob"}  # replace it by your own login


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the memory once for the whole service."""
    model = {"llm": "openai-compatible", "llm_base_url": os.environ["MODEL_URL"], "llm_model": os.environ["MODEL"]}
    async with AgentMemory.open(os.environ.get("DATA", "./data"), strict_scope=True, **model) as app.state.memory:
        yield


app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None)


def user_of(authorization: Annotated[str, Header()]) -> str:
    """Who asks comes from the key, never from what they send."""
    user = USERS.get(authorization.removeprefix("Bearer "))
    if user is None:
        raise HTTPException(401, "unknown key")
    return user


User = Annotated[str, Depends(user_of)]


class Said(BaseModel):
    """What a user said. The same `request_id` again is answered with the same reply."""

    text: str
    request_id: str | None = None


@app.post("/sessions/{session}/messages")
async def say(session: str, said: Said, user: User) -> StreamingResponse:
    """Answer in pieces, as they come."""
    agent = app.state.memory.agent(session, user=user)
    return StreamingResponse(agent.reply(said.text, request_id=said.request_id), media_type="text/plain")


@app.get("/memories")
async def memories(user: User) -> list[str]:
    """What is remembered about the user."""
    return [entry.content for entry in await app.state.memory.list(scope=user)]


@app.delete("/sessions/{session}")
async def end(session: str, user: User) -> dict[str, int]:
    """The end of a session: what is worth keeping is found."""
    return {"candidates": (await app.state.memory.agent(session, user=user).close()).candidates}
