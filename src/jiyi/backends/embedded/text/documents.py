"""Documents of the tantivy index: its schema, an entry as a document, and the document that holds the log position."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b

import tantivy
from tantivy import Query

from jiyi.backends.shared.term_rows import Analysed
from jiyi.errors import IndexDamagedError
from jiyi.model import clock

_STATE_ID = "#log_position"
_STATE = "log_position"
RECENCY = "recency"
"""The field that decides between equal matches: later first."""
_RECENCY_HASH_BITS = 24
ID_HASH = (1 << _RECENCY_HASH_BITS) - 1
"""The bits of a recency that are the hash of the id."""
LENGTHS = {"words": "length", "bigrams": "bigram_length"}
"""Field -> the field with its length."""


def build_schema() -> tantivy.Schema:
    """The fields of every document."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    for name in ("scope", "key", "category", "memory_type", "domain", "tags", "conversation"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("words", "bigrams", "labels"):
        builder.add_text_field(name, tokenizer_name="terms", index_option="basic")
    builder.add_integer_field("event_time", indexed=True, fast=True)
    for name in (RECENCY, *LENGTHS.values()):
        builder.add_integer_field(name, fast=True)
    builder.add_text_field("hash", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field(_STATE, stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


def entry_document(analysed: Analysed) -> tantivy.Document:
    """An entry as a document. The text was segmented before, so its terms are joined by spaces."""
    entry, analysis = analysed.entry, analysed.analysis
    document = tantivy.Document()
    document.add_text("id", entry.id)
    document.add_text("scope", entry.scope)
    document.add_text("category", str(entry.category))
    document.add_text("memory_type", entry.memory_type)
    for domain in entry.domains:
        document.add_text("domain", domain)
    for tag in entry.tags:
        document.add_text("tags", tag)
    if entry.key is not None:
        document.add_text("key", entry.key)
    if entry.conversation_id is not None:
        document.add_text("conversation", entry.conversation_id)
    document.add_text("words", " ".join(analysis.words))
    document.add_text("bigrams", " ".join(analysis.bigrams))
    if analysed.labels:
        document.add_text("labels", " ".join(analysed.labels))
    event_time = clock.microseconds(entry.event_time)
    document.add_integer("event_time", event_time)
    document.add_integer(RECENCY, _recency(event_time, entry.id))
    document.add_integer(LENGTHS["words"], analysis.length)
    document.add_integer(LENGTHS["bigrams"], analysis.bigram_length)
    document.add_text("hash", analysed.digest)
    return document


def _recency(event_time: int, entry_id: str) -> int:
    """The second, and within it a hash of the id: hardly ever equal for two entries, and known without their texts."""
    return (event_time // 1_000_000 << _RECENCY_HASH_BITS) + id_hash(entry_id)


def id_hash(entry_id: str) -> int:
    """The part of the recency of a document that follows from its id; see `ID_HASH`."""
    hashed = int.from_bytes(blake2b(entry_id.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return hashed & ID_HASH


def stored_text(document: tantivy.Document, name: str) -> str:
    """A stored field of a document."""
    value = document.get_first(name)
    if not isinstance(value, str):
        raise IndexDamagedError(f"a document of the text index has no {name}")
    return value


@dataclass(frozen=True, slots=True)
class IndexState:
    """The rules by which the index was made, and its position in the change log; committed with the data."""

    identity: str
    sequence: int
    fingerprint: str

    def write(self, documents: tantivy.IndexWriter) -> None:
        """Replace the state document."""
        documents.delete_documents_by_term("id", _STATE_ID)
        document = tantivy.Document()
        document.add_text("id", _STATE_ID)
        document.add_text(_STATE, json.dumps(asdict(self)))
        documents.add_document(document)

    @classmethod
    def read(cls, searcher: tantivy.Searcher, schema: tantivy.Schema) -> IndexState | None:
        """The state of the last commit; `None` if there is no commit yet."""
        by_id = Query.term_query(schema, "id", _STATE_ID, "basic")
        hits = searcher.search(by_id, 1, count=False).hits
        return cls._parse(stored_text(searcher.doc(hits[0][1]), _STATE)) if hits else None

    @classmethod
    def _parse(cls, text: str) -> IndexState:
        values = json.loads(text)
        types = {"identity": str, "sequence": int, "fingerprint": str}
        if not isinstance(values, dict) or not all(isinstance(values.get(name), kind) for name, kind in types.items()):
            raise IndexDamagedError("the text index does not say how far it has come")
        return cls(values["identity"], values["sequence"], values["fingerprint"])


def is_entry(document_id: str) -> bool:
    """Whether the document is an entry, and not the state."""
    return document_id != _STATE_ID
