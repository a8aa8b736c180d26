"""Probes: whatever a scope calls, with whatever arguments, it learns nothing of another scope and changes nothing.

python -m tests.proof.isolation --probes 100000

The methods are found by looking at the classes, so a new one is probed as soon as it exists. Arguments are drawn from
what belongs to the other scope (ids, keys, sessions, words) and from junk. Every answer and every error is searched for
the marks that the other scope's texts carry; from time to time the other scope is compared with what it was.
"""

import argparse
import enum
import inspect
import json
import random
import tempfile
import time
import types
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jiyi.chat.api import Chat
from jiyi.errors import JiyiError
from jiyi.longterm.api import Longterm
from jiyi.memory import AgentMemory as AsyncMemory
from jiyi.notes import Notes
from jiyi.runtime import MemoryRuntime
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.proof.children import preload
from tests.proof.report import keep

MARK = "qzxvictim"
"""A word of the victim that the attacker has guessed."""
HIDDEN = "vq7secretzz"
"""In every text of the victim, and never in what the attacker says."""
PRIVATE_NOTE = "kk9privatenote"
VICTIM, ATTACKER = "alice", "bob"
# They are about the whole store, and for those who operate it: see the guide of operations.
ADMINISTRATION = {
    *("close", "open", "settings", "scopes", "forget_scope", "entries_by_id", "changes", "watch", "unwatch"),
    *("export_jsonl", "import_jsonl", "doctor", "verify", "repair", "rebuild", "drain", "run_jobs", "add_word"),
    *("maintain", "reindex", "init_workspace", "import_workspace", "agent"),
}
_PYTHON = {"integer": "int", "array": "list", "boolean": "bool", "number": "float", "object": "dict"}
_SCOPES = ("scope", "memory_scope", "user_id", "user", "scopes")


