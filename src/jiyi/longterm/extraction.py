"""What a round holds that is worth keeping: proposals by a model or by rules. Nothing is stored here."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from jiyi.errors import ContextOverflowError, ModelReplyError
from jiyi.longterm.classifier import StatementClassifier
from jiyi.longterm.rule_router import route_by_rules
from jiyi.longterm.structured_output import ask_json, shown, wrong
from jiyi.longterm.untrusted import looked_at, readable
from jiyi.model.domain import DOMAINS, SUBSTANTIAL
from jiyi.model.message import Message
from jiyi.ports import ChatModel
from jiyi.prompts.longterm import EXTRACT_ACCEPTED, EXTRACT_SCHEMA, MAX_FACT_CHARS, MAX_FACTS, extract_messages
from jiyi.text import fold, sentences
from jiyi.text.code_spans import only_code, without_code_blocks
from jiyi.text.statements.about.mentions import quotes_people
from jiyi.text.statements.about.topics import topics_of
from jiyi.text.statements.keeping.cues import find_statements
from jiyi.text.statements.keeping.lasting import asks_to_remember, only_asks_to_remember
from jiyi.text.statements.keeping.life_events import tells_life_event
from jiyi.text.statements.keeping.momentary import is_momentary
from jiyi.text.statements.keeping.non_statements import ANNOUNCES, LEAD_IN
from jiyi.text.statements.keeping.off_record import Spoken, keepable_texts
from jiyi.text.statements.keeping.smalltalk import is_small_talk
from jiyi.text.statements.keeping.statement_features import (
    FOREIGN_TEXT,
    WORTH_KEEPING,
    asks,
    asks_the_memory,
    is_invented,
    is_quoted_text,
    is_role_play,
    tells_by_name,
    tells_in_asking,
    without_announcement,
)
from jiyi.text.statements.keeping.steering import is_steering
from jiyi.text.statements.parts.antecedents import asks_for_secrecy
from jiyi.text.statements.parts.claims import (
    ClaimText,
    claim_after_question,
    claims_of_sentences,
    only_asks,
    refers_to_question,
    stated_in_question,
)
from jiyi.text.statements.parts.own_words import without_requested_text

_log = logging.getLogger("jiyi.longterm")
MIN_SCORE = 0.7
_MAX_BY_RULES = 20
_REPLY_TOKENS = 2_000
_SHORT = 1_000
_MAX_SENTENCE = 400  # what is longer was pasted, not said
# So many sentences are judged together, as people say one thing in several.
_WINDOW = 6
_NOT_PLAINLY_NOTHING = -0.6
_SURE = 0.45
# What sounds like a remark of the moment is kept only from here on.
_SURE_OF_A_MOMENT = 0.75
# Enough for what somebody of the user's people has said.
_LIKELY = -0.85
# A question is kept whole from here on: it tells something that cannot be cut out of it.
_TELLING = -0.2
# Where words such as "with my blood thinner" stand in it, less is enough.
_TOLD = -0.6
# The same for "a whippet like mine".
_TOLD_BY_NAME = -0.93
# What a question states is kept from here on, whatever the question is worth.
_STATED = -0.15
_MIN_WITHOUT_TOPIC = 5
# A claim beside others that is worth less by itself is a comment on them.
_COMMENT = -0.6
# "Is this right? I goes to school.": the statement is what is asked about.
_ASKS_OF_TEXT: Final = re.compile(
    r"^(?:so |ok |and )*(?:is|are|does|do|was|what does|what do|how does|how do you (?:say|spell))"
    r" (?:this|that|these|the following)\b"
    r"|^这(?:样|么|个|句|段|里)?(?:话|样|写|说)?.{0,4}(?:对|行|可以|通顺|什么意思|正确)"
)
# What is so instead of what was denied before it: "He isn't allergic to kiwi. It's cashews!"
_INSTEAD: Final = re.compile(r"^(?:\w+[:：] ?)?(?:(?:it's|it is|it was|he's|she's|they're)\b|(?:其实|应该)?是|而是)")
_DENIED: Final = re.compile(r"n't\b|\bnot\b|\bno longer\b|不是|没有|不再")
_IMPORTANCE: Final = {
    "allergy": 0.95,
    "medication": 0.9,
    "health": 0.85,
    "name": 0.9,
    "contact": 0.85,
    "appointment": 0.75,
}
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

    @classmethod
    def of_messages(cls, messages: Iterable[Message]) -> Round:
        """The same of stored messages, without what the user asks not to keep."""
        said = [Spoken(message.role, message.name, message.text) for message in messages]
        kept = list(zip(said, keepable_texts(said), strict=True))
        return cls.of(*("\n".join(text for one, text in kept if one.role == role) for role in ("user", "assistant")))

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
    claim: ClaimText | None = None
    """The parts of the fact, where rules have read them."""

    @property
    def worth_keeping(self) -> bool:
        """Whether it says something, and is important enough."""
        return self.importance >= MIN_SCORE and bool(self.text)


def propose(
    model: ChatModel | None, said: Round, known: Sequence[str], classifier: StatementClassifier
) -> list[Proposal]:
    """The facts of a round that are worth keeping. A model that fails is an error.

    Without a model the classifier looks for them, and the message is split into claims.
    """
    if not (said.user or said.assistant):
        return []
    # A text that is to be translated or mended says nothing about who asks for it, nor does the reply to that.
    own = replace(said, user=without_requested_text(said.user))
    if said.user and not own.user:
        return []
    found = _by_model(model, own, known) if model is not None else _by_rules(own.user, classifier)
    return [
        proposal
        for proposal in found
        if proposal.worth_keeping and not is_steering(proposal.text) and not _asks_memory(proposal.text)
    ]


def _asks_memory(text: str) -> bool:
    """What is asked is not said, whoever proposes it as a fact."""
    return only_asks(text) and asks_the_memory(text)


def _by_rules(text: str, classifier: StatementClassifier) -> list[Proposal]:
    # Only what the user says about things: a reply is made of what the memory and the model already know.
    kept = _kept_sentences(text, classifier)
    found = [claim for claim in _claims_of(kept) if _says_something(claim)][:_MAX_BY_RULES]
    claims = _without_comments(found, classifier)
    domains = classifier.domains(claims, text)
    return [
        Proposal(
            _fact(LEAD_IN.sub("", claim.text).strip() or claim.text), importance_of(claim.text), domain, claim=claim
        )
        for claim, domain in zip(claims, domains, strict=True)
    ]


@dataclass(slots=True)
class _Sentence:
    """A sentence of a message, the question before it, if there is one, and whether it is worth keeping."""

    text: str
    question: str = ""
    kept: bool = False


def _claims_of(said: Sequence[_Sentence]) -> list[ClaimText]:
    """The claims of the kept sentences, a statement with the question that it answers or explains."""
    found: list[ClaimText] = []
    together: list[tuple[str, bool]] = []
    for each in said:
        if each.kept and each.question and refers_to_question(each.text):
            found += claims_of_sentences([one for one in together if one[0] != each.question])
            found.append(claim_after_question(each.question, each.text))
            together = []
        else:
            together.append((each.text, each.kept))
    return found + claims_of_sentences(together)


def _kept_sentences(text: str, classifier: StatementClassifier) -> list[_Sentence]:
    """The sentences of a message; kept are, of one that is worth it, those that are not plainly something else."""
    parts = [
        ANNOUNCES.sub("", part)
        for part in sentences(without_code_blocks(text))
        if (not is_small_talk(part) or asks_for_secrecy(part)) and not only_code(part)
        if len(part) <= _MAX_SENTENCE
    ]
    if not parts or is_quoted_text(text) or is_role_play(fold(text)):
        return []
    windows = ["".join(_joined(parts[start : start + _WINDOW])) for start in range(0, len(parts), _WINDOW)]
    asked = [_stated(part) for part in parts]
    told = [_without_questions(parts[start : start + _WINDOW]) for start in range(0, len(parts), _WINDOW)]
    judged = [*windows, *parts, *(stated for stated in asked if stated), *(each for each in told if each)]
    worth = classifier.worth([without_announcement(text) for text in judged])
    of_stated = iter(worth[len(windows) + len(parts) :])
    of_told = iter(worth[len(judged) - len([each for each in told if each]) :])
    of_windows = [max(worth[n], next(of_told)) if each else worth[n] for n, each in enumerate(told)]
    found: list[_Sentence] = []
    question = ""
    wanted = _asked_to_remember(parts)
    for place, part in enumerate(parts):
        each = _Sentence(part)
        found.append(each)
        before, question = question, ""
        whole, own = of_windows[place // _WINDOW], worth[len(windows) + place]
        stated = next(of_stated) if asked[place] else -1.0
        invented = is_invented(fold(part))
        if invented and own < _SURE:
            continue
        if only_asks(part):
            telling = _TOLD_BY_NAME if tells_by_name(part) else _TOLD if tells_in_asking(part) else _TELLING
            each.kept = own >= telling and not asks_the_memory(part)
            question = part
            continue
        if place in wanted or (tells_life_event(part) and not invented):
            each.question, each.kept = before, True
            continue
        if is_momentary(part) and own < _SURE_OF_A_MOMENT:
            continue
        last = found[place - 1]
        if place and last.kept and _DENIED.search(fold(last.text)) and _INSTEAD.search(fold(part)):
            each.kept = True
            continue
        alone = len(parts) == 1
        window = fold(windows[place // _WINDOW])
        threshold = _LIKELY if quotes_people(window) else WORTH_KEEPING
        if (whole >= threshold and (alone or own >= _NOT_PLAINLY_NOTHING)) or (
            whole < threshold and (own >= _SURE or stated >= _STATED) and not is_invented(window)
        ):
            each.question, each.kept = before, True
    return _with_secrecy(found)


def _with_secrecy(found: list[_Sentence]) -> list[_Sentence]:
    """A sentence that asks for secrecy is kept with the one that tells the secret: after it, or else before it."""
    for place, each in enumerate(found):
        if asks_for_secrecy(each.text):
            beside = [*found[:place][-1:], *(found[1:2] if place == 0 else [])]
            each.kept = any(one.kept for one in beside) or (each.kept and not is_small_talk(each.text))
    return found


def _asked_to_remember(parts: Sequence[str]) -> set[int]:
    """The places of the sentences that somebody asks to remember: they are kept whatever they are about.

    "Remember this" means the sentence before it, or at the beginning of a message the one after it.
    """
    wanted = set()
    for place, part in enumerate(parts):
        if only_asks_to_remember(part):
            wanted.add(place - 1 if place else place + 1)
        elif asks_to_remember(part):
            wanted.add(place)
    return {place for place in wanted if place < len(parts) and not only_asks_to_remember(parts[place])}


def _without_questions(parts: Sequence[str]) -> str:
    """What sentences tell besides those that only ask: a question takes nothing from the statement after it.

    Empty where nothing is asked, where nothing is told, or where a text of somebody else is asked about.
    """
    told = [part for part in parts if not only_asks(part)]
    of_text = any(FOREIGN_TEXT.search(fold(part)) or _ASKS_OF_TEXT.search(fold(part)) for part in parts)
    if len(told) in {0, len(parts)} or of_text:
        return ""
    return "".join(_joined(told))


def _stated(part: str) -> str:
    """What a question states besides asking; empty where it states nothing."""
    if not asks(fold(part)):
        return ""
    stated = stated_in_question(part)
    return "" if stated == [part] else " ".join(stated)


def _joined(parts: Sequence[str]) -> list[str]:
    return [part if not part.isascii() else f"{part} " for part in parts]


def _without_comments(claims: list[ClaimText], classifier: StatementClassifier) -> list[ClaimText]:
    """The claims of a message without mere comments on the others ("send help", 全家都傻眼).

    What is so instead of something else is none.
    """
    if len(claims) < 2 or any(asks_to_remember(claim.text) for claim in claims):
        return claims
    worth = classifier.worth([claim.text for claim in claims])
    stays = [
        claim
        for claim, value in zip(claims, worth, strict=True)
        if value >= _COMMENT or _INSTEAD.search(fold(claim.text))
    ]
    return stays or claims


def _says_something(claim: ClaimText) -> bool:
    return not is_small_talk(claim.text) and (bool(claim.topic) or len(claim.text) >= _MIN_WITHOUT_TOPIC)


def importance_of(text: str) -> float:
    """How much a statement matters: what its cue phrase says, or its topic, or just enough to be kept."""
    found = [statement.importance for statement in find_statements(text)]
    topics = topics_of(fold(text))
    by_topic = [value for name, value in _IMPORTANCE.items() if name in topics]
    return max([MIN_SCORE, *found, *by_topic])


def _by_model(model: ChatModel, said: Round, known: Sequence[str]) -> list[Proposal]:
    def read(reply: Any) -> list[Proposal]:
        return _read(model, reply, len(known))

    while True:
        messages = extract_messages(said.user, said.assistant, known)
        try:
            return ask_json(model, messages, EXTRACT_SCHEMA, read, max_tokens=_REPLY_TOKENS, accepted=EXTRACT_ACCEPTED)
        except ContextOverflowError:
            # Too long for this model: a part of it is better than nothing, and the round itself is kept whole.
            shorter = said.shortened()
            if shorter is None:
                raise
            said = shorter


def _read(model: ChatModel, reply: Any, known: int) -> list[Proposal]:
    """Check every value: a model can be wrong, or have been talked into something.

    A flawed item loses only itself; a reply of nothing but flawed items is an error, and is asked for again.
    """
    items = reply.get("memories", [reply]) if isinstance(reply, dict) else None
    if not isinstance(items, list):
        raise wrong(model, "no list of memories")
    if len(items) > MAX_FACTS:
        raise wrong(model, f"{len(items)} memories for one round, more than {MAX_FACTS}")
    found: list[Proposal] = []
    flaws: list[ModelReplyError] = []
    for item in items:
        try:
            found.append(_read_one(model, item, known))
        except ModelReplyError as error:
            flaws.append(error)
    if flaws and not found:
        raise flaws[0]
    for flaw in flaws:
        _log.warning("one of %d proposals is left out: %s", len(items), flaw)
    return found


def _read_one(model: ChatModel, item: Any, known: int) -> Proposal:
    if not isinstance(item, dict):
        raise wrong(model, f"a memory that is no object: {shown(item)}")
    score, text, domain = (item.get(name) for name in ("importance_score", "extracted_fact", "domain"))
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score) or not 0 <= score <= 1:
        raise wrong(model, f"importance_score {shown(score)}, which is not between 0 and 1")
    if not isinstance(text, str):
        raise wrong(model, f"extracted_fact {shown(text)}, which is no text")
    if domain not in DOMAINS:
        # Where the words of the fact name a domain, that is taken; a guess is not.
        told = route_by_rules(text)
        by_rule = next((each for each in told if each in SUBSTANTIAL), None) if told != DOMAINS else None
        if by_rule is None or not isinstance(domain, str):
            raise wrong(model, f"domain {shown(domain)}, which is none of the six")
        _log.warning(
            "%s named the domain %s, which is none of the six: %s is taken", model.name, shown(domain), by_rule
        )
        domain = by_rule
    corrects = item.get("corrects")
    place = corrects - 1 if isinstance(corrects, int) and not isinstance(corrects, bool) else None
    return Proposal(_fact(text), float(score), domain, place if place is not None and 0 <= place < known else None)


def _halved(text: str) -> str:
    quarter = len(text) // 4
    return text if len(text) < _SHORT // 2 else f"{text[:quarter]}\n…\n{text[-quarter:]}"


def _fact(text: str) -> str:
    """One line, not longer than a fact may be."""
    line = _ASKED_TO.sub("", " ".join(readable(text).split()))
    return line if len(line) <= MAX_FACT_CHARS else line[: MAX_FACT_CHARS - 1].rstrip() + "…"
