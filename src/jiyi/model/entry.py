"""MemoryEntry: one remembered thing, and what comes with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from operator import attrgetter
from typing import Any, Self

from jiyi.model import clock
from jiyi.model.category import MemoryCategory
from jiyi.model.claim import Claim
from jiyi.model.identity import text_hash

FACT_TYPE = "fact"
DEFAULT_MEMORY_TYPE = FACT_TYPE
DEFAULT_IMPORTANCE = 0.5
TRUST_LEVELS = ("user", "agent", "tool", "import")
REFLECTION_TYPE = "reflection"
"""What several facts together say, written by a model or by rules."""
MESSAGE_TYPE = "message"
"""The memory type of the messages of conversations."""
NOTE_TYPE = "note"
"""The memory type of the chunks of note files."""

MAX_NAME = 200
"""How many characters of the name of who said something are kept beside it."""
_ROLES = {"user": "user", "agent": "assistant"}
"""Who said a message, by the trust of its source."""
_HIT_VALUES = ("relevance_score", "similarity", "confident")
HIT_ENTRIES = ("context", "other_sources", "corrected_by")
"""The fields of a hit that are entries themselves."""
_HIT_FIELDS = frozenset({*_HIT_VALUES, "explanation", *HIT_ENTRIES})


@dataclass(frozen=True, slots=True)
class Source:
    """Where an entry came from, and the trust level of that origin."""

    kind: str = "stored"
    """What made it: `stored`, `message`, `note`, `reflection`, `merge`, `rules`, `import`, ..."""
    trust: str = "user"
    """`user`, `agent`, `tool` or `import`."""
    references: tuple[str, ...] = ()
    """Message ids, `path:line-line`, or the ids of the entries it was made from."""
    claim: Claim | None = None
    """Of a fact of the long-term room: subject, attribute, value and so on."""
    name: str | None = None
    """Of a message, and of a fact that was made of it: the name of who said it, if it has one."""
    role: str | None = None
    """Of an imported message: who said it, `user` or `assistant`. Otherwise the trust tells it."""

    @property
    def said_by_user(self) -> bool:
        """Of a fact: whether it was made of what the user said, also where the conversation was imported."""
        return self.trust == "user" if self.claim is None else self.claim.said_by != "assistant"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        data: dict[str, Any] = {"kind": self.kind, "trust": self.trust, "references": list(self.references)}
        if self.name is not None:
            data["name"] = self.name
        if self.role is not None:
            data["role"] = self.role
        return data if self.claim is None else {**data, "claim": self.claim.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        claim = data.get("claim")
        return cls(
            kind=data["kind"],
            trust=data["trust"],
            references=tuple(data["references"]),
            claim=None if claim is None else Claim.from_dict(claim),
            name=data.get("name"),
            role=data.get("role"),
        )


@dataclass(frozen=True, slots=True)
class IndexCoverage:
    """What one derived index contributed to an answer."""

    index: str
    answered: bool
    behind: int = 0
    """Changes that the index had not applied when it answered."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a hit has its rank."""

    parts: Mapping[str, float] = field(default_factory=dict)
    """Every part of the score by name."""
    matched_terms: tuple[str, ...] = ()
    coverage: tuple[IndexCoverage, ...] = ()
    highlights: tuple[tuple[int, int], ...] = ()
    """Character ranges of `content` that match the question's words."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "parts": dict(self.parts),
            "matched_terms": list(self.matched_terms),
            "highlights": [list(pair) for pair in self.highlights],
            "coverage": [
                {"index": c.index, "answered": c.answered, "behind": c.behind, "note": c.note} for c in self.coverage
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        return cls(
            parts=dict(data["parts"]),
            matched_terms=tuple(data["matched_terms"]),
            coverage=tuple(IndexCoverage(**each) for each in data["coverage"]),
            highlights=tuple((start, end) for start, end in data["highlights"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One remembered thing. Immutable: a change is a new version with the same id."""

    id: str
    scope: str
    key: str | None
    content: str
    category: MemoryCategory = MemoryCategory.CORE
    memory_type: str = DEFAULT_MEMORY_TYPE
    domain: str | None = None
    more_domains: tuple[str, ...] = ()
    """Other domains it belongs to as well: those of the facts that a reflection was made from."""
    reasoning: str = ""
    importance_score: float = DEFAULT_IMPORTANCE
    strength: int = 1
    tags: tuple[str, ...] = ()
    conversation_id: str | None = None
    position: int | None = None
    """Order inside the conversation."""
    source: Source = Source()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """A JSON object of the caller's own; not searched unless the setting `index_metadata` says so."""
    namespace: tuple[str, ...] = ()
    """Where it is filed inside its scope, the outermost part first."""
    occurred_at: datetime | None = None
    """When it happened, if that is known and is not when it was written."""
    expires_at: datetime | None = None
    """From this moment on it is in no answer and no list."""
    created_at: datetime
    updated_at: datetime
    last_accessed_at: datetime
    access_count: int = 0
    is_active: bool = True
    pinned: bool = False
    superseded_by: str | None = None
    """The id of the entry that replaced it, if it was corrected."""
    summarized_by: str | None = None
    """The id of the reflection that was made from it; it is found as before."""
    version: int = 1

    relevance_score: float | None = None
    """On a hit: 0..1, the probability that it answers the question; comparable between questions and stores."""
    similarity: float | None = None
    """On a hit: the cosine of its text and the question; `None` where meaning was not asked, or there is no vector."""
    confident: bool | None = None
    """On a hit: whether its relevance is high enough to rely on."""
    explanation: Explanation | None = None
    """On a hit: the parts of the score, the matched terms and what each index contributed."""
    context: tuple[MemoryEntry, ...] = ()
    """On a hit, when asked for: the entries around it in its conversation, in order."""
    other_sources: tuple[MemoryEntry, ...] = ()
    """On a hit: entries that say the same, such as the message that a fact was made of."""
    corrected_by: tuple[MemoryEntry, ...] = ()
    """On a hit that is a message: the facts that hold now, where a fact that was made of it was corrected."""

    @property
    def score_parts(self) -> Mapping[str, float]:
        """On a hit: every part of `relevance_score` by name; otherwise empty."""
        return self.explanation.parts if self.explanation is not None else {}

    @property
    def matched(self) -> tuple[str, ...]:
        """On a hit: the question's words that stand in it, stemmed; otherwise empty."""
        return self.explanation.matched_terms if self.explanation is not None else ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What it is called, beside its text: its key, its tags, and of a piece of a note the titles above it."""
        titles: tuple[str, ...] = ()
        if self.memory_type == NOTE_TYPE and self.source.references:
            # Imported here, because most entries are not notes.
            from jiyi.model.note import note_titles

            titles = note_titles(self.source.references)
        return (*(() if self.key is None else (self.key,)), *self.tags, *titles)

    @property
    def final_score(self) -> float | None:
        """On a hit that was weighted by α, β and γ: the weighted sum."""
        return self.score_parts.get("final")

    @property
    def domains(self) -> tuple[str, ...]:
        """Every domain it belongs to, its own first."""
        return self.more_domains if self.domain is None else (self.domain, *self.more_domains)

    def has_expired(self, at: datetime) -> bool:
        """Whether it is no longer to be seen at this moment."""
        return self.expires_at is not None and self.expires_at <= at

    @property
    def role(self) -> str | None:
        """Of a message of a conversation: who said it, `user` or `assistant`; otherwise `None`."""
        if self.source.kind != MESSAGE_TYPE:
            return None
        return self.source.role or _ROLES.get(self.source.trust)

    @property
    def name(self) -> str | None:
        """Of a message of a conversation: the name of who said it, if it has one."""
        return self.source.name

    @property
    def archived_by_expiry(self) -> bool:
        """Whether it is inactive because it had expired."""
        return not self.is_active and self.expires_at is not None and self.updated_at >= self.expires_at

    @property
    def event_time(self) -> datetime:
        """When it happened, as far as known."""
        return self.occurred_at or self.created_at

    def __getitem__(self, name: str) -> Any:
        """A field by its name: `memory["content"]`."""
        if name not in _READABLE:
            raise KeyError(name)
        return getattr(self, name)

    def __repr__(self) -> str:
        from jiyi.model.entry_display import one_line

        return one_line(self)

    def _repr_html_(self) -> str:
        """The entry as a table, for notebooks."""
        from jiyi.model.entry_display import html

        return html(self)

    def as_hit(
        self,
        relevance_score: float,
        explanation: Explanation,
        *,
        similarity: float | None = None,
        confident: bool | None = None,
        other_sources: tuple[MemoryEntry, ...] = (),
    ) -> MemoryEntry:
        """This entry as an answer to a question."""
        return self.changed(
            {
                "relevance_score": relevance_score,
                "similarity": similarity,
                "confident": confident,
                "explanation": explanation,
                "other_sources": other_sources,
            }
        )

    def changed(self, values: Mapping[str, Any]) -> MemoryEntry:
        """This entry with other values of some fields. They are not checked."""
        # `replace` looks every field up and calls `__init__`: for ten hits that is a tenth of a small recall.
        changed = list(_values_of(self))
        for name, value in values.items():
            changed[_PLACES[name]] = value
        return MemoryEntry.of_values(changed)

    @staticmethod
    def of_values(values: Iterable[Any]) -> MemoryEntry:
        """An entry with these values of its fields, in the order of `FIELDS`. They are not checked."""
        entry = object.__new__(MemoryEntry)
        for put, value in zip(_SETTERS, values, strict=True):
            put(entry, value)
        return entry

    def as_record(self) -> MemoryEntry:
        """This entry without the fields of a hit."""
        return replace(self, **_NOT_A_HIT)

    def index_hash(self) -> str:
        """Digest of the fields that derived indexes store."""
        return text_hash(
            self.scope,
            self.key or "",
            self.content,
            self.category,
            self.memory_type,
            self.domain or "",
            "\x1f".join(self.tags),
            self.conversation_id or "",
            "" if self.position is None else str(self.position),
            clock.to_text(self.event_time),
            # Only where there are some: entries of older stores keep the digest they were indexed with.
            *(("\x1f".join(self.more_domains),) if self.more_domains else ()),
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping; `from_dict` gives back an equal record."""
        data = dict(zip(_RECORD_FIELDS, _RECORD_VALUES(self), strict=True))
        data["category"] = str(self.category)
        data["source"] = self.source.to_dict()
        data["metadata"] = dict(self.metadata)
        for name in _TUPLES:
            data[name] = list(data[name])
        for name in _TIMES:
            if data[name] is not None:
                data[name] = clock.to_text(data[name])
        for name in _HIT_VALUES:
            value = getattr(self, name)
            if value is not None:
                data[name] = value
        if self.explanation is not None:
            data["explanation"] = self.explanation.to_dict()
        for name in HIT_ENTRIES:
            others = getattr(self, name)
            if others:
                data[name] = [entry.to_dict() for entry in others]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MemoryEntry:
        """The inverse of `to_dict` for records; unknown names raise `KeyError`."""
        known = {f.name for f in fields(cls)} - _HIT_FIELDS
        unknown = set(data) - known - _HIT_FIELDS
        if unknown:
            raise KeyError(f"unknown fields: {', '.join(sorted(unknown))}")
        values = {name: data[name] for name in known if name in data}
        for name in _TIMES:
            if values.get(name) is not None:
                values[name] = clock.from_text(values[name])
        values["category"] = MemoryCategory(values["category"])
        values["source"] = Source.from_dict(values["source"])
        values["tags"] = tuple(values["tags"])
        values["more_domains"] = tuple(values.get("more_domains", ()))
        values["namespace"] = tuple(values.get("namespace", ()))
        return cls(**values)


