"""Of whom a text speaks: the speaker, a relation, somebody by name. What is said of one says nothing of another.

`about_other_persons` is the law: "Max is 120 cm tall" neither replaces nor contradicts "I'm 185 cm tall", and 乐乐's
birthday not that of the speaker. It holds only where both texts tell plainly whom they are about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.phrase import SPEAKER
from jiyi.text.statements.about.phrase_words import (
    ADVERB_EN,
    ATTRIBUTES,
    COMMENT,
    GENERIC,
    LEAD_EN,
    LEAD_ZH,
    ONE_THING,
    VERB_EN,
)
from jiyi.text.statements.about.phrases_en import read_en
from jiyi.text.statements.about.phrases_zh import read_zh
from jiyi.text.statements.about.subjects import ROLES, canonical, is_person, relations_in
from jiyi.text.statements.about.topics import topics_of
from jiyi.text.statements.about.word_classes import tagged
from jiyi.text.statements.parts.claims import clauses_of

__all__ = ["SURNAMES", "Persons", "about_other_persons", "persons_of"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SPEAKER_EN: Final = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|i'm|im|i've|ive|i'd|i'll|we're|we've|we'll|we'd)\b"
)
_SPEAKER_ZH: Final = re.compile(r"[我咱俺]|本人|自己")
_PRONOUN: Final = re.compile(r"\b(?:he|she|they|him|her|his|them|their|it|its)\b|\b(?:he|she|they|it)'|[他她它佢]")
# Roles that another person may hold next: "My manager is Colm".
_ROLES: Final = ROLES | {"drummer"}
_OWN_RELATION_EN: Final = re.compile(
    r"^(?:(?:my|our) (?:(?:new|old|oldest|other|youngest|eldest|little|big|best|older|younger|late|dear|good|close"
    r"|twin) ){0,2})(?P<of>[a-z]+(?:[ -]in[ -]law)?)(?:'s)?\b"
)
_OWN_RELATION_ZH: Final = re.compile(r"^(?:我们?|咱|俺)(?:家)?的?(?P<of>[\u3400-\u9fff]{1,4})")
_NAME_EN: Final = re.compile(
    r"^(?:(?:Dr|Mrs?|Ms|Professor|Old|Uncle|Aunt|Auntie)\.? )?(?P<of>[A-Z][a-zà-ÿ]+)(?P<own>'s)?\b"
)
_NO_NAMES: Final = _words(
    "the this that these those there here what which who when where why how then they she he her his its your our my "
    "and but or now today tomorrow yesterday tonight every each some any all both one two three most many no not "
    "everything nothing someone everyone anyone people monday tuesday wednesday thursday friday saturday sunday "
    "january february march april may june july august september october november december christmas easter work home "
    "life coffee tea dinner lunch breakfast parking training practice standup yoga pilates swimming running football "
    "tennis piano guitar english french german spanish maths math science history please remember remind if maybe "
    "perhaps just still also only never always usually actually really well got moved switched changed started "
    "stopped quit bought sold lost found finished cancelled canceled decided guess turns looks going getting being "
    "having doing in on at from to by for with since because although while after before during until till let lets "
    "correction update news note reminder good bad new old first second last next i"
)
_COMMON_NOUNS: Final = frozenset().union(*ONE_THING) | GENERIC | ATTRIBUTES
SURNAMES: Final = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖"
    "邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文"
)
_GIVEN_NAME: Final = frozenset(
    "诗雨涵梓轩怡欣宇浩然子佳琪雪萱博俊杰思远晓婷雅静悦瑶琳玲芳娜丽敏燕娟莉萍霞洁颖慧倩薇菲媛妍嘉睿泽晨皓辰铭逸煜霖毅强伟磊涛鹏超斌刚勇军辉"
    "峰宁昊楠彤熙奕诺依妮可欢朵果豆糖朗恒瑞祺翔凯晴岚茜蕾志建"
)
_NO_NAME_ZH: Final = re.compile(
    r"(?:天天|慢慢|常常|刚刚|渐渐|往往|偏偏|人人|家家|年年|月月|周周|时时|处处|样样|大大|小小|早早|好好|多多|万万|统统|足足|等等|"
    r"谢谢|看看|想想|试试|听听|说说|走走|明明|仅仅|稍稍|暗暗|默默|匆匆|通通|层层|种种|星星|可可|宝宝|蛋蛋)$"
)
# "Tom parks on level 4": a verb that no list has, by what follows it.
_THIRD_PERSON: Final = re.compile(
    r" [a-z]{3,}(?<!s)s (?:on|in|at|to|the|a|an|his|her|their|for|with|from|by|every|only|now|\d+)\b"
)
_MAX_CLAUSES: Final = 12


@dataclass(slots=True)
class Persons:
    """Whom the clauses of a text are about."""

    speaker: bool = False
    relations: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    unclear: bool = False
    """A clause does not tell whom it is about, or speaks of a thing."""

    @property
    def others(self) -> set[str]:
        """Everybody but the speaker."""
        return self.relations | self.names


def persons_of(text: str) -> Persons:
    """Whom a text is about, clause by clause; a clause that names nobody goes on about the one before."""
    found = Persons()
    clauses = clauses_of(text)[:_MAX_CLAUSES]
    for clause in clauses:
        if not COMMENT.search(fold(clause)):
            (_read_zh if has_han(clause) else _read_en)(clause, found)
    found.unclear = found.unclear or not (found.speaker or found.others)
    return found


def about_other_persons(message: str, fact: str, new: Persons | None = None) -> bool:
    """Whether a message and a fact are plainly about different persons, at least one of them by name.

    `new` is whom the message is about, where that is known already.
    """
    new, old = new or persons_of(message), persons_of(fact)
    if new.unclear or old.unclear or not (new.names or old.names):
        return False
    if new.speaker and old.speaker:
        return False
    told, said = fold(fact), fold(message)
    if new.names & old.names or _stands(new.names, told) or _stands(old.names, said):
        return False
    if new.names and old.names:
        return not (new.speaker and old.others) or not _PRONOUN.search(said)
    if (new.names and old.relations) or (old.names and new.relations):
        # The named person may be the relation.
        return False
    # The speaker against somebody by name.
    return not (old.names and _PRONOUN.search(said))


def _stands(names: set[str], folded: str) -> bool:
    return any(
        name in folded if has_han(name) else re.search(rf"\b{re.escape(name)}\b", folded) is not None for name in names
    )


def _read_en(clause: str, found: Persons) -> None:
    text = LEAD_EN.sub("", clause).strip()
    folded = fold(text)
    own = _OWN_RELATION_EN.match(folded)
    relation = canonical(own["of"].removesuffix("'s")) if own is not None else ""
    if own is not None and relation and is_person(relation):
        found.relations.add(relation)
        rest = text[own.end() :].lstrip(" ,")
        name = _NAME_EN.match(rest)
        if name is not None:
            found.names.add(name["of"].lower())
        if relation in _ROLES or _SPEAKER_EN.search(fold(rest)):
            found.speaker = True
        return
    name = _NAME_EN.match(text)
    if name is not None and _is_name(name["of"]) and _goes_on(text[name.end() :], owns=name["own"] is not None):
        found.names.add(name["of"].lower())
        if _SPEAKER_EN.search(folded):
            found.speaker = True
        return
    if read_en(clause) == SPEAKER or re.match(r"my (?:own )?\w+", folded):
        found.speaker = True
        found.relations |= {each for each in relations_in(folded) if is_person(each)}
        return
    _goes_on_about(clause, found)


def _read_zh(clause: str, found: Persons) -> None:
    text = LEAD_ZH.sub("", fold(clause).strip()).strip()
    own = _OWN_RELATION_ZH.match(text)
    relation, end = "", 0
    if own is not None:
        relation, end = _longest_relation(own["of"], own.start("of"))
    if not relation:
        relation, end = _longest_relation(text[:4], 0)
    if relation and is_person(relation):
        found.relations.add(relation)
        if relation in _ROLES or _SPEAKER_ZH.search(text[end:]):
            found.speaker = True
        return
    name = _name_zh(text)
    if name:
        found.names.add(name)
        if _SPEAKER_ZH.search(text):
            found.speaker = True
        return
    if re.match(r"(?:我|咱|俺|本人)", text):
        found.speaker = True
        found.relations |= {each for each in relations_in(text) if is_person(each)}
        return
    phrase = read_zh(clause)
    if phrase == SPEAKER:
        found.speaker = True
        return
    _goes_on_about(clause, found)


def _goes_on_about(clause: str, found: Persons) -> None:
    """A clause that names nobody: it goes on about those before, unless it names a thing or brings in the speaker."""
    phrase = read_zh(clause) if has_han(clause) else read_en(clause)
    folded = fold(clause)
    if (_SPEAKER_ZH if has_han(clause) else _SPEAKER_EN).search(folded):
        found.speaker = True
    if (phrase is not None and phrase.named) or not (found.speaker or found.others):
        found.unclear = True


def _is_name(word: str) -> bool:
    lower = word.lower()
    return (
        lower not in _NO_NAMES
        and lower not in _COMMON_NOUNS
        and not canonical(lower)
        and not topics_of(lower)
        and VERB_EN.fullmatch(lower) is None
        and not lower.endswith("ing")
    )


def _goes_on(rest: str, *, owns: bool) -> bool:
    """Whether what follows a name says something of it: a verb, or a thing that belongs to it."""
    word = re.match(r",? ?([A-Za-z']+)", rest)
    if word is None:
        return False
    lower = word[1].lower()
    if _THIRD_PERSON.match(rest):
        return True
    return owns or VERB_EN.fullmatch(lower) is not None or ADVERB_EN.fullmatch(lower) is not None


def _longest_relation(text: str, start: int) -> tuple[str, int]:
    for length in (4, 3, 2, 1):
        word = text[:length]
        if len(word) == length and canonical(word) and (length > 1 or start or text[1:2] in {"", "的"}):
            return canonical(word), start + length
    return "", 0


def _name_zh(text: str) -> str:
    """The name with which a Chinese clause begins, before a verb, 的 or a time; empty where there is none."""
    nick = re.match(rf"[小老阿大](?P<of>[{''.join(SURNAMES)}])(?![\u3400-\u9fff]?(?:馆|店|厂|路|村|房|区))", text)
    if nick is not None and text[nick.end() : nick.end() + 1]:
        return nick[0]
    double = re.match(r"([\u3400-\u9fff])\1(?=[\u3400-\u9fff])", text)
    if (
        double is not None
        and not _NO_NAME_ZH.match(double[0])
        and not canonical(double[0])
        and not topics_of(double[0])
    ):
        return double[0]
    words = [word for word in tagged(text[:16]) if word[0].strip()]
    if len(words) < 2:
        return ""
    word, tag = words[0]
    if topics_of(word) or canonical(word) or len(word) not in {2, 3}:
        return ""
    follows = words[1][1][:1] in {"v", "p", "t", "d", "m"} or words[1][0] == "的"
    given = len(word) == 2 and all(each in _GIVEN_NAME for each in word) and not tag.startswith("v")
    full = tag.startswith("nr") and (word[0] in SURNAMES or tag in {"nrfg", "nrt"})
    return word if given or (full and follows) else ""
