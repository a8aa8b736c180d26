"""When two memories of the runtime say the same: their words compared, and the keys that put them side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jiyi.model.entry import MemoryEntry
from jiyi.model.identity import text_hash
from jiyi.text import fold, tag_form

if TYPE_CHECKING:
    from jiyi.text import Analyzer

NEAR: Final = 0.8
"""So much of the longer text the shorter one has to say."""

# Words that change neither what is said nor about whom. Everything else counts, most of all what negates.
_FILLERS: Final = frozenset(
    "的 了 着 得 地 吗 呢 吧 啊 呀 嘛 哦 嗯 很 也 都 就 还 又 a an the very really quite just also too please".split()  # noqa: SIM905
)
_DECISIVE: Final = re.compile(
    r"[0-9〇零一二两三四五六七八九十百千万亿不没无非未别勿莫否]"
    r"|^(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|hardly|.*n't)$"
)


@dataclass(frozen=True, slots=True)
class ContentWords:
    """What a memory says, word by word, without what does not matter."""

    content: tuple[str, ...]
    particles: tuple[str, ...]
    """Stop words that may change the meaning."""

    def text(self) -> str:
        """One line; equal lines say the same."""
        return f"{' '.join(self.content)}\t{' '.join(self.particles)}"

    @classmethod
    def from_text(cls, line: str) -> ContentWords:
        """The inverse of `text`."""
        content, _, particles = line.partition("\t")
        return cls(tuple(content.split()), tuple(particles.split()))


def said(text: str, analyzer: Analyzer) -> ContentWords:
    """The words of a text in their order."""
    analysis = analyzer.analyze(text)
    content = tuple(word for word in analysis.words[: analysis.length] if word not in _FILLERS)
    particles = tuple(word for word in analysis.words[analysis.length :] if word not in _FILLERS)
    if not content and not particles:
        return ContentWords(tuple(fold(text).split()), ())
    return ContentWords(content, particles)


def says_all_of(longer: ContentWords, shorter: ContentWords) -> bool:
    """Whether one memory says everything the other does and hardly more, so that the other can go.

    Only additions are allowed: another name, number, order of words or a negation makes it another memory.
    """
    if longer.particles != shorter.particles or len(shorter.content) < NEAR * len(longer.content):
        return False
    rest = iter(longer.content)
    extra: list[str] = []
    for word in shorter.content:
        for candidate in rest:
            if candidate == word:
                break
            extra.append(candidate)
        else:
            return False
    return not any(_DECISIVE.search(word) for word in (*extra, *rest))


SAME, ALIKE = "=", "~"
"""How the names of groups begin: memories that say the same, and memories that could."""


def sort_keys(entry: MemoryEntry, what: ContentWords) -> Iterable[tuple[str, str]]:
    """(group, text) by which near-duplicates come to stand beside each other.

    The same words are the same whatever the tags. Nearly the same words must also have the same tags: these name whom
    and what a memory is about.
    """
    line = what.text()
    yield SAME + text_hash(entry.memory_type, line), line
    forms = sorted(tag_form(tag) for tag in entry.tags)
    if forms:
        yield ALIKE + text_hash(entry.memory_type, *forms), line
