"""Which section of MEMORY.md a statement belongs to, by the meaning of its heading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.notes.memory_file import comparable
from jiyi.text import fold

_WORDS: Final = re.compile(r"[a-z]+")
_TOPICS: Final[dict[str, tuple[str, ...]]] = {
    "preferences": (
        *("preference", "preferences", "like", "likes", "dislikes", "taste", "tastes", "habit", "habits", "style"),
        *("favourites", "favorites", "instructions", "偏好", "喜好", "喜欢", "习惯", "爱好", "口味", "要求"),
    ),
    "people": (
        *("people", "person", "persons", "contacts", "family", "friends", "team", "colleagues", "relations"),
        *("人物", "联系人", "家人", "家庭", "朋友", "同事", "团队", "人际"),
    ),
    "user": (
        *("user", "me", "myself", "profile", "personal", "identity", "health", "bio", "facts"),
        *("用户", "关于我", "个人", "身份", "健康", "资料", "我的情况"),
    ),
    "projects": ("project", "projects", "work", "job", "项目", "工作"),
    "decisions": (
        *("decision", "decisions", "decided", "lesson", "lessons", "learned", "learnings", "rules", "agreements"),
        *("决定", "决策", "教训", "经验", "约定", "规则"),
    ),
}
_TOPIC_OF_KIND: Final = {
    "preference": "preferences",
    "instruction": "preferences",
    "relation": "people",
    "identity": "user",
    "health": "user",
    "decision": "decisions",
}


def section_for(kind: str, headings: Sequence[str], otherwise: str) -> str:
    """The heading under which a statement of this kind belongs; `otherwise` when none fits."""
    return _best(_TOPIC_OF_KIND.get(kind, ""), headings) or otherwise


def match_section(wanted: str, headings: Sequence[str]) -> str:
    """The heading of the file that means the same as the wanted one; the wanted one itself when there is none."""
    plain = comparable(wanted)
    for heading in headings:
        if comparable(heading) == plain:
            return heading
    topics = sorted(_TOPICS, key=lambda topic: -_matches(wanted, topic))
    if not _matches(wanted, topics[0]) or _matches(wanted, topics[0]) == _matches(wanted, topics[1]):
        # No topic, or two of them: "Work and family" is a section of its own.
        return wanted
    return _best(topics[0], headings) or wanted


def _best(topic: str, headings: Sequence[str]) -> str:
    """The heading that names the topic and the fewest other things."""
    named = [(_matches(heading, topic), -len(heading), heading) for heading in headings if _matches(heading, topic)]
    return max(named)[2] if named else ""


def _matches(heading: str, topic: str) -> int:
    folded = fold(heading)
    words = set(_WORDS.findall(folded))
    return sum(name in words if name.isascii() else name in folded for name in _TOPICS.get(topic, ()))
