"""NoopMemory: the same calls, nothing kept. For tests, and for agents that must not remember."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

from jiyi.chat import ChatStatus, ChatWindow, Compaction
from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.chat import FIRST_EPOCH, Candidate, Epoch, Erased, StoredMessage, Summary
from jiyi.model.domain import GENERAL_CHAT
from jiyi.model.entry import DEFAULT_IMPORTANCE, DEFAULT_MEMORY_TYPE, EntryVersion, MemoryEntry
from jiyi.model.identity import new_id
from jiyi.model.message import Message, MessageLike
from jiyi.model.note import AppendedNote, NoteHit, NotesContext, NoteText

if TYPE_CHECKING:
    from jiyi.runtime import MemoryRuntime


class NoopNotes:
    """Takes the calls of an agent to its notes; writes nothing, reads nothing."""

    asynchronous: ClassVar = True

    async def init_workspace(self, **_: Any) -> dict[str, list[str]]:
        """Make nothing."""
        return {"created": [], "kept": []}

    async def memory_append(self, text: str, *, at: datetime | None = None, **_: Any) -> AppendedNote:
        """Drop it."""
        return AppendedNote(new_id(), "", clock.utc_now() if at is None else at)

    async def memory_search(self, query: str, limit: int = 10, **_: Any) -> Sequence[NoteHit]:
        """Nothing."""
        return []

    async def memory_get(self, path: str, from_line: int = 1, to_line: int | None = None, **_: Any) -> NoteText:
        """Nothing but the name."""
        return NoteText(path, from_line, from_line, 0, "")

    async def build_context(self, kind: str = "main", **_: Any) -> NotesContext:
        """Nothing."""
        return NotesContext(kind, ())

    def tools(self) -> list[dict[str, Any]]:
        """No tools: an agent without memory is offered none."""
        return []

    async def call_tool(self, name: str, arguments: Any, **_: Any) -> dict[str, Any]:
        """Nothing."""
        return {}


class NoopLongterm:
    """The long-term room of a memory that keeps nothing."""

    asynchronous = True

    async def extract_and_store_memories_for_round(
        self, user_id: str, conversation_id: str, user_content: str, assistant_content: str
    ) -> Sequence[MemoryEntry]:
        """Nothing is kept."""
        return []

    async def schedule_round(
        self, user_id: str, conversation_id: str, user_content: str, assistant_content: str
    ) -> str:
        """Drop it; an id that no job has."""
        return new_id()

    async def take_candidates(
        self, user_id: str, session_id: str | None = None, *, limit: int = 1_000
    ) -> Sequence[MemoryEntry]:
        """No conversation has proposed anything."""
        return []

    async def get_intent_domains(self, query: str) -> Sequence[str]:
        """There is nothing to look for."""
        return [GENERAL_CHAT]

    async def retrieve_relevant_memories(self, user_id: str, query: str, *_: Any, **__: Any) -> Sequence[MemoryEntry]:
        """Nothing."""
        return []

    async def get_memory_context_for_prompt(self, user_id: str, query: str, **_: Any) -> str:
        """No block."""
        return ""

    async def compress_memories(self, memories: Iterable[Any], max_chars: int = 500) -> str:
        """Nothing to tell."""
        return ""

    async def cleanup_forgotten_memories(self, user_id: str, *_: Any, **__: Any) -> int:
        """There was nothing to forget."""
        return 0

    async def restore(self, user_id: str, memories: Any = None) -> Sequence[MemoryEntry]:
        """Nothing."""
        return []

    async def pin(self, user_id: str, memory: Any, pinned: bool = True) -> bool:  # noqa: FBT001, FBT002
        """There is nothing to pin."""
        return False

    async def try_generate_reflection(
        self, user_id: str, conversation_id: str | None = None, *_: Any, **__: Any
    ) -> MemoryEntry | None:
        """Nothing."""
        return None

    async def explain(self, user_id: str, memory: Any) -> dict[str, Any] | None:
        """Nothing."""
        return None


class NoopMemory:
    """Drops what is stored and finds nothing."""

    longterm = NoopLongterm()

    @property
    def runtime(self) -> MemoryRuntime:
        """A runtime that keeps nothing either."""
        from jiyi.runtime.noop import NoopRuntime

        return NoopRuntime()

    async def store(
        self,
        key: str,
        content: str,
        category: str = MemoryCategory.CORE,
        *,
        scope: str | None = None,
        tags: Iterable[str] = (),
        importance: float | None = None,
        memory_type: str | None = None,
        domain: str | None = None,
        conversation_id: str | None = None,
        occurred_at: datetime | None = None,
        position: int | None = None,
    ) -> MemoryEntry:
        """Drop it; the entry that would have been stored is returned."""
        now = clock.utc_now()
        return MemoryEntry(
            id=new_id(),
            scope="main" if scope is None else scope,
            key=key,
            content=content,
            category=MemoryCategory(category),
            memory_type=DEFAULT_MEMORY_TYPE if memory_type is None else memory_type,
            domain=domain,
            importance_score=DEFAULT_IMPORTANCE if importance is None else importance,
            tags=tuple(dict.fromkeys(tags)),
            conversation_id=conversation_id,
            occurred_at=occurred_at,
            position=position,
            created_at=now,
            updated_at=now,
            last_accessed_at=now,
        )

    async def store_many(self, entries: Iterable[Mapping[str, Any]], progress: Any = None) -> Sequence[MemoryEntry]:
        """Drop them all."""
        return [await self.store(**entry) for entry in entries]

    async def recall(self, query: str, limit: int = 10, **_: Any) -> Sequence[MemoryEntry]:
        """Nothing."""
        return []

    async def get(self, key: str, **_: Any) -> MemoryEntry | None:
        """Nothing."""
        return None

    async def forget(self, key: str, **_: Any) -> bool:
        """There was nothing to forget."""
        return False

    async def count(self, **_: Any) -> int:
        """Always 0."""
        return 0

    async def list(self, **_: Any) -> Sequence[MemoryEntry]:
        """Nothing."""
        return []

    async def history(self, key: str, **_: Any) -> Sequence[EntryVersion]:
        """Nothing."""
        return []

    async def save_conversation_history(self, session_id: str | None, messages: Sequence[MessageLike], **_: Any) -> str:
        """Drop it."""
        return session_id or ""

    async def load_conversation_history(self, session_id: str | None = None, **_: Any) -> Sequence[Message]:
        """Nothing."""
        return []

    async def list_sessions(self, **_: Any) -> Sequence[str]:
        """Nothing."""
        return []

    async def forget_session(self, session_id: str, **_: Any) -> Erased:
        """There was nothing to delete."""
        return Erased(session_id, None)

    def chat(self, session_id: str | None = None, *, token_limit: int | None = None, **_: Any) -> NoopChat:
        """A conversation that nobody keeps."""
        return NoopChat(session_id or "", token_limit or 64_000)

    async def candidates(self, **_: Any) -> Sequence[Candidate]:
        """Nothing."""
        return []

    async def take_candidate(self, candidate_id: str, **_: Any) -> bool:
        """There was nothing to take."""
        return False

    async def reject_candidate(self, candidate_id: str, **_: Any) -> bool:
        """There was nothing to reject."""
        return False

    @property
    def notes(self) -> NoopNotes:
        """No notes."""
        return NoopNotes()

    async def jobs(self, **_: Any) -> Sequence[Any]:
        """Nothing."""
        return []

    async def retry_job(self, job_id: str, **_: Any) -> bool:
        """There is no such job."""
        return False

    async def run_jobs(self, limit: int = 1_000) -> int:
        """Nothing to do."""
        return 0

    async def close(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class NoopChat:
    """Takes the calls of a chat and keeps nothing."""

    asynchronous = True
    """For `jiyi.sync`: the methods of this object are to be awaited."""

    def __init__(self, session_id: str, token_limit: int) -> None:
        self.session_id = session_id
        self.scope = "main"
        self.token_limit = token_limit
        self.answers = False

    async def put(self, message: MessageLike) -> str:
        """Drop it."""
        return new_id()

    async def put_many(self, messages: Sequence[MessageLike]) -> Sequence[str]:
        """Drop them."""
        return [new_id() for _ in messages]

    async def reply(self, message: MessageLike, *, on_text: Callable[[str], None] | None = None) -> Message:
        """Drop it; nobody answers."""
        return Message("assistant", "")

    async def get(self, *, initial_tokens: int = 0, max_wait: float | None = None) -> ChatWindow:
        """Nothing."""
        return ChatWindow(token_limit=self.token_limit)

    async def get_all(self, *, epoch: int | None = None) -> Sequence[Message]:
        """Nothing."""
        return []

    async def messages(self, *, epoch: int | None = None) -> Sequence[StoredMessage]:
        """Nothing."""
        return []

    async def reset(self) -> int:
        """There was nothing to end."""
        return FIRST_EPOCH.epoch

    async def compact(self) -> Compaction:
        """There was nothing to compact."""
        return Compaction()

    async def overflowed(self, error: BaseException | None = None) -> Compaction:
        """There was nothing to compact."""
        return Compaction()

    async def epochs(self) -> Sequence[Epoch]:
        """The one that never begins."""
        return [FIRST_EPOCH]

    async def delete_epoch(self, epoch: int) -> Erased:
        """There was nothing to delete."""
        return Erased(self.session_id, epoch)

    async def summaries(self, *, epoch: int | None = None) -> Sequence[Summary]:
        """Nothing."""
        return []

    async def expand(self, summary_id: str) -> Sequence[StoredMessage]:
        """Nothing."""
        return []

    async def candidates(self, *, state: str | None = "new") -> Sequence[Candidate]:
        """Nothing."""
        return []

    async def status(self) -> ChatStatus:
        """An empty conversation."""
        return ChatStatus(
            session_id=self.session_id,
            scope=self.scope,
            epoch=FIRST_EPOCH.epoch,
            tokens=0,
            token_limit=self.token_limit,
            messages=0,
            summary=None,
            flushed_to=-1,
            new_candidates=0,
            trouble=None,
            failures=0,
            next_attempt_at=None,
        )
