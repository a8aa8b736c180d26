"""The six domains that the facts of the long-term room belong to."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from jiyi.errors import InvalidInputError

Domain: TypeAlias = Literal[
    "general_chat",
    "user_preferences",
    "professional_and_academic",
    "lifestyle_and_interests",
    "social_and_relationships",
    "tasks_and_schedules",
]
DOMAINS: Final[tuple[Domain, ...]] = get_args(Domain)
GENERAL_CHAT: Final = DOMAINS[0]
SUBSTANTIAL = DOMAINS[1:]
"""All but general chat: what a memory worth keeping is about."""


def check_domains(domains: object) -> tuple[str, ...]:
    """One of the six or several, without repetition, at least one."""
    given = (domains,) if isinstance(domains, str) else domains
    if not isinstance(given, tuple | list) or not given:
        raise InvalidInputError(f"domains {domains!r} must be a list of some of {', '.join(DOMAINS)}")
    for domain in given:
        if domain not in DOMAINS:
            raise InvalidInputError(f"domain {domain!r} is unknown; the domains are {', '.join(DOMAINS)}")
    return tuple(dict.fromkeys(given))
