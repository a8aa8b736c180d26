"""How well the long-term room judges: what it keeps of a round, what a message replaces, and what is lost by that.

The sets in bench/sets/judgement were written by writers who had not seen the rules. Rounds are one message and its
reply with the facts that are worth keeping; sequences are messages over time with what must still be known at the end
and what must not. Nothing was learned from those of `MEASURED`: they tell about unseen sentences.

    python -m bench.judgement [--split dev] [--writers a,b,c] [--show rounds,sequences]
    python -m bench.judgement --split held_out --writers n,o,p --only rules
    python -m bench.judgement --only scripted --name judgement-scripted
    python -m bench.judgement --split held_out --llm http://127.0.0.1:8000/v1 --llm-model NAME [--sample 20]
        [--price 0.15,0.60]                             # of a million tokens in and out: what it cost
    python -m bench.judgement --real-model --sample 3 --name judgement-real-model    # ends after --minutes
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.judgement_script import ScriptedJudge
from bench.judgement_sets import LANGUAGES, WRITERS, domains_of, holds, load
from bench.support import Report, console, parser, progress, work_directory
from jiyi.errors import JiyiError
from jiyi.model.entry import MemoryEntry
from jiyi.ports import ChatModel
from jiyi.sync import AgentMemory

NOTHING_REPLACED = frozenset({"add_many", "unrelated", "other_subject", "temporary"})
_LONGEST_REPLY = 90
_MINUTES_OF_A_MODEL = 9.0
_USAGE = ("calls", "failures", "retries", "input_tokens", "output_tokens", "cost")
TARGETS = {
    "precision": 0.90,
    "recall": 0.90,
    "plain": 0.88,
    "domain": 0.88,
    "in questions": 0.80,
    "sequences": 0.88,
    "wrong losses": 0.05,
    "conflicts: precision": 0.70,
    "conflicts: recall": 0.50,
}


@dataclass
class Counts:
    """What came out, in numbers."""

    rounds: int = 0
    kept: int = 0
    rightly_kept: int = 0
    entries: int = 0
    useful_entries: int = 0
    facts: dict[str, list[bool]] = field(default_factory=dict)
    """By kind of round: of each fact whether it was kept."""
    domains: list[bool] = field(default_factory=list)
    sequences: dict[str, list[bool]] = field(default_factory=dict)
    """By kind of sequence: whether it ended right."""
    losses: list[bool] = field(default_factory=list)
    """Of each fact that must still be known: whether it was kept and then hidden."""
    conflicts: list[bool] = field(default_factory=list)
    """Of each pair in `conflicts()`: whether the older fact does not hold any more."""
    unrecognised: list[bool] = field(default_factory=list)
    """Of each fact that does not hold any more and is still current: whether `conflicts()` names it as the older."""
    failures: int = 0
    left_out: int = 0
    """Items that were not reached in the time that was allowed."""
    seconds: float = 0.0
    usage: Mapping[str, float] = field(default_factory=dict)
    """What the model was asked, as `doctor` counts it; empty for rules."""

    def values(self) -> dict[str, float]:
        """The figures of the issue."""
        every = [each for facts in self.facts.values() for each in facts]
        return {
            "precision": self.rightly_kept / self.kept if self.kept else 1.0,
            "recall": share(every),
            "plain": share(self.facts.get("plain", [])),
            "domain": share(self.domains),
            "in questions": share(self.facts.get("question_fact", [])),
            "sequences": share([each for ends in self.sequences.values() for each in ends]),
            "wrong losses": share(self.losses),
            "conflicts: precision": share(self.conflicts),
            "conflicts: recall": share(self.unrecognised),
        }


def share(found: Sequence[bool]) -> float:
    """The share of what is true."""
    return sum(found) / len(found) if found else 0.0


class Judge:
    """Runs rounds and sequences through a real memory, each in a scope of its own."""

    def __init__(self, memory: AgentMemory, model: Any = None, *, show: frozenset[str] = frozenset()) -> None:
        self._memory = memory
        self._model = model
        self._show = show

    def round(self, item: Mapping[str, Any], counts: Counts) -> None:
        """Keep what is worth keeping of one round, and compare it with what should be."""
        self._prepare(item)
        kept = self._put(item["id"], item["user"], item["assistant"], counts)
        wanted = item["keep"]
        counts.rounds += 1
        counts.kept += bool(kept)
        counts.rightly_kept += bool(kept) and bool(wanted)
        counts.entries += len(kept)
        counts.useful_entries += sum(any(holds(fact["must"], entry.content) for fact in wanted) for entry in kept)
        missed = []
        for fact in wanted:
            found = [entry for entry in kept if holds(fact["must"], entry.content)]
            counts.facts.setdefault(item["kind"], []).append(bool(found))
            if found:
                counts.domains.append(any(entry.domain in domains_of(fact) for entry in found))
            else:
                missed.append(fact["must"])
        wrong = [entry.content for entry in kept] if not wanted else []
        domain = [
            (fact["must"], fact["domain"], [e.domain for e in kept if holds(fact["must"], e.content)])
            for fact in wanted
            if any(holds(fact["must"], e.content) for e in kept)
            and not any(holds(fact["must"], e.content) and e.domain in domains_of(fact) for e in kept)
        ]
        if "rounds" in self._show and (missed or wrong):
            console.print(f"{item['id']}: {item['user']!r}", highlight=False, markup=False)
            console.print(f"    missed {missed} wrong {wrong} kept {[e.content for e in kept]}", markup=False)
        if "domains" in self._show and domain:
            console.print(f"{item['id']}: {item['user']!r} {domain}", highlight=False, markup=False)

    def sequence(self, item: Mapping[str, Any], counts: Counts) -> None:
        """Say all messages, and look at what is known at the end."""
        self._prepare(item)
        for message in item["messages"]:
            self._put(item["id"], message, "", counts)
        current, hidden = self._entries(item["id"])
        lost = [fact for fact in item["current"] if not any(holds(fact["must"], e.content) for e in current)]
        stays = [fact for fact in item["gone"] if any(holds(fact["must"], e.content) for e in current)]
        counts.sequences.setdefault(item["kind"], []).append(not lost and not stays)
        for fact in item["current"]:
            buried = fact in lost and any(holds(fact["must"], entry.content) for entry in hidden)
            counts.losses.append(buried)
        pairs = self._memory.longterm.conflicts(item["id"], limit=1_000)
        right = [any(holds(fact["must"], pair.older.content) for fact in item["gone"]) for pair in pairs]
        found = [any(holds(fact["must"], pair.older.content) for pair in pairs) for fact in stays]
        counts.conflicts += right
        counts.unrecognised += found
        if "conflicts" in self._show and not (all(right) and all(found)):
            wrong = [
                (p.older.content, p.newer.content)
                for p, holds_no_more in zip(pairs, right, strict=True)
                if not holds_no_more
            ]
            missed = [fact["must"] for fact, listed in zip(stays, found, strict=True) if not listed]
            console.print(f"{item['id']}: {item['messages']}", highlight=False, markup=False)
            console.print(f"    listed and no conflict {wrong} not listed {missed}", markup=False)
        if "sequences" in self._show and (lost or stays):
            console.print(f"{item['id']}: {item['messages']}", highlight=False, markup=False)
            console.print(f"    not known {[f['must'] for f in lost]} still there {[f['must'] for f in stays]}")
            console.print(
                f"    current {[e.content for e in current]} hidden {[e.content for e in hidden]}", markup=False
            )

    def _prepare(self, item: Mapping[str, Any]) -> None:
        if isinstance(self._model, ScriptedJudge):
            self._model.expect(item)

    def _put(self, scope: str, user: str, assistant: str, counts: Counts) -> list[MemoryEntry]:
        begin = time.perf_counter()
        try:
            return list(
                self._memory.longterm.extract_and_store_memories_for_round(scope, "conversation", user, assistant)
            )
        except JiyiError:
            counts.failures += 1
            return []
        finally:
            counts.seconds += time.perf_counter() - begin

    def _entries(self, scope: str) -> tuple[list[MemoryEntry], list[MemoryEntry]]:
        facts = [e for e in self._memory.list(scope=scope, limit=1_000) if e.memory_type == "fact"]
        return facts, [each.entry for each in self._memory.longterm.superseded(scope, limit=1_000)]


def measure(
    place: Path,
    name: str,
    options: argparse.Namespace,
    language: str,
    model: ChatModel | None,
    counts: Counts,
    writers: Sequence[str],
) -> None:
    """Run the sets of some writers in one language."""
    rounds = sampled(load("rounds", options.split, writers, language), options.sample)
    sequences = sampled(load("sequences", options.split, writers, language), options.sample)
    show = frozenset(options.show.split(","))
    settings: dict[str, Any] = {"background_jobs": False, "background_indexing": False}
    if model is not None:
        settings["llm"] = model
        settings["llm_input_price"], settings["llm_output_price"] = options.price
    with AgentMemory.open(place / f"{name}-{language}", **settings) as memory:
        judge = Judge(memory, model, show=show)
        work = [(judge.round, item) for item in rounds] + [(judge.sequence, item) for item in sequences]
        with progress(f"{name}, {language}", len(work)) as advance:
            for number, (judged, item) in enumerate(work, start=1):
                if options.ends_at and time.monotonic() >= options.ends_at:
                    counts.left_out += len(work) - number + 1
                    break
                begin = time.monotonic()
                judged(item, counts)
                advance(1)
                if model is not None and not isinstance(model, ScriptedJudge):
                    took = time.monotonic() - begin
                    console.print(f"  {number} of {len(work)}: {item['id']}, {took:.0f} s", highlight=False)
        counts.usage = used(memory)


def used(memory: AgentMemory) -> dict[str, float]:
    """What all tasks together have asked of the model."""
    tasks = memory.doctor()["model_usage"].values()
    return {name: sum(task[name] for task in tasks) for name in _USAGE} if tasks else {}


def sampled(items: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most so many, spread over the kinds; all for 0."""
    return items if not most else items[:: max(1, len(items) // most)][:most]


@contextmanager
def models(options: argparse.Namespace) -> Iterator[list[tuple[str, ChatModel | None]]]:
    """The judges to be compared: rules, the scripted model, and whatever model was named."""
    found: list[tuple[str, ChatModel | None]] = []
    if not options.llm and not options.real_model:
        found = [("rules", None), ("scripted model", ScriptedJudge())]
        if options.only:
            found = [each for each in found if each[0].startswith(options.only)]
        yield found
        return
    from jiyi.providers.openai_compatible import OpenAICompatibleModel

    if options.llm:
        yield [(options.llm_model, OpenAICompatibleModel(options.llm, options.llm_model))]
        return
    from tests import real_model

    with real_model.running() as address:
        yield [(real_model.NAME, OpenAICompatibleModel(address, real_model.NAME, timeout=_LONGEST_REPLY))]


def tell(report: Report, name: str, language: str, counts: Counts, price: tuple[float, float]) -> None:
    """The rows of one judge and one language."""
    for what, value in counts.values().items():
        add = report.at_most if what == "wrong losses" else report.at_least
        measured = {
            "precision": f"{counts.rightly_kept} of {counts.kept} rounds",
            "recall": f"{sum(map(len, counts.facts.values()))} facts",
            "plain": f"{len(counts.facts.get('plain', []))} facts",
            "domain": f"{len(counts.domains)} facts",
            "in questions": f"{len(counts.facts.get('question_fact', []))} facts",
            "sequences": f"{sum(map(len, counts.sequences.values()))} sequences",
            "wrong losses": f"{sum(counts.losses)} of {len(counts.losses)} facts",
            "conflicts: precision": f"{sum(counts.conflicts)} of {len(counts.conflicts)} pairs",
            "conflicts: recall": f"{sum(counts.unrecognised)} of {len(counts.unrecognised)} outdated facts",
        }[what]
        add(f"{name}, {language}: {what}", measured, "", value=value, target=TARGETS[what], unit="")
    kinds = "; ".join(f"{kind} {share(ends):.2f}" for kind, ends in counts.sequences.items())
    report.note(f"{name}, {language}, sequences by kind: {kinds}.")
    kinds = "; ".join(f"{kind} {share(facts):.2f}" for kind, facts in counts.facts.items())
    report.note(f"{name}, {language}, facts kept by kind of round: {kinds}.")
    said = counts.rounds + sum(map(len, counts.sequences.values()))
    report.note(
        f"{name}, {language}: {counts.entries} entries of rounds, {counts.useful_entries} of them hold a wanted fact; "
        f"{1_000 * counts.seconds / max(said, 1):.0f} ms an item, {counts.failures} failures, "
        f"{counts.left_out} items not reached."
    )
    if counts.usage:
        report.note(f"{name}, {language}, cost: {cost(counts.usage, max(said, 1), price)}.")


def cost(usage: Mapping[str, float], items: int, price: tuple[float, float]) -> str:
    """Calls, tokens (counted here, not by the server) and, where prices are known, money."""
    told = (
        f"{usage['calls']:,} model calls ({usage['failures']:,} failed, {usage['retries']:,} were retries), "
        f"{usage['input_tokens']:,} tokens in and {usage['output_tokens']:,} out, "
        f"{usage['input_tokens'] / items:,.0f} and {usage['output_tokens'] / items:,.0f} an item"
    )
    if any(price):
        each = 1_000 * usage["cost"] / items
        told += f"; {usage['cost']:.4f} at {price[0]:g} and {price[1]:g} a million tokens, {each:.4f} for 1,000 items"
    return told


def prices(text: str) -> tuple[float, float]:
    """Two prices of a million tokens, as in "0.15,0.60"."""
    given = [float(each) for each in text.split(",")]
    if len(given) != 2 or not all(0 <= each < math.inf for each in given):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not two prices of a million tokens, in and out, such as 0.15,0.60"
        )
    return given[0], given[1]


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--split", choices=["dev", "held_out", "all"], default="dev")
    arguments.add_argument("--writers", default=",".join(WRITERS), help="which writers' sets")
    arguments.add_argument("--languages", default=",".join(LANGUAGES))
    arguments.add_argument("--only", default="", help="run only this judge: rules or scripted")
    arguments.add_argument(
        "--show", default="", help="print what came out wrong: rounds, domains, sequences, conflicts"
    )
    arguments.add_argument("--sample", type=int, default=0, help="at most so many items of each set")
    arguments.add_argument("--llm", default="", help="address of an OpenAI-compatible server")
    arguments.add_argument("--llm-model", default="", help="its model")
    arguments.add_argument(
        "--price", type=prices, default=(0.0, 0.0), metavar="IN,OUT", help="what a million tokens in and out cost"
    )
    arguments.add_argument("--real-model", action="store_true", help="the small model of the tests")
    arguments.add_argument(
        "--minutes", type=float, default=0.0, help="stop after so long, half of it for each language; 9 for real models"
    )
    arguments.add_argument("--name", default="judgement", help="name of the result file")
    options = arguments.parse_args()
    if options.quick and not options.sample:
        options.sample = 10
    report = Report(options.name, f"Judgement: what is kept, corrected and lost ({options.split} sets)")
    with work_directory(options.work) as place, models(options) as judges:
        for name, model in judges:
            languages = options.languages.split(",")
            for language in languages:
                minutes = options.minutes or (_MINUTES_OF_A_MODEL if options.real_model else 0.0)
                options.ends_at = time.monotonic() + 60 * minutes / len(languages) if minutes else 0.0
                short = re.sub(r"\W+", "-", name)
                counts = Counts()
                measure(place, short, options, language, model, counts, options.writers.split(","))
                tell(report, name, language, counts, options.price)
    report.note(
        "precision: rounds of which something was kept rightly; recall: facts that one kept entry holds; domain: of "
        "those found; sequences: everything current is known and nothing that is gone is shown as current; "
        "wrong losses: facts that must still be known, were kept, and are hidden; conflicts: of the pairs in "
        "`conflicts()` those whose older fact does not hold any more, and of such facts that are still current those "
        "that it names."
    )
    report.finish(options.results)


if __name__ == "__main__":
    main()
