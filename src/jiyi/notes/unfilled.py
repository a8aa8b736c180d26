"""Whether a section of a note says anything, or is a template that nobody has filled in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator, Sequence
from typing import Final

_TABLE_RULE: Final = re.compile(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?)?[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(?:`{3,}|~{3,}).*")
# Quote marks, bullets, the number of an item and checkboxes, several of them in a row. A longer number is a text.
_MARKS: Final = re.compile(r"(?:\s|>|(?:[-*+]|\d[.)])(?=\s|\Z)|\[[ xX]?\](?=\s|\Z))*")
_CHECKBOXES: Final = "☐☑☒"
_PLACEHOLDERS: Final = frozenset({"todo", "tbd", "待办", "待补充"})


def says_something(lines: Sequence[str], template: Container[str] = frozenset()) -> bool:
    """Whether the lines of a section, without its heading, hold a text.

    Marks of Markdown, comments, the header of a table, a lone TODO and lines of the `template` of the file are none.
    """
    own = [line for line in lines if line.strip() not in template]
    return any(_is_content(line) for line in _without_table_headers(_without_comments("\n".join(own)).split("\n")))


def _without_comments(text: str) -> str:
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join((*kept, text[at:]))


def _without_table_headers(lines: Sequence[str]) -> Iterator[str]:
    rules = {number for number, line in enumerate(lines) if number and _is_table_rule(lines[number - 1], line)}
    return (line for number, line in enumerate(lines) if number not in rules and number + 1 not in rules)


def _is_table_rule(above: str, line: str) -> bool:
    return "|" in above and _TABLE_RULE.fullmatch(line) is not None


def _is_content(line: str) -> bool:
    if _FENCE.fullmatch(line):
        return False
    words = _MARKS.sub("", line, count=1).strip(" \t:：.…")
    return words.casefold() not in _PLACEHOLDERS and any(map(_counts, words))


def _counts(character: str) -> bool:
    """A letter, a digit, or a symbol such as an emoji."""
    return character.isalnum() or (unicodedata.category(character) == "So" and character not in _CHECKBOXES)
