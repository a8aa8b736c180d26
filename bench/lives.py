"""Ten weeks of a life told to an assistant without a model: what does the prompt of a later question contain?

    python -m bench.lives [--sets FOLDER] [--lives zh1,en1] [--languages zh,en] [--show] [--out FOLDER]

The people in bench/sets/lives were written by somebody who had not seen the rules. Every message is a turn of an agent;
the rounds are looked through for facts; then each question is the first message of a new session, and its system
message is read:

- needed: everything that the answer needs stands in it
- outdated: of the questions about something that has changed, those where the older statement stands in it without a
  mark that it is outdated or was corrected
- shown without an answer: how many memories and passages it has, besides the profile, where there is nothing to answer
- rewritten: facts that do not stand word for word in one message (a subject put before a clause, clauses left out)
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bench.recall import RememberingEmbedder
from bench.support import Report, console
from jiyi.providers.bundled import BundledEmbedder
from jiyi.sync import AgentMemory
from jiyi.text import fold

SETS = Path(__file__).parent / "sets" / "lives"
RESULTS = Path(__file__).parent / "results"
ZONES = {"zh": "Asia/Shanghai", "en": "Europe/London"}
REPLIES = {"zh": "好的。", "en": "Okay."}
MARKS = ("可能已过时", "may be outdated", "后来已更正", "corrected later")
UNANSWERABLE = "unanswerable"


@dataclass(frozen=True)
class Asked:
    """A question, and what its prompt had."""

    question: dict[str, Any]
    missing: tuple[str, ...]
    outdated: tuple[str, ...]
    shown: int
    """Memories and passages besides the profile."""
    prompt: str

    @property
    def right(self) -> bool:
        return not self.missing and not self.outdated


@dataclass(frozen=True)
class Life:
    asked: list[Asked]
    facts: list[str]
    rewritten: list[str]


def read(folder: Path, what: str, language: str) -> dict[str, list[dict[str, Any]]]:
    """The lines of each life."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (folder / f"{what}.{language}.jsonl").read_text("utf-8").splitlines():
        if line.strip():
            item = json.loads(line)
            found[item["life"]].append(item)
    return found


def live(messages: Sequence[dict[str, Any]], questions: Sequence[dict[str, Any]], language: str, embedder: Any) -> Life:
    """Tell everything, then ask everything."""
    zone = ZoneInfo(ZONES[language])
    begin = datetime(2026, 3, 2, 9, tzinfo=zone)
    now = begin
    with (
        tempfile.TemporaryDirectory() as folder,
        AgentMemory.open(folder, embedder=embedder, time_zone=ZONES[language], clock=lambda: now) as memory,
    ):
        for number, message in enumerate(messages):
            now = begin + timedelta(days=message["day"], minutes=5 * number)
            turn = memory.agent(f"week {message['day'] // 7}").begin(_said(message["text"], now))
            turn.finish(REPLIES[language])
            memory.run_jobs()
        facts = [entry.content for entry in memory.list(memory_types="fact", limit=1_000)]
        now += timedelta(days=1)
        asked = []
        for question in questions:
            turn = memory.agent(question["id"], extract=False).begin(_said(question["question"], now))
            asked.append(_look(question, turn))
            turn.break_off("", "only the prompt is measured")
            memory.forget_session(question["id"])
    plain = [_plain(message["text"]) for message in messages]
    return Life(asked, facts, [fact for fact in facts if not any(_plain(fact) in text for text in plain)])


def _said(text: str, at: datetime) -> dict[str, str]:
    return {"role": "user", "content": text, "created_at": at.isoformat()}


def _look(question: dict[str, Any], turn: Any) -> Asked:
    prompt = turn.messages[0].text
    folded = fold(prompt)
    missing = [group[0] for group in question["need"] if not any(fold(text) in folded for text in group)]
    lines = [fold(line) for line in prompt.splitlines() if not any(mark in line for mark in MARKS)]
    outdated = [text for text in question["outdated"] if any(fold(text) in line for line in lines)]
    shown = sum(memory.part != "profile" for memory in turn.memories)
    return Asked(question, tuple(missing), tuple(outdated), shown, prompt)


def _plain(text: str) -> str:
    return re.sub(r"\W+", "", fold(text))


def tell(report: Report, language: str, lives: Sequence[Life]) -> None:
    """The rows of one language."""
    asked = [each for life in lives for each in life.asked]
    answerable = [each for each in asked if each.question["kind"] != UNANSWERABLE]
    changed = [each for each in answerable if each.question["outdated"]]
    others = [each for each in asked if each.question["kind"] == UNANSWERABLE]
    for name in ("all", *dict.fromkeys(each.question["kind"] for each in answerable)):
        of_kind = [each for each in answerable if name in {"all", each.question["kind"]}]
        needed = sum(not each.missing for each in of_kind)
        share = 100 * needed / max(1, len(of_kind))
        report.fact(f"{language}: needed, {name}", f"{needed} of {len(of_kind)} questions", "", f"{share:.0f} %")
    stale = sum(bool(each.outdated) for each in changed)
    share = 100 * stale / max(1, len(changed))
    report.fact(f"{language}: outdated, unmarked", f"{stale} of {len(changed)} questions", "", f"{share:.0f} %")
    shown = sum(each.shown for each in others) / max(1, len(others))
    report.fact(f"{language}: shown without an answer", f"{len(others)} questions", "", f"{shown:.1f} a question")
    facts, rewritten = sum(len(life.facts) for life in lives), sum(len(life.rewritten) for life in lives)
    share = 100 * rewritten / max(1, facts)
    report.fact(f"{language}: rewritten", f"{rewritten} of {facts} facts", "", f"{share:.0f} %")


def show(life: Life) -> None:
    """The questions that went wrong, and the facts that were rewritten."""
    for each in life.asked:
        if each.question["kind"] != UNANSWERABLE and not each.right:
            console.print(
                each.question["id"], each.question["question"], "missing", each.missing, "outdated", each.outdated
            )
    for fact in life.rewritten:
        console.print("rewritten:", fact, markup=False)


def main() -> None:
    """Measure the lives."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", type=Path, default=SETS)
    arguments.add_argument("--lives", default="", help="only these, with commas between; all by default")
    arguments.add_argument("--languages", default="zh,en")
    arguments.add_argument("--show", action="store_true", help="print each question that went wrong")
    arguments.add_argument("--name", default="lives")
    arguments.add_argument("--out", type=Path, default=RESULTS)
    options = arguments.parse_args()
    report = Report(options.name, "Ten weeks of a life: what the prompt of a later question contains")
    embedder = RememberingEmbedder(BundledEmbedder())
    wanted = set(options.lives.split(",")) - {""}
    for language in options.languages.split(","):
        messages, questions = (read(options.sets, what, language) for what in ("messages", "questions"))
        lives = []
        for name in messages:
            if not wanted or name in wanted:
                lives.append(live(messages[name], questions[name], language, embedder))
                if options.show:
                    show(lives[-1])
        if lives:
            tell(report, language, lives)
    report.note(
        "needed: everything that the answer needs stands in the prompt; outdated: an older statement stands in it"
    )
    report.note("without a mark; rewritten: facts that do not stand word for word in one message.")
    report.finish(options.out)


if __name__ == "__main__":
    main()
