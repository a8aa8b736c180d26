"""The engines of each profile: the database of the records, and its indexes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

from jiyi.errors import MissingDependencyError
from jiyi.model.address import EMBEDDED

if TYPE_CHECKING:
    from jiyi.backends.embedded.database import SqliteDatabase
    from jiyi.backends.milvus.index import ExclusiveLock
    from jiyi.backends.postgres.database import PostgresDatabase
    from jiyi.backends.postgres.session import AdvisoryLock
    from jiyi.backends.postgres.text.index import PostgresTextIndex
    from jiyi.backends.postgres.vectors.index import PostgresVectors
    from jiyi.backends.records.sql import Database
    from jiyi.config import Settings
    from jiyi.group_writer import Transaction
    from jiyi.model.searched_text import SearchedText
    from jiyi.ports import AdministrationStore, ChatStore, Embedder, RecordStore, ScopeReader, TextIndex, VectorIndex
    from jiyi.text import Vocabulary

DATABASE_FILE: Final = "memory.db"
_INDEXES: Final = "search_index"


def open_database(settings: Settings) -> Database:
    """Open the database of the records; create it if there is none, and upgrade its schema."""
    if settings.storage == EMBEDDED:
        from jiyi.backends.embedded.database import SqliteDatabase

        indexes = settings.path / _INDEXES
        return SqliteDatabase(settings.path / DATABASE_FILE, busy_timeout=settings.busy_timeout, derived=indexes)
    try:
        from jiyi.backends.postgres.database import PostgresDatabase
    except ImportError as error:
        raise MissingDependencyError(
            "storage is PostgreSQL, which needs the package psycopg; install it with: pip install 'jiyi[postgres]'"
        ) from error
    return PostgresDatabase(
        settings.storage,
        pool_size=settings.pool_size,
        lock_timeout=settings.busy_timeout,
        statement_timeout=settings.statement_timeout,
    )


def group_transaction(database: Database) -> Transaction | None:
    """How several writes share one transaction: in SQLite, which has one writer. PostgreSQL groups commits itself."""
    if database.dialect != "sqlite":
        return None
    return cast("SqliteDatabase", database).group


def record_store(database: Database) -> RecordStore:
    """The record store of the database."""
    from jiyi.backends.records.store import SqlRecordStore

    return SqlRecordStore(database)


def chat_store(database: Database) -> ChatStore:
    """The conversations of the database."""
    from jiyi.backends.records.chat import SqlChatStore

    return SqlChatStore(database)


def administration_store(database: Database) -> AdministrationStore:
    """The scopes of the database, for those who operate it."""
    from jiyi.backends.records.administration import SqlAdministrationStore

    return SqlAdministrationStore(database)


def text_index(settings: Settings, database: Database, vocabulary: Vocabulary, store_id: str) -> TextIndex:
    """The text index: tantivy with SQLite; PostgreSQL's own with PostgreSQL."""
    if settings.storage == EMBEDDED:
        from jiyi.backends.embedded.text.index import TantivyIndex

        return TantivyIndex(settings.path / _INDEXES, vocabulary, store_id, lock_timeout=settings.busy_timeout)
    from jiyi.backends.postgres.text.index import PostgresTextIndex

    index = PostgresTextIndex(
        _postgres(database),
        vocabulary,
        store_id,
        lock_timeout=settings.busy_timeout,
        pg_search=settings.pg_search,
    )
    index.follow()
    return index


def vector_index(
    settings: Settings, database: Database, embedder: Embedder, store_id: str, searched: SearchedText
) -> VectorIndex:
    """The vector index: that of the profile, or Milvus."""
    if settings.vectors == "milvus":
        return _milvus(settings, database, embedder, store_id, searched)
    if settings.storage == EMBEDDED:
        from jiyi.backends.embedded.vectors.index import SqliteVectors

        return SqliteVectors(
            settings.path / _INDEXES,
            embedder,
            store_id,
            cache_bytes=settings.vector_cache_mb << 20,
            lock_timeout=settings.busy_timeout,
            searched=searched,
        )
    from jiyi.backends.postgres.vectors.index import PostgresVectors

    return PostgresVectors(
        _postgres(database),
        embedder,
        store_id,
        lock_timeout=settings.busy_timeout,
        searched=searched,
        cache_bytes=settings.vector_cache_mb << 20,
    )


def scope_reader(
    settings: Settings, database: Database, text: TextIndex, vectors: VectorIndex | None
) -> ScopeReader | None:
    """Reads small scopes completely in one round trip; only if one server has the records and all indexes."""
    if settings.storage == EMBEDDED or settings.vectors == "milvus":
        return None
    from jiyi.backends.postgres.reader import PostgresReader

    return PostgresReader(_postgres(database), cast("PostgresTextIndex", text), cast("PostgresVectors | None", vectors))


def _milvus(
    settings: Settings, database: Database, embedder: Embedder, store_id: str, searched: SearchedText
) -> VectorIndex:
    from jiyi.backends.milvus.index import MilvusVectors

    return MilvusVectors(
        settings.milvus_address,
        embedder,
        store_id,
        lock=_lock_of_vectors(settings, database),
        token=settings.milvus_token,
        collection=settings.milvus_memory_collection,
        cache_bytes=settings.vector_cache_mb << 20,
        searched=searched,
    )


def _lock_of_vectors(settings: Settings, database: Database) -> ExclusiveLock:
    """The lock for writing to Milvus, which has no locks: it is held where the records are."""
    if settings.storage == EMBEDDED:
        from jiyi.file_lock import FileLock

        return FileLock(settings.path / "vector-index.lock", timeout=settings.busy_timeout, purpose="the vector index")
    from jiyi.backends.postgres.session import AdvisoryLock, DriverConnections

    postgres = _postgres(database)
    key = postgres.key("milvus", settings.milvus_memory_collection)
    lock = AdvisoryLock(DriverConnections(postgres), key, "vector index", timeout=settings.busy_timeout)
    return _DatabaseLock(lock)


class _DatabaseLock:
    """A lock in the database for data that is stored elsewhere."""

    def __init__(self, lock: AdvisoryLock) -> None:
        self._lock = lock

    @contextmanager
    def hold(self, timeout: float | None = None) -> Iterator[None]:
        """Hold it for the block."""
        with self._lock.hold(timeout):
            yield

    def close(self) -> None:
        """Does nothing: the connections belong to the record store."""


def _postgres(database: Database) -> PostgresDatabase:
    return cast("PostgresDatabase", database)
