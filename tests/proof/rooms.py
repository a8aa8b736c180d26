"""What a process does to every room of a memory, and what must be there afterwards.

Every text follows from its stamp, so a few bytes tell what an act was about. An act either replaces the value of a slot
(the last acknowledged one must be there) or adds something that must be there exactly once.
"""

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder

REPLACING = ("store", "forget", "bulk", "history")
ADDING = ("add", "chat", "note", "remember", "round")
ROOMS = (*REPLACING, *ADDING)
_BULK = 5
_SLOTS = 24
_WORDS = ("杭州早报", "API配置", "apple", "龙井茶", "zebra crossing", "重跑gen-itgc", "周三的会议", "blue bicycle")


def text_of(stamp: str) -> str:
    chance = random.Random(stamp)
    return f"{stamp} {' '.join(chance.choices(_WORDS, k=4))} {blake2b(stamp.encode(), digest_size=4).hexdigest()}."


def open_memory(path: Path, *, background: bool = True, **settings: Any) -> AgentMemory:
    chosen = {"embedder": HashEmbedder(), "background_indexing": background, "background_jobs": False}
    chosen |= {"freshness_seconds": 600, "workspace": path / "workspace", "note_candidates": False, "busy_timeout": 60}
    (path / "workspace").mkdir(parents=True, exist_ok=True)
    return AgentMemory.open(path / "data", **{**chosen, **settings})


@dataclass(frozen=True, slots=True)
class Act:
    """One call: the room, the slot or session, and the stamp of its text."""

    room: str
    name: str
    stamp: str

    @property
    def slot(self) -> tuple[str, str]:
        return ("store" if self.room == "forget" else self.room), self.name

    def perform(self, memory: AgentMemory) -> str:
        """Do it; returns the id of what was made, if it has one."""
        text = text_of(self.stamp)
        match self.room:
            case "store":
                memory.store(self.name, text, tags=["proof"])
            case "forget":
                memory.forget(self.name)
            case "bulk":
                memory.store_many([{"key": f"{self.name}/{i}", "content": f"{text} {i}"} for i in range(_BULK)])
            case "history":
                said = [{"role": "user", "content": text}, {"role": "assistant", "content": f"{text} yes"}]
                memory.save_conversation_history(self.name, said)
            case "add":
                return memory.add(text).id
            case "chat":
                memory.chat(self.name).put({"role": "user", "content": text})
            case "note":
                memory.notes.memory_append(text)
            case "remember":
                return str(memory.runtime.remember("fact", text, "because", ["proof"], memory_scope="main"))
            case "round":
                return memory.longterm.schedule_round("main", self.name, text, "ok")
            case _:
                raise ValueError(self.room)
        return ""


def random_act(chance: random.Random, actor: str, number: int, rooms: Iterable[str] = ROOMS) -> Act:
    room = chance.choice(list(rooms))
    slot = "store" if room == "forget" else room
    # Sessions belong to one actor: what is looked at after it has ended does not grow with the store.
    name = f"{slot}-{actor}" if room in ("chat", "round") else f"{slot}-{chance.randrange(_SLOTS)}"
    return Act(room, name, f"{actor}.{number}")


@dataclass
class Ledger:
    """What must be in a memory, by what was acknowledged; acts in flight may have happened or not, but not in part."""

    values: dict[tuple[str, str], str | None] = field(default_factory=dict)
    added: dict[str, dict[str, Act]] = field(default_factory=lambda: {room: {} for room in ADDING})
    ids: dict[str, str] = field(default_factory=dict)
    acknowledged: Counter[str] = field(default_factory=Counter)
    survivors: int = 0

    def acknowledge(self, act: Act, made: str) -> None:
        self.acknowledged[act.room] += 1
        if act.room in REPLACING:
            self.values[act.slot] = None if act.room == "forget" else act.stamp
            return
        self.added[act.room][act.stamp] = act
        if made:
            self.ids[act.stamp] = made

    def check(self, memory: AgentMemory, in_flight: Iterable[Act] = (), *, only: set[str] | None = None) -> list[str]:
        """What is wrong. `only` names the actors whose additions are looked at; otherwise all are.

        What was in flight and has happened is in the ledger from now on.
        """
        wrong: list[str] = []
        flying = list(in_flight)
        for act in flying:
            if act.room in REPLACING:
                found = self._value(memory, act.slot, wrong)
                after = None if act.room == "forget" else act.stamp
                if found != self.values.get(act.slot) and found == after:
                    self.values[act.slot] = after
                    self.survivors += 1
        for slot, value in self.values.items():
            found = self._value(memory, slot, wrong)
            if found != value:
                wrong.append(f"{slot} holds {found!r} and not {value!r}")
        for room in ADDING:
            wanted = {
                stamp: act for stamp, act in self.added[room].items() if only is None or stamp.partition(".")[0] in only
            }
            seen = self._seen(memory, room, wanted.values(), [act for act in flying if act.room == room])
            wrong += [f"{room} {stamp} is there {seen[stamp]} times" for stamp in wanted if seen[stamp] != 1]
            for act in flying:
                if act.room == room and seen[act.stamp]:
                    if seen[act.stamp] > 1:
                        wrong.append(f"{room} {act.stamp}, in flight, is there {seen[act.stamp]} times")
                    self.added[room][act.stamp] = act
                    self.survivors += 1
        return wrong

    @staticmethod
    def _value(memory: AgentMemory, slot: tuple[str, str], wrong: list[str]) -> str | None:
        room, name = slot
        if room == "history":
            said = [message.text for message in memory.load_conversation_history(name)]
            if not said:
                return None
            stamp = said[0].partition(" ")[0]
            if said != [text_of(stamp), f"{text_of(stamp)} yes"]:
                wrong.append(f"history {name} was written in part: {said}")
            return stamp
        names = [f"{name}/{i}" for i in range(_BULK)] if room == "bulk" else [name]
        entries = [memory.get(each) for each in names]
        if entries[0] is None:
            if any(entries):
                wrong.append(f"{name} was written in part")
            return None
        stamp = entries[0].content.partition(" ")[0]
        texts = [f"{text_of(stamp)} {i}" for i in range(_BULK)] if room == "bulk" else [text_of(stamp)]
        if [entry and entry.content for entry in entries] != texts:
            wrong.append(f"{name} was written in part: {[entry and entry.content[:40] for entry in entries]}")
        return stamp

    def _seen(self, memory: AgentMemory, room: str, acts: Iterable[Act], flying: list[Act]) -> Counter[str]:
        """How often each stamp is there."""
        seen: Counter[str] = Counter()
        every = [*acts, *flying]
        if room in ("add", "remember"):
            for act in every:
                made = self.ids.get(act.stamp)
                if made is None:
                    # In flight: nobody was told its id.
                    found = [hit for hit in memory.list(limit=1_000) if hit.content == text_of(act.stamp)]
                    seen[act.stamp] += len(found)
                else:
                    entry = memory.get(id=made)
                    seen[act.stamp] += entry is not None and entry.content == text_of(act.stamp)
        elif room == "note":
            for file in sorted((memory.settings.workspace or Path()).rglob("*.md")):
                content = file.read_text("utf-8")
                for act in every:
                    seen[act.stamp] += content.count(text_of(act.stamp))
        else:
            for name in {act.name for act in every}:
                said = memory.chat(name).get_all() if room == "chat" else memory.load_conversation_history(name)
                texts = Counter(message.text for message in said)
                for act in every:
                    if act.name == name:
                        seen[act.stamp] += texts[text_of(act.stamp)]
        return seen
