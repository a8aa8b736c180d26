"""What the collections in Milvus look like, what a row of them holds, and how filters are written for them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jiyi.backends.milvus.connection import STRONG, Row, Server, quoted
from jiyi.model import clock
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.model.identity import text_hash
from jiyi.ports import LogPosition

Floats = NDArray[np.float32]

LAYOUT = 1
"""Another number means other fields: the collection is made anew."""
CONTENT_CHARACTERS = 4_096
"""So much of a text stands in `content`, for people who look into the collection and for full text search."""
BUCKETS = 1 << 16
"""Entries are spread over so many numbers: pages and samples of a scope are ranges of them."""
_BYTES = 4
"""Of a character in UTF-8 at the most; Milvus counts the length of a text in bytes."""
_MAX_TAGS, _MAX_DOMAINS = 1_024, 64
_TAG_BYTES, _WORD_BYTES = 4_000, 1_024
_M, _CONSTRUCTION = 32, 300


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a collection; `kind` is a name of pymilvus's DataType."""

    name: str
    kind: str
    most: int = 0
    """Bytes of a text, dimensions of a vector."""
    capacity: int = 0
    """Of a list of texts."""
    role: str = ""
    """`primary` or `partition`."""


def data_fields(dimension: int, *, text: bool) -> tuple[Field, ...]:
    """The fields of the vectors: the design's, and what filters, pages and comparing need."""
    found = (
        Field("id", "VARCHAR", 192, role="primary"),
        Field("entry_id", "VARCHAR", 128),
        Field("chunk", "INT64"),
        Field("chunks", "INT64"),
        Field("bucket", "INT64"),
        Field("sequence", "INT64"),
        Field("scope", "VARCHAR", 256 * _BYTES, role="partition"),
        Field("category", "VARCHAR", _WORD_BYTES),
        Field("memory_type", "VARCHAR", _WORD_BYTES),
        Field("domain", "VARCHAR", _WORD_BYTES),
        Field("domains", "ARRAY", _WORD_BYTES, _MAX_DOMAINS),
        Field("tags", "ARRAY", _TAG_BYTES, _MAX_TAGS),
        Field("conversation_id", "VARCHAR", 512 * _BYTES),
        Field("event_time", "INT64"),
        Field("fingerprint", "VARCHAR", 64),
        Field("text_hash", "VARCHAR", 64),
        Field("content", "VARCHAR", CONTENT_CHARACTERS * _BYTES),
        Field("embedding", "FLOAT_VECTOR", dimension),
    )
    return (*found, Field("words", "SPARSE_FLOAT_VECTOR")) if text else found


STATE_FIELDS = (
    Field("id", "VARCHAR", 64, role="primary"),
    Field("value", "VARCHAR", 8_192),
    # Milvus has no collections without vectors.
    Field("nothing", "FLOAT_VECTOR", 2),
)


def build_schema(fields: Sequence[Field]) -> Any:
    """For pymilvus. Where there are `words`, Milvus makes them from `content` by itself."""
    from pymilvus import DataType, Function, FunctionType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    text = any(field.name == "words" for field in fields)
    for field in fields:
        more: dict[str, Any] = {}
        if field.kind in {"VARCHAR", "ARRAY"}:
            more["max_length"] = field.most
        if field.kind == "ARRAY":
            more |= {"element_type": DataType.VARCHAR, "max_capacity": field.capacity}
        if field.kind == "FLOAT_VECTOR":
            more["dim"] = field.most
        if field.role:
            more["is_primary" if field.role == "primary" else "is_partition_key"] = True
        if field.name == "content" and text:
            more |= {"enable_analyzer": True, "analyzer_params": {"tokenizer": "jieba"}}
        schema.add_field(field.name, DataType[field.kind], **more)
    if text:
        bm25 = Function("bm25", FunctionType.BM25, input_field_names=["content"], output_field_names=["words"])
        schema.add_function(bm25)
    return schema


