"""What a process that is going to be killed does, and what must be true afterwards.

Every text follows from a key and a stamp, so a process tells in a few bytes what it is about to do, and whoever looks
at the store afterwards knows to the letter what has to be there.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from jiyi.sync import AgentMemory

KEYS = 30
GROUPS = 3
GROUP_SIZE = 12
SESSIONS = 4
_WORDS = ("杭州早报", "API配置", "apple", "龙井茶", "zebra crossing", "重跑gen-itgc", "周三的会议", "blue bicycle")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done to a memory: `store`, `forget`, `bulk` (some entries at once) or `history`."""

    kind: str
    name: str
    stamp: str

    @property
    def keys(self) -> list[str]:
        return [f"{self.name}/{i}" for i in range(GROUP_SIZE)] if self.kind == "bulk" else [self.name]

    def perform(self, memory: AgentMemory) -> None:
        if self.kind == "store":
            memory.store(self.name, text_of(self.name, self.stamp), tags=tags_of(self.stamp))
        elif self.kind == "forget":
            memory.forget(self.name)
        elif self.kind == "bulk":
            tags = tags_of(self.stamp)
            memory.store_many([{"key": key, "content": text_of(key, self.stamp), "tags": tags} for key in self.keys])
        else:
            memory.save_conversation_history(self.name, messages_of(self.name, self.stamp))


def random_step(chance: random.Random, actor: str, stamp: str) -> Step:
    """Mostly stores, many of them updates; keys belong to their actor, so that two of them can be checked apart."""
    kind = chance.choices(("store", "forget", "bulk", "history"), (6, 2, 1, 2))[0]
    most = {"store": KEYS, "forget": KEYS, "bulk": GROUPS, "history": SESSIONS}[kind]
    name = {"bulk": "group", "history": "talk"}.get(kind, "key")
    return Step(kind, f"{actor}-{name}-{chance.randrange(most)}", stamp)


def text_of(key: str, stamp: str) -> str:
    chance = random.Random(f"{key} {stamp}")
    body = " ".join(chance.choices(_WORDS, k=chance.randrange(2, 20)))
    return f"{key} 的版本 {stamp}：{body} {blake2b(f'{key} {stamp}'.encode(), digest_size=8).hexdigest()}"


def tags_of(stamp: str) -> tuple[str, ...]:
    return (f"round {stamp}", "crash")


def messages_of(session: str, stamp: str) -> list[dict[str, Any]]:
    chance = random.Random(f"{session} {stamp}")
    return [
        {"role": chance.choice(("user", "assistant")), "content": f"{session} {stamp} 第 {i} 句"}
        for i in range(chance.randrange(1, 9))
    ]


@dataclass(slots=True)
class Expected:
    """The state of a memory as the acknowledgements tell it."""

    lives: dict[str, list[str | None]] = field(default_factory=dict)
    """For each key its versions: a stamp, or `None` where it was forgotten."""
    sessions: dict[str, str] = field(default_factory=dict)

    def after(self, step: Step) -> "Expected":
        """The state after one more step."""
        if step.kind == "history":
            return replace(self, sessions={**self.sessions, step.name: step.stamp})
        lives = dict(self.lives)
        for key in step.keys:
            versions = lives.get(key, [])
            if step.kind != "forget":
                lives[key] = [*versions, step.stamp]
            elif versions and versions[-1] is not None:
                lives[key] = [*versions, None]
        return replace(self, lives=lives)

    def shown(self) -> dict[str, Any]:
        """The same in the form of `observed`."""
        lives: dict[str, list[str | None]] = {
            key: [None if stamp is None else text_of(key, stamp) for stamp in versions]
            for key, versions in self.lives.items()
        }
        return {
            "entries": {
                key: (text_of(key, versions[-1]), tags_of(versions[-1]), _version(versions))
                for key, versions in self.lives.items()
                if versions[-1] is not None
            },
            "lives": lives,
            "sessions": {name: messages_of(name, stamp) for name, stamp in self.sessions.items()},
        }


def observed(memory: AgentMemory, names: Mapping[str, Any], sessions: Mapping[str, Any]) -> dict[str, Any]:
    """What a memory says of itself: all entries, and the lives of these keys and sessions."""
    lives = {
        key: [None if version.entry is None else version.entry.content for version in memory.history(key)]
        for key in names
    }
    talks = {name: [message.to_dict() for message in memory.load_conversation_history(name)] for name in sessions}
    return {
        "entries": {entry.key: (entry.content, entry.tags, entry.version) for entry in memory.list(limit=1_000)},
        "lives": {key: life for key, life in lives.items() if life},
        "sessions": {name: talk for name, talk in talks.items() if talk},
    }


def _version(versions: list[str | None]) -> int:
    """Versions are counted from the last time the key was new."""
    return len(versions) - max((i + 1 for i, stamp in enumerate(versions) if stamp is None), default=0)
