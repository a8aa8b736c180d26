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

from jiyi.text.bound_clauses import is_bound
from jiyi.text.normalize import fold
from jiyi.text.phrases_en import predicate_en, read_en
from jiyi.text.phrases_zh import predicate_zh, read_zh
from jiyi.text.pronouns import may_mean
from jiyi.text.sentences import sentences
from jiyi.text.statement_features import (
    FIRST_PERSON,
    OWN_STATEMENT,
    asks,
    asks_for_confirmation,
    tells_in_asking,
)
from jiyi.text.subjects import (
    PRONOUN,
    USER,
    named_subject,
    names_in,
    person_words,
    relations_in,
    starts_with_subject,
    subject_of,
    subject_words,
)
from jiyi.text.topics import TOPICS, topics_of

__all__ = [
    "ClaimText",
    "claim_after_question",
    "clauses_of",
    "only_asks",
    "pieces_of",
    "refers_to_question",
    "split_claims",
    "stated_in_question",
    "stated_part",
    "topic_of",
]

_BREAK: Final = re.compile(
    r"[，；;]\s*|,\s+(?=\S)|\.{3,}|…+|\s+-\s+|(?<=[^\W\d])\s+(?=(?:and|but|plus) (?:i|i'm|im|i've|ive|my|we|she"
    r"|he|our|his|her)\b)",
    re.IGNORECASE,
)
_JOINER: Final = re.compile(
    r"^(?:and|but|plus|so|then|另外|而且|并且|还有|然后|同时|不过|但是?|所以)[\s,，]+", re.IGNORECASE
)
# A clause that only explains or judges the one before.
_DEPENDENT: Final = re.compile(
    r"^(?:换成|改成|改叫|变成|现在(?:去|在|是|就|改|用)|以后|今年|因为|所以|但|不过|不然|否则|虽然|而|才|就(?!读"
    r"|业|是)|都|也|拿来|用来|当作|省得|免得|闻到|反而|结果|说出来|真的|唉|哈|怪|羡慕|挺|太|好(?!友|朋)|很|够|认命|雷打不动|没换过|还差"
    r"|图啥|皮得|超|好像|基本)"
    r"|^(?:which|who|because|cause|cos|since|so|that|though|although|if|when|while|as|with|like|yes|no|thank"
    r"|hence|otherwise|apparently|mostly|not|well|honestly|truly|still|until|even|except)\b"
    # "…, the doctor says it's a milk protein allergy": whose, the clause before tells.
    r"|^(?:the|my|our|his|her) \w+ (?:says|said|thinks|reckons|confirmed) (?:that )?(?:it|he|she|they)\b"
    r"|^(?:医生|大夫|老师|他们|人家|对方)说(?:是|这是|那是)"
)
_VERB_EN: Final = re.compile(
    r"\b(?:am|is|are|was|were|be|been|'m|'re|'s|have|has|had|'ve|do|does|did|don'?t|can|can'?t|will|won'?t"
    r"|work\w*|live\w*|play\w*|use\w*|eat\w*|drink\w*|love\w*|hate\w*|like\w*|prefer\w*|go|goes|going"
    r"|got|get\w*|run\w*|keep\w*|want\w*|need\w*|stud\w+|teach\w*|learn\w*|move\w*|left|quit|start\w*|stop\w*"
    r"|doing|working|living|saving|flying|listen\w*|own\w*|wear\w*|take\w*|took|said|says|told|turn\w*)\b"
)
# "…, a dear man", "…, has been since": more about the same.
_APPOSITION: Final = re.compile(
    r"^(?:a|an|the|has|was|were|is|in|on|at|from|with|for|to|near|just|only|same|first|one|by|of|no|hence|where"
    r"|band|put|mostly|roughly|every|old|new|two|three)\b"
)
# "Rosalind in accounts, who sits opposite me, is deaf"; "Parents' evening, December 3, 4:30 pm".
_WITHOUT_SUBJECT: Final = re.compile(r"^(?:is|are|was|were|has|had|does|did)\b")
_ONLY_A_TIME: Final = re.compile(
    r"^(?:(?:on )?(?:the )?\d|(?:on |every )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december) \d)[^,]{0,20},?$"
)
_MIN_LIST: Final = 4
# A part as short as this after somebody was introduced describes them: "a dog, Pip, three years old".
_SHORT: Final = {True: 14, False: 5}
_LIST_TOPICS: Final = frozenset({"name", "age", "weight", "height", "family", "pet"})
_WEAK: Final = frozenset(
    {"plan", "travel", "family", "friends and colleagues", "project", "origin", "skill", "like and dislike"}
)
_SINGLE: Final = {topic.name: topic.single for topic in TOPICS}
_ORDER: Final = {topic.name: place for place, topic in enumerate(TOPICS)}
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_OPENING: Final = re.compile(r"(?:^|[\s(:,])['‘](?=\w)")
_CLOSING: Final = re.compile(r"(?<=[\w.,!?])['’](?=$|[\s.,!?)])")
_REFERS_BACK: Final = re.compile(
    r"^(?:(?:and|but|so|because|cos),? )*(?:he|she|it|they|he's|she's|it's|they're|hes|shes|its|theyre|mine|ours|his"
    r"|her|their|both|the one|this one|that one|we both)\b|^(?:他|她|它|牠|这(?:个|只|家|台)|那(?:个|只|家|台))"
)
_PIECES: Final = re.compile(
    r"[，；;、]\s*|,\s+|\s+(?:and|&|plus|\+|-|but)\s+(?!(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b)|(?<=[\u3400-\u9fff])(?:和|还有|而且|并且)(?=[\u3400-\u9fff])|：\s*|:\s+"
    r"|\s*[—–]+\s*|(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])"
)
_ONLY_A_NAME: Final = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)?[,.]?\s*")
_INTRODUCES_NAME: Final = re.compile(r"\b(?:an?|my|our|his|her|one) (?:[\w-]+ ){0,3}[a-z]+, $")
_MIN_CLAUSE: Final = 2
_AROUND: Final = " ,，；;、。.!！?？…-"
_NAMED_SHORT: Final = 6
_MIN_OF_PRONOUN: Final = 5
_LONGEST_LEAD: Final = 8
_SPEAKER_WORDS: Final = frozenset(
    ["i", "i'm", "im", "i've", "ive", "we", "we're", "we've", "我", "我们", "咱", "咱们", "俺"]
)
_PERSON_NAME: Final = re.compile(
    r"(?:,|\b(?:Mrs?|Ms|Dr|Professor)\.?|\bcalled|\band) (?P<name>(?:Mrs?\.? |Ms |Dr "
    r"|Professor )?[A-Z][a-z]+)(?=[,.]| is\b| has\b|$)"
)
# Without a verb, and still a statement about the speaker: "as a notary", "on warfarin", "coming from ten years of SAS".
_SELF: Final = re.compile(
    r"^(?:as|on|being|coming|with|having|planning|given|after|only|got|just)\b|\b(?:here|i|i'm|im)\b"
)
_WHO: Final = frozenset({"family", "friends and colleagues", "pet"})
_NEGATED: Final = re.compile(
    r"不(?!错|过|仅|但|止|锈)|没(?!想到|事)|無|未(?!来|婚)|戒了|戒掉|再也不|\b(?:not|no|never|none|neither|nor"
    r"|without|cannot|quit|stopped|no longer)\b|n't\b|\b(?:dont|cant|wont|isnt|havent)\b"
)
_WHEN: Final = re.compile(
    r"(?:每(?:天|周|晚|早|个?月|年)|(?:下|上|这|本)个?(?:周|週|星期|礼拜|月)[一二三四五六日天]?|(?:周|週|星期"
    r"|礼拜)[一二三四五六日天末]|明年|今年|去年|年底|月底"
    r"|[\d一二三四五六七八九十]+月(?:[\d一二三四五六七八九十]+[号日])?|[\d一二三四五六七八九十]+点半?)+"
    r"|\b(?:every (?:other )?\w+|(?:on |next |this |last )?(?:mon|tues|wednes|thurs|fri|satur"
    r"|sun)days?(?: (?:morning|afternoon|evening|night)s?)?|since \w+|in (?:january|february|march|april|may"
    r"|june|july|august|september|october|november|december)"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\w* \d{1,2}|\d{1,2} (?:jan|feb|mar|apr|may|june?|july?"
    r"|aug|sept?|oct|nov|dec)\w*|next (?:week|month|year|christmas)|tomorrow|\d{4})\b",
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


def topic_of(folded: str) -> str:
    """The main topic of a folded text: the one with most words; of equals the surer one."""
    found = topics_of(folded)
    if not found:
        return ""
    return min(found, key=lambda name: (name in _WEAK, -found[name], _ORDER[name]))


def split_claims(text: str) -> list[ClaimText]:
    """The claims of a message, in order. A pronoun gets the person before it, where the message names one."""
    found: list[ClaimText] = []
    person = ""
    for sentence in sentences(text) or [text]:
        for claim in _of_sentence(sentence.strip()):
            if claim.pronoun and person and person.lower() not in claim.text.lower() and may_mean(claim.text, person):
                found.append(_attributed(claim, person))
                continue
            if claim.subject != USER:
                person = person_words(claim.text) or person
            elif named := _PERSON_NAME.search(claim.text):
                person = named["name"]
            found.append(claim)
    return found


def _attributed(claim: ClaimText, person: str) -> ClaimText:
    sign = "：" if _HAN.search(claim.text) else ": "
    made = _made(f"{person}{sign}{claim.text}")
    return replace(made, from_question=claim.from_question, subject=subject_of(fold(person)))


def _of_sentence(sentence: str) -> list[ClaimText]:
    folded = fold(sentence)
    if asks(folded):
        stated = stated_in_question(sentence)
        asked = [clause for clause in _clauses(sentence) if asks(fold(clause))]
        if any(map(tells_in_asking, asked)) or (asked and refers_to_question(stated[0])):
            # "can I claim the train if I'm freelance, I do storyboards": neither clause says it alone.
            stated = [sentence]
        return [replace(_made(part), from_question=True) for part in stated]
    return [_made(part) for part in _parts(sentence)]


def _clauses(sentence: str) -> list[str]:
    """The clauses of a sentence with the signs that follow them."""
    starts = [0, *(match.end() for match in _BREAK.finditer(sentence) if not _in_quotation(sentence, match.start()))]
    pieces = [sentence[a:b] for a, b in zip(starts, [*starts[1:], len(sentence)], strict=True)]
    return [piece for piece in pieces if len(piece.strip(" ,，；;。.")) >= _MIN_CLAUSE]


def clauses_of(text: str) -> list[str]:
    """All clauses of a text, without the signs around them."""
    found = [clause.strip(_AROUND) for sentence in sentences(text) or [text] for clause in _clauses(sentence)]
    return [clause for clause in found if clause]


def _in_quotation(sentence: str, place: int) -> bool:
    before = sentence[:place]
    return (
        before.count("“") > before.count("”")
        or before.count("「") > before.count("」")
        or before.count('"') % 2 == 1
        or len(_OPENING.findall(before)) > len(_CLOSING.findall(before))
    )


def _parts(sentence: str) -> list[str]:
    """Stretches of clauses, each about one subject and one topic, with the subject put in where it was left out."""
    clauses = _clauses(sentence)
    if len(clauses) < 2:
        return [sentence]
    groups: list[list[str]] = []
    topics: set[str] = set()
    subject = before = ""
    for clause in clauses:
        folded = fold(_JOINER.sub("", clause).strip())
        own = set(topics_of(folded))
        bare = _JOINER.sub("", clause).strip()
        named = named_subject(bare)
        who = named or (subject_of(folded) if starts_with_subject(folded) else subject)
        follows = _APPOSITION.search(folded) is not None and (
            len(clauses) < _MIN_LIST or _WITHOUT_SUBJECT.search(folded) is not None
        )
        follows = follows or _ONLY_A_TIME.search(folded) is not None
        begins = (
            bool(groups)
            and bool(own)
            and not follows
            and not _DEPENDENT.search(folded)
            and not PRONOUN.search(folded)
            and not is_bound(before, clause)
            and not _only_names(groups[-1], topics)
            and not (topics & _WHO and not starts_with_subject(folded) and len(folded) <= _SHORT[folded.isascii()])
            and (
                who != subject
                or (not own & topics and bool(topics - _WHO))
                or (topic_of(folded) in _LIST_TOPICS and own != topics)
            )
        )
        if begins or not groups:
            groups.append([clause])
            topics, subject = own, who
        else:
            groups[-1].append(clause)
            topics = topics | own
            subject = subject or who
        before = clause
    return _joined(groups) if len(groups) > 1 else [sentence]


def _joined(groups: Sequence[Sequence[str]]) -> list[str]:
    """The stretches as they are kept: one that does not tell its subject or read alone joins the one before."""
    raw: list[str] = []
    found: list[str] = []
    lead = ""
    for group in groups:
        text = "".join(group)
        part = _JOINER.sub("", text).strip(" ,，；;、")
        folded = fold(part)
        if found and not starts_with_subject(folded):
            alone = _with_subject(part, lead, raw[-1])
            if not alone:
                raw[-1] += text
                found[-1] = (
                    _JOINER.sub("", raw[-1]).strip(" ,，；;、") if found[-1] in raw[-1] else f"{found[-1]}, {part}"
                )
                continue
            part = alone
        elif (named_subject(part) or starts_with_subject(folded)) and not PRONOUN.search(folded):
            lead = subject_words(part)
        raw.append(text)
        found.append(part)
    return found


def _only_names(group: Sequence[str], topics: set[str]) -> bool:
    """Whether what stands there so far is only somebody's name: "my other brother, Dom", 香菜，死敌."""
    text = "".join(group).strip(" ,，；;")
    short = len(text) <= (4 if _HAN.search(text) else 30) or (len(text) <= _NAMED_SHORT and "姓" in text)
    return not topics - _WHO and _VERB_EN.search(fold(text)) is None and short


def _with_subject(part: str, lead: str, before: str) -> str:
    """A stretch without a subject with that of the one before; empty where it cannot be told or does not read alone."""
    han = _HAN.search(part) is not None
    if lead and lead.lower() not in _SPEAKER_WORDS:
        if not han:
            return f"{lead}: {part}"
        return f"{lead}{part}" if len(lead) <= _LONGEST_LEAD and predicate_zh(part) == "" else f"{lead}：{part}"
    phrase = read_zh(part) if han else read_en(part)
    if phrase is not None and phrase.named:
        # "Bob owns routing", 押金11600; but a bare "contact is Dawn" belongs to what was said before.
        return part if han or phrase.owner or part[:1].isupper() or part.lower().startswith("the ") else ""
    introduced = relations_in(fold(before)) or names_in(before)
    if not lead or introduced or (predicate_zh(part) if han else predicate_en(part)) != "":
        return ""
    return f"{lead}{part}" if han else f"{'We' if lead.lower().startswith('we') else 'I'} {part}"


def stated_in_question(sentence: str) -> list[str]:
    """The clauses of a question that state something; the whole sentence where question and fact are one clause."""
    if asks_for_confirmation(fold(sentence)):
        return [sentence]
    clauses = _clauses(sentence)
    stated = [clause for clause in clauses if _states(fold(clause.strip(" ,，；;")))]
    if not stated:
        return [sentence]
    joined = "".join(stated).strip(" ,，；;、")
    if not _HAN.search(joined) and _VERB_EN.search(fold(joined)) is None and not _SELF.search(fold(joined)):
        # "Mango, my bearded dragon": a name without what is said of it is no statement.
        return [sentence]
    return _parts(joined) if len(stated) > 1 else [joined]


def pieces_of(text: str) -> list[str]:
    """The parts of a fact that can be replaced by themselves."""
    ends_at = [match.end() for match in _PIECES.finditer(text)]
    parts = [text[a:b] for a, b in zip([0, *ends_at], [*ends_at, len(text)], strict=True) if text[a:b].strip()]
    return _with_names(parts) or [text]


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
    return bool(topics_of(folded)) and (FIRST_PERSON.search(folded) is not None or _HAN.search(folded) is not None)


def _made(text: str) -> ClaimText:
    bare = text.strip(" ,，；;、")
    folded = fold(bare)
    topic = topic_of(folded)
    subject = named_subject(bare) or subject_of(folded)
    moment = _WHEN.search(bare)
    quoted = _QUOTED.search(folded)
    return ClaimText(
        bare,
        subject,
        topic,
        _SINGLE.get(topic, False),
        names_in(bare),
        pronoun=PRONOUN.search(folded) is not None,
        negated=_NEGATED.search(folded) is not None,
        when=moment[0].strip() if moment is not None else "",
        said_by=subject if quoted is not None and subject != USER else "",
    )
