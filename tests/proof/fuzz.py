"""Whatever comes in from outside ends in an answer or in an error of the tree: never in another exception, or a hang.

python -m tests.proof.fuzz --examples 20000 [--engine atheris]

Imports, queries, tool arguments, model replies, notes, YAML, command lines. Hypothesis makes the inputs; with atheris
(pip install atheris) the same targets are driven by coverage of the code.
"""

import argparse
import contextlib
import io
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jiyi.config import load_memory_config
from jiyi.errors import JiyiError
from jiyi.model.replies import parse_json_reply
from jiyi.model.thinking import strip_thinking, strip_thinking_reply
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.proof.children import preload
from tests.proof.report import keep

_SECONDS = 10.0
"""No input that small may take longer."""
_SPECIAL = (
    *("<think>", "</think>", "```json\n", "---\n", "§", "\x00", "\ud800", "\u202e", "\r\n", "' OR 1=1 --", "%s", "{}"),
    *(
        "[1] user: ",
        "<memory>",
        "../../etc/passwd",
        "!!python/object:os.system",
        "&a [*a, *a]",
        "\x1b[31m",
        "NaN",
        "1e999",
    ),
    *(
        "9" * 400,
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
        "昨天",
        "三天前",
        "2026年2月30日",
        "é",
        "e\u0301",
    ),
)
TEXT = st.one_of(
    st.text(max_size=200),
    st.lists(st.one_of(st.sampled_from(_SPECIAL), st.text(max_size=12)), max_size=12).map("".join),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(TEXT, inner, max_size=5)),
    max_leaves=25,
)
SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "object"}}, "n": {"type": "integer"}},
    "required": ["facts"],
}


