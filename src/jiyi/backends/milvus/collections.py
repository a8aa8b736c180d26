"""`StoreCollections`: the collections of one store in Milvus. A rebuild fills a new one; an alias names the current."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from jiyi.backends.milvus.connection import MilvusConnection
from jiyi.backends.milvus.errors import MissingCollectionError
from jiyi.backends.milvus.schema import build_indexes, build_schema, data_fields, differences
from jiyi.errors import ConfigError, IndexingError

_MAX_NAME = 200
_STORE_CHARACTERS, _RANDOM_CHARACTERS = 8, 8


class StoreCollections:
    """Creates, checks and drops the collections of a store."""

    def __init__(
        self, connection: MilvusConnection, alias: str, store_hash: str, *, dimension: int, partitions: int
    ) -> None:
        if not alias.isascii() or not alias.isidentifier() or len(alias) > _MAX_NAME:
            raise ConfigError(
                f"milvus_memory_collection {alias[:80]!a} is no name of a collection; use at most 200 letters, "
                "digits and '_', and begin with a letter"
            )
        self.alias = alias
        self._connection = connection
        self._prefix = f"{alias}_{store_hash[:_STORE_CHARACTERS]}"
        """The names of all collections of this store begin with it."""
        self._fields = data_fields(dimension, text=False)
        self._dimension = dimension
        self._partitions = partitions

    def new_name(self) -> str:
        """A name for the next collection."""
        return f"{self._prefix}{uuid.uuid4().hex[:_RANDOM_CHARACTERS]}"

    def create(self, name: str) -> None:
        """Create an empty collection."""
        text = self._connection.server.ranks_text
        schema = build_schema(data_fields(self._dimension, text=text))
        indexes = build_indexes(self._connection.server, text=text)
        self._connection.create(name, schema, indexes, partitions=self._partitions)

    def publish(self, name: str) -> None:
        """Set the alias, and drop all other collections of this store, also those that a crash has left."""
        self._connection.set_alias(name, self.alias)
        for other in self._connection.collections():
            if other.startswith(self._prefix) and other != name:
                self._connection.drop(other)

    def refuse_foreign(self) -> None:
        """`IndexingError` if there is a collection under the name of the alias: it is not one of jiyi."""
        if self._connection.has(self.alias):
            described = self._connection.described(self.alias)
            if described.get("collection_name") == self.alias:
                metric = (
                    self._connection.metric(self.alias, "embedding") if _has_field(described, "embedding") else None
                )
                raise self.foreign(self.alias, differences(described, metric, self._fields))

    def foreign(self, name: str, found: Sequence[str]) -> IndexingError:
        """The error for a collection that jiyi did not create."""
        shown = "; ".join(found[:6]) if found else "its fields are right, but jiyi did not make it"
        return IndexingError(
            f"Milvus at {self._connection.address} has a collection {name!r} of another kind ({shown}); set "
            "milvus_memory_collection (MILVUS_MEMORY_COLLECTION) to another name, or rename or drop that collection"
        )

    def changes(self, name: str) -> list[str]:
        """How a collection of this store was changed by somebody else."""
        try:
            described = self._connection.described(name)
            metric = self._connection.metric(name, "embedding")
        except MissingCollectionError:
            return ["it is gone"]
        return differences(described, metric, self._fields)

    def is_intact(self, name: str) -> bool:
        """Whether the collection exists and is unchanged."""
        return self._connection.has(name) and not self.changes(name)

    def has_text(self, name: str) -> bool:
        """Whether the collection has BM25."""
        return _has_field(self._connection.described(name), "words")


def _has_field(described: dict[str, Any], name: str) -> bool:
    return any(field["name"] == name for field in described.get("fields", ()))