FIELDS = tuple(f.name for f in fields(MemoryEntry))
_NOT_A_HIT: dict[str, Any] = {f.name: f.default for f in fields(MemoryEntry) if f.name in _HIT_FIELDS}
_PLACES = {name: place for place, name in enumerate(FIELDS)}
_values_of = attrgetter(*FIELDS)
# Straight into the slots: an entry cannot be changed by assignment.
_SETTERS = tuple(getattr(MemoryEntry, name).__set__ for name in FIELDS)
# What `to_dict` goes by: it is called for every hit of every answer, and looking at each value takes time.
_RECORD_FIELDS = tuple(f.name for f in fields(MemoryEntry) if f.name not in _HIT_FIELDS)
_RECORD_VALUES = attrgetter(*_RECORD_FIELDS)
_TIMES = tuple(f.name for f in fields(MemoryEntry) if str(f.type).startswith("datetime"))
_TUPLES = tuple(name for name in _RECORD_FIELDS if str(MemoryEntry.__dataclass_fields__[name].type).startswith("tuple"))
_READABLE = frozenset(
    {f.name for f in fields(MemoryEntry)}
    | {"final_score", "score_parts", "matched", "domains", "event_time", "role", "name"}
)


@dataclass(frozen=True, slots=True)
class EntryVersion:
    """One version of an entry: what changed, when, by whom."""

    version: int
    operation: str
    """`create`, `update`, `forget`, `restore`, `archive`, `erase` or `import`."""
    changed_at: datetime
    changed_by: str
    changed: tuple[str, ...]
    """Names of the fields that this version changed."""
    entry: MemoryEntry | None
    """The entry as this version left it; `None` after it was forgotten or erased."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "version": self.version,
            "operation": self.operation,
            "changed_at": clock.to_text(self.changed_at),
            "changed_by": self.changed_by,
            "changed": list(self.changed),
            "entry": self.entry.to_dict() if self.entry is not None else None,
        }
