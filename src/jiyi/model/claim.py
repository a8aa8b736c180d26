"""Claim: what one fact says, in parts, so that a correction can replace it and nothing else. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

USER = "user"
"""The subject of what people say about themselves."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The parts of a fact. An empty part is one that is not known."""

    subject: str = USER
    """Whom or what it is about: `user`, a relation (`sister`), or a name."""
    attribute: str = ""
    """What about it: `home`, `work`, `name`, `allergy`, …"""
    value: str = ""
    """The new value, where the words leave no doubt about it."""
    negated: bool = False
    """Whether it says that something is not, or no longer, so."""
    when: str = ""
    """The words that say when, as they were said."""
    said_by: str = USER
    """Who says so: `user`, `assistant`, or the person who is quoted."""
    single: bool = False
    """Whether the attribute has one value at a time."""
    lasting: str = ""
    """Why it is not forgotten with time: `requested`, somebody asked to remember it, or `decision`, of a group."""
    conflicts_with: tuple[str, ...] = ()
    """Ids of older facts that this one may contradict; both stay until somebody settles it."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping of the parts that are set."""
        data = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        if self.conflicts_with:
            data["conflicts_with"] = list(self.conflicts_with)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; names of later versions are left out."""
        known = {f.name for f in fields(cls)}
        values = {name: value for name, value in data.items() if name in known}
        if "conflicts_with" in values:
            values["conflicts_with"] = tuple(values["conflicts_with"])
        return cls(**values)
