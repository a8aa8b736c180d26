"""What of a message the speaker says, without what is only passed on.

Left out are blocks of code, error messages and log lines, first-person words of others in quotation marks or after
"he said:", and texts to be translated, rewritten, posted or written ("Write a post: …", 帮我写条朋友圈：…). Such parts
hold no fact about the speaker and end none.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.code_spans import without_code_blocks

__all__ = ["own_words", "quotation_in", "without_requested_text"]

_ERROR: Final = re.compile(
    r"(?:报错|抛(?:出)?异常|错误(?:信息|日志|提示)|异常信息|日志|堆栈)[^，。\n:：]{0,12}[:：].*"
    r"|\b(?:[a-z_]+\.)*[A-Za-z]*(?:Error|Exception)\b\s*[:(].*"
    r"|\b(?:Traceback \(most recent|Caused by:|stack trace:|error (?:message|log|text)s?:|errno\b).*"
    r"|^\W*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*\s+|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE)\]?[\s:]).*"
    r"|\b(?:fatal|error|panic|npm ERR!|warning): .*",
    re.MULTILINE,
)
# What is quoted speaks of whoever says it: "I" is not the user there.
_FIRST: Final = r"(?:我|咱|俺|\b(?:I|I'm|I've|my|we|we're|our)\b)"
_QUOTATION: Final = re.compile(
    rf"“[^”]*{_FIRST}[^”]*(?:”|\Z)|「[^」]*{_FIRST}[^」]*」|『[^』]*{_FIRST}[^』]*』|\"[^\"\n]*{_FIRST}[^\"\n]*\""
    # A quotation mark that is no apostrophe: 'I live in Porto now'.
    rf"|(?<!\w)[‘'](?=[^\n]{{0,200}}{_FIRST})(?:[^'’\n]|(?<=\w)['’](?=\w))+(?<!\s)['’](?!\w)"
)
_SAID: Final = re.compile(
    rf"(?<!我)(?<!我就)(?<!我们)(?:说|问|讲|喊|写道|原话|发(?:消息|微信))(?:是|了|道)?\s*[:：][^。！？\n]*{_FIRST}[^。！？\n]*"
    rf"|(?<!I )\b(?:said|says|wrote|texted|posted|goes)\s*:[^.!?\n]*{_FIRST}[^.!?\n]*"
)
_TEXTS_EN: Final = (
    r"(?:post|tweet|e-?mail|message|caption|letter|note|ad|advert|notice|sign|announcement|review|bio|poem|text|reply"
    r"|statement|description|headline|slogan|story|lyrics|song|speech|invitation|card|changelog|release notes?|readme"
    r"|docstring|comment|sentences?|paragraph|status|toast|script|prompt|title|blurb|tagline|essay|summary|draft|line"
    r"|following|this|these)"
)
_ASKED_EN: Final = (
    r"(?:translate|rewrite|rephrase|reword|paraphrase|proof-?read|polish|edit|correct|shorten|summari[sz]e|write|draft"
    r"|compose|format|fix|improve|tidy up|continue|spell-?check|convert|post|tweet|publish|send)"
)
_LANGUAGE_TASK: Final = r"(?:translate|rewrite|rephrase|reword|paraphrase|proof-?read|polish|summari[sz]e|spell-?check)"
_TEXTS_ZH: Final = (
    r"(?:朋友圈|微博|邮件|文案|帖子|消息|短信|公告|通知|信|广告|标题|评论|简介|台词|作文|句子|这句话?|这段话?|下面|以下|这条|这封"
    r"|commit|提交信息|周报|日报|发言稿|演讲稿|祝福|告示|小红书|英文|中文|日语|日文|英语|法语|故事|剧本|角色卡|人设|提示词)"
)
_ASKED_ZH: Final = r"(?:翻译|译|润色|改写|重写|仿写|续写|扩写|缩写|修改|检查|校对|写|发|拟|编|起草|总结|概括|念)"
_REQUESTED: Final = re.compile(
    r"(?:^|(?<=[.!?\n])\s*|(?<=[,;]) )(?:(?:please|pls|can you|could you|would you|help me|ok|now|hey|then|and)\b,? ?)*"
    rf"(?:{_ASKED_EN}\b[^:\n.!?]{{0,70}}\b{_TEXTS_EN}\b[^:\n.!?]{{0,40}}|{_LANGUAGE_TASK}\b[^:\n.!?]{{0,50}}):\s*\S.*"
    rf"|(?:^|(?<=[.!?\n])\s*)(?:commit message|translation|subject line|release note|status update)s?\s*:\s*\S.*"
    rf"|(?<![\u3400-\u9fff])(?![我他她][^，。：:]{{0,4}}了)(?:帮我?|请|麻烦|给我|替我|把)?[^，。！？\n:：]{{0,12}}{_ASKED_ZH}[^，。！？\n:：]{{0,20}}{_TEXTS_ZH}[^，。！？\n:：]{{0,16}}[:：]\s*\S.*"
    rf"|(?:请|帮我|麻烦)?把{_TEXTS_ZH}[^，。！？\n:：]{{0,12}}{_ASKED_ZH}[^，。！？\n:：]{{0,12}}[:：]\s*\S.*",
    re.IGNORECASE | re.DOTALL,
)


def own_words(text: str) -> str:
    """The text without what its speaker only passes on; empty where that is all of it."""
    return _without(text, _REQUESTED, _ERROR, _QUOTATION, _SAID)


def without_requested_text(text: str) -> str:
    """The text without code blocks, error messages and texts to be translated, rewritten or posted; quotations stay."""
    return _without(text, _REQUESTED, _ERROR)


def quotation_in(text: str) -> re.Match[str] | None:
    """The first words of somebody else in the first person: in quotation marks, or after "he said:"."""
    return _QUOTATION.search(text) or _SAID.search(text)


def _without(text: str, *patterns: re.Pattern[str]) -> str:
    found = without_code_blocks(text)
    for pattern in patterns:
        found = pattern.sub(" ", found)
    return text if found == text else found.strip()
