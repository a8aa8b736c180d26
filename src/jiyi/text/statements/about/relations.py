"""The relations of the speaker: by which words in both languages they are named, and which may be the same person."""

from __future__ import annotations

import re
from typing import Final

from jiyi.model.claim import USER

__all__ = [
    "ANIMAL_WORDS",
    "BY_WORD",
    "CHINESE_WORDS",
    "ENGLISH_WORDS",
    "ROLES",
    "SUBJECT_WORDS",
    "canonical",
    "is_person",
    "is_relation",
    "may_be_one",
    "mentions_subject",
    "relation_in",
    "relations_in",
    "relations_like",
]

ROLES: Final = frozenset({"boss", "teacher", "landlord", "roommate", "childminder", "assistant"})
"""Relations that are somebody's office: another person may hold it next."""
_CANONICAL: Final[dict[str, tuple[str, ...]]] = {
    "wife": ("老伴", "太太", "老婆", "妻子", "媳妇", "孩子他妈", "孩儿他妈", "娃他妈", "wife", "missus"),
    "husband": ("老公", "丈夫", "孩子他爸", "孩儿他爸", "娃他爸", "husband", "hubby"),
    "girlfriend": ("女朋友", "女友", "条女", "girlfriend", "gf"),
    "boyfriend": ("男朋友", "男友", "boyfriend", "bf"),
    "partner": (
        "对象",
        "爱人",
        "那口子",
        "我家那位",
        "另一半",
        "partner",
        "fiance",
        "fiancee",
        "fiancé",
        "fiancée",
        "spouse",
        "other half",
        "better half",
        "significant other",
    ),
    "ex": ("前妻", "前夫", "前任", "ex", "ex-wife", "ex-husband"),
    "mother": ("家母", "老母亲", "妈妈", "母亲", "老妈", "我妈", "妈", "mother", "mum", "mom", "mam"),
    "father": ("家父", "爸爸", "老爹", "我爹", "父亲", "老爸", "我爸", "爸", "father", "dad"),
    "stepfather": ("继父", "后爸", "stepfather", "stepdad", "step-dad"),
    "stepmother": ("继母", "后妈", "stepmother", "stepmum", "stepmom", "step-mum"),
    "parents": ("父母", "爸妈", "爸爸妈妈", "爹妈", "老爸老妈", "parents", "folks"),
    "grandparents": ("爷爷奶奶", "外公外婆", "姥姥姥爷", "姥爷姥姥", "grandparents"),
    "parents-in-law": ("公公婆婆", "公婆", "岳父岳母", "parents-in-law", "in-laws"),
    "elder sister": ("姐姐", "老姐", "我姐", "姐", "older sister", "big sister"),
    "younger sister": ("妹妹", "老妹", "我妹", "妹", "little sister", "younger sister", "lil sis"),
    "sister": ("sister", "sis"),
    "elder brother": ("哥哥", "我哥", "老哥", "阿哥", "哥", "older brother", "big brother"),
    "younger brother": ("弟弟", "我弟", "亲弟", "弟", "little brother", "younger brother", "other brother"),
    "brother": ("brother", "bro"),
    "son": ("小儿子", "儿子", "son", "boy"),
    "daughter": ("小女儿", "女儿", "闺女", "daughter", "girl"),
    "child": ("孩子", "娃", "小孩", "宝宝", "kid", "child", "baby", "toddler", "eldest", "oldest", "youngest"),
    "first child": ("老大", "大儿子", "大女儿"),
    "second child": ("老二", "二宝"),
    "kids": ("俩娃", "kids", "children", "twins", "boys", "girls"),
    "grandchild": ("孙子", "孙女", "外孙", "外孙女", "grandson", "granddaughter", "grandchildren", "grandkids"),
    "daughter-in-law": ("儿媳妇", "儿媳", "daughter-in-law"),
    "son-in-law": ("女婿", "son-in-law"),
    "apprentice": ("徒弟", "学徒", "apprentice"),
    "grandfather": ("爷爷", "外公", "姥爷", "grandfather", "grandad", "grandpa"),
    "grandmother": ("奶奶", "外婆", "姥姥", "grandmother", "gran", "grandma", "nan", "nana"),
    "father-in-law": ("公公", "岳父", "father-in-law", "father in law"),
    "mother-in-law": ("婆婆", "岳母", "丈母娘", "mother-in-law", "mother in law"),
    "brother-in-law": ("姐夫", "妹夫", "大舅哥", "小舅子", "brother-in-law", "brother in law"),
    "sister-in-law": ("嫂子", "弟妹", "弟媳妇", "弟媳", "sister-in-law", "sister in law"),
    "uncle": ("叔叔", "舅舅", "大舅", "伯伯", "姑父", "姨父", "uncle"),
    "aunt": ("姑姑", "姑妈", "阿姨", "二姨", "大姨", "小姨", "姨妈", "舅妈", "婶婶", "aunt", "auntie"),
    "cousin": ("表哥", "表姐", "表弟", "表妹", "堂哥", "堂姐", "堂弟", "堂妹", "cousin"),
    "nephew": ("侄子", "外甥", "nephew"),
    "niece": ("侄女", "外甥女", "niece"),
    "friend": ("朋友", "闺蜜", "发小", "哥们", "死党", "best friend", "oldest friend", "friend", "mate", "bestie"),
    "roommate": ("室友", "舍友", "roommate", "roomie", "flatmate", "housemate"),
    "senior": ("师兄", "师姐", "师弟", "师妹"),
    "colleague": ("同事", "搭档", "colleague", "coworker", "co-worker", "teammate", "lab mate", "workmate"),
    "boss": ("老板", "领导", "上司", "头儿", "组长", "主管", "boss", "manager", "line manager"),
    "classmate": ("同学", "同桌", "classmate", "deskmate"),
    "teacher": ("班主任", "老师", "导师", "教练", "teacher", "advisor", "supervisor", "coach", "tutor"),
    "neighbour": ("邻居", "neighbour", "neighbor"),
    "landlord": ("房东", "landlord", "landlady"),
    "childminder": ("保姆", "childminder", "nanny", "babysitter"),
    "assistant": ("助理", "pa"),
    "drummer": ("drummer", "bassist", "singer", "dm"),
    "dog": (
        "狗",
        "狗狗",
        "柯基",
        "金毛",
        "dog",
        "puppy",
        "beagle",
        "lurcher",
        "whippet",
        "labrador",
        "spaniel",
        "corgi",
        "greyhound",
        "terrier",
        "collie",
        "poodle",
        "dachshund",
        "retriever",
        "husky",
        "staffie",
        "土狗",
        "泰迪",
        "哈士奇",
        "边牧",
        "拉布拉多",
    ),
    "cat": ("猫", "猫咪", "橘猫", "狸花", "英短", "布偶", "cat", "kitten", "tabby", "moggy"),
    "pet": (
        "仓鼠",
        "兔子",
        "乌龟",
        "鹦鹉",
        "hamster",
        "rabbit",
        "gecko",
        "ferret",
        "goldfish",
        "tortoise",
        "parrot",
        "snake",
    ),
}
_NOT_PEOPLE: Final = frozenset({"dog", "cat", "pet"})
# What fits everybody whom the words above can mean: 表妹 and 表哥 are both a cousin, and a cousin is not always 表哥.
_IN_CHINESE: Final = {
    "wife": "妻子",
    "husband": "丈夫",
    "girlfriend": "女朋友",
    "boyfriend": "男朋友",
    "partner": "伴侣",
    "ex": "前任",
    "mother": "母亲",
    "father": "父亲",
    "stepfather": "继父",
    "stepmother": "继母",
    "parents": "父母",
    "grandparents": "祖父母或外祖父母",
    "parents-in-law": "公婆或岳父母",
    "elder sister": "姐姐",
    "younger sister": "妹妹",
    "sister": "姐妹",
    "elder brother": "哥哥",
    "younger brother": "弟弟",
    "brother": "兄弟",
    "cousin": "表亲或堂亲",
    "son": "儿子",
    "daughter": "女儿",
    "child": "孩子",
    "kids": "孩子们",
    "grandchild": "孙辈",
    "first child": "第一个孩子",
    "second child": "第二个孩子",
    "daughter-in-law": "儿媳",
    "son-in-law": "女婿",
    "grandfather": "爷爷或外公",
    "grandmother": "奶奶或外婆",
    "father-in-law": "公公或岳父",
    "mother-in-law": "婆婆或岳母",
    "brother-in-law": "姐夫、妹夫或舅子",
    "sister-in-law": "嫂子或弟妹",
    "uncle": "叔伯或舅舅",
    "aunt": "姑姑或姨妈",
    "nephew": "侄子或外甥",
    "niece": "侄女或外甥女",
    "friend": "朋友",
    "roommate": "室友",
    "senior": "同门",
    "colleague": "同事",
    "boss": "上司",
    "classmate": "同学",
    "teacher": "老师",
    "apprentice": "徒弟",
    "neighbour": "邻居",
    "landlord": "房东",
    "childminder": "保姆",
    "assistant": "助理",
    "drummer": "乐队成员",
    "dog": "狗",
    "cat": "猫",
    "pet": "宠物",
}
_IN_ENGLISH: Final = {"senior": "fellow student", "drummer": "band member", "ex": "ex-partner", "kids": "children"}
BY_WORD: Final = {word: subject for subject, words in _CANONICAL.items() for word in words}
SUBJECT_WORDS: Final = frozenset(BY_WORD)
"""Words that name a relation: they say whom a statement is about, not what."""
ANIMAL_WORDS: Final = frozenset(word for word, subject in BY_WORD.items() if subject in _NOT_PEOPLE)
"""Those of them that name an animal."""
# Relations that may be the same person: an eldest child may be a daughter, and a girlfriend becomes a wife.
_KIN: Final = (
    frozenset({"child", "son", "first child", "second child", "kids"}),
    frozenset({"child", "daughter", "first child", "second child", "kids"}),
    frozenset({"partner", "girlfriend", "wife"}),
    frozenset({"partner", "boyfriend", "husband"}),
    frozenset({"sister", "elder sister"}),
    frozenset({"sister", "younger sister"}),
    frozenset({"brother", "elder brother"}),
    frozenset({"brother", "younger brother"}),
    frozenset({"pet", "dog"}),
    frozenset({"pet", "cat"}),
)
CHINESE_WORDS: Final = sorted((word for word in BY_WORD if not word.isascii()), key=len, reverse=True)
ENGLISH_WORDS: Final = sorted((word for word in BY_WORD if word.isascii() or "é" in word), key=len, reverse=True)