class Probe:
    """A memory with two scopes, and calls made for one of them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        workspace = folder / "workspace"
        workspace.mkdir(parents=True)
        self.memory = AgentMemory.open(
            folder / "data",
            scope=ATTACKER,
            embedder=HashEmbedder(),
            workspace=workspace,
            background_indexing=False,
            background_jobs=False,
        )
        self.ids: list[str] = []
        self._fill()
        (workspace / "MEMORY.md").write_text(f"# Private\n\n{PRIVATE_NOTE} of the owner\n", "utf-8")
        self.before = self._victim()
        self.words = [
            MARK,
            *self.ids,
            "victim-0",
            "victim-chat",
            "victim-session",
            "zebra",
            "杭州",
            "public-0",
            "*",
            "%",
        ]

    def _fill(self) -> None:
        memory = self.memory
        for i in range(20):
            entry = memory.store(f"victim-{i}", f"{MARK}{i} 杭州 zebra {HIDDEN}", scope=VICTIM, tags=[f"{HIDDEN}tag"])
            self.ids.append(entry.id)
            memory.store(f"own-{i}", f"own zebra 杭州 {i}", scope=ATTACKER, tags=["own"])
            memory.store(f"public-{i}", f"public zebra {i}", scope="public")
        said = [{"role": "user", "content": f"{MARK} said {HIDDEN}"}]
        memory.save_conversation_history("victim-session", said, scope=VICTIM)
        memory.chat("victim-chat", scope=VICTIM).put(said[0])
        self.ids.append(
            memory.runtime.remember("fact", f"{MARK} judged {HIDDEN}", HIDDEN, [f"{HIDDEN}tag"], memory_scope=VICTIM)
        )
        self.ids.append(memory.longterm.schedule_round(VICTIM, "victim-round", f"{MARK} I live here {HIDDEN}", "ok"))

    def _victim(self) -> str:
        entries = [entry.to_dict() for entry in self.memory.list(scope=VICTIM, limit=500)]
        public = [entry.to_dict() for entry in self.memory.list(scope="public", limit=500)]
        return json.dumps(
            [entries, [each for each in public if each["scope"] == "public"]], default=str, sort_keys=True
        )

    # --- calls ----------------------------------------------------------------------------------------------------

    def targets(self) -> dict[str, Callable[[], tuple[Callable[..., Any], inspect.Signature]]]:
        """Every method that is probed, by its name."""
        rooms: dict[str, tuple[type, Callable[[], Any]]] = {
            "memory": (AsyncMemory, lambda: self.memory),
            "longterm": (Longterm, lambda: self.memory.longterm),
            "runtime": (MemoryRuntime, lambda: self.memory.runtime),
            "chat": (Chat, lambda: self.memory.chat(self.chance.choice(["victim-chat", "own"]), scope=ATTACKER)),
            "notes": (Notes, lambda: self.memory.notes),
        }
        found: dict[str, Callable[[], tuple[Callable[..., Any], inspect.Signature]]] = {}
        for room, (kind, get) in rooms.items():
            for name, member in inspect.getmembers(kind):
                if name.startswith("_") or name in ADMINISTRATION or not inspect.iscoroutinefunction(member):
                    continue
                signature = inspect.signature(member)
                found[f"{room}.{name}"] = lambda get=get, name=name, s=signature: (getattr(get(), name), s)  # type: ignore[misc]
        return found

    def arguments(self, signature: inspect.Signature, room: str) -> dict[str, Any]:
        values = {}
        for parameter in list(signature.parameters.values())[1:]:
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            if parameter.name in _SCOPES:
                values[parameter.name] = [ATTACKER] if parameter.name == "scopes" else ATTACKER
            elif parameter.name == "kind" and room == "notes":
                values["kind"] = "group"
            elif parameter.default is parameter.empty or self.chance.random() < 0.4:
                values[parameter.name] = self._value(parameter.name, str(parameter.annotation))
        return values

    def _value(self, name: str, annotation: str) -> Any:  # noqa: C901, PLR0911 - a list of kinds of parameters
        chance, word = self.chance, self.chance.choice(self.words)
        if chance.random() < 0.05:
            return chance.choice([None, "", "\x00", -1, 10**30, [], {}, "x" * 5_000, "' OR 1=1 --", ("a",), 1.5])
        if "datetime" in annotation:
            return datetime(2026, 5, 1, tzinfo=UTC)
        if "bool" in annotation:
            return chance.random() < 0.5
        if "Mapping" in annotation or "dict" in annotation:
            return chance.choice([{}, {"key": word}, {"role": "user", "content": word}])
        if any(kind in annotation for kind in ("Iterable", "Sequence", "list", "tuple")) and "str |" not in annotation:
            item: Any = word
            if "message" in name:
                item = {"role": "user", "content": word}
            if name == "merge_groups":
                item = {"memory_ids": chance.sample(self.ids, 2), "judgment": word}
            if name == "new_memories":
                item = {"memory_type": "fact", "judgment": word, "reasoning": "r", "tags": ["own"]}
            if name == "entries":
                item = {"key": f"own-{chance.randrange(30)}", "content": "own text"}
            return [item for _ in range(chance.randrange(1, 3))]
        if "int" in annotation:
            return chance.choice([0, 1, 5, 50, 1_000])
        if "float" in annotation:
            return chance.random()
        if "message" in name:
            return {"role": "user", "content": word}
        return word

    def call_tool(self) -> tuple[str, Any]:
        kind = self.chance.choice(["main", "group"])
        scope = ATTACKER if kind == "main" else f"group:{ATTACKER}"
        toolbox = self.memory.tools(scope=scope, kind=kind)
        tool = self.chance.choice(toolbox.tools)
        schema = tool.parameters
        values = {
            name: self._value(
                name, {"integer": "int", "array": "list", "boolean": "bool"}.get(str(each.get("type")), "str")
            )
            for name, each in schema.get("properties", {}).items()
            if name in schema.get("required", ()) or self.chance.random() < 0.5
        }
        return f"tool {kind} {tool.name}", toolbox.call(tool.name, values)


def texts_in(value: Any, depth: int = 0) -> Iterable[str]:
    """Every text inside an answer."""
    if isinstance(value, str):
        return [value]
    if depth > 8 or value is None or isinstance(value, int | float | enum.Enum | datetime | types.ModuleType):
        return []
    if isinstance(value, Mapping):
        return [text for pair in value.items() for each in pair for text in texts_in(each, depth + 1)]
    if is_dataclass(value) and not isinstance(value, type):
        return [t for f in fields(value) for t in texts_in(getattr(value, f.name, None), depth + 1)]
    if isinstance(value, list | tuple | set | frozenset):
        return [text for each in value for text in texts_in(each, depth + 1)]
    return [str(value)]


def run(folder: Path, *, probes: int, seed: int = 1) -> dict[str, Any]:
    begun = time.monotonic()
    probe = Probe(folder, seed)
    counts: Counter[str] = Counter()
    try:
        methods = _probe(probe, probes, counts)
    finally:
        probe.memory.close()
    return {
        "probes": probes,
        "methods": methods,
        "answers": counts["answers"],
        "refused": counts["refused"],
        "leaks or foreign changes": 0,
        "seconds": round(time.monotonic() - begun),
    }


def _probe(probe: Probe, probes: int, counts: Counter[str]) -> int:
    targets = probe.targets()
    names = sorted(targets)
    for number in range(probes):
        given: dict[str, Any] = {}
        name = "tool"
        try:
            if number % 8 == 7:
                name, answer = probe.call_tool()
            else:
                name = names[number % len(names)] if number < 2 * len(names) else probe.chance.choice(names)
                method, signature = targets[name]()
                given = probe.arguments(signature, name.partition(".")[0])
                answer = method(**given)
            counts["answers"] += 1
        except (JiyiError, TypeError, AttributeError) as error:
            # A value of a wrong type is a mistake of the program that calls.
            answer = str(error)
            counts["refused"] += 1
        echoed = json.dumps(given, default=str, ensure_ascii=False)[:300]
        for text in texts_in(answer):
            assert HIDDEN not in text, f"{name} {echoed}: {text[:300]}"
            for_group = given.get("kind") == "group" or name.startswith("tool group")
            assert not for_group or PRIVATE_NOTE not in text, f"{name} {echoed}: a private note"
        if number % 2_000 == 1_999:
            _check_unchanged(probe)
    _check_unchanged(probe)
    return len(names)


def _check_unchanged(probe: Probe) -> None:
    after = probe._victim()
    assert after == probe.before, _difference(probe.before, after)


def _difference(before: str, after: str) -> str:
    place = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    return f"{before[max(0, place - 200) : place + 100]}\n{after[max(0, place - 200) : place + 100]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    preload()
    with tempfile.TemporaryDirectory() as folder:
        keep("isolation", run(Path(folder), probes=options.probes, seed=options.seed))


if __name__ == "__main__":
    main()
