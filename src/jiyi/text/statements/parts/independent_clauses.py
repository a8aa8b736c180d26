"""Clauses that say something of their own: where one begins after "and", and whether it names another subject."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import WEEKDAY, has_han
from jiyi.text.statements.about.phrase import Phrase
from jiyi.text.statements.about.phrase_words import COMMENT
from jiyi.text.statements.about.phrases_en import predicate_en, read_en
from jiyi.text.statements.about.phrases_zh import read_zh

__all__ = ["begins_after_and", "each_with_group", "each_with_heading", "names_another_subject", "only_names_somebody"]

# "… and the hotel is the Ibis", "… and Ben started nursery"; those with I, we, my and our are told by the words alone.
_AND: Final = re.compile(
    r"(?<=[\w).'’])\s+(?=(?:and|but|while|whereas) (?:(?:the|his|her|their|its|one|mum|dad|nan|gran|grandad)\b"
    r"|[A-Z][a-z]))"
)
_NEXT: Final = re.compile(r"^(?:and|but|while|whereas) ")
_ENDS_AT: Final = re.compile(r"[,;.!?]|\s(?:and|but|while|whereas)\s")
_OF_SOMEBODY: Final = re.compile(r"^(?:my|our|his|her|their)\b", re.IGNORECASE)
_RELATIVE: Final = re.compile(r"^\S+(?: \S+)? (?:who|which|that|whose)\b", re.IGNORECASE)
# "the middle one does karate", 数学老师.
_ONE_OF_THEM: Final = re.compile(r"^(?:the|our|my) (?:\w+ )?(?:one|boy|girl|twin)\b", re.IGNORECASE)
_PERSON_ZH: Final = re.compile(
    r"(?:老师|教练|医生|大夫|经理|主任|师傅|阿姨|客户|同事|保姆|月嫂|中介|律师|会计|实习生)$"
)
# Who holds a role: 测试是老郑, "the intern is Tolu".
_NAMES: Final = re.compile(
    r"(?:姓[\u3400-\u9fff]{1,2}|叫[\u3400-\u9fff]{2,3}|(?:是|叫)(?:[小老阿][\u3400-\u9fff]|[\u3400-\u9fff]{1,2}(?:老师|医生|总|工|姐|哥|教练|师傅)))$"
    r"|(?:\bis|'s)(?: called| named)? (?:(?:Mrs?|Ms|Dr|Prof)\.? )?[A-Z][a-z]+$"
)
# "physio starts a week later", 楼上那个叫…: it is told by what was said before.
_REFERS_BACK: Final = re.compile(
    r"^[从在对跟给把被由到]|^[^，]{0,4}[那这]个|其中|之后|随后|第二天|^也"
    r"|\b(?:later|after (?:that|it)|afterwards|before that|the (?:next|same) day|too|as well|it|it's)\b"
)
_MIN_CLAUSE: Final = {True: 8, False: 4}
# Several of a kind, and nothing else of them: "I've got two kids", 我家两个娃.
_GROUP: Final = re.compile(
    r"^(?:(?:so|and|oh),? )*(?:i|we)(?:'ve| have)?(?: got)? (?:have |got )?(?:a pair of |two|three|four|five|both|\d)"
    r" ?(?:[a-z]+ ){0,2}(?:kids|children|sons|daughters|boys|girls|twins|brothers|sisters|siblings|cats|dogs|flatmates"
    r"|housemates|roommates|grandchildren|grandkids|cars|jobs|tenants|nieces|nephews)[,:;]? ?(?:-|–|—)?\s*$"
    r"|^我?们?(?:家里?|们)?(?:里)?(?:有|养了?)?(?:[两俩二三四五]个?|\d个)(?:只|条|辆|份|位|套)?"
    r"(?:孩子|娃|小孩|儿子|女儿|闺女|姐姐|妹妹|哥哥|弟弟|猫|狗|室友|孙子|孙女|车|房子|公寓|工作)[，：,:；]?\s*$",
    re.IGNORECASE,
)
_MEMBER: Final = re.compile(
    r"^(?:and |one |the (?:\w+ )?one\b|the (?:older|younger|elder|eldest|youngest|first|second|third|other)\b)?"
    r"(?:[A-Z][a-z]+(?:'s|,? who| is| has| does| \w+s\b| \(|,? \d)|one(?:'s| is| has)| ?(?:'s|is|has|\w+s)\b)"
    r"|^(?:大的|小的|老[大二三四小]|姐姐|弟弟|哥哥|妹妹|[一另]个|一[只条辆份位套]|另一[个只条辆份位套]|[男女]孩|公的|母的)"
)
_MEMBERS: Final = re.compile(r"\s+(?=and (?:[A-Z][a-z]+|the|one)\b)|(?<=[，；;])|(?<=, )|(?<=; )")
_MIN_MEMBERS: Final = 2
# "coffee: oat milk, two sugars"; no clock time, no quotation, and no word that only announces.
_HEADING: Final = re.compile(
    r"^(?P<head>(?!(?:update|correction|note|fyi|ps|p\.s\.|question|q|a|edit|reminder|re|sorry|today|todo)\b)[^:：，,;；\d\"“「？?]{1,28}"
    r"(?<!说)(?<!问)(?<!话)(?<!正)(?<!知)(?<!充)(?<!醒)(?<!意)(?<!\bsaid)(?<!\bsays)[:：]\s*)(?P<items>\S.+)$",
    re.IGNORECASE,
)
_ITEMS: Final = re.compile(r"[，；;、]\s*|,\s+(?:and\s+)?")
_NO_ITEM: Final = re.compile(
    r"^(?:i|i'm|i've|we|we're|he|she|it|it's|they|you|my|our|but|because|so|which|who|that|and|not|just)\b"
    r"|^(?:我|你|他|她|它|但|因为|所以|不过|而且|然后|都|也)"
    # A number or an address tells more of the item before: "Emergency contact: Kate, 07700 900123".
    r"|^\+?\(?\d[\d\s()./-]{4,}[.。]?$|^\S+@\S+$|^(?:电话|手机|号码)|^(?:tel|phone|mobile|ext)\b"
    rf"|^(?:\d[\d:.]*\s*(?:am|pm|点)?|[\d:.]+|{WEEKDAY}s?)$",
    re.IGNORECASE,
)
_MAX_ITEM: Final = {True: 45, False: 14}


def begins_after_and(sentence: str) -> list[int]:
    """The places where a clause with a subject and a verb of its own begins after one that has them too."""
    found: list[int] = []
    for match in _AND.finditer(sentence):
        after = _NEXT.sub("", sentence[match.end() :])
        end = _ENDS_AT.search(after)
        phrase = read_en(after[: end.start()] if end is not None else after)
        before = re.split(r"[,;] ", sentence[: match.start()])[-1]
        if (
            phrase is not None
            and phrase.named
            and not _RELATIVE.search(after)
            and (predicate_en(before) is not None or read_en(before) is not None)
        ):
            found.append(match.end())
    return found


def names_another_subject(clause: str, before: Sequence[str]) -> bool:
    """Whether a clause names somebody or something else than the clauses before it, and reads without them.

    A person or what belongs to somebody is told from others by itself ("my pension is with Aviva", 数学老师姓陈);
    a bare noun only where the first clause names a thing as well (房贷在建行 after 工资卡是招行的): "the roof leaks"
    needs the house, and 耳朵不太好 the grandfather.
    """
    bare = clause.strip(" ,，；;、。.")
    folded = fold(bare)
    if len(folded) < _MIN_CLAUSE[folded.isascii()] or any(
        pattern.search(text) for pattern, text in ((COMMENT, folded), (_REFERS_BACK, folded), (_RELATIVE, bare))
    ):
        return False
    phrase = _read(bare)
    one_of_them = _ONE_OF_THEM.search(bare) is not None
    if one_of_them and any(_ONE_OF_THEM.search(each.strip()) or " eldest " in f" {each}" for each in before):
        return True
    if phrase is None or not phrase.named:
        return False
    others = [_read(each) for each in before]
    known = fold(" ".join(before))
    if any(word in known for word in phrase.words) or any(each and each.words & phrase.words for each in others):
        return False
    person = (
        phrase.person or one_of_them or _PERSON_ZH.search(phrase.head) is not None or _NAMES.search(bare) is not None
    )
    first = others[0]
    # "the staging database is at …, prod is at …": which prod, the first one tells.
    short = bare.isascii() and bare[:1].islower() and not bare.startswith("the ")
    parallel = first is not None and first.named and not _is_person(first) and not short
    return parallel or person or bool(phrase.owner) or _OF_SOMEBODY.search(bare) is not None


def each_with_group(sentence: str) -> list[str]:
    """What is said of each of several of a kind, with the clause that tells of what kind they are; empty elsewhere.

    "I've got two kids, Mia who's in year 4 and Ben who started nursery" tells two things, and neither reads alone.
    """
    parts = [part for part in _MEMBERS.split(sentence) if part]
    group = next((n for n in range(1, len(parts)) if _GROUP.search("".join(parts[:n]))), 0)
    if not group:
        return []
    head = "".join(parts[:group])
    members: list[str] = []
    for part in parts[group:]:
        if _MEMBER.search(part.strip()):
            members.append(part)
        elif members:
            joint = " " if part.startswith("and") and not members[-1].endswith(" ") else ""
            members[-1] += joint + part
        else:
            return []
    if len(members) < _MIN_MEMBERS or any(len(member.strip()) < _MIN_CLAUSE[member.isascii()] for member in members):
        return []
    return [head + _NEXT.sub("", member).strip(" ,，；;") for member in members]


def each_with_heading(sentence: str) -> list[str]:
    """The items of a list with its heading, each for itself; empty where there is no such list."""
    match = _HEADING.search(sentence.strip())
    if match is None:
        return []
    items = [item.strip() for item in _ITEMS.split(match["items"])]
    if len(items) < _MIN_MEMBERS or any(
        len(item) < _MIN_MEMBERS or len(item) > _MAX_ITEM[item.isascii()] or _NO_ITEM.search(item) for item in items
    ):
        return []
    return [match["head"] + item for item in items]


def only_names_somebody(clause: str) -> bool:
    """Whether a clause only says who holds a role: 班主任姓孙, "the vet is Mr Hale"."""
    return _NAMES.search(clause.strip(" ,，；;、。.")) is not None


def _is_person(phrase: Phrase) -> bool:
    return phrase.person or _PERSON_ZH.search(phrase.head) is not None


def _read(clause: str) -> Phrase | None:
    return read_zh(clause) if has_han(clause) else read_en(clause)
