"""Which facts a message makes outdated: messages of invented people, none of which was learned from.

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

from bench.judgement_sets import LANGUAGES, UNLEARNED_PEOPLE, PersonMessage, messages_of_people
from bench.people_examples import claims_of, is_outdated
from bench.support import Report, console, parser
from jiyi.longterm.corrections import REPLACES, Finding, KnownFact, judge
from jiyi.longterm.duplicates import lexical_features
from jiyi.longterm.replacement import ReplacementModel
from jiyi.model.entry import MemoryEntry, Source
from jiyi.text import Analyzer
from jiyi.wiring.models import judging_embedder, pair_reader

_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
_QUICK = 40


@dataclass
class Counts:
    """What became of the messages of one language."""

    changing: Counter[str] = field(default_factory=Counter)
    """Of those that make something outdated: `right`, `linked` as a possible conflict, `missed`, or `wrong`."""
    others: Counter[str] = field(default_factory=Counter)
    """Of those that change nothing: `right`, `linked`, or `wrong` where a fact was replaced."""


def known_facts(message: PersonMessage, analyzer: Analyzer) -> list[KnownFact]:
    """The claims of what was told before, the newest first."""
    return [
        KnownFact(
            MemoryEntry(
                id=str(place),
                scope="main",
                key=None,
                content=claim,
                source=Source(),
                created_at=_MOMENT,
                updated_at=_MOMENT,
                last_accessed_at=_MOMENT,
            ),
            lexical_features(claim, analyzer),
        )
        for place, claim in enumerate(claims_of(message))
    ]


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
    every = messages_of_people(UNLEARNED_PEOPLE)
    report = Report("outdated", "Which facts a message makes outdated")
    model = ReplacementModel(Analyzer(), judging_embedder, pair_reader)
    for language in LANGUAGES:
        messages = [message for message in every if message.language == language]
        limit = _QUICK if options.quick else options.sample
        if limit:
            messages = random.Random(0).sample(messages, min(limit, len(messages)))
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
