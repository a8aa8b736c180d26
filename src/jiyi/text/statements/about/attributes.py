"""Attributes that have one value at a time, read from statements: so that a correction can be recognised.

Only forms that leave no doubt are read. Each line of the table is (attribute, pattern): `value` is the value, `of` the
person if it is not the speaker, and `about` what completes the attribute's name ("favourite colour").
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["read_attribute"]

_EN_PERSON: Final = (
    r"(?P<of>wife|husband|partner|girlfriend|boyfriend|mother|mom|mum|father|dad|sister|brother|son|daughter|boss"
    r"|manager"
    r"|dog|cat)"
)
_ZH_PERSON: Final = (
    r"(?P<of>太太|老婆|妻子|媳妇|老公|丈夫|先生|女朋友|男朋友|女友|男友|妈妈|母亲|妈|爸爸|父亲|爸|姐姐|妹妹|哥哥"
    r"|弟弟|儿子|女儿|闺女|老板|领导|狗|猫)"
)
_SUBJECTS: Final[dict[str, str]] = {
    **dict.fromkeys(("太太", "老婆", "妻子", "媳妇"), "wife"),
    **dict.fromkeys(("老公", "丈夫", "先生"), "husband"),
    **dict.fromkeys(("女朋友", "女友"), "girlfriend"),
    **dict.fromkeys(("男朋友", "男友"), "boyfriend"),
    **dict.fromkeys(("妈妈", "母亲", "妈", "mom", "mum"), "mother"),
    **dict.fromkeys(("爸爸", "父亲", "爸", "dad"), "father"),
    **dict.fromkeys(("女儿", "闺女"), "daughter"),
    **dict.fromkeys(("老板", "领导", "manager"), "boss"),
    "儿子": "son",
    "姐姐": "elder sister",
    "妹妹": "younger sister",
    "哥哥": "elder brother",
    "弟弟": "younger brother",
    "狗": "dog",
    "猫": "cat",
}
_ABOUT: Final[dict[str, str]] = {
    **dict.fromkeys(("color", "颜色"), "colour"),
    "电影": "movie",
    "film": "movie",
    "书": "book",
    "歌": "song",
    "歌手": "singer",
    "食物": "food",
    "菜": "food",
    "水果": "fruit",
    "运动": "sport",
    "城市": "city",
    "季节": "season",
    "编程语言": "programming language",
}

_NAME: Final = r"(?P<value>[^\W\d_][\w'·.-]*(?: [A-Z][\w'-]*){0,3})"
_ZH_NAME: Final = r"(?P<value>[\u3400-\u9fff·]{1,6}|[A-Za-z][\w ]{0,20}\w)"
_PLACE: Final = r"(?P<value>[A-ZÀ-Þ][\w'’.-]*(?: (?:de |am |upon |of )?[A-ZÀ-Þ][\w'’.-]*){0,3})"
_ZH_PLACE: Final = r"(?P<value>[\u3400-\u9fff]{2,10}?)"
_STREET: Final = (
    r"(?P<value>\d+[a-z]? [A-ZÀ-Þ][\w'’.-]*(?: [A-ZÀ-Þ][\w'’.-]*){0,3}"
    r"|[A-ZÀ-Þ][\w'’.-]*(?: [A-ZÀ-Þ][\w'’.-]*){0,3} \d+[a-z]?)\b"
)
_ZH_STREET: Final = r"(?P<value>[\u3400-\u9fff]{1,12}[\d一二三四五六七八九十百]+[号弄栋幢][\u3400-\u9fff\d-]{0,10})"
_ZH_END: Final = r"(?=$|[，。！；,.!;\s]|了|这边|那边|工作|上班)"
_EN_END: Final = r"(?=$|[,.!;]| (?:now|these|and|but|with|near|since|in|at|for|these days|instead)\b)"
_TITLE: Final = r"(?P<value>(?:[\w-]+ ){0,4}?[\w-]+)"
_ZH_JOBS: Final = (
    r"(?:工程师|医生|护士|老师|教师|律师|设计师|会计师?|经理|程序员|司机|厨师|研究员|教授|记者|编辑|翻译|产品经理"
    r"|总监|主任|校长|学生|警察|公务员|药剂师|摄影师|建筑师|分析师|顾问)"
)

_TABLE: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (attribute, re.compile(pattern))
    for attribute, patterns in {
        "name": (
            rf"\b[Mm]y (?:full |real |first )?name(?:'s| is) {_NAME}",
            rf"\b(?:[Cc]all me|[Ii] go by) {_NAME}",
            rf"\b[Mm]y {_EN_PERSON}(?:'s name is|, who is called| is called| is named) {_NAME}",
            rf"\b[Mm]y {_EN_PERSON},? (?P<value>[A-Z][a-z]+)(?=,| is\b| was\b| has\b| works\b| turns\b| lives\b)",
            rf"我(?:的名字)?(?:叫|是叫)(?!你|他|她|人|车)(?:做)?{_ZH_NAME}{_ZH_END}",
            rf"我(?:的|家)?{_ZH_PERSON}(?:名字)?叫(?:做)?{_ZH_NAME}{_ZH_END}",
        ),
        "age": (
            r"\b[Ii](?:'m| am) (?P<value>\d{1,3})(?: years old)?(?=$|[,.!;]| now\b| and\b)",
            rf"\b[Mm]y {_EN_PERSON} is (?P<value>\d{{1,3}})(?: years old)?(?=$|[,.!;])",
            r"我(?:今年|现在)?(?P<value>\d{1,3})岁",
            rf"我(?:的|家)?{_ZH_PERSON}(?:今年|现在)?(?P<value>\d{{1,3}})岁",
        ),
        "city": (
            rf"\b[Ii](?:'m)? (?:now |currently |still )?(?:live|living|based) in {_PLACE}",
            rf"\b(?:[Ii]|[Ww]e)(?:'ve| have)?(?: just| recently)? moved to {_PLACE}",
            rf"\b[Mm]y {_EN_PERSON} (?:now |currently )?lives in {_PLACE}",
            rf"我(?:现在|目前|已经|一直)?(?:住在?|定居(?:在|于)?|搬到了?|搬去了?|搬来了?){_ZH_PLACE}{_ZH_END}",
            rf"我(?:的|家)?{_ZH_PERSON}(?:现在|一直)?(?:住在?|搬到了?){_ZH_PLACE}{_ZH_END}",
        ),
        "address": (
            rf"\b[Ii](?:'m| am)? (?:now |currently )?(?:live|living) (?:at|on) {_STREET}",
            rf"\b(?:[Ii]|[Ww]e)(?:'ve| have)?(?: just| recently)? moved (?:back )?to {_STREET}",
            rf"\b[Mm]y (?:new |home )?address is (?:now )?{_STREET}",
            rf"我(?:现在|目前|已经)?(?:住在?|搬[到去回]了?){_ZH_STREET}",
            rf"我家?的?(?:新)?(?:家庭)?地址(?:是|改成了?|换成了?){_ZH_STREET}",
        ),
        "job": (
            (
                rf"\b[Ii](?:'m| am)? (?:now |currently )?work(?:ing)? (?:nights? |\w+ shifts )?as (?:a|an"
                rf"|the) {_TITLE}{_EN_END}"
            ),
            rf"\b[Mm]y {_EN_PERSON}(?: [A-Z]\w+)? (?:is|works as) (?:a|an) {_TITLE}{_EN_END}",
            rf"我(?:现在)?(?:是|当|做)(?:一?[名个位])?(?P<value>[\u3400-\u9fffA-Za-z]{{0,8}}{_ZH_JOBS}){_ZH_END}",
        ),
        "employer": (
            rf"\b[Ii](?:'m| am)? (?:now |currently )?work(?:ing)? (?:at|for) {_PLACE}",
            rf"\b[Ii](?:'ve)? (?:just |recently )?joined {_PLACE}",
            r"我(?:现在|目前)?在(?P<value>[\u3400-\u9fffA-Za-z0-9]{2,12}?)(?:工作|上班|任职|就职)",
            (
                r"我(?:刚|上个?月|最近)?(?:入职|跳槽到|跳槽去)了?(?P<value>[\u3400-\u9fffA-Za-z0-9]{2,12}?)(?=$"
                r"|[，。！；,.!;])"
            ),
        ),
        "phone": (
            r"\b[Mm]y (?:new )?(?:phone|mobile|cell)(?: number)? is (?P<value>\+?[\d][\d -]{5,17}\d)",
            r"我的?(?:新)?(?:手机|电话)(?:号码?)?(?:是|换成了?|改成了?)[:：]?\s*(?P<value>\+?\d[\d -]{5,17}\d)",
        ),
        "email": (
            r"\b[Mm]y (?:new )?e-?mail(?: address)? is (?P<value>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
            (
                r"我的?(?:新)?邮箱(?:地址)?(?:是|换成了?"
                r"|改成了?)[:：]?\s*(?P<value>[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"
            ),
        ),
        "birthday": (
            rf"\b[Mm]y birthday is (?:on )?(?P<value>(?:the )?\w+(?: of)? \w+){_EN_END}",
            rf"\b[Mm]y {_EN_PERSON}'s birthday is (?:on )?(?P<value>(?:the )?\w+(?: of)? \w+){_EN_END}",
            r"我的?生日是?(?:在)?(?P<value>[\d一二三四五六七八九十]{1,3}月[\d一二三四五六七八九十]{1,3}[号日]?)",
            (
                rf"我(?:的"
                rf"|家)?{_ZH_PERSON}的?生日是?(?:在)?(?P<value>[\d一二三四五六七八九十]{{1,3}}月[\d一二三四五六七八九十]{{1,3}}[号日]?)"
            ),
        ),
        "favourite": (
            (
                r"\b[Mm]y (?:all-time )?favou?rite (?P<about>\w+(?: \w+)?) is (?P<value>[^,.!;]{1,60}?)(?=$|[,.!;]"
                r"| and\b| but\b)"
            ),
            r"我最(?:喜欢|爱)的(?P<about>[\u3400-\u9fff]{1,4}?)是(?P<value>[^，。！；,.!;]{1,30})",
        ),
    }.items()
    for pattern in patterns
)
_NEGATED: Final = re.compile(
    r"\bEarlier: "
    r"|\b(?:used to|not|no longer|n't|never|almost|nearly|want to|would|will|plan|might)\b|n't\b|以前|曾经|不再"
    r"|没有?|不是|差点|想|打算|要搬|准备"
)


def read_attribute(text: str) -> tuple[str, str, str] | None:
    """(subject, attribute, value), or `None` where nothing of the table is stated or doubt is left."""
    found: tuple[str, str, str] | None = None
    for attribute, pattern in _TABLE:
        match = pattern.search(text)
        if match is None or _NEGATED.search(text[max(0, match.start() - 12) : match.end()]):
            continue
        groups = match.groupdict()
        value = groups["value"].strip(" .'\"")
        if not value:
            continue
        about = groups.get("about")
        name = f"{attribute} {_ABOUT.get(about.lower(), about.lower())}" if about else attribute
        of = groups.get("of")
        reading = (_SUBJECTS.get(of, of) if of else "user", name, value)
        if found is not None and found != reading:
            return None  # two attributes in one sentence: neither may replace the whole
        found = reading
    return found
