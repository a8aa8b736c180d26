"""Components: everything that an `AgentMemory` is built from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from jiyi.execution import Lazy
from jiyi.group_writer import Transaction
from jiyi.ports import AdministrationStore, ChatModel, ChatStore, DerivedIndex, RecordStore
from jiyi.recall.request import Request

if TYPE_CHECKING:
    from jiyi.config import Settings
    from jiyi.indexing import BackgroundIndexer, Drainer
    from jiyi.jobs import JobWorker
    from jiyi.longterm.dependencies import LongtermDeps
    from jiyi.model.recalled import RecalledEntries
    from jiyi.notes.service import NotesService
    from jiyi.runtime import MemoryRuntime
    from jiyi.runtime.dependencies import RuntimeCalls
    from jiyi.text import Vocabulary


class Closeable(Protocol):
    """Something that is closed together with the memory."""

    def close(self) -> None:
        """Release it."""
        ...


class Recaller(Protocol):
    """Answers recall requests: the hybrid engine, or recall by tags alone."""

    def answer(self, request: Request) -> RecalledEntries:
        """Returns the best entries for the request, best first."""
        ...

    def similarities(self, texts: Sequence[str], ids: Sequence[str], scopes: Sequence[str]) -> list[list[float]]:
        """For each entry of these scopes how near in meaning it is to each text; NaN where there is no vector."""
        ...

    def close(self) -> None:
        """Stops the threads of the engine."""
        ...


@dataclass(frozen=True, slots=True)
class Components:
    """What `jiyi.wiring` builds for one memory. Rooms are made when they are first used."""

    settings: Settings
    store: RecordStore
    indexes: tuple[DerivedIndex, ...]
    drainer: Drainer
    indexer: BackgroundIndexer | None
    """`None` when background indexing is off."""
    engine: Recaller
    vocabulary: Vocabulary
    make_runtime: Callable[[RuntimeCalls], MemoryRuntime]
    make_notes: Callable[[Callable[[], None]], NotesService]
    """Called with what to call after each write. Raises `ConfigError` when no workspace is set."""
    make_chats: Lazy[ChatStore]
    make_longterm: Lazy[LongtermDeps]
    make_administration: Lazy[AdministrationStore]
    model: ChatModel | None
    """The chat model; without one, rules take its place."""
    worker: JobWorker | None = None
    """`None` when background jobs are off."""
    transaction: Transaction | None = None
    """Begins the transaction of a group of writes; `None` where the engine has no group commit of ours."""
    connected: tuple[object, ...] = ()
    """Models and embedders that the wiring made. Those with a `close` are closed together with the memory."""
    temporary: Closeable | None = None
    """The data directory of a memory in `:memory:`, which is removed after everything else was closed."""

    @property
    def chats(self) -> ChatStore:
        """The store of conversations."""
        return self.make_chats()

    @property
    def administration(self) -> AdministrationStore:
        """Scopes and ids, for those who operate the memory."""
        return self.make_administration()

    @property
    def longterm(self) -> LongtermDeps:
        """The dependencies of the long-term room."""
        return self.make_longterm()
