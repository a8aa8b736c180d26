"""The name of a person with which a clause begins, in both languages."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.patterns import has_han
from jiyi.text.statements.about.phrase_words import (
    ADVERB_EN,
    ATTRIBUTES,
    GENERIC,
    LEAD_EN,
    LEAD_ZH,
    ONE_THING,
    VERB_EN,
)
from jiyi.text.statements.about.subjects import canonical
from jiyi.text.statements.about.topics import topics_of
from jiyi.text.statements.about.word_classes import tagged

__all__ = ["NAME_EN", "SURNAMES", "name_en", "name_zh", "person_named_first"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAME_EN: Final = re.compile(
    r"^(?:(?:Dr|Mrs?|Ms|Professor|Old|Uncle|Aunt|Auntie)\.? )?(?P<of>[A-Z][a-zà-ÿ]+)(?P<own>'s)?\b"
)
_NO_NAMES: Final = _words(
    "the this that these those there here what which who when where why how then they she he her his its your our my "
    "and but or now today tomorrow yesterday tonight every each some any all both one two three most many no not "
    "everything nothing someone everyone anyone somebody everybody nobody anybody something anything none "
    "people monday tuesday wednesday thursday friday saturday sunday "
    "january february march april may june july august september october november december christmas easter work home "
    "life coffee tea dinner lunch breakfast parking training practice standup yoga pilates swimming running football "
    "tennis piano guitar english french german spanish maths math science history please remember remind if maybe "
    "perhaps just still also only never always usually actually really well got moved switched changed started "
    "stopped quit bought sold lost found finished cancelled canceled decided guess turns looks going getting being "
    "having doing in on at from to by for with since because although while after before during until till let lets "
    "correction update news note reminder good bad new old first second last next i"
)
# A verb, also after "just" or "finally"; what gives or costs the speaker something is mostly no person.
_DOES_EN: Final = re.compile(
    r"[A-Z][\w.]*(?: [A-Z][a-z]+)?(?: (?P<adverb>just|also|finally|recently|already|now|has|have|had|is|was))?"
    r" (?P<verb>[a-z']+)(?! (?:me|us)\b)"
)
# What follows the name of a person: how they are, what they do or have done.
_DOES_ZH: Final = re.compile(
    r"(?:[\u3400-\u9fff]{0,12}?了|[^，。]{0,4}(?:在|去|是|要|住|想|有|会|说|生|对|不|没|搬|换|买|考|结|升|退|辞|转|当|做|来|回|跟|和|把|给))"
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
_VERBS_ZH: Final = frozenset("调跳搬去到在是有要说给住买卖辞转升退病生离结考换")
_WEATHER_ZH: Final = re.compile(r"转|下|停|过后|天气|节气")
_NO_NAME_ZH: Final = re.compile(
    r"(?:天天|慢慢|常常|刚刚|渐渐|往往|偏偏|人人|家家|年年|月月|周周|时时|处处|样样|大大|小小|早早|好好|多多|万万|统统|足足|等等|"
    r"谢谢|看看|想想|试试|听听|说说|走走|明明|仅仅|稍稍|暗暗|默默|匆匆|通通|层层|种种|星星|可可|宝宝|蛋蛋)$"
)
# "Tom parks on level 4": a verb that no list has, by what follows it.
_THIRD_PERSON: Final = re.compile(
    r" [a-z]{3,}(?<!s)s (?:on|in|at|to|the|a|an|his|her|their|for|with|from|by|every|only|now|\d+)\b"
)


def person_named_first(clause: str) -> str:
    """The person by whose name a clause begins that tells what that one does, in lower case; else empty."""
    if has_han(clause):
        text = LEAD_ZH.sub("", clause.strip()).strip()
        name = name_zh(text)
        return name if name and _DOES_ZH.match(text[len(name) :]) else ""
    text = LEAD_EN.sub("", clause).strip()
    name = name_en(text)
    does = _DOES_EN.match(text) if name else None
    verbs = (does["adverb"] or "", does["verb"]) if does is not None else ()
    return name if any(map(VERB_EN.fullmatch, verbs)) else ""


def name_en(text: str) -> str:
    """The name with which an English clause begins, in lower case; empty where it begins otherwise."""
    name = NAME_EN.match(text)
    if name is None or not _is_name(name["of"]) or not _goes_on(text[name.end() :], owns=name["own"] is not None):
        return ""
    return name["of"].lower()


def name_zh(text: str) -> str:
    """The name with which a Chinese clause begins, before a verb, 的 or a time; empty where there is none."""
    return _pet_name_zh(text) or _full_name_zh(text)


def _pet_name_zh(text: str) -> str:
    """老周, 小雪, 乐乐."""
    nick = re.match(rf"[小老阿大](?P<of>[{''.join(SURNAMES)}])(?![\u3400-\u9fff]?(?:馆|店|厂|路|村|房|区))", text)
    if nick is not None and _ends_word(text, nick.end()):
        return nick[0]
    pet = re.match(rf"[小阿][{''.join(_GIVEN_NAME)}](?![雨雪天虾豆糖])", text)
    after = tagged(text[pet.end() : pet.end() + 8]) if pet is not None else []
    if pet is not None and after and _acts(*after[0]) and not _WEATHER_ZH.match(text, pet.end()):
        return pet[0]
    double = re.match(r"([\u3400-\u9fff])\1(?=[\u3400-\u9fff])", text)
    if (
        double is not None
        and not _NO_NAME_ZH.match(double[0])
        and not canonical(double[0])
        and not topics_of(double[0])
    ):
        return double[0]
    return ""


def _full_name_zh(text: str) -> str:
    """王磊, 诗涵."""
    words = [word for word in tagged(text[:16]) if word[0].strip()]
    if len(words) < 2:
        return ""
    word, tag = words[0]
    if topics_of(word) or canonical(word) or len(word) not in {2, 3}:
        return ""
    follows = words[1][1][:1] in {"v", "p", "t", "d", "m"} or words[1][0] == "的"
    given = len(word) == 2 and all(each in _GIVEN_NAME for each in word) and not tag.startswith("v")
    full = tag.startswith("nr") and (word[0] in SURNAMES or tag in {"nrfg", "nrt"})
    if full and len(word) == 3 and word[2] in _VERBS_ZH:
        # The segmenter takes a verb into a name that it does not know: 王磊调走了.
        return word[:2]
    return word if given or (full and follows) else ""


def _ends_word(text: str, place: int) -> bool:
    """Whether a word ends at a place, and another one follows: not in 小龙虾 after 小龙."""
    end = 0
    for word, _ in tagged(text[: place + 8]):
        end += len(word)
        if end >= place:
            break
    return end == place < len(text)


def _acts(word: str, tag: str) -> bool:
    return tag[:1] in {"v", "p"} or word[0] in _VERBS_ZH


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
