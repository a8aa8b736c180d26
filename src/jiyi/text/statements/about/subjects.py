"""Whom a clause is about: the speaker, a relation of theirs, or somebody or something by name."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from jiyi.model.claim import USER
from jiyi.text.normalize import fold
from jiyi.text.statements.about.relations import (
    ANIMAL_WORDS,
    BY_WORD,
    CHINESE_WORDS,
    ENGLISH_WORDS,
    ROLES,
    SUBJECT_WORDS,
    canonical,
    is_person,
    is_relation,
    may_be_one,
    mentions_subject,
    relation_in,
    relations_in,
    relations_like,
)

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

# Compiled at first use: who only wants to know a relation by its word does not need them.
_compiled = cache(re.compile)
_ZH_LEAD: Final = (
    r"(?:我们?|咱|俺|家里?)?(?:家|的|们|部门|公司|组)?(?:那(?:只|条|个)|这(?:只|条|个))?(?:有(?:个|一个))?"
    r"(?:大学|高中|小学|亲|大|小|最好的|动画课)?"
)
_ZH_KIN: Final = "|".join(map(re.escape, CHINESE_WORDS))
_ZH_PAIRS: Final = "|".join(
    word for word in CHINESE_WORDS if BY_WORD[word] in {"parents", "grandparents", "parents-in-law"}
)
# Words with which people begin before they say something.
_OPENING_ZH: Final = (
    r"(?:(?:哎呀?|哎哟|唉|哦|噢|喔|啊|嗯|呃|哇|咦|诶|欸|对了|哦对了?|不对|等等|等一?下|不好意思|抱歉|对不起|糟了?|糟糕|话说|其实"
    r"|另外|还有|那个?|请问|开学了|说错了|记错了|搞错了|更正(?:一下)?)[，,！!、。…~～ ]*)*"
)
_OPENING_EN: Final = (
    r"(?:(?:and|but|so|ok|okay|oh|btw|by the way|also|actually|whoops|oops|sorry|ah|aha|right|wait|hmm*|well|no"
    r"|yes|yeah|yep|nope|hey|hi|hello|my bad|my mistake|correction|damn|dang|argh|ugh|um|uh|er|erm|anyway|look|listen"
    r"|hang on|hold on|fyi|oh no|oh wait|actually no|no wait|scratch that)[,.!:;…–-]* )*"
)
# Two who are one subject are not the one and somebody of theirs: 我爸妈.
_SUBJECT_ZH: Final = (
    rf"^{_OPENING_ZH}(?:给|把|带|陪|帮|为|送)?"
    rf"(?:(?!{_ZH_LEAD}(?:{_ZH_PAIRS})(?!的?(?:{_ZH_KIN})))(?:{_ZH_LEAD}"
    rf"|[他她佢])(?:{_ZH_KIN}|)的?)?{_ZH_LEAD}(?P<of>{_ZH_KIN})"
)
_SUBJECT_EN: Final = (
    rf"^{_OPENING_EN}(?:(?:me and )?(?:my|our|the|his|her|another|a)(?: (?:new"
    r"|old|oldest|own|other|youngest|eldest|lil|little|big|best|older|younger|late|dear)){0,2} )?"
    rf"(?P<of>{'|'.join(map(re.escape, ENGLISH_WORDS))})(?=\b|'s\b|s\b)"
)
# "our drummer told me", 我公公原话: anywhere near the beginning of the clause.
_NEAR_ZH: Final = rf"(?:我|我们|我家|咱|俺)(?:的|家)?(?P<of>{'|'.join(map(re.escape, CHINESE_WORDS))})(?!过敏|毛)"
_NEAR_EN: Final = (
    r"\b(?:my|our)(?: (?:new|oldest|own|other|youngest|eldest|lil|little|big|best|older|younger)){0,2} "
    rf"(?P<of>{'|'.join(map(re.escape, ENGLISH_WORDS))})(?=\b|s\b)"
)
_NEAR: Final = 40
_FIRST_PERSON: Final = (
    rf"^{_OPENING_ZH}(?:现在|今年|平时|以后|目前|每.{{1,4}})?(?:我|咱|俺|本人)|^{_OPENING_EN}(?:i|i'm|im|i've|ive|i'd|we|we're|we've"
    r"|my|our)\b"
)
# Whoever is to be told something of the speaker: "how do I tell my boss Sarah that I'm leaving?".
_TO_BE_TOLD: Final = (
    r"^(?:how|what|when|where|should|can|could|do|shall|is it)\b[^,.]{0,40}\b(?:i|we) (?:[a-z]+ ){0,2}?"
    r"(?:tell|ask|say to|explain to|inform|let|break it to|warn)\b[^,.]{1,40}? (?:i|i'm|im|i've|i'd|we|we're)\b"
    r"|^(?:请问)?我?(?:该|要|应该)?(?:怎么|如何|怎样)(?:才能)?(?:跟|和|对|向|告诉|让|给)[^，。]{1,8}?(?:说|讲|解释|开口|知道|，)?我"
)
PRONOUN: Final = re.compile(r"^(?:他|她|它|佢|人家)(?!们都说)|^(?:he|she|it|they|he's|she's|it's|hes|shes|they're)\b")
_TITLES: Final = frozenset({"Mr", "Mrs", "Ms", "Dr", "Prof", "Professor", "Miss"})
_TITLE: Final = r"(?:(?:Mrs?|Ms|Miss|Dr|Prof|Professor)\.? )?"
_NAMED: Final = (
    r"(?:叫(?:做)?|名叫|小名|名字是?|改叫)(?P<zh>[\u3400-\u9fffA-Za-z]{1,6}?)(?=$|[，。！,.!；;、\s了吧就啦]|的|今年)"
    r"|(?:室友|同事|朋友|组长|同桌|班主任|老师|领导|闺蜜|堂妹|表姐|哥们)(?P<zh2>[阿小老大][\u3400-\u9fff])(?=[^，。]|$)"
    r"|\b(?:called|named|name is|names are|[Mm]eet) (?P<en>[A-Za-z][\w'-]+)"
    r"|\b(?:[Mm]y|[Oo]ur) (?:\w+ ){0,3}?(?:boss|son|daughter|kid|sister|brother|friend|flatmate|roommate|roomie"
    r"|roomate|boyfriend|girlfriend|bf|gf|partner|wife|husband|childminder|colleague"
    r"|cousin|cat|dog|rabbit|beagle|goldfish|hamster|pa|nephew|niece|advisor|coworker|ex|teacher|neighbour"
    r"|neighbor|mate)(?: is|,|'s name is|) (?!(?:called|named|born|and|who|that|was|has"
    rf"|got)\b){_TITLE}(?P<en2>[A-Z][a-z]+|[a-z]{{3,9}}(?= (?:is|plays|wants|has|got|supports|said)\b))"
    rf"|\b(?:[Mm]y|[Oo]ur) (?:[a-z-]+ ){{1,3}}{_TITLE}(?P<en4>[A-Z][a-z]+)\b(?! (?:Street|Road|School|Court|Bridge))"
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
_OWNED: Final = rf"'s (?:\w+ )?(?:{'|'.join(map(re.escape, ENGLISH_WORDS))})\b(?: [A-Z][\w'-]+)?"
_OWNED_BY_NAME: Final = re.compile(rf"'s (?:{'|'.join(map(re.escape, ENGLISH_WORDS))})\b", re.IGNORECASE)
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
        "right",
        "wait",
        "sorry",
        "whoops",
        "oops",
        "well",
        "yes",
        "no",
        "hey",
        "hi",
        "look",
        "listen",
        "also",
        "anyway",
        "correction",
        "actually",
        "okay",
        "hmm",
        "nope",
        "yeah",
    ]
)


def named_subject(text: str) -> str:
    """The name with which a clause begins, in lower case; empty when it begins otherwise.

    "Tom's mother isn't vegan" is about tom's mother, and not about Tom.
    """
    match = _NAME_SUBJECT.search(text)
    name = match["of"].lower() if match is not None else ""
    if match is None or name in _NO_NAMES or name in BY_WORD:
        return ""
    owned = _OWNED_BY_NAME.match(text, match.end("of"))
    return name if owned is None else f"{name}{owned[0].lower()}"


def is_name(word: str) -> bool:
    """Whether a capitalized word may be a name: not a pronoun, a relation or a common word at a beginning."""
    return word.lower() not in _NO_NAMES and word.lower() not in BY_WORD


def subject_of(folded: str) -> str:
    """The subject of a folded clause; `user` unless it is plainly about somebody or something else."""
    if _compiled(_TO_BE_TOLD).search(folded):
        return USER
    for pattern in (_SUBJECT_ZH, _SUBJECT_EN):
        match = _compiled(pattern).search(folded)
        if match is not None:
            return BY_WORD[match["of"]]
    if _compiled(_FIRST_PERSON).search(folded):
        return USER
    for pattern in (_NEAR_ZH, _NEAR_EN):
        match = _compiled(pattern).search(folded[:_NEAR])
        if match is not None:
            return BY_WORD[match["of"]]
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


def starts_with_subject(folded: str) -> bool:
    """Whether a clause names its subject at its beginning."""
    subjects = (_FIRST_PERSON, _SUBJECT_ZH, _SUBJECT_EN)
    return any(_compiled(pattern).search(folded) for pattern in subjects) or PRONOUN.search(folded) is not None


def names_in(text: str) -> tuple[str, ...]:
    """Names that a text introduces, in lower case."""
    found = (next(group for group in match.groups() if group) for match in _compiled(_NAMED).finditer(text))
    return tuple(dict.fromkeys(name.lower() for name in found if name.lower() not in BY_WORD and name not in _TITLES))
