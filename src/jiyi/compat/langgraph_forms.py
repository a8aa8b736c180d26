"""Items of a LangGraph store as entries of a memory. Without LangGraph: importers use it as well."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from jiyi.errors import InvalidInputError
from jiyi.model.metadata import check_metadata
from jiyi.model.storable import storable

KIND: Final = "langgraph"
"""The memory type of the entries, the first part of their namespaces, and the field of their metadata."""
_NOTHING: Final = "-"
"""The content of an item that is not searched; an entry must have some."""
_MAX_KEY: Final = 512


def entry_key(namespace: Sequence[str], key: str) -> str:
    """The key of the entry, unique in its scope: readable, and a digest where it would be too long."""
    if not isinstance(key, str) or not key:
        raise InvalidInputError(f"key must be a text that is not empty, not {ascii(key)[:80]}")
    parts = [KIND, *(part.replace("%", "%25").replace("/", "%2F") for part in (*namespace, key))]
    text = "/".join(parts)
    if len(text) <= _MAX_KEY:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{KIND}/#{digest}"


def stored_item(
    namespace: Sequence[str], key: str, value: Mapping[str, Any], *, text: str | None = None, ttl: float | None = None
) -> dict[str, Any]:
    """The arguments of `store` for an item. `text` is what is searched of it: all its words where it is `None`."""
    copied = as_json(value, key)
    words = joined(leaves(copied)) if text is None else text
    about: dict[str, Any] = {"key": key, "indexed": bool(words)}
    if ttl is not None:
        about["ttl"] = float(ttl)
    content = words or _NOTHING
    try:
        metadata = check_metadata({KIND: {**about, "value": copied}})
    except InvalidInputError:
        # Too large, too deep, or with names that metadata do not have: the content has room for it.
        metadata = {KIND: {**about, "in_content": True}}
        content = _readable_json(copied)
    return {
        "key": entry_key(namespace, key),
        "content": content,
        "memory_type": KIND,
        "metadata": metadata,
        "namespace": (KIND, *namespace),
    }


def _readable_json(value: object) -> str:
    """JSON that people can read, and that can be searched; escaped where it has lone surrogates."""
    text = json.dumps(value, ensure_ascii=False)
    return text if storable(text) == text else json.dumps(value)


def as_json(value: object, key: str) -> dict[str, Any]:
    """A copy of a value as JSON gives it back."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"the value of {ascii(key)[:80]} must be a dict, not {type(value).__name__}")
    try:
        copied: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"the value of {ascii(key)[:80]} cannot be written as JSON: {error}") from None
    return copied


def joined(texts: Iterator[str]) -> str:
    """Texts that are not blank, each once, in lines."""
    return "\n".join(dict.fromkeys(text.strip() for text in texts if text and text.strip()))


def leaves(value: Any) -> Iterator[str]:
    """The texts and numbers of a value."""
    if isinstance(value, Mapping):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def value_of(metadata: Mapping[str, Any], content: str) -> dict[str, Any]:
    """The value of the item that an entry with these holds."""
    about = metadata[KIND]
    value: dict[str, Any] = json.loads(content) if about.get("in_content") else dict(about["value"])
    return value