def build_indexes(server: Server, *, text: bool) -> Any:
    """For pymilvus. In a file vectors are compared one by one; a server has a graph for its large scopes."""
    from pymilvus import MilvusClient

    indexes = MilvusClient.prepare_index_params()
    kind = index_kind(server)
    params = {"M": _M, "efConstruction": _CONSTRUCTION} if kind == "HNSW" else {}
    indexes.add_index("embedding", index_type=kind, metric_type="COSINE", params=params)
    if text:
        indexes.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    return indexes


def state_indexes() -> Any:
    """For pymilvus: nobody compares the vectors of the state."""
    from pymilvus import MilvusClient

    indexes = MilvusClient.prepare_index_params()
    indexes.add_index("nothing", index_type="FLAT", metric_type="L2")
    return indexes


def index_kind(server: Server) -> str:
    """How Milvus finds the nearest."""
    return "FLAT" if server.lite else "AUTOINDEX" if server.managed else "HNSW"


def differences(described: Mapping[str, Any], metric: str | None, fields: Sequence[Field]) -> list[str]:
    """How a collection is not what it should be, in words."""
    found: list[str] = []
    there = {str(field["name"]): field for field in described.get("fields", ())}
    missing = [field.name for field in fields if field.name not in there]
    if missing:
        found.append(f"it has no field {', '.join(map(repr, missing))}")
    for field in fields:
        other = there.get(field.name)
        if other is None:
            continue
        kind = getattr(other.get("type"), "name", str(other.get("type")))
        params = other.get("params") or {}
        if kind != field.kind:
            found.append(f"its field {field.name!r} is {kind}, not {field.kind}")
        elif field.kind == "FLOAT_VECTOR" and int(params.get("dim", 0)) != field.most:
            found.append(f"its vectors have {params.get('dim')} dimensions, not {field.most}")
        elif field.kind == "VARCHAR" and int(params.get("max_length", 0)) < field.most:
            found.append(f"its field {field.name!r} holds {params.get('max_length')} bytes, not {field.most}")
        if field.role == "primary" and not other.get("is_primary"):
            found.append(f"its field {field.name!r} is not the primary key")
        if field.role == "partition" and not other.get("is_partition_key"):
            found.append(f"its field {field.name!r} is not the partition key")
    if metric != "COSINE" and any(field.name == "embedding" for field in fields):
        found.append(f"its vectors are compared by {metric or 'nothing: they have no index'}, not COSINE")
    return found


# --- the state ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """Which collection holds the vectors of a store, how far it has come, and which one is being built."""

    identity: str = ""
    generation: str = ""
    sequence: int = -1
    fingerprint: str = ""
    timestamp: int = 0
    """Of the last change of the vectors by Milvus's clock: who waits for it sees all of them. 0 where it has none."""
    text: bool = False
    """Whether it has BM25."""
    building: str = ""
    building_identity: str = ""

    @property
    def log_position(self) -> LogPosition | None:
        """The place of the change log; `None` while nothing is complete."""
        return LogPosition(self.sequence, self.fingerprint) if self.generation else None

    @property
    def reading(self) -> dict[str, Any]:
        """How to ask for vectors so that everything up to the mark is seen."""
        if not self.timestamp:
            return STRONG
        return {"consistency_level": "Customized", "guarantee_timestamp": self.timestamp}

    def to_row(self, row_id: str) -> Row:
        """As Milvus keeps it."""
        return {"id": row_id, "value": json.dumps(asdict(self)), "nothing": [0.0, 0.0]}

    @classmethod
    def from_row(cls, row: Row) -> State | None:
        """The inverse; `None` for what another version has written."""
        try:
            return cls(**json.loads(str(row["value"])))
        except (TypeError, ValueError):
            return None


# --- rows ---------------------------------------------------------------------------------------------------------


def row_id(entry_id: str, chunk: int) -> str:
    """The primary key: the entry's own id for the first chunk of its text."""
    return entry_id if chunk == 0 else f"{entry_id}#{chunk}"