def canonical(word: str) -> str:
    """The relation that a word names, `mother` for 妈 and "mum"; empty when it names none."""
    return BY_WORD.get(word, "")


def is_relation(subject: str) -> bool:
    """Whether a subject is a relation: `mother`, `landlord`, `dog`."""
    return subject in _CANONICAL


def may_be_one(first: str, second: str) -> bool:
    """Whether two relations may be the same person."""
    return first == second or any(first in group and second in group for group in _KIN)


def relations_like(relation: str) -> list[str]:
    """The relation and all others that may be the same person."""
    return [other for other in _CANONICAL if may_be_one(relation, other)]


def relations_in(folded: str) -> set[str]:
    """The relations that a folded text names anywhere."""
    return {BY_WORD[word] for word in CHINESE_WORDS if word in folded} | {
        BY_WORD[word] for word in ENGLISH_WORDS if word in folded and re.search(rf"\b{re.escape(word)}s?\b", folded)
    }


def mentions_subject(folded: str, subject: str) -> bool:
    """Whether a folded text names a relation by one of its words."""
    return any(
        (word in folded) if not word.isascii() else re.search(rf"\b{re.escape(word)}s?\b", folded) is not None
        for word in _CANONICAL.get(subject, ())
    )


def relation_in(subject: str, language: str) -> str:
    """A subject in words of a language: a relation by a word for all whom it can mean, a name as it is."""
    if subject not in _CANONICAL:
        return subject
    return _IN_CHINESE[subject] if language == "zh" else _IN_ENGLISH.get(subject, subject)


def is_person(subject: str) -> bool:
    """Whether a subject is a person other than the speaker."""
    return subject != USER and subject not in _NOT_PEOPLE
