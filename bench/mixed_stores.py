"""Stores that hold several kinds of memories at once: facts that stand alone beside chats, or beside dated facts.

They are made of the sets of facts and of the conversations of bench/sets/recall. Each set gives four stores a language:
its facts beside the conversations, with the questions of both; twice with a date for every other fact; and with every
other fact told in a conversation.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.knowing import MODES, SETS, Asked, Hit, Store, ask, read, read_chat, recall_at
from bench.recall import RememberingEmbedder
from jiyi.providers.bundled import BundledEmbedder

__all__ = ["mixed_stores", "report_mixed"]

_FIRST_DAY = datetime(2025, 1, 4, 9, tzinfo=UTC)
_DAYS_APART = timedelta(days=4, hours=5)
_FACTS_OF_A_CHAT = 5
_REPLY = {"en": "All right.", "zh": "好的。"}


def mixed_stores(folder: Path, chats: Path) -> Iterator[Store]:
    """The facts of one set, mixed with the conversations of the other, with dates and with messages."""
    for language in ("en", "zh"):
        facts = read(f"facts.{language}.jsonl", folder)
        asked = list(_asked(language, folder, {fact["id"]: fact["key"] for fact in facts}))
        contents = {fact["key"]: fact["content"] for fact in facts}
        alone = {key: {"key": key, "content": content} for key, content in contents.items()}
        chat = read_chat(language, chats)
        spoken = [question for question in chat.questions if question.gold]
        yield Store(f"{language}, facts and chats", alone | chat.memories, asked + spoken)
        for rest, name in enumerate(("odd", "even")):
            dated = {
                key: {"key": key, "content": content, "occurred_at": _FIRST_DAY + number * _DAYS_APART}
                for number, (key, content) in enumerate(contents.items())
                if number % 2 == rest
            }
            yield Store(f"{language}, {name} facts dated", alone | dated, _marked(asked, dated))
        told = dict(_told(language, [(key, contents[key]) for key in list(contents)[::2]]))
        yield Store(f"{language}, half told in chats", alone | told, _marked(asked, told))


def _marked(asked: Sequence[Asked], others: dict[str, Any]) -> list[Asked]:
    """The questions, with the kind of memory that answers them in their own kind."""
    return [
        Asked(each.text, each.gold, f"{each.kind}, {'not ' if each.gold & others.keys() else ''}standing alone")
        for each in asked
    ]


def _asked(language: str, folder: Path, keys: dict[str, str]) -> Iterator[Asked]:
    for kind, name in (("paraphrase", f"questions.{language}.held_out"), ("keyword", f"keyword.{language}")):
        for line in read(f"{name}.jsonl", folder):
            yield Asked(line["question"], frozenset(keys[each] for each in line["gold"]), kind)


def _told(language: str, facts: Sequence[tuple[str, str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Facts as messages of conversations, each with a reply."""
    for number, (key, content) in enumerate(facts):
        chat, place = divmod(number, _FACTS_OF_A_CHAT)
        common = {"category": "conversation", "conversation_id": f"told {chat}"}
        yield key, {"key": key, "content": content, "position": 2 * place, **common}
        reply = f"reply {number}"
        yield reply, {"key": reply, "content": _REPLY[language], "position": 2 * place + 1, **common}


def report_mixed(folders: Sequence[Path]) -> list[str]:
    """A table of the right answers by mode, over all these sets."""
    embedder = RememberingEmbedder(BundledEmbedder())
    found: dict[tuple[str, str], dict[str, list[tuple[Asked, list[Hit]]]]] = defaultdict(lambda: defaultdict(list))
    for folder in folders:
        for store in mixed_stores(folder, SETS):
            with tempfile.TemporaryDirectory() as place:
                results = ask(store, Path(place), embedder, removing=False)
            for kind, answers in results.items():
                for mode in MODES:
                    found[store.name, kind][mode] += answers.hits[mode]
    lines = ["# Stores of several kinds of memories (R@1 / R@5, percent)", ""]
    lines += ["| store, questions | " + " | ".join(MODES) + " |", "|---|" + "---|" * len(MODES)]
    for (store_name, kind), by_mode in found.items():
        cells = [f"{recall_at(by_mode[mode], 1):.1f} / {recall_at(by_mode[mode], 5):.1f}" for mode in MODES]
        lines.append(f"| {store_name}, {kind} ({len(by_mode['hybrid'])}) | " + " | ".join(cells) + " |")
    return lines