def bucket(entry_id: str) -> int:
    """A number that has nothing to do with what the entry says."""
    return zlib.crc32(entry_id.encode("utf-8")) % BUCKETS


def row_fingerprint(entry: MemoryEntry) -> str:
    """A hash of all that the rows of an entry show."""
    return text_hash(
        entry.content,
        clock.to_text(entry.event_time),
        entry.category,
        entry.memory_type,
        entry.domain or "",
        json.dumps([entry.domains, entry.tags]),
        entry.conversation_id or "",
    )


def entry_rows(entry: MemoryEntry, sequence: int, block: Floats) -> list[Row]:
    """The rows of an entry: one for each vector. Its text stands in the first one; what is too long for it in others.

    So people who look for a text find it once, and full text search finds every word of a long one.
    """
    shared: Row = {
        "entry_id": entry.id,
        "chunks": len(block),
        "bucket": bucket(entry.id),
        "sequence": sequence,
        "scope": entry.scope,
        "category": str(entry.category),
        "memory_type": entry.memory_type,
        "domain": entry.domain or "",
        "domains": list(entry.domains[:_MAX_DOMAINS]),
        "tags": [tag for tag in entry.tags if len(tag.encode("utf-8")) <= _TAG_BYTES][:_MAX_TAGS],
        "conversation_id": entry.conversation_id or "",
        "event_time": clock.microseconds(entry.event_time),
        "fingerprint": row_fingerprint(entry),
        "text_hash": text_hash(entry.content),
    }
    pieces = content_pieces(entry.content)
    pieces += [""] * (len(block) - len(pieces))
    return [
        {**shared, "id": row_id(entry.id, chunk), "chunk": chunk, "content": pieces[chunk], "embedding": vector}
        for chunk, vector in enumerate(block)
    ]


def content_pieces(text: str) -> list[str]:
    """A text in pieces of what `content` holds, cut between characters; the first is as it was written."""
    rest = " ".join(text[CONTENT_CHARACTERS:].split())
    size = CONTENT_CHARACTERS
    return [text[:size], *(rest[start : start + size] for start in range(0, len(rest), size))]


# --- conditions ---------------------------------------------------------------------------------------------------


def any_of(field: str, values: Iterable[str]) -> str:
    """The field has one of these values."""
    return f"{field} in [{', '.join(map(quoted, values))}]"


def in_scope(scope: str) -> str:
    """The rows of a scope; Milvus looks at its partition only."""
    return f"scope == {quoted(scope)}"


def in_periods(periods: Sequence[tuple[datetime, datetime]]) -> str:
    """Inside one of these: start included, end not."""
    spans = [(clock.microseconds(start), clock.microseconds(end)) for start, end in periods]
    return "(" + " or ".join(f"(event_time >= {start} and event_time < {end})" for start, end in spans) + ")"


def in_filters(filters: Filters) -> str:
    """All conditions of the filters, for rows of active entries."""
    found = [any_of("scope", filters.scopes) if len(filters.scopes) > 1 else in_scope(filters.scopes[0])]
    for field, values in (
        ("category", filters.categories),
        ("memory_type", filters.memory_types),
        ("conversation_id", filters.conversations),
    ):
        if values:
            found.append(any_of(field, values))
    if filters.without_types:
        found.append(f"not ({any_of('memory_type', filters.without_types)})")
    if filters.domains:
        found.append(f"array_contains_any(domains, [{', '.join(map(quoted, filters.domains))}])")
    if filters.tags:
        found.append(f"array_contains_all(tags, [{', '.join(map(quoted, filters.tags))}])")
    if filters.since is not None:
        found.append(f"event_time >= {clock.microseconds(filters.since)}")
    if filters.until is not None:
        found.append(f"event_time < {clock.microseconds(filters.until)}")
    if filters.periods:
        found.append(in_periods(filters.periods))
    return " and ".join(found)
