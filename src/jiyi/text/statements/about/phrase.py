"""What one clause is about: the value that the readers of both languages make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jiyi.model.claim import USER
from jiyi.text.statements.about.subjects import canonical

__all__ = ["SPEAKER", "UNKNOWN", "Phrase", "relation"]

# Relations of which people have several, each with a word of its own.
_COARSE: Final = frozenset(
    {"cousin", "uncle", "aunt", "grandfather", "grandmother", "grandchild", "brother-in-law", "sister-in-law", "senior"}
    | {"first child", "nephew", "niece", "teacher", "pet", "dog", "cat", "drummer"}
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """What one clause is about."""

    words: frozenset[str] = frozenset()
    """The nouns and names, in lower case; empty for the speaker and where nothing is named."""
    owner: str = ""
    """`user` for "my …" and for the speaker alone, a person's word for "Ann's …", empty where nobody is named."""
    head: str = ""
    """The last noun: what kind of thing it is."""
    person: bool = False
    """Whether it is surely a person or an animal."""

    @property
    def named(self) -> bool:
        """Whether it names something else than the speaker."""
        return bool(self.words)


SPEAKER: Final = Phrase(owner=USER)
UNKNOWN: Final = Phrase()
"""Of a clause that does not say what it is about."""


def relation(word: str) -> str:
    """The relation that a word names, where all its words mean the same: 妈 and 母亲; but 表弟 is not 堂妹."""
    found = canonical(word)
    # 小女儿 is not 大女儿.
    return word if found in _COARSE or (found and word[0] in "大小二三") else found
