"""Splits what somebody said into claims: each about one subject and one topic, each readable on its own.

Clauses that say more about the same thing stay together; a clause with another subject or topic begins a new claim. A
claim that leaves its subject out gets it from the clause before. Of a question only the part that states something is
kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from jiyi.text.chinese_commas import with_chinese_commas
from jiyi.text.code_spans import in_code, inline_code
from jiyi.text.normalize import fold
from jiyi.text.patterns import MONTH, WEEKDAY, has_han
from jiyi.text.sentences import sentences
from jiyi.text.statements.about.person_names import person_named_first
from jiyi.text.statements.about.pronouns import may_mean
from jiyi.text.statements.about.subjects import (
    PRONOUN,
    USER,
    is_name,
    named_subject,
    names_in,
    person_words,
    relations_in,
    starts_with_subject,
    subject_of,
    subject_words,
)
from jiyi.text.statements.about.topics import TOPICS, topics_of
from jiyi.text.statements.about.word_classes import tagged
from jiyi.text.statements.keeping.statement_features import (
    FIRST_PERSON,
    OWN_STATEMENT,
    asks,
    asks_for_confirmation,
    tells_in_asking,
)
from jiyi.text.statements.parts.antecedents import (
    asks_for_secrecy,
    joined,
    mentions_another,
    name_before_verb,
    needs_sentence_before,
)
from jiyi.text.statements.parts.claim_parts import parts_of, topic_of
from jiyi.text.statements.parts.clauses import FINITE_EN, clauses_of, split_clauses
from jiyi.text.statements.parts.reported_speech import reported_in
from jiyi.text.statements.parts.request_clauses import without_mere_requests, without_reason_word
from jiyi.text.statements.parts.told_before_asking import question_breaks, tells_before_asking, tells_nothing

__all__ = [
    "ClaimText",
    "claim_after_question",
    "claims_of_sentences",
    "clauses_of",
    "only_asks",
    "pieces_of",
    "refers_to_question",
    "split_claims",
    "stated_in_question",
    "stated_part",
    "topic_of",
]

_SINGLE: Final = {topic.name: topic.single for topic in TOPICS}
_REFERS_BACK: Final = re.compile(
    r"^(?:(?:and|but|so|because|cos),? )*(?:he|she|it|they|he's|she's|it's|they're|hes|shes|its|theyre|mine|ours|his"
    r"|her|their|both|the one|this one|that one|we both)\b|^(?:他|她|它|牠|这(?:个|只|家|台)|那(?:个|只|家|台))"
    # What is asked about is the object: "That's who we have our broadband with", "i can't bear them".
    r"|^(?:that'?s|that is|these are|those are)\b|^asking for (?:me|my|a)\b"
    r"|^(?:i|we|my \w+) (?:really |just |simply )?(?:can'?t|cannot|don'?t|never|always|hates?|loves?"
    r"|likes?|needs?|uses?|takes?|wants?)(?: \w+)? (?:them|it|one|those)\b"
)
_PIECES: Final = re.compile(
    r"[，；;、]\s*|,\s+|(?<=[^\x00-\x7f]),|(?<=\S),(?=[^\x00-\x7f])|\s+(?:and|&|plus|\+|-|but)\s+(?!(?:mon|tues"
    r"|wednes|thurs|fri|satur|sun)days?\b)|(?<=[\u3400-\u9fff])(?:和|还有|而且|并且)(?=[\u3400-\u9fff])|：\s*|:\s+"
    r"|\s*[—–]+\s*|(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])"
)
_AND_ZH: Final = "和"
_ONLY_A_NAME: Final = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)?[,.]?\s*")
_INTRODUCES_NAME: Final = re.compile(r"\b(?:an?|my|our|his|her|one) (?:[\w-]+ ){0,3}[a-z]+, $")
_MIN_OF_PRONOUN: Final = 5
_OF_SOMEBODY: Final = re.compile(r"^(?:his|her|its) ")
_PERSON_NAME: Final = re.compile(
    r"(?:,|\b(?:Mrs?|Ms|Dr|Professor)\.?|\bcalled|\band) (?P<name>(?:Mrs?\.? |Ms |Dr "
    r"|Professor )?[A-Z][a-z]+)(?=[,.]| is\b| has\b|$)"
)
# Without a verb, and still a statement about the speaker: "as a notary", "on warfarin", "coming from ten years of SAS".
# "Rob lives in Dundee, is there a direct train?": a clause about somebody by name, before what is asked.
_TELLS_OF_SOMEBODY: Final = re.compile(
    r"(?!(?:It|This|That|There|Here|What|Who|Which|When|Where|Why|How|He|She|Does|Is|Was|Has|Yes|As|Its|Thanks|Always"
    r"|Perhaps|Sometimes|Please)\b)"
    r"[A-Z][a-z]+(?: [A-Z][a-z]+)? (?:is|has|was|had|got|(?!as\b|its\b|this\b|was\b|does\b)[a-z]{2,}[^s\W]s) [a-z]"
)
_SELF: Final = re.compile(
    r"^(?:as|on|being|coming|with|having|planning|given|after|only|got|just)\b|\b(?:here|i|i'm|im)\b"
)
_NEGATED: Final = re.compile(
    r"不(?!错|过|仅|但|止|锈)|没(?!想到|事)|無|未(?!来|婚)|戒了|戒掉|再也不|\b(?:not|no|never|none|neither|nor"
    r"|without|cannot|quit|stopped|no longer)\b|n't\b|\b(?:dont|cant|wont|isnt|havent)\b"
)
_ZH_PART: Final = r"(?:上午|下午|早上|早晨|中午|傍晚|晚上|凌晨|夜里|半夜)"
_EN_UNIT: Final = (
    rf"(?:day|night|morning|afternoon|evening|week|weekend|weekday|fortnight|month|quarter|year|hour|minute|spring|summer"
    rf"|autumn|fall|winter|christmas|easter|time|{WEEKDAY})s?"
)
# 一点 is mostly "a little": an hour only after a part of the day or a day, or with what tells that it is one.
_WHEN: Final = re.compile(
    r"(?:每(?:天|周|晚|早|个?月|年)|(?:下|上|这|本)个?(?:周|週|星期|礼拜|月)[一二三四五六日天]?|(?:周|週|星期"
    r"|礼拜)[一二三四五六日天末]|明年|今年|去年|年底|月底"
    r"|[\d一二三四五六七八九十]+月(?:[\d一二三四五六七八九十]+[号日])?"
    rf"|{_ZH_PART}[\d一二两三四五六七八九十]+点半?|(?!一点)[\d一二三四五六七八九十]+点半?"
    r"|一点(?=半|钟|整)|(?<=[一二三四五六日天末号])一点)+"
    rf"|\b(?:every (?:(?:other|single|second|third|few|two|three|four|five|six|\d+) ){{0,2}}{_EN_UNIT}"
    rf"|(?:on |next |this |last )?{WEEKDAY}s?(?: (?:morning|afternoon|evening|night)s?)?"
    rf"|since (?:{MONTH}|{WEEKDAY}|(?:the )?(?:last |this |early |late )?{_EN_UNIT}|(?:19|20)\d\d|childhood|birth"
    r"|yesterday|then|covid|university|school|(?:i|he|she|we|they) (?:was|were) (?:an? )?\w+)"
    r"|in (?:january|february|march|april|may"
    r"|june|july|august|september|october|november|december)"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\w* \d{1,2}|\d{1,2} (?:jan|feb|mar|apr|may|june?|july?"
    r"|aug|sept?|oct|nov|dec)\w*|next (?:week|month|year|christmas)|tomorrow|(?<![\d-])(?:19|20)\d\d(?![\d-]))\b",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(
    r"(?:说|原话|讲|喊|told me|said|says|saying)[^。]{0,6}[“\"「'：:]|说她|说他|\bsays? (?:he|she|they)\b"
)


@dataclass(frozen=True, slots=True)
class ClaimText:
    """A claim in words, and what it is about."""

    text: str
    subject: str = USER
    topic: str = ""
    """The name of its main topic; empty where no word tells."""
    single: bool = False
    names: tuple[str, ...] = ()
    from_question: bool = False
    pronoun: bool = False
    """It begins with a pronoun whose noun is in an earlier message."""
    negated: bool = False
    when: str = ""
    """The words that say when."""
    said_by: str = ""
    """Whoever is quoted, if somebody is."""


def split_claims(text: str) -> list[ClaimText]:
    """The claims of a message, in order. A pronoun gets the person before it, where the message names one."""
    return claims_of_sentences([(sentence, True) for sentence in sentences(text) or [text]])


def claims_of_sentences(said: Sequence[tuple[str, bool]]) -> list[ClaimText]:
    """The claims of sentences of one message; those that are not kept (`False`) only tell whom a pronoun means."""
    reading = _Reading()
    for sentence, kept in said:
        reading.add(with_chinese_commas(sentence.strip()), kept=kept)
    return reading.claims


class _Reading:
    """The claims of the sentences so far, and whom a pronoun in the next one may mean."""

    def __init__(self) -> None:
        self.claims: list[ClaimText] = []
        self._person = ""
        self._since: list[str] = []
        """The sentences from the one on that has named the person."""
        self._before = ""
        self._begins = 0
        """Where the claims of the sentence before begin."""
        self._secrecy = False
        """The sentence before asks for secrecy, and what is secret comes after it."""

    def add(self, sentence: str, *, kept: bool) -> None:
        begins = len(self.claims)
        if kept and self._joins_secret(sentence):
            return
        for claim in _of_sentence(sentence):
            refers = claim.pronoun and needs_sentence_before(claim.text)
            if refers and self._is_meant(claim):
                if kept:
                    self.claims.append(_attributed(claim, self._person))
                continue
            if refers and kept and self._before and len(self.claims) == begins:
                self._join(claim.text)
                self._since.append(sentence)
                return
            self._remember(claim)
            if kept:
                self.claims.append(claim)
        self._since.append(sentence)
        # What is asked is not said; the statement after a question is read with it elsewhere.
        self._before = "" if asks(fold(sentence)) else sentence
        self._begins = begins if kept else len(self.claims)
        self._secrecy = asks_for_secrecy(sentence) and not (kept and begins)

    def _joins_secret(self, sentence: str) -> bool:
        """Add a sentence to the one before, where either of them only says that the other is a secret."""
        if not self._before or not (self._secrecy or asks_for_secrecy(sentence)) or asks(fold(sentence)):
            return False
        self._join(sentence)
        self._since.append(sentence)
        self._secrecy = False
        return True

    def _join(self, text: str) -> None:
        """Add a text to the sentence before: neither says it alone."""
        self._before = joined(self._before, text)
        made = _made(self._before)
        name = name_before_verb(self._before)
        if made.subject == USER and name:
            made = replace(made, subject=name.lower())
        self.claims[self._begins :] = [made]

    def _is_meant(self, claim: ClaimText) -> bool:
        """Whether it is certain that the pronoun of a claim means the person who was named before it."""
        person = self._person
        return (
            bool(person)
            and person.lower() not in claim.text.lower()
            and may_mean(claim.text, person)
            and not mentions_another(self._since, person)
        )

    def _remember(self, claim: ClaimText) -> None:
        who = subject_words(claim.text)
        known = self._person
        if _OF_SOMEBODY.search(fold(claim.text)) or (who and relations_in(fold(claim.text.removeprefix(who)))):
            # Whose name or whose dog it is that a later pronoun means can only be guessed.
            self._person = ""
        elif claim.subject != USER or claim.said_by:
            self._person = person_words(claim.text) or known
        elif named := _PERSON_NAME.search(claim.text):
            self._person = named["name"]
        elif name := name_before_verb(claim.text):
            self._person = name
        if self._person != known:
            self._since.clear()


def _attributed(claim: ClaimText, person: str) -> ClaimText:
    sign = "：" if has_han(claim.text) else ": "
    made = _made(f"{person}{sign}{claim.text}")
    subject = subject_of(fold(person))
    if subject == USER and person[:1].isupper() and is_name(person):
        subject = person.lower()
    return replace(made, from_question=claim.from_question, subject=subject)


def _of_sentence(sentence: str) -> list[ClaimText]:
    folded = fold(sentence)
    if asks(folded):
        stated = stated_in_question(sentence)
        asked = [clause for clause in split_clauses(sentence) if asks(fold(clause))]
        if any(map(tells_in_asking, asked)) or (asked and refers_to_question(stated[0])):
            # "can I claim the train if I'm freelance, I do storyboards": neither clause says it alone.
            stated = [sentence]
        if stated != [sentence]:
            stated = [without_reason_word(part) for part in stated]
        return [replace(_made(part), from_question=True) for part in stated]
    return [_made(part) for part in without_mere_requests(parts_of(sentence))]


def stated_in_question(sentence: str) -> list[str]:
    """The clauses of a question that state something; the whole sentence where question and fact are one clause."""
    if asks_for_confirmation(fold(sentence)):
        return [sentence]
    clauses = split_clauses(sentence, question_breaks(sentence))
    asked = [place for place, clause in enumerate(clauses) if asks(fold(clause))]
    before = clauses[: asked[0]] if asked else []
    told = [clause for clause in before if tells_before_asking(fold(clause.strip(" ,，；;")))]
    stated = [
        clause
        for clause in clauses
        if _states(fold(clause.strip(" ,，；;"))) or _TELLS_OF_SOMEBODY.match(clause) or clause in told
    ]
    if not stated:
        return [sentence]
    if has_han(sentence) and any(clause in stated for clause in before):
        # Clauses beside them tell of the same: 旧手机掉河里了，刚拆封一台荣耀，要不要备份？
        beside = [clause for clause in before if not tells_nothing(fold(clause))]
        stated = [clause for clause in clauses if clause in stated or clause in beside]
    joined = "".join(stated).strip(" ,，；;、")
    verb = bool(told) or FINITE_EN.search(fold(joined)) is not None or _SELF.search(fold(joined)) is not None
    if not has_han(joined) and not verb:
        # "Mango, my bearded dragon": a name without what is said of it is no statement.
        return [sentence]
    return parts_of(joined) if len(stated) > 1 else [joined]


def pieces_of(text: str) -> list[str]:
    """The parts of a fact that can be replaced by themselves."""
    code = inline_code(text)
    found = [match for match in _PIECES.finditer(text) if not in_code(code, match.start())]
    if any(match[0] == _AND_ZH for match in found):
        between = _places_of_and(text)
        found = [match for match in found if match[0] != _AND_ZH or match.start() in between]
    ends_at = [match.end() for match in found]
    parts = [text[a:b] for a, b in zip([0, *ends_at], [*ends_at, len(text)], strict=True) if text[a:b].strip()]
    return _with_names(parts) or [text]


def _places_of_and(text: str) -> set[int]:
    """Where 和 is a word of its own, not a part of one: 协和医院, 和平路."""
    places: set[int] = set()
    start = 0
    for word, _ in tagged(text):
        start = text.find(word, start)
        if word == _AND_ZH:
            places.add(start)
        start += len(word)
    return places


def _with_names(parts: Sequence[str]) -> list[str]:
    """Parts of a fact; a name stays with the noun that it explains: "an old spaniel, Tess"."""
    found: list[str] = []
    for place, part in enumerate(parts):
        more = place + 1 < len(parts) and _ONLY_A_NAME.fullmatch(parts[place + 1]) is not None
        if found and not more and _ONLY_A_NAME.fullmatch(part) and _INTRODUCES_NAME.search(found[-1]):
            found[-1] += part
        else:
            found.append(part)
    return found


def refers_to_question(statement: str) -> bool:
    """Whether a statement after a question speaks of what was asked: "What suits my son? He's three."."""
    return _REFERS_BACK.search(fold(statement)) is not None


def claim_after_question(question: str, statement: str) -> ClaimText:
    """A statement with the question before it, without which it says nothing."""
    made = _made(f"{question} {statement}" if statement.isascii() else f"{question}{statement}")
    folded = fold(question)
    return replace(made, subject=named_subject(question) or subject_of(folded), from_question=True, pronoun=False)


def only_asks(text: str) -> bool:
    """Whether every sentence of a text asks, and no clause of it states anything."""
    return all(_asks_only(sentence) for sentence in sentences(text) or [text])


def _asks_only(sentence: str) -> bool:
    return asks(fold(sentence)) and stated_in_question(sentence) == [sentence]


def stated_part(text: str) -> str:
    """A text without what it only asks; empty where it only asks."""
    kept = [s if not asks(fold(s)) else " ".join(stated_in_question(s)) for s in sentences(text) if not _asks_only(s)]
    return " ".join(kept)


def _states(folded: str) -> bool:
    if asks(folded):
        return False
    if OWN_STATEMENT.search(folded) or (PRONOUN.search(folded) and len(folded) >= _MIN_OF_PRONOUN):
        return True
    return bool(topics_of(folded)) and (FIRST_PERSON.search(folded) is not None or has_han(folded))


def _made(text: str) -> ClaimText:
    bare = text.strip(" ,，；;、")
    folded = fold(bare)
    topic = topic_of(folded)
    subject = named_subject(bare) or subject_of(folded)
    if subject == USER and not starts_with_subject(folded):
        subject = person_named_first(bare) or USER
    moment = _WHEN.search(bare)
    quoted = _QUOTED.search(folded)
    said_by = subject if quoted is not None and subject != USER else ""
    reported = reported_in(bare)
    if reported is not None:
        said_by, subject = reported
    return ClaimText(
        bare,
        subject,
        topic,
        _SINGLE.get(topic, False),
        names_in(bare),
        pronoun=PRONOUN.search(folded) is not None,
        negated=_NEGATED.search(folded) is not None,
        when=moment[0].strip() if moment is not None else "",
        said_by=said_by,
    )
