"""A model's reply about a round, item by item: what can be mended is mended, the rest is left out and counted."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from jiyi.errors import ModelReplyError
from jiyi.longterm.claim_reading import in_first_person
from jiyi.longterm.classifier import StatementClassifier
from jiyi.longterm.model_facts import claims_in
from jiyi.longterm.structured_output import shown, wrong
from jiyi.longterm.untrusted import readable
from jiyi.model.domain import DOMAINS
from jiyi.ports import ChatModel
from jiyi.prompts.longterm import MAX_FACT_CHARS, MAX_FACTS
from jiyi.text import fold
from jiyi.text.statements.about.topics import topics_of
from jiyi.text.statements.keeping.cues import find_statements
from jiyi.text.statements.parts.claims import ClaimText, split_claims

_log = logging.getLogger("jiyi.longterm")
MIN_SCORE: Final = 0.7
_IMPORTANCE: Final = {
    "allergy": 0.95,
    "medication": 0.9,
    "health": 0.85,
    "name": 0.9,
    "contact": 0.85,
    "appointment": 0.75,
}
_NOTHING: Final = frozenset({"", "none", "null", "n/a", "nothing", "无", "没有"})
# That it was asked to be remembered is not part of what is remembered.
_ASKED_TO: Final = re.compile(
    r"[，,。.;；\s]+(?:请|麻烦)?(?:你|您)?(?:一定要?|帮我)?(?:记住|记一下|记得)[。.!！]*$"
    r"|[,.;]?\s+please remember(?: this| that| it)?[.!]*$"
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fact that might be kept."""

    text: str
    importance: float
    domain: str
    corrects: int | None = None
    """The place, among the known facts that were shown, of the one that it corrects."""
    claim: ClaimText | None = None
    """The parts of the fact, where rules have read them."""

    @property
    def worth_keeping(self) -> bool:
        """Whether it says something, and is important enough."""
        return self.importance >= MIN_SCORE and bool(self.text)


def importance_of(text: str) -> float:
    """How much a statement matters: what its cue phrase says, or its topic, or just enough to be kept."""
    found = [statement.importance for statement in find_statements(text)]
    topics = topics_of(fold(text))
    by_topic = [value for name, value in _IMPORTANCE.items() if name in topics]
    return max([MIN_SCORE, *found, *by_topic])


def fact_text(text: str) -> str:
    """One line, not longer than a fact may be."""
    line = _ASKED_TO.sub("", " ".join(readable(text).split()))
    return line if len(line) <= MAX_FACT_CHARS else line[: MAX_FACT_CHARS - 1].rstrip() + "…"


def read_reply(model: ChatModel, reply: Any, known: int, classifier: StatementClassifier) -> list[Proposal]:
    """Check every value: a model can be wrong, or have been talked into something.

    A flawed item loses only itself; a reply of nothing but flawed items is an error, and is asked for again. What is
    left out is counted in the usage of the model.
    """
    items = reply.get("memories", [reply]) if isinstance(reply, dict) else reply
    if items is None:
        return []
    if not isinstance(items, list):
        raise wrong(model, "no list of memories")
    read = [each for each in items if not _is_nothing(each)]
    found: list[Proposal] = []
    flaws: list[ModelReplyError] = []
    for item in read[:MAX_FACTS]:
        try:
            found += _as_claims(_read_one(model, item, known))
        except ModelReplyError as error:
            flaws.append(error)
    if flaws and not found:
        raise flaws[0]
    for flaw in flaws:
        _log.warning("one of %d proposals is left out: %s", len(read), flaw)
    if len(read) > MAX_FACTS:
        _log.warning("%s proposed %d memories for one round: the first %d are read", model.name, len(read), MAX_FACTS)
    # Counted where calls and tokens are: a model of the caller that counts nothing has no such method.
    count = getattr(model, "count_left_out", None)
    if count is not None:
        count(len(flaws) + max(0, len(read) - MAX_FACTS))
    return _with_domains(found, classifier)


def _is_nothing(item: Any) -> bool:
    """Whether an item says that there is nothing to remember."""
    if isinstance(item, str):
        return fold(item).strip(" .。") in _NOTHING
    return item is None or (isinstance(item, dict) and item.get("extracted_fact", "") is None)


def _read_one(model: ChatModel, item: Any, known: int) -> Proposal:
    """One item; its domain is empty where the model names none of the six."""
    if isinstance(item, str):
        return Proposal(fact_text(item), importance_of(item), "")
    if not isinstance(item, dict):
        raise wrong(model, f"a memory that is no object: {shown(item)}")
    text = item.get("extracted_fact")
    if not isinstance(text, str):
        raise wrong(model, f"extracted_fact {shown(text)}, which is no text")
    score = _number(item.get("importance_score"))
    if score is None or not 0 <= score <= 1:
        raise wrong(model, f"importance_score {shown(item.get('importance_score'))}, which is not between 0 and 1")
    place = _number(item.get("corrects"))
    corrects = int(place) - 1 if place is not None and place.is_integer() and 1 <= place <= known else None
    return Proposal(fact_text(text), score, _domain(model, item.get("domain")), corrects)


def _as_claims(proposal: Proposal) -> list[Proposal]:
    """A proposal as one for each of its claims, whose domains rules tell.

    One that corrects something stays whole: of which part the model says so is not known.
    """
    texts = claims_in(proposal.text) if proposal.corrects is None else []
    return [replace(proposal, text=text, domain="") for text in texts] if len(texts) > 1 else [proposal]


def _number(value: Any) -> float | None:
    """A number, also where it is a string or alone in a list."""
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _domain(model: ChatModel, value: Any) -> str:
    """The first of the six domains that is named; empty where none is."""
    named = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    found = next((each for each in named if each in DOMAINS), "")
    if not found:
        _log.warning("%s named the domain %s, which is none of the six: rules tell it", model.name, shown(value))
    return found


def _with_domains(found: Sequence[Proposal], classifier: StatementClassifier) -> list[Proposal]:
    """The proposals; those without a domain have the one that rules tell of their words."""
    without = [proposal for proposal in found if not proposal.domain]
    texts = [in_first_person(proposal.text) for proposal in without]
    domains = iter(classifier.domains([next(iter(split_claims(text)), ClaimText(text)) for text in texts]))
    return [proposal if proposal.domain else replace(proposal, domain=next(domains)) for proposal in found]
