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
_PLACEHOLDERS: Final = frozenset(
    {"todo", "to do", "tbd", "tba", "tbc", "n/a", "n.a", "xxx", "coming soon", "not yet", "pending", "empty"}
    | {f"{what} yet" for what in ("none", "nothing", "not set", "not decided", "no entries", "no notes", "not known")}
    | {f"to be {done}" for done in ("done", "decided", "defined", "determined", "filled", "filled in", "confirmed")}
    | {f"to be {done}" for done in ("added", "announced", "written", "completed")}
    | {
        "待办",
        "待补充",
        "待补",
        "待定",
        "待填",
        "待填写",
        "待更新",
        "待完善",
        "待确认",
        "暂无",
        "暂无内容",
        "暂缺",
        "暂空",
    }
    | {"暂无内容", "暂缺", "暂空", "还没有", "尚无", "未填", "未填写", "空", "无内容", "没有内容"}
)
"""Not "none" and 无 alone: below "Allergies" they say something."""
_COLON: Final = re.compile("[:：]")
_MAX_LABEL_WORDS: Final = 6
_MAX_LABEL_CHARACTERS: Final = 40
"""What is longer and ends in a colon is a sentence."""
_TO_BE_REPLACED: Final = re.compile(r"<(?![^<>]*(?:@|://))[^<>]*>|\{\{?[^{}]*\}\}?|_{2,}|\.{3,}")
"""<name>, {{date}} and ____. An address in angle brackets is one."""
_IN_BRACKETS: Final = re.compile(r"\[(?P<square>[^][]*)\]|[(（](?P<round>[^()（）]*)[)）]|【(?P<thick>[^【】]*)】")
_ASKS_TO_FILL_IN: Final = re.compile(
    r"(?:your|e\.?g|(?:insert|enter|fill|type|write|add|describe)\s+(?:your|here|in|any|text|name|date))\b.*"
    r"|(?:name|date|time|title|text|value|link|url|email|phone|owner|description|placeholder|optional)s?"
    r"|(?:待填|待补充|未填|此处|在此|填写|例如|请(?:填|写|输入|描述|补充|在此)).*|例[：:].*|可选|选填|必填"
    r"|姓名|名字|名称|日期|时间|标题|内容|描述|说明|链接|电话",
    re.IGNORECASE,
)


def says_something(lines: Sequence[str], template: Container[str] = frozenset()) -> bool:
    """Whether the lines of a section, without its heading, hold a text.

    Marks of Markdown, comments, the header of a table, labels without values, placeholders and lines of the `template`
    of the file are none.
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
    rest, label = _TO_BE_REPLACED.sub(" ", _MARKS.sub("", line, count=1)), ""
    # A label asks for what stands behind it; there may be several in a line.
    begin = 0
    for colon in _COLON.finditer(rest):
        if not _is_label(rest[begin : colon.start()]):
            break
        begin, label = colon.end(), rest[begin : colon.start()]
    words = rest[begin:].strip(" \t:：.…*")
    bracketed = _IN_BRACKETS.fullmatch(words)
    if bracketed is not None:
        words = (bracketed["square"] or bracketed["round"] or bracketed["thick"] or "").strip(" \t:：.…")
        if _ASKS_TO_FILL_IN.fullmatch(words) or words.casefold() == label.strip(" \t*").casefold():
            return False
    return words.casefold() not in _PLACEHOLDERS and any(map(_counts, words))


def _is_label(name: str) -> bool:
    if len(name) > _MAX_LABEL_CHARACTERS or "|" in name:
        return False
    return any(map(str.isalpha, name)) and len(name.split()) <= _MAX_LABEL_WORDS


def _counts(character: str) -> bool:
    """A letter, a digit, or a symbol such as an emoji."""
    return character.isalnum() or (unicodedata.category(character) == "So" and character not in _CHECKBOXES)
