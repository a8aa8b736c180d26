"""Which of the two languages of jiyi a text is in."""

import re
from typing import Final, Literal

__all__ = ["detect_language"]

_LATIN_WORD: Final = re.compile("[A-Za-z\u00c0-\u024f]+")


def detect_language(text: str) -> Literal["zh", "en"]:
    """The language to answer or prompt in: Chinese if there are at least as many Han characters as Latin words.

    A Chinese sentence full of English names is still Chinese; an English one that names 小明 is still English.
    """
    han = sum("\u3400" <= character <= "\u9fff" or character >= "\U00020000" for character in text)
    return "zh" if han and han >= len(_LATIN_WORD.findall(text)) else "en"
