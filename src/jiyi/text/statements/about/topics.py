"""What a statement is about: topics with their words in both languages.

Patterns are searched in folded text (lower case, simplified characters). A later statement about the same subject and
the same topic can replace an earlier one if the topic is `single`. What people have several of (allergies, pets, likes)
is not. To teach a new word, add it to the patterns of its topic in `life_topics` or `social_topics`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from jiyi.text.statements.about.life_topics import LIFE_TOPICS
from jiyi.text.statements.about.social_topics import SOCIAL_TOPICS
from jiyi.text.statements.about.topic_table import Topic

__all__ = ["TOPICS", "WEAK_TOPICS", "Topic", "topics_of"]

TOPICS: Final[tuple[Topic, ...]] = (*LIFE_TOPICS, *SOCIAL_TOPICS)
WEAK_TOPICS: Final = frozenset(
    {"family", "friends and colleagues", "plan", "travel", "like and dislike", "skill", "origin"}
)
"""Topics that two statements often share without being about the same thing."""


def topics_of(folded: str) -> dict[str, int]:
    """The topics that a folded text speaks of, each with how many of its words stand there."""
    return dict(_topics(folded))


@lru_cache(maxsize=4_096)
def _topics(folded: str) -> dict[str, int]:
    """Kept: a message is compared with every fact of its scope, and each is asked several times."""
    found: dict[str, int] = {}
    for topic in TOPICS:
        count = len({match if isinstance(match, str) else match[0] for match in topic.pattern.findall(folded)})
        if count:
            found[topic.name] = count
    return found
