"""Language detection: Chinese or English."""

import re
from typing import Final, Literal, TypeAlias

__all__ = ["Language", "detect_language"]

Language: TypeAlias = Literal["zh", "en"]

_LATIN_WORD: Final = re.compile("[A-Za-z\u00c0-\u024f]+")


def detect_language(text: str) -> Language:
    """Chinese if there are at least as many Han characters as Latin words, else English.

    So a Chinese sentence with English names is Chinese, and an English sentence with the name 小明 is English.
    """
    han = sum("\u3400" <= character <= "\u9fff" or character >= "\U00020000" for character in text)
    return "zh" if han and han >= len(_LATIN_WORD.findall(text)) else "en"
