"""JiyiRetriever: recall as a retriever of LangChain."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, field_validator

from jiyi.integrations.opened import check_memory
from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.sync import AgentMemory


class JiyiRetriever(BaseRetriever):
    """What a memory recalls for a question, as documents, best first; each with its score in the metadata."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: AgentMemory = Field(exclude=True)
    """A memory of `jiyi.sync` that is open; it is not closed here."""
    scope: str | None = None
    limit: int = Field(default=5, ge=1)
    min_relevance: float = Field(default=MIN_RELEVANCE, ge=0.0, le=1.0)
    """How likely each has to answer; 0 fills up with what does not fit."""
    where: dict[str, Any] | None = None

    @field_validator("memory", mode="before")
    @classmethod
    def _check_memory(cls, value: Any) -> AgentMemory:
        return check_memory("JiyiRetriever", value)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002
        hits = self.memory.recall(
            query, self.limit, scope=self.scope, where=self.where, min_relevance=self.min_relevance
        )
        return [
            Document(
                page_content=hit.content,
                id=hit.id,
                metadata={
                    **hit.metadata,
                    "key": hit.key,
                    "scope": hit.scope,
                    "tags": list(hit.tags),
                    "role": hit.role,
                    "trust": hit.source.trust,
                    "occurred_at": hit.event_time.isoformat(),
                    "relevance_score": hit.relevance_score,
                },
            )
            for hit in hits
        ]
