"""What a topic is, and the names of the domains for the tables of topics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from jiyi.text.statements.keeping.cue_rules import Domain

LIFE: Final[Domain] = "lifestyle_and_interests"
WORK: Final[Domain] = "professional_and_academic"
TASKS: Final[Domain] = "tasks_and_schedules"
PREFERENCES: Final[Domain] = "user_preferences"
SOCIAL: Final[Domain] = "social_and_relationships"


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that statements are about."""

    name: str
    domain: Domain
    single: bool
    """Whether a person has one value of it at a time: a home, an employer, a wake-up time."""
    pattern: re.Pattern[str]


def topic(name: str, domain: Domain, *patterns: str, single: bool = False) -> Topic:
    """A topic that is spoken of in any of these words."""
    return Topic(name, domain, single, re.compile("|".join(patterns)))
