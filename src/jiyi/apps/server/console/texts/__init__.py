"""What the console says, in Chinese and English: every text stands here once, under one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jiyi.apps.server.console.texts import (
    administration,
    common,
    entries,
    notes_and_runtime,
    overview,
    rooms,
    timeline,
)

LANGUAGES: Final = ("zh", "en")
"""The languages by the order of the texts in the catalogue."""
CATALOGUE: Final[Mapping[str, tuple[str, str]]] = {
    **common.TEXTS,
    **overview.TEXTS,
    **entries.TEXTS,
    **rooms.TEXTS,
    **timeline.TEXTS,
    **notes_and_runtime.TEXTS,
    **administration.TEXTS,
}
"""Name -> Chinese, English."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one language."""

    language: str

    @property
    def tag(self) -> str:
        """The language as HTML names it."""
        return "zh-CN" if self.language == "zh" else "en"

    def __call__(self, name: str, /, **values: Any) -> str:
        """The text with this name; an unknown name is an error of the program."""
        text = CATALOGUE[name][LANGUAGES.index(self.language)]
        return text.format(**values) if values else text

    def known(self, name: str, other: str) -> str:
        """The text with this name, or something else where there is none: for words that the store may have anew."""
        return self(name) if name in CATALOGUE else other

    def has(self, name: str) -> bool:
        """Whether there is a text with this name."""
        return name in CATALOGUE


def texts_for(chosen: str, headers: Mapping[str, str]) -> Texts:
    """The language that was chosen, or else that of the browser, or else English."""
    if chosen in LANGUAGES:
        return Texts(chosen)
    wanted: list[tuple[float, int, str]] = []
    for place, part in enumerate(headers.get("accept-language", "").split(",")[:20]):
        name, _, weight = part.strip().partition(";")
        try:
            share = float(weight.strip().removeprefix("q=")) if weight else 1.0
        except ValueError:
            continue
        wanted.append((-share, place, name.strip().lower()[:2]))
    return Texts(next((name for share, _, name in sorted(wanted) if name in LANGUAGES and share < 0), "en"))
