"""Half-width commas in Chinese text: many people type 我叫小王,在上海工作 without changing the keyboard."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from jiyi.text.code_spans import in_code, inline_code
from jiyi.text.patterns import HAN

__all__ = ["with_chinese_commas"]

# Beside a Chinese character, or a sign that stands around Chinese text.
_HALF_WIDTH: Final = rf"(?<=[{HAN}”」』）》])[,;]\s*|(?<=[^\s,;])[,;]\s*(?=[{HAN}“「『（《])"
# Compiled at first use, as in `patterns`.
_compiled = cache(re.compile)
_FULL_WIDTH: Final = {",": "，", ";": "；"}


def with_chinese_commas(text: str) -> str:
    """The text with full-width commas and semicolons between Chinese clauses; code stays as it is."""
    if text.isascii() or ("," not in text and ";" not in text):
        return text
    code = inline_code(text)
    made: str = _compiled(_HALF_WIDTH).sub(lambda m: m[0] if in_code(code, m.start()) else _FULL_WIDTH[m[0][0]], text)
    return made
