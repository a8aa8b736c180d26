"""Feedback on memories: what is asked for, what came of it, and how memories are merged. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from jiyi.errors import InvalidInputError
from jiyi.model.entry import MESSAGE_TYPE, TRUST_LEVELS, MemoryEntry, Source
from jiyi.model.identity import new_id
from jiyi.model.metadata import metadata_fits
from jiyi.model.scope import PUBLIC

MAX_STRENGTH = 1_000_000_000
"""No memory gets stronger than this."""
SUPERSEDED = "superseded"
"""The kind of source of a memory that was merged into another one, which it refers to."""
MERGE = "merge"
"""The kind of source of a memory that was merged from others, which it refers to."""


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """Memories that are to become one."""

    memory_ids: tuple[str, ...]
    judgment: str | None = None
    """What the merged memory says; the strongest one's judgment when nothing is given."""
    reasoning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackOrder:
    """Checked feedback of one scope."""

    scope: str
    visible: tuple[str, ...]
    useful: tuple[str, ...] = ()
    recalled: tuple[str, ...] = ()
    new: tuple[MemoryEntry, ...] = ()
    merges: tuple[MergeGroup, ...] = ()
    request_id: str | None = None
    fingerprint: str = ""
    """A digest of everything that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackOutcome:
    """What came of feedback, as ids."""

    strengthened: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    merged: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(the new memory, the ones it was merged from)."""
    unknown: tuple[str, ...] = ()
    refused: tuple[tuple[tuple[str, ...], str], ...] = ()
    """(the ids of a group that was not merged, why)."""
    repeated: bool = False
    """The request had been answered before: this is that answer, and nothing was changed."""

    def to_json(self) -> str:
        """The outcome for a second answer."""
        data = {name: getattr(self, name) for name in ("strengthened", "created", "merged", "unknown", "refused")}
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`, as a repetition."""
        data: Mapping[str, Any] = json.loads(text)
        return cls(
            strengthened=tuple(data["strengthened"]),
            created=tuple(data["created"]),
            merged=tuple((new, tuple(sources)) for new, sources in data["merged"]),
            unknown=tuple(data["unknown"]),
            refused=tuple((tuple(ids), why) for ids, why in data["refused"]),
            repeated=True,
        )


def merged_scope(scopes: Iterable[str]) -> str:
    """The scope of what is merged: a private scope wins over `public`, and two private ones never meet."""
    private = sorted(set(scopes) - {PUBLIC})
    if len(private) > 1:
        raise InvalidInputError("memories of different private scopes are never merged")
    return private[0] if private else PUBLIC


def united_tags(tags: Iterable[str], form: Callable[[str], str]) -> tuple[str, ...]:
    """Each tag once, in its first spelling; `form` tells which spellings are the same tag."""
    found: dict[str, str] = {}
    for tag in tags:
        found.setdefault(form(tag), tag)
    return tuple(found.values())


def added_strength(*strengths: int) -> int:
    """The sum, within the limit."""
    return min(MAX_STRENGTH, sum(strengths))


def why_not_merged(entries: Sequence[MemoryEntry]) -> str | None:
    """What keeps these from being merged, in words; `None` when nothing does."""
    if len(entries) < 2:
        return "a merge needs at least two different memories that this scope can see"
    if any(entry.memory_type == MESSAGE_TYPE for entry in entries):
        return "messages of conversations are kept as they were said"
    if any(entry.key is not None for entry in entries):
        return "a memory that is stored under a key stays under its key; change it with store or forget"
    try:
        merged_scope(entry.scope for entry in entries)
    except InvalidInputError as error:
        return str(error)
    return None


def merge_entries(
    entries: Sequence[MemoryEntry], group: MergeGroup, *, scope: str, now: datetime, form: Callable[[str], str]
) -> tuple[MemoryEntry, list[MemoryEntry]]:
    """The merged memory of a scope, and its sources as they are for it afterwards: superseded, not erased.

    The strongest gives the text, unless the group brings one; of equally strong ones the newest. Tags are united,
    strengths are added, and the least trusted source gives the trust. Metadata are united: of a key that several have,
    the strongest gives the value. It expires when the last of them would have, if all would have.
    """
    ordered = sorted(entries, key=lambda entry: (entry.strength, entry.created_at, entry.id), reverse=True)
    lead = ordered[0]
    trust = max((entry.source.trust for entry in ordered), key=_distrust)
    one = replace(
        lead,
        id=new_id(),
        scope=scope,
        content=group.judgment if group.judgment is not None else lead.content,
        reasoning=group.reasoning if group.reasoning is not None else _first_text(entry.reasoning for entry in ordered),
        importance_score=max(entry.importance_score for entry in ordered),
        strength=added_strength(*(entry.strength for entry in ordered)),
        tags=united_tags((tag for entry in ordered for tag in entry.tags), form),
        metadata=united_metadata([entry.metadata for entry in ordered]),
        expires_at=_last_expiry(ordered),
        source=Source(MERGE, trust, tuple(entry.id for entry in ordered)),
        # Merging makes nothing new: the memory is as old as the newest of its sources.
        created_at=max(entry.created_at for entry in ordered),
        updated_at=now,
        last_accessed_at=max(entry.last_accessed_at for entry in ordered),
        access_count=sum(entry.access_count for entry in ordered),
        pinned=any(entry.pinned for entry in ordered),
        superseded_by=None,
        summarized_by=None,
        is_active=True,
        version=1,
    )
    superseded = [
        replace(
            entry,
            source=Source(SUPERSEDED, entry.source.trust, (one.id,)),
            is_active=False,
            updated_at=max(now, entry.updated_at),
            version=entry.version + 1,
        )
        for entry in ordered
    ]
    return one, superseded


def united_metadata(objects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The keys of all objects; the first one that has a key gives its value.

    What would make it larger than metadata may be is left out: it stays in the history of the source.
    """
    united = dict(objects[0]) if objects else {}
    for other in objects[1:]:
        for key, value in other.items():
            if key not in united and metadata_fits({**united, key: value}):
                united[key] = value
    return united


def _last_expiry(entries: Sequence[MemoryEntry]) -> datetime | None:
    ends = [entry.expires_at for entry in entries]
    known = [end for end in ends if end is not None]
    return max(known) if len(known) == len(ends) else None


def _distrust(trust: str) -> int:
    return TRUST_LEVELS.index(trust) if trust in TRUST_LEVELS else len(TRUST_LEVELS)


def _first_text(texts: Iterable[str]) -> str:
    return next((text for text in texts if text), "")
