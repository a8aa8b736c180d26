"""Splits a statement into stretches of clauses: each about one subject and one topic, with its subject put in.

Clauses that say more about the same thing stay together; a clause with another subject or topic begins a new stretch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import MONTH, WEEKDAY, has_han
from jiyi.text.statements.about.phrases_en import predicate_en, read_en
from jiyi.text.statements.about.phrases_zh import predicate_zh, read_zh
from jiyi.text.statements.about.subjects import (
    PRONOUN,
    USER,
    named_subject,
    names_in,
    relations_in,
    starts_with_subject,
    subject_of,
    subject_words,
)
from jiyi.text.statements.about.topics import TOPICS, WEAK_TOPICS, topics_of
from jiyi.text.statements.parts.bound_clauses import is_bound
from jiyi.text.statements.parts.clauses import FINITE_EN, split_clauses
from jiyi.text.statements.parts.independent_clauses import (
    begins_after_and,
    each_with_group,
    each_with_heading,
    names_another_subject,
    only_names_somebody,
)
from jiyi.text.statements.parts.introductions import is_greeting, speaker_again, tells_more_of_it, tells_other_kind
from jiyi.text.statements.parts.listed_predicates import omitted_subject, predicate_breaks, tells_of_speaker

__all__ = ["parts_of", "topic_of"]

_WEAK: Final = WEAK_TOPICS | {"project"}
_ORDER: Final = {topic.name: place for place, topic in enumerate(TOPICS)}
_JOINER: Final = re.compile(
    r"^(?:and|but|plus|so|then|另外|而且|并且|还有|然后|同时|不过|但是?|所以)[\s,，]+", re.IGNORECASE
)
# A clause that only explains or judges the one before.
_DEPENDENT: Final = re.compile(
    r"^(?:换成|改成|改叫|变成|现在(?:去|在|是|就|改|用)|以后|今年|因为|所以|但|不过|不然|否则|虽然|而|才|就(?!读"
    r"|业|是)|都|也|拿来|用来|当作|省得|免得|闻到|反而|结果|说出来|真的|唉|哈|怪|羡慕|挺|太|好(?!友|朋)|很|够|离(?!异|婚|职|开|了)|认命|雷打不动|没换过|还差"
    r"|图啥|皮得|超|好像|基本)"
    r"|^(?:which|who|because|cause|cos|since|so|that|though|although|if|when|while|as|with|like|yes|no|thank"
    r"|hence|otherwise|apparently|mostly|not|well|honestly|truly|still|until|even|except)\b"
    # "…, the doctor says it's a milk protein allergy": the clause before tells whose it is.
    r"|^(?:the|my|our|his|her) \w+ (?:says|said|thinks|reckons|confirmed) (?:that )?(?:it|he|she|they)\b"
    r"|^(?:医生|大夫|老师|他们|人家|对方)说(?:是|这是|那是)"
)
# "…, a dear man", "…, has been since": more about the same.
_APPOSITION: Final = re.compile(
    r"^(?:a|an|the|has|was|were|is|in|on|at|from|with|for|to|near|just|only|same|first|one|by|of|no|hence|where"
    r"|band|put|mostly|roughly|every|old|new|two|three)\b"
)
# "Rosalind in accounts, who sits opposite me, is deaf"; "Parents' evening, December 3, 4:30 pm".
_WITHOUT_SUBJECT: Final = re.compile(r"^(?:is|are|was|were|has|had|does|did)\b")
_ONLY_A_TIME: Final = re.compile(
    rf"^(?:(?:on )?(?:the )?\d|(?:on |every )?{WEEKDAY}s?\b"
    rf"|{MONTH} \d)[^,]{{0,20}},?$"
)
_MIN_LIST: Final = 4
# A part as short as this after somebody was introduced describes them: "a dog, Pip, three years old".
_SHORT: Final = {True: 14, False: 5}
_LIST_TOPICS: Final = frozenset({"name", "age", "weight", "height", "family", "pet"})
_NAMED_SHORT: Final = 6
_SPEAKER_WORDS: Final = frozenset(
    ["i", "i'm", "im", "i've", "ive", "we", "we're", "we've", "我", "我们", "咱", "咱们", "俺"]
)
_WHO: Final = frozenset({"family", "friends and colleagues", "pet"})
# 叫我王老师吧, "remind me on Monday": the assistant is to do it, and the speaker is no subject that was left out.
_TO_THE_SPEAKER: Final = re.compile(
    r"(?:请|就|以后|还是|那|你|都|直接)*(?:叫|喊|称呼|告诉|提醒|帮|给|替|教|陪|问|回答|回复|通知)我(?!的|家|们|[爸妈哥姐弟妹儿女老])"
    r"|(?:please |just |so |and |then )*(?:call|tell|remind|help|give|send|ask|show|address|notify) (?:me|us)\b"
)
# 朋友都叫我小雯, 导师不放人: somebody is mentioned, and what follows is not about them.
_IN_PASSING: Final = re.compile(
    r"^(?!我|咱)[^，我]{1,6}(?:都|也|老|总|就|又)?(?:叫|喊|让|催|劝|帮|给|说|骂|嫌|夸|等|找|陪|送|逼|求|问|带|接|管)(?:着|了)?我"
    r"|^[^，我]{1,5}(?:不放人|不让|不肯|不同意|同意|批了|没批|答应)"
    r"|^(?:my|our|the|everyone|people|friends|they) ?\w* (?:call|calls|made|makes|told|tells|asked|let|lets|won't let"
    r"|says|said) (?:me|us)\b"
)
_ROLE: Final = re.compile(
    r"^.{0,4}(?:老师|班主任|导师|教练|领导|老板|组长|房东|医生|大夫|经理|站长|校长|主任|主管)"
    r"|^(?:my |our |the |his |her )?(?:\w+ )?(?:teacher|coach|boss|manager|landlord|landlady|vet|dentist|doctor"
    r"|supervisor)\b"
)
# 我姐生了，是个男孩，叫豆包: the child is called so.
_NAMES_ONE: Final = re.compile(r"^(?:已经|给)?(?:取名|起名|名叫|名字|小名|大名|叫|\d+斤|[一二三四五六七八九十两]+斤)")
_NEW_ONE: Final = re.compile(
    r"(?:生(?!日|活|病|气|意|产)|领养|收养|抱养|捡|怀)(?:下|到|养)?了|[，,](?:是|有)(?:一?[个只条位名]|[两二三四五六\d]+[个只条])(?:男|女|公|母|小)|龙凤胎|双胞胎"
)
_PREPOSITION: Final = re.compile(r"[从在对跟给把被由到]")
_AT_HOME: Final = re.compile(r"^家里|^家有|^at home\b")
_OTHERS: Final = re.compile(r"[他她它]|\b(?:he|she|they|him|her|his|their)\b")
# "his girlfriend is coeliac": whose, the clause before tells.
_OF_THEM: Final = re.compile(r"^(?:his|her|their) |^[他她](?:们)?的?(?=[\u3400-\u9fff])")


def topic_of(folded: str) -> str:
    """The main topic of a folded text: the one with most words; of equals the surer one."""
    found = topics_of(folded)
    if not found:
        return ""
    return min(found, key=lambda name: (name in _WEAK, -found[name], _ORDER[name]))


@dataclass(slots=True)
class _Stretch:
    """Clauses that stay together, and the subject that they leave out."""

    text: str
    topics: set[str]
    subject: str
    omitted: str = ""
    named: bool = False
    """It names a subject of its own that nothing before has."""

    @property
    def bare(self) -> str:
        return _JOINER.sub("", self.text).strip(" ,，；;、")

    @property
    def claim(self) -> str:
        return f"{self.omitted}{self.bare}"


def parts_of(sentence: str) -> list[str]:
    """Stretches of clauses, each about one subject and one topic, with the subject put in where it was left out.

    A subject is put in only where it is certain; elsewhere the clauses stay together as they were said.
    """
    if members := each_with_group(sentence) or each_with_heading(sentence):
        return members
    clauses = split_clauses(sentence, [*begins_after_and(sentence), *predicate_breaks(sentence)])
    if len(clauses) < 2:
        return [sentence]
    found: list[_Stretch] = []
    before = lead = ""
    for place, clause in enumerate(clauses):
        bare = _JOINER.sub("", clause).strip()
        folded = fold(bare)
        own, named = set(topics_of(folded)), named_subject(bare)
        last = found[-1] if found else _Stretch("", set(), "")
        who = named or (subject_of(folded) if starts_with_subject(folded) else last.subject)
        # The name stays with what is told of whoever has it: 我家的狗叫旺财，是条土狗.
        of_name = last.subject != USER and only_names_somebody(before)
        of_new_one = _NAMES_ONE.search(folded) is not None and _NEW_ONE.search(last.text) is not None
        told_by_another = of_name or of_new_one or _TO_THE_SPEAKER.match(folded)
        introduces = "" if told_by_another else speaker_again(bare, clauses[:place])
        more = tells_more_of_it(bare, before)
        omitted = introduces or ("" if told_by_another or more else omitted_subject(bare, lead, before))
        listed = tells_other_kind(bare, clauses[:place])
        another = listed or (bool(found) and names_another_subject(bare, split_clauses(last.text)))
        begins = bool(introduces or listed) or (
            bool(found)
            and not more
            and not any(pattern.search(folded) for pattern in (_DEPENDENT, PRONOUN, _IN_PASSING))
            and not is_bound(before, clause)
            and not _names_role_of_another(bare, clauses[place + 1 :])
            and (bool(omitted or last.omitted) or not _only_names(last.text, last.topics))
            and (
                another
                or bool(omitted)
                or tells_of_speaker(bare, before)
                or _changes_topic(folded, own, who, last, len(clauses))
            )
        )
        if begins and not another and not omitted and not starts_with_subject(folded) and not named:
            begins = _reads_alone(bare) or (before.rstrip().endswith((";", "；")) and _names_something(bare))
            if not begins:
                omitted = _speaker_left_out(bare, lead, before)
                begins = bool(omitted)
        if begins or not found:
            found.append(_Stretch(clause, own, who, omitted if begins else "", another))
            if _OF_THEM.search(folded) and lead and begins and len(relations_in(fold(before))) == 1:
                found[-1].omitted = f"{lead}：" if has_han(bare) else f"{lead}: "
        else:
            last.text += clause
            last.topics |= own
            last.subject = last.subject or who
        mentions = _IN_PASSING.search(folded) or starts_with_subject(folded) or named or _names_something(bare)
        if not omitted and mentions:
            # The clause before only mentions somebody, so that the subject of this one could only be guessed.
            first = place == 0 or (place == 1 and is_greeting(before))
            told = (begins or first) and not any(pattern.search(folded) for pattern in (PRONOUN, _IN_PASSING))
            words = subject_words(bare) if told else ""
            # 我有个女儿，对花生过敏 does not tell who is allergic.
            lead = "" if "有个" in words or "有一个" in words else words
        before = clause
    return [each.claim for each in found] if len(found) > 1 else [sentence]


def _names_role_of_another(bare: str, following: Sequence[str]) -> bool:
    """Whether a clause only says who holds a role, and what follows is told of somebody else.

    班主任姓孙，每天骑车上学: the pupil does.
    """
    if not following or not _ROLE.search(fold(bare)) or not only_names_somebody(bare) or bare.endswith((";", "；")):
        return False
    after = _JOINER.sub("", following[0]).strip()
    own = starts_with_subject(fold(after)) or named_subject(after) or names_another_subject(after, [bare])
    return not own or (_names_something(after) and not _ROLE.search(fold(after)) and not only_names_somebody(after))


def _changes_topic(folded: str, own: set[str], who: str, last: _Stretch, clauses: int) -> bool:
    """Whether a clause is about another subject or topic than the stretch before it."""
    follows = _APPOSITION.search(folded) is not None and (
        clauses < _MIN_LIST or _WITHOUT_SUBJECT.search(folded) is not None
    )
    short = last.topics & _WHO and not starts_with_subject(folded) and len(folded) <= _SHORT[folded.isascii()]
    if not own or follows or _ONLY_A_TIME.search(folded) is not None or short:
        return False
    return (
        who != last.subject
        or (not own & last.topics and bool(last.topics - _WHO))
        or (topic_of(folded) in _LIST_TOPICS and own != last.topics)
    )


def _names_something(part: str) -> bool:
    phrase = read_zh(part) if has_han(part) else read_en(part)
    return phrase is not None and phrase.named


def _reads_alone(part: str) -> bool:
    """Whether a clause without a person names what it is about: "Bob owns routing", 押金11600, 家里养了只边牧."""
    han = has_han(part)
    phrase = read_zh(part) if han else read_en(part)
    if phrase is None or not phrase.named or _PREPOSITION.match(part):
        return _AT_HOME.search(part) is not None
    # A bare "contact is Dawn" belongs to what was said before.
    return han or bool(phrase.owner) or part[:1].isupper() or part.lower().startswith("the ")


def _speaker_left_out(part: str, lead: str, before: str) -> str:
    """The speaker, where a clause can only be about them: nobody else was spoken of before it or in it."""
    han = has_han(part)
    said = fold(f"{before} {part}")
    if _TO_THE_SPEAKER.match(fold(part)):
        return ""
    if lead.lower() not in _SPEAKER_WORDS or relations_in(said) or names_in(before) or _OTHERS.search(said):
        return ""
    if (predicate_zh(part) if han else predicate_en(part)) != "":
        return ""
    return lead if han else "We " if lead.lower().startswith("we") else "I "


def _only_names(said: str, topics: set[str]) -> bool:
    """Whether what stands there so far is only somebody's name: "my other brother, Dom", 香菜，死敌."""
    text = said.strip(" ,，；;")
    short = len(text) <= (4 if has_han(text) else 30) or (len(text) <= _NAMED_SHORT and "姓" in text)
    return not topics - _WHO and FINITE_EN.search(fold(text)) is None and short
