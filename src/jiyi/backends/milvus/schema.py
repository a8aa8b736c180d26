"""The fields and indexes of the collections in Milvus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jiyi.backends.milvus.connection import Server

SCHEMA_VERSION = 1
"""Another number means other fields: the collection is rebuilt."""
CONTENT_CHARACTERS = 4_096
"""The length of `content`, for people who look into the collection and for full text search."""
MAX_TAGS, MAX_DOMAINS, MAX_TAG_BYTES = 1_024, 64, 4_000
_MAX_WORD_BYTES = 1_024
_CHARACTER_BYTES = 4
"""The longest character in UTF-8; Milvus counts the length of a text in bytes."""
_HNSW = {"M": 32, "efConstruction": 300}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a collection; `kind` is a name of pymilvus's DataType."""

    name: str
    kind: str
    size: int = 0
    """Maximal bytes of a text, dimensions of a vector."""
    capacity: int = 0
    """Maximal length of an array."""
    role: str = ""
    """`primary` or `partition`."""


def data_fields(dimension: int, *, text: bool) -> tuple[Field, ...]:
    """The fields of the vectors."""
    found = (
        Field("id", "VARCHAR", 192, role="primary"),
        Field("entry_id", "VARCHAR", 128),
        Field("chunk", "INT64"),
        Field("chunks", "INT64"),
        Field("bucket", "INT64"),
        Field("sequence", "INT64"),
        Field("scope", "VARCHAR", 256 * _CHARACTER_BYTES, role="partition"),
        Field("category", "VARCHAR", _MAX_WORD_BYTES),
        Field("memory_type", "VARCHAR", _MAX_WORD_BYTES),
        Field("domain", "VARCHAR", _MAX_WORD_BYTES),
        Field("domains", "ARRAY", _MAX_WORD_BYTES, MAX_DOMAINS),
        Field("tags", "ARRAY", MAX_TAG_BYTES, MAX_TAGS),
        Field("conversation_id", "VARCHAR", 512 * _CHARACTER_BYTES),
        Field("event_time", "INT64"),
        Field("fingerprint", "VARCHAR", 64),
        Field("text_hash", "VARCHAR", 64),
        Field("content", "VARCHAR", CONTENT_CHARACTERS * _CHARACTER_BYTES),
        Field("embedding", "FLOAT_VECTOR", dimension),
    )
    return (*found, Field("words", "SPARSE_FLOAT_VECTOR")) if text else found


STATE_FIELDS = (
    Field("id", "VARCHAR", 64, role="primary"),
    Field("value", "VARCHAR", 8_192),
    # Milvus requires a vector field.
    Field("nothing", "FLOAT_VECTOR", 2),
)


def build_schema(fields: Sequence[Field]) -> Any:
    """The schema for pymilvus. If there is a field `words`, Milvus computes it from `content`."""
    from pymilvus import DataType, Function, FunctionType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    text = any(field.name == "words" for field in fields)
    for field in fields:
        more: dict[str, Any] = {}
        if field.kind in {"VARCHAR", "ARRAY"}:
            more["max_length"] = field.size
        if field.kind == "ARRAY":
            more |= {"element_type": DataType.VARCHAR, "max_capacity": field.capacity}
        if field.kind == "FLOAT_VECTOR":
            more["dim"] = field.size
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
    """The indexes for pymilvus: an exact scan in Milvus Lite, HNSW on a server."""
    from pymilvus import MilvusClient

    indexes = MilvusClient.prepare_index_params()
    kind = index_kind(server)
    params = _HNSW if kind == "HNSW" else {}
    indexes.add_index("embedding", index_type=kind, metric_type="COSINE", params=params)
    if text:
        indexes.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    return indexes


def state_indexes() -> Any:
    """The index of the state collection, whose vectors are never searched."""
    from pymilvus import MilvusClient

    indexes = MilvusClient.prepare_index_params()
    indexes.add_index("nothing", index_type="FLAT", metric_type="L2")
    return indexes


def index_kind(server: Server) -> str:
    """The kind of vector index."""
    return "FLAT" if server.lite else "AUTOINDEX" if server.managed else "HNSW"


def differences(described: Mapping[str, Any], metric: str | None, fields: Sequence[Field]) -> list[str]:
    """How a collection differs from these fields."""
    found: list[str] = []
    actual = {str(field["name"]): field for field in described.get("fields", ())}
    missing = [field.name for field in fields if field.name not in actual]
    if missing:
        found.append(f"it has no field {', '.join(map(repr, missing))}")
    for field in fields:
        other = actual.get(field.name)
        if other is None:
            continue
        kind = getattr(other.get("type"), "name", str(other.get("type")))
        params = other.get("params") or {}
        if kind != field.kind:
            found.append(f"its field {field.name!r} is {kind}, not {field.kind}")
        elif field.kind == "FLOAT_VECTOR" and int(params.get("dim", 0)) != field.size:
            found.append(f"its vectors have {params.get('dim')} dimensions, not {field.size}")
        elif field.kind == "VARCHAR" and int(params.get("max_length", 0)) < field.size:
            found.append(f"its field {field.name!r} holds {params.get('max_length')} bytes, not {field.size}")
        if field.role == "primary" and not other.get("is_primary"):
            found.append(f"its field {field.name!r} is not the primary key")
        if field.role == "partition" and not other.get("is_partition_key"):
            found.append(f"its field {field.name!r} is not the partition key")
    if metric != "COSINE" and any(field.name == "embedding" for field in fields):
        found.append(f"its vectors are compared by {metric or 'nothing: they have no index'}, not COSINE")
    return found
