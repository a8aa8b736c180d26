"""What a round holds that is worth keeping: proposals by a model or by rules. Nothing is stored here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from jiyi.errors import ContextOverflowError
from jiyi.longterm.classifier import StatementClassifier
from jiyi.longterm.extraction_reply import Proposal, fact_text, importance_of, read_reply
from jiyi.longterm.structured_output import ask_json
from jiyi.longterm.untrusted import looked_at
from jiyi.model.message import Message
from jiyi.ports import ChatModel
from jiyi.prompts.longterm import EXTRACT_ACCEPTED, EXTRACT_SCHEMA, extract_messages
from jiyi.text import fold, sentences
from jiyi.text.chinese_commas import with_chinese_commas
from jiyi.text.code_spans import only_code, without_code_blocks
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.mentions import quotes_people
from jiyi.text.statements.keeping.lasting import asks_to_remember, only_asks_to_remember
from jiyi.text.statements.keeping.life_events import tells_life_event
from jiyi.text.statements.keeping.momentary import is_momentary
from jiyi.text.statements.keeping.non_statements import ANNOUNCES, LEAD_IN
from jiyi.text.statements.keeping.off_record import MessageText, keepable_texts
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
from jiyi.text.statements.replacing.change_words import is_strong_change

_MAX_BY_RULES = 20
_REPLY_TOKENS = 2_000
_SHORT = 1_000
_MAX_SENTENCE = 400  # what is longer was pasted, not said
# So many sentences are judged together, as people say one thing in several.
_WINDOW = 6
_NOT_PLAINLY_NOTHING = -0.8
_SURE = 0.45
# From this value on a sentence is kept although it sounds like a remark of the moment.
_SURE_OF_A_MOMENT = 0.75
# The threshold for a window that quotes somebody of the user's people, in place of WORTH_KEEPING.
_LIKELY = -0.85
# From this value on a question is kept whole: what it tells beside asking cannot be cut out of it.
_TELLING = -0.2
# The same for a question that tells something inside the asking clause: "with my blood thinner".
_TOLD = -0.6
# The same for a question that surely tells something: "a whippet like mine".
_TOLD_BY_NAME = -0.93
# From this value on what a question states is kept, whatever value the question itself has.
_STATED = -0.15
_MIN_WITHOUT_TOPIC = {True: 3, False: 5}
"""Characters of a claim without a topic, in Chinese and in other scripts: 我吃素."""
# Below this value a claim beside others is taken for a comment on them.
_COMMENT = -0.75
# "Is this right? I goes to school.": the statement is what is asked about.
_ASKS_OF_TEXT: Final = re.compile(
    r"^(?:so |ok |and )*(?:is|are|does|do|was|what does|what do|how does|how do you (?:say|spell))"
    r" (?:this|that|these|the following)\b"
    r"|^这(?:样|么|个|句|段|里)?(?:话|样|写|说)?.{0,4}(?:对|行|可以|通顺|什么意思|正确)"
)
# A correction after a denial: "He isn't allergic to kiwi. It's cashews!"
_INSTEAD: Final = re.compile(r"^(?:\w+[:：] ?)?(?:(?:it's|it is|it was|he's|she's|they're)\b|(?:其实|应该)?是|而是)")
_DENIED: Final = re.compile(r"n't\b|\bnot\b|\bno longer\b|不是|没有|不再")


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
        said = [MessageText(message.role, message.name, message.text) for message in messages]
        kept = list(zip(said, keepable_texts(said), strict=True))
        return cls.of(*("\n".join(text for one, text in kept if one.role == role) for role in ("user", "assistant")))

    def shortened(self) -> Round | None:
        """The beginnings and ends of both, half as long; `None` when there is little left to leave out."""
        if len(self.user) + len(self.assistant) < _SHORT:
            return None
        return Round(_halved(self.user), _halved(self.assistant))


def propose(
    model: ChatModel | None, said: Round, known: Sequence[str], classifier: StatementClassifier
) -> list[Proposal]:
    """The facts of a round that are worth keeping. A model that fails is an error.

    Without a model the classifier looks for them, and the message is split into claims.
    """
    if not (said.user or said.assistant):
        return []
    # A text that is to be translated or mended says nothing about who asks for it, nor does the reply to that.
    own = replace(said, user=with_chinese_commas(without_requested_text(said.user)))
    if said.user and not own.user:
        return []
    found = _by_model(model, own, known, classifier) if model is not None else _by_rules(own.user, classifier)
    return [
        proposal
        for proposal in found
        if proposal.worth_keeping and not is_steering(proposal.text) and not _asks_memory(proposal.text)
    ]


def _asks_memory(text: str) -> bool:
    """Whether a text is a question to the memory: that is no fact, even if a model proposes it."""
    return only_asks(text) and asks_the_memory(text)


def _by_rules(text: str, classifier: StatementClassifier) -> list[Proposal]:
    # Only what the user says about things: a reply is made of what the memory and the model already know.
    kept = _kept_sentences(text, classifier)
    found = [claim for claim in _claims_of(kept) if _says_something(claim)][:_MAX_BY_RULES]
    claims = _without_comments(found, classifier)
    domains = classifier.domains(claims, text)
    return [
        Proposal(
            fact_text(LEAD_IN.sub("", claim.text).strip() or claim.text), importance_of(claim.text), domain, claim=claim
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
    """The sentences of a message, each marked as kept if it is worth keeping by itself or with those around it."""
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
        stated = next(of_stated) if asked[place] else -1.0
        if only_asks_to_remember(part):
            continue
        whole, own = of_windows[place // _WINDOW], worth[len(windows) + place]
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

    A correction after a denial is no comment, nor is what says in plain words that something has changed.
    """
    if len(claims) < 2 or any(asks_to_remember(claim.text) for claim in claims):
        return claims
    worth = classifier.worth([claim.text for claim in claims])
    stays = [
        claim
        for claim, value in zip(claims, worth, strict=True)
        if value >= _COMMENT or _INSTEAD.search(fold(claim.text)) or is_strong_change(fold(claim.text))
    ]
    return stays or claims


def _says_something(claim: ClaimText) -> bool:
    return not is_small_talk(claim.text) and (
        bool(claim.topic) or len(claim.text) >= _MIN_WITHOUT_TOPIC[has_han(claim.text)]
    )


def _by_model(model: ChatModel, said: Round, known: Sequence[str], classifier: StatementClassifier) -> list[Proposal]:
    def read(reply: Any) -> list[Proposal]:
        return read_reply(model, reply, len(known), classifier)

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


def _halved(text: str) -> str:
    quarter = len(text) // 4
    return text if len(text) < _SHORT // 2 else f"{text[:quarter]}\n…\n{text[-quarter:]}"
