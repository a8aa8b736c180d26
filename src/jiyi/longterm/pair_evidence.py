"""What speaks for and against that a message replaces an older fact, besides the words and meanings they share.

Whom and what both are about, whether both give a figure of the same measure, whether the message only adds or tells of
an exception. `replacement` weighs all of it: none of these decides alone.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from jiyi.longterm.attribute_model import AttributeMatch
from jiyi.longterm.endings import PARTNERS
from jiyi.longterm.replacement import ComparedText, closest, mentions, shared_words
from jiyi.text.day_and_time import age_in, units_in
from jiyi.text.normalize import fold
from jiyi.text.statements.about.subject_phrases import SubjectRelation
from jiyi.text.statements.about.subjects import (
    PRONOUN,
    SUBJECT_WORDS,
    USER,
    mentions_subject,
    names_in,
    starts_with_subject,
    subject_of,
)
from jiyi.text.statements.about.topics import TOPICS, WEAK_TOPICS, topics_of
from jiyi.text.statements.parts.claims import pieces_of
from jiyi.text.statements.replacing.change_words import (
    adds,
    changes,
    ends,
    ends_pregnancy,
    is_bygone,
    is_exception,
    is_mistake,
    is_strong_change,
    is_wish,
)

__all__ = [
    "PairEvidence",
    "is_certain",
    "is_changed_attribute",
    "measured_anew",
    "message_evidence",
    "min_probability_for",
    "pair_evidence",
    "same_subject",
]

# The thing, and a word by which it is turned into something else.
_TURNED: Final = re.compile(
    r"(?:我的?|我们的?)?([\u3400-\u9fff]{2,6}?)(?:已经|现在|都|也|给)?换[成为]"
    r"|(?:my|our|the) ([a-z]+(?: [a-z]+)?) (?:has been|was|got) (?:replaced|switched|swapped) (?:by|with|to|for)\b"
)
_IS: Final = re.compile(r"(?:and )?(?:(?:my|our|the) |我们?的?)?(\w[\w ]*?)(?:一直|现在)?(?: is|用的是|是)")
_MEASURED: Final = frozenset({"weight", "height", "age"})
_MEASURES: Final = re.compile(r"\b(?:weigh\w*|scales?|tall|years? old)\b|体重|上秤|称[了的]|身高|岁")
_NEAR: Final = 0.4
_PREGNANT: Final = re.compile(r"怀孕|怀上|\bpregnan|\bexpecting\b")
_RESIGNS: Final = re.compile(r"离职|辞职|辞了|\b(?:resign\w*|(?:my|in) notice|quit (?:my|the) job)\b")
_TO_START: Final = re.compile(
    r"(?:[月号日]|下周|下个?月|年后|明年|明天).{0,6}(?:去|到|入职|报到)|入职|报到"
    r"|\b(?:i start|starting|i'm joining|joining)\b"
)
_ABOUT_WORK: Final = frozenset({"上班", "工作", "公司", "job", "work", "start"})
_KIN: Final = (
    frozenset({"child", "son", "daughter", "first child", "second child", "kids"}),
    PARTNERS,
    frozenset({"sister", "elder sister", "younger sister"}),
    frozenset({"brother", "elder brother", "younger brother"}),
    frozenset({"dog", "cat", "pet"}),
    frozenset({"boss", "teacher", "colleague"}),
)
_ABOUT_USER: Final = re.compile(
    r"说|通知|告诉|来电|我(?!的?(?:妈|爸|姐|哥|弟|妹|老|家|堂|表|舅|姑|姨|叔|伯|爷|奶|外|岳|公|婆|儿|女|孙|侄|对象|太太|媳|闺|同|室|朋|领导|师|邻))|\b(?:said|says|told|rang|wrote|me|us|i|i'm|we)\b"
)
_ROLES: Final = frozenset({"boss", "teacher", "landlord", "roommate", "childminder", "assistant", "doctor"})
_REPORTS: Final = re.compile(r"汇报|匯報|\breport(?:s|ing)? to\b|\bwork(?:s|ing)? for an? ")
_SINGLE: Final = frozenset(topic.name for topic in TOPICS if topic.single)
_MANY: Final = frozenset(topic.name for topic in TOPICS if not topic.single) - {"appointment", "plan", "answer style"}


_SCHOOL_YEAR: Final = re.compile(r"\b(?:year|grade) (\d{1,2})\b|([一二三四五六七八九])年级")
_NEVER: Final = 2.0
MIN_IN_DOUBT: Final = 0.96
"""From this probability on a message may replace a fact although a rule speaks against it."""
_MIN_SAME_MANY: Final = 0.15
"""From this probability on both are about an attribute of which people have several."""
_SURELY_SAME: Final = 0.5
_OF_EXCEPTION: Final = 0.9
_OF_ADDITION: Final = 0.8
_OF_OTHER_TOPIC: Final = 0.8
_OF_OTHER_THING: Final = 0.8
_SAME_ATTRIBUTE: Final = 0.1
_IF_SAME_ATTRIBUTE: Final = 0.5


class PairEvidence(NamedTuple):
    """What speaks for and against that a message replaces an older fact: 1 for yes, 0 for no."""

    same_subject: float
    apart: float
    """Both are about different things."""
    never_replaces: float
    leaves_alone: float
    measured_anew: float
    same_measure: float
    parallel: float
    """Both are about different things of one kind: the left eye, the right eye."""
    only_of_others: float
    person_in_question: float
    same_head: float
    other_head: float
    names_it: float
    named_in_it: float
    person_in_both: float
    other_topics: float
    """Both have topics, and none in common."""
    only_known_topics: float
    only_said_topics: float


def message_evidence(folded: str) -> list[float]:
    """What the words of a message say about a replacement, whatever the older fact is."""
    found = (is_exception, is_wish, is_mistake, is_strong_change, ends, changes)
    return [float(told(folded)) for told in found]


def pair_evidence(
    message: ComparedText, old: ComparedText, theirs: str, relation: SubjectRelation, *, newest: bool
) -> PairEvidence:
    """What speaks for and against that a message replaces an older fact, which is about `theirs`."""
    said, told = message.topics.keys() - WEAK_TOPICS, old.topics.keys() - WEAK_TOPICS
    return PairEvidence(
        same_subject=float(same_subject(message, old, theirs, newest=newest)),
        apart=float(relation.apart),
        never_replaces=float(_never_replaces(message, old)),
        leaves_alone=float(_leaves_alone(message, old)),
        measured_anew=float(measured_anew(message, old)),
        same_measure=float(_same_measure(message, old)),
        parallel=float(relation.parallel),
        only_of_others=float(relation.only_of_others),
        person_in_question=float(relation.person_in_question),
        same_head=float(relation.same_head),
        other_head=float(relation.other_head),
        names_it=float(relation.names_it),
        named_in_it=float(relation.named_in_it),
        person_in_both=float(relation.person_in_both),
        other_topics=float(bool(said and told) and not said & told),
        only_known_topics=float(bool(told) and not said),
        only_said_topics=float(bool(said) and not told),
    )


def min_probability_for(new: ComparedText, old: ComparedText, evidence: PairEvidence, match: AttributeMatch) -> float:
    """From which probability on a message may replace an older fact; above 1 where no probability is enough."""
    if is_mistake(new.folded) and evidence.named_in_it:
        # The mistake is about what the fact names: "my flight is on the 9th, I misread the email".
        return 0.0
    of_others = evidence.only_of_others and not evidence.names_it and not evidence.named_in_it
    if evidence.parallel or of_others:
        return _NEVER if evidence.parallel else MIN_IN_DOUBT
    if is_mistake(new.folded) or evidence.measured_anew:
        return 0.0
    if _resigns_before_start(new, old):
        return _NEVER
    plain = is_strong_change(new.folded) or ends(new.folded) or changes(new.folded)
    if (
        (is_bygone(old.folded) and not is_bygone(new.folded))
        or (adds(new.folded) and not plain and _several(new, old))
        or (evidence.never_replaces and not plain and match.same_many >= _MIN_SAME_MANY)
        or ("pet" in new.topics and "pet" in old.topics and _only_adds(new.folded))
    ):
        return MIN_IN_DOUBT
    doubts = (
        (is_exception(new.folded), _OF_EXCEPTION),
        (evidence.never_replaces, _OF_ADDITION),
        (evidence.other_topics, _OF_OTHER_TOPIC),
        (evidence.leaves_alone, _OF_OTHER_THING),
    )
    found = max((value for doubted, value in doubts if doubted), default=0.0)
    # Words may have no topic in common and still be about the same attribute. But what passes replaces nothing lasting,
    # whatever it is about: "My manager is out on Monday".
    return min(found, _IF_SAME_ATTRIBUTE) if found < _OF_EXCEPTION and match.same >= _SAME_ATTRIBUTE else found


def is_certain(new: ComparedText, old: ComparedText, evidence: PairEvidence) -> bool:
    """Whether a message surely replaces an older fact.

    Both give a figure of the same measure of the same person, or the fact says what something is, and the message
    into what it was turned: 镜头换成腾龙的了.
    """
    apart = evidence.parallel or evidence.only_of_others or evidence.apart
    measured = evidence.measured_anew or _in_another_year(new.folded, old.folded)
    return bool((measured or _is_turned(new, old, evidence)) and evidence.same_subject) and not apart


def _is_turned(new: ComparedText, old: ComparedText, evidence: PairEvidence) -> bool:
    """Whether a message says into what a thing was turned that one clause of an older fact is about."""
    turned = _TURNED.match(new.folded)
    thing = next(filter(None, turned.groups()), "") if turned and evidence.names_it else ""
    clauses = [clause for clause in map(fold, pieces_of(old.text)) if thing and thing in clause]
    told = _IS.match(clauses[0]) if len(clauses) == 1 and not is_wish(new.folded) else None
    return told is not None and told[1] == thing


def _in_another_year(said: str, known: str) -> bool:
    """Whether both tell in which year of school somebody is."""
    years = [_SCHOOL_YEAR.findall(text) for text in (said, known)]
    return all(len(found) == 1 for found in years) and years[0] != years[1]


def is_changed_attribute(new: ComparedText, old: ComparedText, evidence: PairEvidence, match: AttributeMatch) -> bool:
    """Whether a message says in plain words that an attribute has changed of which the same subject has one.

    "I switched from the Pixel to an iPhone 15": nothing else was my phone.
    """
    same = match.same_single >= _SURELY_SAME and bool(evidence.same_subject)
    doubted = is_wish(new.folded) or adds(new.folded) or min_probability_for(new, old, evidence, match) > 0
    return same and is_strong_change(new.folded) and not doubted


def _never_replaces(new: ComparedText, old: ComparedText) -> bool:
    """Whether a message hardly ever replaces such a fact: it ends another job, or may be one more of several."""
    if is_bygone(old.folded) and not is_bygone(new.folded):
        return True
    # Where people have several of a kind, one more replaces none of them.
    return _resigns_before_start(new, old) or (_several(new, old) and _only_adds(new.folded))


def _resigns_before_start(new: ComparedText, old: ComparedText) -> bool:
    """Whether somebody resigns, and a fact is about a job that is to begin: it is another one that they leave."""
    resigns = _RESIGNS.search(new.folded) is not None and _TO_START.search(old.folded) is not None
    return resigns and not shared_words(new, old) - _ABOUT_WORK


def _several(new: ComparedText, old: ComparedText) -> bool:
    """Whether a fact is about something that people have several of."""
    return "pet" in new.topics.keys() & old.topics.keys() or (bool(old.topics) and old.topics.keys() <= _MANY)


def _leaves_alone(new: ComparedText, old: ComparedText) -> bool:
    """Whether a message and an older fact are hardly about the same thing."""
    if ends(new.folded) and not _names_the_same(new, old):
        return True
    if not _only_adds(new.folded):
        return False
    # Weak topics are left out: both may name the same person or a plan and say different things of it.
    shared = new.topics.keys() & old.topics.keys() - WEAK_TOPICS
    return bool(old.topics.keys() - WEAK_TOPICS) and not shared and not _same_measure(new, old)


def _names_the_same(new: ComparedText, old: ComparedText) -> bool:
    """Whether an end may be that of an older fact: not where both are plainly about different things."""
    told, said = old.topics.keys() - WEAK_TOPICS, new.topics.keys() - WEAK_TOPICS
    return not told or not said or bool(told & said) or bool(shared_words(new, old)) or closest(new, old) >= _NEAR


def _same_measure(new: ComparedText, old: ComparedText) -> bool:
    """Whether both give a figure in the same unit: kilos, dollars, years."""
    return bool(units_in(new.folded) & units_in(old.folded) - {"day", "hour"})


def measured_anew(new: ComparedText, old: ComparedText) -> bool:
    """Whether both say how heavy, tall or old somebody is: the newer figure is the one that holds."""
    if age_in(new.folded) and age_in(old.folded):
        named = any(mentions(new.folded, name) for name in names_in(old.text))
        return named or subject_of(new.folded) == subject_of(old.folded)
    attributes = _MEASURED & new.topics.keys() & old.topics.keys()
    return bool(attributes) and _same_measure(new, old) and _MEASURES.search(new.folded) is not None


def _only_adds(folded: str) -> bool:
    """Whether a message may only add: it says nothing of a change, an end or a mistake."""
    if is_mistake(folded) or is_strong_change(folded) or ends(folded):
        return False
    return adds(folded) or not changes(folded)


def same_subject(message: ComparedText, old: ComparedText, theirs: str, *, newest: bool) -> bool:  # noqa: PLR0911
    """Whether a message may be about the subject (`theirs`) of an older fact."""
    folded = message.folded
    if any(mentions(folded, name) for name in names_in(old.text)):
        return True
    if theirs != USER and any(mentions(old.folded, name) for name in names_in(message.text)):
        return True
    ours, bare = _subjects(folded)
    if theirs in ours or any(theirs in kin and ours & kin for kin in _KIN):
        return True
    if theirs != USER and (mentions_subject(folded, theirs) or mentions(folded, theirs)):
        return True
    if theirs == USER and bare and ours <= _ROLES and message.lexical.numbers and old.lexical.numbers:
        # A new figure without a subject is the user's: "房东涨价，从这个月开始3600了".
        return True
    if theirs == USER and (
        topics_of(bare).keys() & old.topics.keys() or any(word in bare for word in old.lexical.terms)
    ):
        # A clause that names nobody, beside one about somebody else, is about the user.
        return True
    if "" in ours and theirs != USER and (message.lexical.terms & old.lexical.terms) - SUBJECT_WORDS:
        # Nobody else is named, and both speak of the same thing: "Elsie's lot have moved to Wednesdays".
        return True
    roles = ours & _ROLES
    if (
        theirs == USER
        and roles
        and (_REPORTS.search(old.folded) or any(mentions_subject(old.folded, r) for r in roles))
    ):
        # The other way round: "I report to Hendrik", "My manager is Folasade".
        return True
    if _PREGNANT.search(old.folded) and ends_pregnancy(folded):
        return True
    if theirs in _ROLES and ours <= {USER, ""} and names_in(old.text):
        # Who holds a role may be told with the user as the subject: "My manager is Colm", "I report to Sunita".
        return True
    if re.search(r"[他她佢]|\b(?:he|she|her|him|they)\b", folded):
        # He or she is whoever the message names.
        return not ours - {USER, ""} and (theirs != USER or newest)
    return newest and theirs != USER and "" in ours


def _subjects(folded: str) -> tuple[set[str], str]:
    """Whom the clauses of a message are about, and those clauses that do not say; empty text where none does."""
    found: set[str] = set()
    bare: list[str] = []
    for clause in (part.strip() for part in re.split(r"[，,；;。.!！?？]\s*", folded)):
        subject = subject_of(clause)
        if not clause or (found and PRONOUN.search(clause)):
            # He, she or it is whoever was named before.
            continue
        if subject == USER and not starts_with_subject(clause):
            bare.append(clause)
            continue
        found.add(subject)
        if subject != USER and _ABOUT_USER.search(clause):
            # 老师说…, "the surgery rang to say", 把我接来了: it may be about the user as well.
            found.add(USER)
    return found or {"", USER}, "，".join(bare)
