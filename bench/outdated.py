"""Which facts a message makes outdated: 13,000 messages of 1,320 invented people, none of which was learned from.

    python -m bench.outdated [--sample 2000] [--show]

Each person has told about six things; each message stands alone after them, and half of the messages change nothing.
The facts are split into claims as the long-term room splits them, and judged by the rules without a model. There is no
store: this measures the decision alone, on more messages than the sequences of bench.judgement have.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bench.judgement_sets import LANGUAGES, PersonMessage, holds, messages_of_people
from bench.support import Report, console, parser
from jiyi.longterm.corrections import REPLACES, Finding, Known, judge
from jiyi.longterm.duplicates import gist
from jiyi.longterm.replacement import ReplacementModel
from jiyi.model.entry import MemoryEntry, Source
from jiyi.providers.bundled import BundledEmbedder
from jiyi.providers.cached import CachedEmbedder
from jiyi.text import Analyzer
from jiyi.text.statements.parts.claims import only_asks, split_claims

_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
_QUICK = 40


@dataclass
class Counts:
    """What became of the messages of one language."""

    changing: Counter[str] = field(default_factory=Counter)
    """Of those that make something outdated: `right`, `linked` as a possible conflict, `missed`, or `wrong`."""
    others: Counter[str] = field(default_factory=Counter)
    """Of those that change nothing: `right`, `linked`, or `wrong` where a fact was replaced."""


def known_facts(message: PersonMessage, analyzer: Analyzer) -> list[Known]:
    """The claims of what was told before, the newest first."""
    found: list[Known] = []
    for fact in message.facts:
        for claim in split_claims(fact):
            if only_asks(claim.text):
                continue
            entry = MemoryEntry(
                id=str(len(found)),
                scope="main",
                key=None,
                content=claim.text,
                source=Source(),
                created_at=_MOMENT,
                updated_at=_MOMENT,
                last_accessed_at=_MOMENT,
            )
            found.append(Known(entry, gist(claim.text, analyzer)))
    return found[::-1]


def is_outdated(claim: str, gone: Sequence[str]) -> bool:
    """Whether a part of a claim does not hold any more, or the claim is a part of what does not."""
    return any(holds([part], claim) or claim.strip(" ,，。.;；") in part for part in gone)


def outcome(message: PersonMessage, findings: Sequence[Finding]) -> str:
    """What a person would say about the decision."""
    replaced = [found for found in findings if found.verdict == REPLACES]
    if any(not is_outdated(found.known.entry.content, message.gone) for found in replaced):
        return "wrong"
    if bool(replaced) == bool(message.gone):
        return "right" if replaced or not findings else "linked"
    linked = any(is_outdated(found.known.entry.content, message.gone) for found in findings)
    return "linked" if linked else "missed"


def measure(messages: Sequence[PersonMessage], model: ReplacementModel, *, show: bool) -> Counts:
    """Judge all messages."""
    counts = Counts()
    for message in messages:
        findings = judge(message.text, known_facts(message, model.analyzer), model)
        result = outcome(message, findings)
        (counts.changing if message.gone else counts.others)[result] += 1
        if show and result in {"wrong", "missed"}:
            told = [found.known.entry.content for found in findings if found.verdict == REPLACES]
            console.print(f"{message.place} {result}: {message.text!r} {list(message.gone)} {told}", markup=False)
    return counts


def main() -> None:
    """Measure a sample of the messages."""
    arguments = parser(__doc__)
    arguments.add_argument("--sample", type=int, default=2_000, help="so many messages of each language; 0 for all")
    arguments.add_argument("--show", action="store_true", help="print what was judged wrongly")
    options = arguments.parse_args()
    every = messages_of_people()
    report = Report("outdated", "Which facts a message makes outdated")
    embedder = CachedEmbedder(BundledEmbedder())
    model = ReplacementModel(Analyzer(), lambda: embedder)
    for language in LANGUAGES:
        messages = [message for message in every if message.language == language]
        most = _QUICK if options.quick else options.sample
        if most:
            messages = random.Random(0).sample(messages, min(most, len(messages)))
        counts = measure(messages, model, show=options.show)
        for name, found in (("something is outdated", counts.changing), ("nothing changes", counts.others)):
            total = max(found.total(), 1)
            for result in ("right", "linked", "missed", "wrong"):
                if found[result]:
                    measured = f"{found[result]} of {total} messages"
                    report.fact(f"{language}, {name}: {result}", measured, "", f"{found[result] / total:.3f}")
    report.note(
        "right: only outdated facts are replaced, or none where nothing changes; linked: kept as a possible conflict "
        "beside the message; missed: the outdated fact stays as it was; wrong: a fact that still holds is replaced."
    )
    report.finish(options.results)


if __name__ == "__main__":
    main()
