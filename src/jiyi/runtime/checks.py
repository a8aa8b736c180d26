"""From what callers pass in to values: each check names what is wrong, and nothing has happened yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jiyi.errors import InvalidInputError
from jiyi.model import clock
from jiyi.model.category import check_word
from jiyi.model.entry import MESSAGE_TYPE, MemoryEntry, Source
from jiyi.model.feedback import MAX_STRENGTH, FeedbackOrder, MergeGroup, united_tags
from jiyi.model.identity import new_id, text_hash
from jiyi.model.limits import Limits, check_whole
from jiyi.model.scope import visible_scopes
from jiyi.runtime.values import BaseMemory
from jiyi.text import tag_form

_MEMORY = ("memory_type", "judgment", "reasoning", "tags", "strength", "is_active", "memory_scope")
_MERGE = ("memory_ids", "judgment", "reasoning")
_MAX_IDS = 10_000


def new_memory(
    limits: Limits,
    scope: str,
    *,
    memory_type: object,
    judgment: object,
    reasoning: object = "",
    tags: object = (),
    strength: object = 1,
    is_active: object = True,
) -> MemoryEntry:
    """A memory to be stored."""
    if not isinstance(is_active, bool):
        raise InvalidInputError(f"is_active {is_active!r} is neither true nor false")
    kind = check_word(memory_type, "memory_type")
    if kind == MESSAGE_TYPE:
        raise InvalidInputError(
            f"memory_type {MESSAGE_TYPE!r} is for what was said in conversations; "
            "save those with save_conversation_history"
        )
    now = clock.utc_now()
    return MemoryEntry(
        id=new_id(),
        scope=scope,
        key=None,
        content=limits.check_content(judgment, "judgment"),
        reasoning="" if reasoning is None or reasoning == "" else limits.check_content(reasoning, "reasoning"),
        memory_type=kind,
        tags=_tags(limits, tags),
        strength=check_whole(strength, "strength", 0, MAX_STRENGTH),
        is_active=is_active,
        source=Source("runtime", "agent"),
        created_at=now,
        updated_at=now,
        last_accessed_at=now,
    )


def changed_values(
    limits: Limits, *, judgment: object, reasoning: object, tags: object, strength: object
) -> dict[str, Any]:
    """The fields of a memory that an update changes; at least one."""
    values: dict[str, Any] = {}
    if judgment is not None:
        values["content"] = limits.check_content(judgment, "judgment")
    if reasoning is not None:
        values["reasoning"] = "" if reasoning == "" else limits.check_content(reasoning, "reasoning")
    if tags is not None:
        values["tags"] = _tags(limits, tags)
    if strength is not None:
        values["strength"] = check_whole(strength, "strength", 0, MAX_STRENGTH)
    if not values:
        raise InvalidInputError("an update needs judgment, reasoning, tags or strength")
    return values


def _tags(limits: Limits, tags: object) -> tuple[str, ...]:
    checked = limits.check_tags(tags)
    for tag in checked:
        if not tag_form(tag):
            raise InvalidInputError(f"tag {tag!a} has nothing visible in it; leave it out")
    return united_tags(checked, tag_form)


def feedback_order(
    limits: Limits,
    scope: str,
    *,
    useful: object,
    recalled: object,
    new: object,
    merges: object,
    request_id: object,
) -> FeedbackOrder:
    """Feedback, checked as a whole before anything is done."""
    memories = [_given(each, scope, place) for place, each in enumerate(_listed(new, "new_memories"))]
    order = FeedbackOrder(
        scope=scope,
        visible=visible_scopes(scope),
        useful=_ids(limits, useful, "useful_memory_ids"),
        recalled=_ids(limits, recalled, "recalled_memory_ids"),
        new=tuple(_named(limits, scope, each, place) for place, each in enumerate(memories)),
        merges=tuple(_group(limits, each, place) for place, each in enumerate(_listed(merges, "merge_groups"))),
        request_id=None if request_id is None else limits.check_id(request_id, "request_id"),
    )
    asked = (
        *("useful", *order.useful, "recalled", *order.recalled, "new"),
        *(repr((e.memory_type, e.content, e.reasoning, e.tags, e.strength, e.is_active)) for e in order.new),
        *("merges", *(repr((group.memory_ids, group.judgment, group.reasoning)) for group in order.merges)),
    )
    return replace(order, fingerprint=text_hash(*asked))


def memory_id(limits: Limits, value: object, name: str = "memory_id") -> str:
    """An id; whether there is such a memory is another question."""
    return limits.check_id(value, name)


def _listed(values: object, name: str) -> list[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{name} must be a list, not {type(values).__name__}")
    return list(values)


def _ids(limits: Limits, values: object, name: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(memory_id(limits, value, name) for value in _listed(values, name)))
    if len(found) > _MAX_IDS:
        raise InvalidInputError(f"{name} has {len(found):,} ids and the limit is {_MAX_IDS:,}; send it in parts")
    return found


def _given(memory: object, scope: str, place: int) -> dict[str, Any]:
    if isinstance(memory, BaseMemory):
        memory = {name: getattr(memory, name) for name in _MEMORY}
    if not isinstance(memory, Mapping):
        raise InvalidInputError(f"new_memories[{place}] is a {type(memory).__name__}; pass a mapping or a BaseMemory")
    unknown = [str(name) for name in memory if name not in _MEMORY]
    missing = [name for name in ("memory_type", "judgment") if name not in memory]
    if unknown or missing:
        what = f"unknown {', '.join(unknown)}" if unknown else f"without {', '.join(missing)}"
        raise InvalidInputError(f"new_memories[{place}] is {what}; known names are {', '.join(_MEMORY)}")
    given = dict(memory)
    if given.pop("memory_scope", scope) != scope:
        raise InvalidInputError(
            f"new_memories[{place}] names another memory_scope; feedback of one scope adds to that scope alone"
        )
    return given


def _named(limits: Limits, scope: str, given: dict[str, Any], place: int) -> MemoryEntry:
    try:
        return new_memory(limits, scope, **given)
    except InvalidInputError as error:
        raise type(error)(f"new_memories[{place}]: {error}") from None


def _group(limits: Limits, group: Sequence[str] | Mapping[str, Any], place: int) -> MergeGroup:
    name = f"merge_groups[{place}]"
    if not isinstance(group, Mapping):
        return MergeGroup(_ids(limits, group, name))
    unknown = [str(key) for key in group if key not in _MERGE]
    if unknown or "memory_ids" not in group:
        what = f"unknown {', '.join(unknown)}" if unknown else "without memory_ids"
        raise InvalidInputError(f"{name} is {what}; known names are {', '.join(_MERGE)}")
    judgment, reasoning = group.get("judgment"), group.get("reasoning")
    return MergeGroup(
        _ids(limits, group["memory_ids"], f"{name}.memory_ids"),
        None if judgment is None else limits.check_content(judgment, f"{name}.judgment"),
        None if reasoning is None or reasoning == "" else limits.check_content(reasoning, f"{name}.reasoning"),
    )
