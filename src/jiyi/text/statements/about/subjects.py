"""Whom a clause is about: the speaker, a relation of theirs, or somebody or something by name."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from jiyi.model.claim import USER
from jiyi.text.normalize import fold

__all__ = [
    "ANIMAL_WORDS",
    "PRONOUN",
    "ROLES",
    "SUBJECT_WORDS",
    "USER",
    "canonical",
    "is_name",
    "is_person",
    "is_relation",
    "may_be_one",
    "mentions_subject",
    "named_subject",
    "names_in",
    "person_words",
    "relation_in",
    "relations_in",
    "relations_like",
    "starts_with_subject",
    "subject_of",
    "subject_words",
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
    "parents": ("父母", "爸妈", "parents", "folks"),
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
_BY_WORD: Final = {word: subject for subject, words in _CANONICAL.items() for word in words}
SUBJECT_WORDS: Final = frozenset(_BY_WORD)
"""Words that name a relation: they say whom a statement is about, not what."""
ANIMAL_WORDS: Final = frozenset(word for word, subject in _BY_WORD.items() if subject in _NOT_PEOPLE)
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
# Compiled at first use: who only wants to know a relation by its word does not need them.
_compiled = cache(re.compile)
_CHINESE_WORDS: Final = sorted((word for word in _BY_WORD if not word.isascii()), key=len, reverse=True)
_ENGLISH_WORDS: Final = sorted((word for word in _BY_WORD if word.isascii() or "é" in word), key=len, reverse=True)
_ZH_LEAD: Final = (
    r"(?:我们?|咱|俺|家里?)?(?:家|的|们|部门|公司|组)?(?:那(?:只|条|个)|这(?:只|条|个))?(?:有(?:个|一个))?"
    r"(?:大学|高中|小学|亲|大|小|最好的|动画课)?"
)
_ZH_KIN: Final = "|".join(map(re.escape, _CHINESE_WORDS))
_SUBJECT_ZH: Final = (
    rf"^(?:那|还有|另外|对了|请问|开学了|哦)?[，,]?(?:给|把|带|陪|帮|为|送)?(?:(?:{_ZH_LEAD}"
    rf"|[他她佢])(?:{_ZH_KIN}|)的?)?{_ZH_LEAD}(?P<of>{_ZH_KIN})"
)
_SUBJECT_EN: Final = (
    r"^(?:(?:and|but|so|ok|oh|btw|also|actually),? )*(?:(?:me and )?(?:my|our|the|his|her|another|a)(?: (?:new"
    r"|old|oldest|own|other|youngest|eldest|lil|little|big|best|older|younger|late|dear)){0,2} )?"
    rf"(?P<of>{'|'.join(map(re.escape, _ENGLISH_WORDS))})(?=\b|'s\b|s\b)"
)
# "our drummer told me", 我公公原话: anywhere near the beginning of the clause.
_NEAR_ZH: Final = rf"(?:我|我们|我家|咱|俺)(?:的|家)?(?P<of>{'|'.join(map(re.escape, _CHINESE_WORDS))})(?!过敏|毛)"
_NEAR_EN: Final = (
    r"\b(?:my|our)(?: (?:new|oldest|own|other|youngest|eldest|lil|little|big|best|older|younger)){0,2} "
    rf"(?P<of>{'|'.join(map(re.escape, _ENGLISH_WORDS))})(?=\b|s\b)"
)
_NEAR: Final = 40
_FIRST_PERSON: Final = (
    r"^(?:那|其实|现在|今年|平时|以后|目前|每.{1,4})?(?:我|咱|俺|本人)|^(?:i|i'm|im|i've|ive|i'd|we|we're|we've"
    r"|my|our)\b"
)
PRONOUN: Final = re.compile(r"^(?:他|她|它|佢|人家)(?!们都说)|^(?:he|she|it|they|he's|she's|it's|hes|shes|they're)\b")
_NAMED: Final = (
    r"(?:叫(?:做)?|名叫|小名|名字是?|改叫)(?P<zh>[\u3400-\u9fffA-Za-z]{1,6}?)(?=$|[，。！,.!；;、\s了吧就啦]|的|今年)"
    r"|(?:室友|同事|朋友|组长|同桌|班主任|老师|领导|闺蜜|堂妹|表姐|哥们)(?P<zh2>[阿小老大][\u3400-\u9fff])(?=[^，。]|$)"
    r"|\b(?:called|named|name is|names are|[Mm]eet) (?P<en>[A-Za-z][\w'-]+)"
    r"|\b(?:[Mm]y|[Oo]ur) (?:\w+ ){0,3}?(?:boss|son|daughter|kid|sister|brother|friend|flatmate|roommate|roomie"
    r"|roomate|boyfriend|girlfriend|bf|gf|partner|wife|husband|childminder|colleague"
    r"|cousin|cat|dog|rabbit|beagle|goldfish|hamster|pa|nephew|niece|advisor|coworker|ex|teacher|neighbour"
    r"|neighbor|mate)(?: is|,|'s name is|) (?!(?:called|named|born|and|who|that|was|has"
    r"|got)\b)(?P<en2>[A-Z][a-z]+|[a-z]{3,9}(?= (?:is|plays|wants|has|got|supports|said)\b))"
    r"|\b(?:[Mm]y|[Oo]ur) (?:[a-z-]+ ){1,3}(?P<en4>[A-Z][a-z]+)\b(?! (?:Street|Road|School|Court|Bridge))"
    r"|(?:^|\bthe )(?:cat|dog|baby|rabbit), (?P<en3>[A-Z][a-z]+)"
    # "Pickles, our cat", "Lucia and I", "My manager at the depot is Colin".
    r"|(?:^|[.!?] )(?P<en5>[A-Z][a-z]{2,})(?=, (?:my|our) [a-z]| and I\b)"
    r"|\b(?:[Mm]y|[Oo]ur) [a-z ]{0,20}(?:manager|boss|supervisor|teacher|coach|landlord|tutor|therapist|trainer"
    r"|dentist)(?: [a-z ]{1,20})? is (?:Mrs?\.? |Ms |Dr\.? )?(?P<en6>[A-Z][a-z]+)\b"
)


_NAME_SUBJECT: Final = re.compile(
    r"^(?:(?:So|And|But|Well),? )?(?:[Oo]ld |[Pp]rofessor |[Dd]r\.? |[Mm]rs?\.? |[Mm]s\.? |[Oo]ur )?"
    r"(?P<of>[A-Z][a-z]{2,})(?:'s\b|: (?:[Hh]e|[Ss]he|[Tt]hey)\b|, (?:my|our) | \((?:my |our )?\w+\)| next door"
    r"| (?:is|has|was|plays|got|gets|goes|went|lives|works|wants|said|says|told|can't|heads|does|moved|turned|turns"
    r"|keeps|left|rang|called|texted|loves|hates|and I)\b)"
)
# "Tom's mum Jean has dementia" is not about Tom.
_OWNED: Final = rf"'s (?:\w+ )?(?:{'|'.join(map(re.escape, _ENGLISH_WORDS))})\b(?: [A-Z][\w'-]+)?"
_OWNED_BY_NAME: Final = re.compile(rf"'s (?:{'|'.join(map(re.escape, _ENGLISH_WORDS))})\b", re.IGNORECASE)
_LEAD: Final = re.compile(r"^(?:So|And|But|Well),? ")
_NO_NAMES: Final = frozenset(
    [
        "this",
        "that",
        "there",
        "what",
        "which",
        "who",
        "when",
        "where",
        "why",
        "how",
        "here",
        "then",
        "they",
        "these",
        "those",
        "she",
        "her",
        "his",
        "its",
        "your",
        "our",
        "and",
        "but",
        "now",
        "today",
        "tomorrow",
        "every",
        "each",
        "some",
        "any",
        "one",
        "two",
        "most",
        "mother",
        "father",
        "dad",
        "mum",
        "wife",
        "husband",
        "work",
        "home",
        "life",
        "everything",
        "nothing",
        "someone",
        "everyone",
        "coffee",
        "dinner",
        "lunch",
        "breakfast",
        "rent",
        "boss",
        "tea",
    ]
)


def canonical(word: str) -> str:
    """The relation that a word names, `mother` for 妈 and "mum"; empty when it names none."""
    return _BY_WORD.get(word, "")


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
    return {_BY_WORD[word] for word in _CHINESE_WORDS if word in folded} | {
        _BY_WORD[word] for word in _ENGLISH_WORDS if word in folded and re.search(rf"\b{re.escape(word)}s?\b", folded)
    }


def named_subject(text: str) -> str:
    """The name with which a clause begins, in lower case; empty when it begins otherwise.

    "Tom's mother isn't vegan" is about tom's mother, and not about Tom.
    """
    match = _NAME_SUBJECT.search(text)
    name = match["of"].lower() if match is not None else ""
    if match is None or name in _NO_NAMES or name in _BY_WORD:
        return ""
    owned = _OWNED_BY_NAME.match(text, match.end("of"))
    return name if owned is None else f"{name}{owned[0].lower()}"


def is_name(word: str) -> bool:
    """Whether a capitalized word may be a name: not a pronoun, a relation or a common word at a beginning."""
    return word.lower() not in _NO_NAMES and word.lower() not in _BY_WORD


def subject_of(folded: str) -> str:
    """The subject of a folded clause; `user` unless it is plainly about somebody or something else."""
    for pattern in (_SUBJECT_ZH, _SUBJECT_EN):
        match = _compiled(pattern).search(folded)
        if match is not None:
            return _BY_WORD[match["of"]]
    if _compiled(_FIRST_PERSON).search(folded):
        return USER
    for pattern in (_NEAR_ZH, _NEAR_EN):
        match = _compiled(pattern).search(folded[:_NEAR])
        if match is not None:
            return _BY_WORD[match["of"]]
    return USER


def subject_words(text: str) -> str:
    """The words at the beginning of a clause that name its subject, as they stand there; empty when it names none."""
    folded = fold(text)
    if len(folded) != len(text):
        return ""
    match = next((m for pattern in (_SUBJECT_ZH, _SUBJECT_EN) if (m := _compiled(pattern).search(folded))), None)
    if match is not None:
        name = re.match(
            r"(?:,? [A-Z][\w'-]+)+|(?![姓叫是在有住做当])[阿小老大]?[\u3400-\u9fff]{1,2}(?=，)", text[match.end() :]
        )
        return (text[: match.end()] + (name[0] if name is not None else "")).strip()
    named = _NAME_SUBJECT.search(text)
    if named is not None and named_subject(text):
        owned = _compiled(_OWNED).match(text, named.end("of"))
        return _LEAD.sub("", text[: named.end("of") if owned is None else owned.end()])
    first = re.match(r"(?:我们?|咱们?|俺|本人)(?:家)?|(?:i'm|im|i've|ive|i|we're|we've|we)\b", folded)
    return text[: first.end()] if first is not None else ""


def person_words(text: str) -> str:
    """The words that name the person a clause is about: at its beginning, or "my son" a little later."""
    found = subject_words(text)
    folded = fold(text)
    if found or len(folded) != len(text):
        return found
    near = next((m for pattern in (_NEAR_ZH, _NEAR_EN) if (m := _compiled(pattern).search(folded[:_NEAR]))), None)
    return "" if near is None else text[near.start() : near.end()]


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


def starts_with_subject(folded: str) -> bool:
    """Whether a clause names its subject at its beginning."""
    subjects = (_FIRST_PERSON, _SUBJECT_ZH, _SUBJECT_EN)
    return any(_compiled(pattern).search(folded) for pattern in subjects) or PRONOUN.search(folded) is not None


def names_in(text: str) -> tuple[str, ...]:
    """Names that a text introduces, in lower case."""
    found = (next(group for group in match.groups() if group) for match in _compiled(_NAMED).finditer(text))
    return tuple(dict.fromkeys(name.lower() for name in found if name.lower() not in _BY_WORD))
