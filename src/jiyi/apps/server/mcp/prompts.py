"""Prompts that MCP clients offer to people, in both languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jiyi.errors import InvalidInputError

LANGUAGES: Final = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt: what it is called, what it is for, and its text, each in both languages."""

    title: dict[str, str]
    description: dict[str, str]
    text: dict[str, str]


TEMPLATES: Final = {
    "remember_conversation": Template(
        {"en": "Remember this conversation", "zh": "记住这次对话"},
        {
            "en": "Keep what is worth knowing later from this conversation.",
            "zh": "把这次对话里以后用得着的内容记下来。",
        },
        {
            "en": "Look through our conversation so far. For each fact, preference, decision or plan of mine that will "
            "matter in later conversations, call `remember` once, with one complete sentence and the words by which "
            "it shall be found. First `recall` what is known, so that nothing is kept twice, and `update` what has "
            "changed. Leave out small talk, guesses and what other people said about themselves. At the end list what "
            "you have kept.",
            "zh": "请回顾我们到目前为止的对话。凡是以后还用得着的、关于我的事实、偏好、决定或计划，"
            "各调用一次 `remember`，"
            "用一句完整的话写清楚，并给出便于找到它的词。先用 `recall` 看看已经记得什么，不要重复；"
            "有变化的用 `update` 更正。"
            "闲聊、猜测以及别人关于自己的话不要记。最后列出你记下了什么。",
        },
    ),
    "about_me": Template(
        {"en": "What do you know about me?", "zh": "你了解我什么？"},
        {
            "en": "Show what is remembered about me, so that I can correct it.",
            "zh": "列出关于我的记忆，方便我更正。",
        },
        {
            "en": "Use `list` and `recall` to find what is remembered about me. Show it grouped by topic, each item "
            "with its date and id, and say where two items contradict each other. Do not add anything from elsewhere. "
            "Then ask me what is wrong or should be forgotten, and use `update` and `forget` as I answer.",
            "zh": "请用 `list` 和 `recall` 找出关于我的记忆，按主题分组列出，每条带上日期和 id；互相矛盾的请指出。"
            "不要添加别处的内容。然后问我哪些不对、哪些应该忘掉，并按我的回答使用 `update` 和 `forget`。",
        },
    ),
    "weekly_review": Template(
        {"en": "Weekly review", "zh": "每周回顾"},
        {
            "en": "What was learned in the last seven days, and what is still open.",
            "zh": "过去七天记下了什么，还有什么没有完成。",
        },
        {
            "en": "Use `list` with `since` seven days ago to see what was remembered this week. Summarise it in at "
            "most ten lines: what is new, what has changed, which appointments and tasks are still open. Then name up "
            "to three memories that look wrong, doubled or out of date, and ask whether to correct them.",
            "zh": "请用 `list` 并把 `since` 设为七天前，看看这一周记下了什么。"
            "用不超过十行总结：新内容、变化、还没完成的约定和任务。"
            "然后指出最多三条看起来有误、重复或过时的记忆，问我是否更正。",
        },
    ),
}


def check_language(language: object) -> str:
    """`en` or `zh`; English where nothing is said."""
    text = language if isinstance(language, str) and language else "en"
    if text not in LANGUAGES:
        raise InvalidInputError(f"language {ascii(language)[:40]} must be en or zh")
    return text
