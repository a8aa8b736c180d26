"""What a round holds that is worth keeping: proposals by a model or by rules. Nothing is stored here."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jiyi.errors import ContextOverflowError
from jiyi.longterm.structured_output import ask_json, shown, wrong
from jiyi.longterm.untrusted import is_steering, looked_at, readable
from jiyi.model.domain import DOMAINS
from jiyi.ports import ChatModel
from jiyi.prompts.longterm import LONGEST_FACT, MAX_FACTS, SCORE_ACCEPTED, SCORE_SCHEMA, score_messages
from jiyi.text.cues import find_statements, unjudged_sentences

if TYPE_CHECKING:
    from jiyi.longterm.prototypes import Prototypes

MIN_SCORE = 0.7
_MAX_BY_RULES = 20
_REPLY_TOKENS = 2_000
_SHORT = 1_000
# That it was asked to be remembered is not part of what is remembered.
_ASKED_TO = re.compile(
    r"[，,。.;；\s]+(?:请|麻烦)?(?:你|您)?(?:一定要?|帮我)?(?:记住|记一下|记得)[。.!！]*$"
    r"|[,.;]?\s+please remember(?: this| that| it)?[.!]*$"
)


@dataclass(frozen=True, slots=True)
class Round:
    """One user message and the reply to it, as far as they are looked at."""

    user: str
    assistant: str

    @classmethod
    def of(cls, user: str, assistant: str) -> Round:
        """Without what steers the memory, and not endlessly long."""
        return cls(looked_at(user), looked_at(assistant))

    def shortened(self) -> Round | None:
        """The beginnings and ends of both, half as long; `None` when there is little left to leave out."""
        if len(self.user) + len(self.assistant) < _SHORT:
            return None
        return Round(_halved(self.user), _halved(self.assistant))


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fact that might be kept."""

    text: str
    importance: float
    domain: str
    corrects: int | None = None
    """The place, among the known facts that were shown, of the one that it corrects."""

    @property
    def worth_keeping(self) -> bool:
        """The design's condition."""
        return self.importance >= MIN_SCORE and bool(self.text)


def propose(
    model: ChatModel | None, said: Round, known: Sequence[str], prototypes: Prototypes | None = None
) -> list[Proposal]:
    """The facts of a round that are worth keeping. A model that fails is an error.

    Without a model rules look for them, and `prototypes` judge what no rule knows.
    """
    if not (said.user or said.assistant):
        return []
    found = _by_rules(said, prototypes) if model is None else _by_model(model, said, known)
    return [proposal for proposal in found if proposal.worth_keeping and not is_steering(proposal.text)]


def _by_rules(said: Round, prototypes: Prototypes | None) -> list[Proposal]:
    # Only what the user says about things: a reply is made of what the memory and the model already know.
    statements = find_statements(said.user, speaker="user")[:_MAX_BY_RULES]
    found = [Proposal(_fact(statement.content), statement.importance, statement.domain) for statement in statements]
    if prototypes is not None:
        others = unjudged_sentences(said.user)[: _MAX_BY_RULES - len(found)]
        # Just worth keeping, however alike: a rule is surer.
        found += [Proposal(_fact(text), MIN_SCORE, domain) for text, domain in prototypes.worth_keeping(others)]
    return found


def _by_model(model: ChatModel, said: Round, known: Sequence[str]) -> list[Proposal]:
    def read(reply: Any) -> list[Proposal]:
        return _read(model, reply, len(known))

    while True:
        messages = score_messages(said.user, said.assistant, known)
        try:
            return ask_json(model, messages, SCORE_SCHEMA, read, max_tokens=_REPLY_TOKENS, accepted=SCORE_ACCEPTED)
        except ContextOverflowError:
            # Too long for this model: a part of it is better than nothing, and the round itself is kept whole.
            shorter = said.shortened()
            if shorter is None:
                raise
            said = shorter


def _read(model: ChatModel, reply: Any, known: int) -> list[Proposal]:
    """Check every value: a model can be wrong, or have been talked into something."""
    items = reply.get("memories", [reply]) if isinstance(reply, dict) else None
    if not isinstance(items, list):
        raise wrong(model, "no list of memories")
    if len(items) > MAX_FACTS:
        raise wrong(model, f"{len(items)} memories for one round, more than {MAX_FACTS}")
    return [_read_one(model, item, known) for item in items]


def _read_one(model: ChatModel, item: Any, known: int) -> Proposal:
    if not isinstance(item, dict):
        raise wrong(model, f"a memory that is no object: {shown(item)}")
    score, text, domain = (item.get(name) for name in ("importance_score", "extracted_fact", "domain"))
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score) or not 0 <= score <= 1:
        raise wrong(model, f"importance_score {shown(score)}, which is not between 0 and 1")
    if not isinstance(text, str):
        raise wrong(model, f"extracted_fact {shown(text)}, which is no text")
    if domain not in DOMAINS:
        raise wrong(model, f"domain {shown(domain)}, which is none of the six")
    corrects = item.get("corrects")
    place = corrects - 1 if isinstance(corrects, int) and not isinstance(corrects, bool) else None
    return Proposal(_fact(text), float(score), domain, place if place is not None and 0 <= place < known else None)


def _halved(text: str) -> str:
    quarter = len(text) // 4
    return text if len(text) < _SHORT // 2 else f"{text[:quarter]}\n…\n{text[-quarter:]}"


def _fact(text: str) -> str:
    """One line, not longer than a fact may be."""
    line = _ASKED_TO.sub("", " ".join(readable(text).split()))
    return line if len(line) <= LONGEST_FACT else line[: LONGEST_FACT - 1].rstrip() + "…"