class Targets:
    """What is fuzzed. Each target takes one value and raises nothing but errors of the tree."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        workspace = folder / "workspace"
        workspace.mkdir(parents=True)
        self.memory = AgentMemory.open(
            folder / "data",
            embedder=HashEmbedder(),
            workspace=workspace,
            background_indexing=False,
            background_jobs=False,
        )
        self.memory.store_many({"key": f"k{i}", "content": f"zebra {i} 杭州早报"} for i in range(20))
        self.memory.export_jsonl(folder / "export.jsonl")
        self._lines = (folder / "export.jsonl").read_text("utf-8").splitlines()
        self.tools = list(self.memory.tools().tools)
        self.all: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], object]]] = {
            "imports": (st.tuples(st.integers(0, 1 << 30), TEXT, JSON), self.imported),
            "queries": (st.tuples(TEXT, st.sampled_from(["hybrid", "keyword", "semantic", "tags"])), self.asked),
            "tool arguments": (st.tuples(st.sampled_from(self.tools), st.one_of(JSON, TEXT)), self.called),
            "model replies": (st.one_of(TEXT, JSON.map(lambda value: json.dumps(value, default=str))), self.replied),
            "notes": (st.tuples(TEXT, st.booleans()), self.noted),
            "YAML": (st.one_of(TEXT, JSON.map(lambda value: json.dumps(value, default=str))), self.configured),
            "command lines": (st.lists(st.one_of(st.sampled_from(_WORDS), TEXT), max_size=6), self.commanded),
        }

    def imported(self, value: tuple[int, str, Any]) -> None:
        seed, text, inserted = value
        chance = random.Random(seed)
        lines = list(self._lines)
        place = chance.randrange(len(lines))
        match chance.randrange(5):
            case 0:
                lines[place] = text
            case 1:
                row = json.loads(lines[place])
                if isinstance(row, dict) and row:
                    row[chance.choice(sorted(row))] = inserted
                lines[place] = json.dumps(row)
            case 2:
                lines[place] = lines[place][: chance.randrange(len(lines[place]) + 1)]
            case 3:
                lines.insert(place, json.dumps(inserted))
            case _:
                lines[place], lines[0] = lines[0], lines[place]
        file = self._folder / "mutated.jsonl"
        file.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
        self.memory.import_jsonl(file)

    def asked(self, value: tuple[str, Any]) -> None:
        self.memory.recall(value[0], 5, mode=value[1])

    def called(self, value: tuple[Any, Any]) -> None:
        tool, arguments = value
        self.memory.tools().call(tool.name, arguments)

    def replied(self, text: str) -> None:
        strip_thinking(text)
        strip_thinking_reply(text)
        parse_json_reply(text, SCHEMA)

    def noted(self, value: tuple[str, bool]) -> None:
        text, as_file = value
        if as_file:
            path = self._folder / "workspace" / "memory" / "2026-01-02.md"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            self.memory.notes.scan()
            self.memory.notes.memory_search(text[:50] or "x", 3)
            self.memory.notes.build_context()
        else:
            self.memory.notes.memory_append(text)

    def configured(self, text: str) -> None:
        file = self._folder / "memory.yaml"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        load_memory_config(file)

    def commanded(self, words: list[str]) -> None:
        from jiyi.apps.cli.app import app

        # A value that the system could not have passed on is not one of a command line.
        given = [word.replace("\x00", "").encode("utf-8", "replace").decode() for word in words]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                app([*given, "--data", str(self._folder / "cli"), "--json"], standalone_mode=False)
            except SystemExit:
                return


_WORDS = (
    "store",
    "recall",
    "forget",
    "count",
    "list",
    "history",
    "show",
    "scopes",
    "--scope",
    "--json",
    "--limit",
    "-1",
    "k1",
)


def guarded(name: str, target: Callable[[Any], object]) -> Callable[[Any], None]:
    def call(value: Any) -> None:
        begun = time.process_time()
        with contextlib.suppress(JiyiError):
            target(value)
        taken = time.process_time() - begun
        assert taken < _SECONDS, f"{name} took {taken:.1f} s for {value!r}"

    return call


def run(folder: Path, *, examples: int, seed: int = 1, only: str = "") -> dict[str, Any]:
    begun = time.monotonic()
    targets = Targets(folder)
    chosen = {name: each for name, each in targets.all.items() if only in name}
    each = max(1, examples // len(chosen))
    counts = {}
    for name, (strategy, target) in chosen.items():
        # These take longer: a command opens a memory, and a note is a file that is read again.
        number = max(1, each // 5) if name in ("command lines", "notes") else each
        _with_hypothesis(strategy, guarded(name, target), number, seed)
        counts[name] = number
    problems = targets.memory.doctor()["store_problems"]
    assert not problems, problems
    targets.memory.close()
    return {**counts, "exceptions outside the tree": 0, "seconds": round(time.monotonic() - begun)}


def _with_hypothesis(strategy: st.SearchStrategy[Any], call: Callable[[Any], None], number: int, seed: int) -> None:
    from hypothesis import seed as seeded

    limits = settings(
        max_examples=number,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    seeded(seed)(limits(given(strategy)(call)))()


def _with_atheris(targets: Targets, runs: int) -> None:
    """Coverage-guided: bytes become an input by Hypothesis's own decoder."""
    import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

    calls = [
        settings(database=None, deadline=None)(given(strategy)(guarded(name, target))).hypothesis.fuzz_one_input  # type: ignore[attr-defined]
        for name, (strategy, target) in targets.all.items()
        if name != "command lines"
    ]

    def one(data: bytes) -> None:
        if data:
            calls[data[0] % len(calls)](data[1:])

    atheris.instrument_all()
    atheris.Setup([sys.argv[0], f"-runs={runs}", "-max_len=2048", "-len_control=0", "-rss_limit_mb=4096"], one)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the name of a target")
    parser.add_argument("--engine", choices=("hypothesis", "atheris"), default="hypothesis")
    options = parser.parse_args()
    preload()
    with tempfile.TemporaryDirectory() as folder:
        if options.engine == "atheris":
            _with_atheris(Targets(Path(folder)), options.examples)
            return
        keep("fuzz", run(Path(folder), examples=options.examples, seed=options.seed, only=options.only))


if __name__ == "__main__":
    main()
