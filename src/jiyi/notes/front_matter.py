"""Front matter of notes: YAML in which no key stands twice.

YAML itself takes the last of two. A reader who looks at the first `visibility` would be wrong about who sees the note.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml


class DuplicateKeyError(ValueError):
    """A key stands twice in one mapping."""


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise DuplicateKeyError(f"the key {key.value!a} stands in it twice")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def load_front_matter(text: str) -> Any:
    """The value of the YAML text; `DuplicateKeyError` when a key stands twice."""
    return yaml.load(text, _Loader)  # noqa: S506 - a safe loader
