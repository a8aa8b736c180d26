"""What is left of a fact of which one part was replaced: whole clauses with their values, each with its subject.

Nothing is cut out of a clause. A clause goes whole, or its old figure or day is replaced by the new one where it says
more than that: "my meds are ramipril 5mg" after "10mg now". No subject is made up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.persons import SURNAMES
from jiyi.text.statements.about.phrase import SPEAKER
from jiyi.text.statements.about.phrases_en import predicate_en
from jiyi.text.statements.about.phrases_zh import predicate_zh
from jiyi.text.statements.about.subject_phrases import names_its_subject, phrases_of
from jiyi.text.statements.about.subjects import PRONOUN, starts_with_subject, subject_words

__all__ = ["HEADING", "relative_named_in", "says_something", "without_pieces"]

HEADING: Final = re.compile(r"[:：]\s*$")
_ONLY_SUBJECT: Final = re.compile(r"^(?:我们?|家里|and|my|our|i|i'm|we)\b\s*")
# Half of a list: "Mimi and", 咪咪和.
_DANGLING: Final = re.compile(
    r"(?:\s+(?:and|or|but|plus|&|\+|-)|(?<=[\u3400-\u9fff])(?:和|跟|与|及|以及|还有|而且|并且|或者?))\s*$"
)
_ONLY_A_TIME: Final = re.compile(
    r"(?:早上|上午|中午|下午|晚上|傍晚|凌晨|夜里)?[\d一二两三四五六七八九十]{1,3}"
    r"(?:点(?:半|钟|[一三]刻|[\d一二三四五六七八九十]+分?)?|[:：]\d\d)"
    r"(?:[到至~-][^，。]{1,8})?[。.]?$|(?:at )?\d{1,2}(?::\d\d)?(?: ?(?:am|pm|o'clock))?\.?$",
    re.IGNORECASE,
)
_DAY: Final = re.compile(
    r"^(?:(?:这|下|上|本)个?(?:周|星期|礼拜)[一二三四五六日天末]?|(?:周|星期|礼拜)[一二三四五六日天末]|今[天晚]|明[天晚]|后天"
    r"|\d{1,2}月(?:\d{1,2}[号日])?|\d{1,2}[号日])+(?:的|有|是)?"
)
_NOUN: Final = re.compile(r"[\u3400-\u9fff]{2,8}$")
_COORDINATED: Final = re.compile(r"\b(?:and|but|&)\s*$", re.IGNORECASE)
_ONE_MORE: Final = re.compile(r"^(?:an?|the|my|our|some|one|two|three|four|five|\d+|[A-Z])\b")
# What stands before the first of several: (I subscribe to) Netflix, Spotify; (订了)一台吹风机和一把椅子.
_BEFORE_LIST: Final = re.compile(
    r"(?:I|We)(?:'m|'re|'ve)?(?: [a-z]+){1,3} (?=[A-Z])"
    r"|[\u3400-\u9fff]{1,6}?(?=[一两三四几\d]+[把台只条个张辆件套本份盆])"
)
_ONLY_NAMES: Final = re.compile(r"(?:[A-Z][\w'&]*(?:,? and |, | |\.$|$))+$")
_COUNTED: Final = re.compile(r"[一两三四几\d]+[把台只条个张辆件套本份盆]")
_NEGATED: Final = re.compile(r"\b(?:not|never|no)\b|n't\b|不|没")
# Models write of the user in the third person.
_THE_USER: Final = re.compile(r"[Tt]he user\b|User(?= [a-z]|'s name\b)|用户")
# One more of what somebody takes or has: (I take metformin in the morning and) ramipril at night.
_TAKES: Final = re.compile(
    r"\b(?:takes?|taking|have|has|had|use[sd]?|using|owns?|drinks?|eats?|speaks?|plays?|teach(?:es)?|grows?|collects?"
    r"|likes?|loves?|hates?|drives?|keeps?|needs?|am on|is on|i'm on)$",
    re.IGNORECASE,
)
_NOUN_PHRASE: Final = re.compile(r"[a-z][\w-]+(?: |$)")
_NO_NOUN: Final = re.compile(
    r"(?:in|on|at|for|with|from|to|of|by|near|since|about|every|each|once|twice|sometimes|often|always|never|usually|mostly"
    r"|only|also|then|now|not|so|but|or|that|which|who|because|if|when|while|if|as|it|its|they|he|she|we|you|i|there|this"
    r"|these|those|very|quite|really|still|just|all|both|up|out|off|down|after|before|until|during)\b"
)
_HE_OR_SHE: Final = re.compile(r"^(?:he|she|they|he's|she's|they're)\b|^[他她]")
_OWNED: Final = re.compile(
    r"(?:'s|’s) [a-z][\w -]*?(?= (?:is|are|was|has|will|starts)\b)|的[^，是在有定]{1,8}(?=是|在|有|定)"
)
_LISTED: Final = re.compile(r"(?:、|和|还有)\s*$")
_FIRST_PERSON: Final = frozenset(
    ["i", "i'm", "im", "i've", "ive", "we", "we've", "we're", "我", "我们", "咱", "咱们", "俺"]
)


# Relatives by birth stay the same person; a partner or a colleague may be somebody else now.
_RELATIVE_ZH: Final = re.compile(
    r"(?P<who>(?:我|我们|咱)?(?:的|家)?(?:[大小二三]?(?:姐姐?|妹妹?|哥哥?|弟弟?|舅舅?|姑姑?|姨妈?|叔叔?|伯伯?)"
    r"|表[姐妹哥弟]|堂[姐妹哥弟]|爸爸?|妈妈?|父亲|母亲|儿子|女儿|闺女|侄子|侄女|外甥女?|孙子|孙女|爷爷|奶奶|外公|外婆|姥姥|姥爷))"
    r"(?P<name>[\u3400-\u9fff]{2,3})(?P<place>在[\u3400-\u9fff]{2,4})?(?=做|当|工作|上班|上学|读|教|开|是|住)"
)
_NOT_A_NAME: Final = re.compile(r"[在是的了有要会去来叫说不也都还刚已现最今明昨后每一两]")
_RELATIVE_EN: Final = re.compile(
    r"(?P<who>(?:[Mm]y|[Oo]ur) (?:(?:older|younger|big|little|twin|eldest|youngest|elder|half|step)[ -])?"
    r"(?:brother|sister|mother|mum|mom|father|dad|son|daughter|cousin|uncle|aunt|auntie|nephew|niece|grandmother"
    r"|grandfather|gran|grandma|grandpa|grandson|granddaughter)),? (?P<name>[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
    r"(?:,|'s)? (?=[a-z])"
)
_NAMES: Final = re.compile(r"叫|名字|\b(?:names?|called)\b", re.IGNORECASE)


def relative_named_in(fact: str, message: str) -> tuple[str, str]:
    """The name of a relative, and what a fact says of who that is beside what a message replaces.

    我哥林晓峰在北京 of 我哥林晓峰在北京做律师. Empty where the message says both or is about the name.
    """
    found = _RELATIVE_ZH.match(fact) or _RELATIVE_EN.match(fact)
    if found is None or _NAMES.search(message):
        return "", ""
    who, name = found["who"], found["name"]
    if name in message and fold(who).split()[-1].removeprefix("我") in fold(message):
        # The message itself says who it is, so that nothing is lost.
        return "", ""
    if not has_han(who):
        return name, f"{who[0].upper()}{who[1:]}'s name is {name}"
    if _NOT_A_NAME.search(name) or (name[0] not in SURNAMES and name[0] not in "小阿"):
        return "", ""
    # The place is kept only where the message does not name the relative, who may have moved.
    return name, found[0] if found["place"] and name not in message else f"{who}叫{name}"


def without_pieces(pieces: Sequence[str], gone: AbstractSet[int]) -> str:
    """What is left of a fact: all its other parts, with its subject; empty when they say nothing."""
    heading = HEADING.search(pieces[0]) is not None
    left = [piece for number, piece in enumerate(pieces) if number not in gone]
    text = _DANGLING.sub("", "".join(left).strip(" ,，；;、:：&")).removeprefix("and ").strip(" ,，；;、:：&")
    if (
        not left
        or (len(left) == 1 and heading and 0 not in gone)
        or not any(says_something(fold(piece)) for piece in left)
    ):
        return ""
    first = pieces[0]
    whole = text if left[0] is first else _as_listed(text, first) or _of_user(text, first) or _readable(text, first)
    return _with_thing(whole, pieces[0]) if _ONLY_A_TIME.match(whole) else whole


def _as_listed(text: str, first: str) -> str:
    """The rest of a list with what stood before its first: "I subscribe to Spotify"; empty where it is no list."""
    before = _BEFORE_LIST.match(first)
    if before is None or _NEGATED.search(fold(first)) or not (_COUNTED if has_han(text) else _ONLY_NAMES).match(text):
        return ""
    return before[0] + text


def _with_thing(time: str, first: str) -> str:
    """A bare time with what takes place then, as the first part of the fact named it; empty where it did not."""
    phrase = phrases_of(first)[0]
    bare = _DAY.sub("", first.strip(" ,，；;、:：&"))
    thing = phrase.head if phrase.named else bare if _NOUN.match(bare) and phrase != SPEAKER else ""
    if not thing:
        return ""
    return f"{thing}：{time}" if has_han(thing) else f"{thing}: {time}"


def _of_user(text: str, first: str) -> str:
    """The rest of what a model wrote of the user, who is named in its first part; empty where it needs no more."""
    user = _THE_USER.match(first)
    pronoun = PRONOUN.search(fold(text)) is not None
    if user is None or (not pronoun and (predicate_zh if has_han(text) else predicate_en)(text) != ""):
        return ""
    named, sign = ("用户", "：") if has_han(user[0]) else ("The user", ": ")
    return f"{named}{sign if pronoun else sign[1:]}{text}"


def _readable(text: str, first: str) -> str:
    """The rest of a fact without its first part, with what it needs of that part to be read alone."""
    folded = fold(text)
    han = has_han(text)
    pronoun = PRONOUN.search(folded) is not None
    begins = (predicate_zh if han else predicate_en)(text)
    named = names_its_subject(text)
    if not pronoun and ((han and named) or (begins is not None and (named or starts_with_subject(folded)))):
        return text
    who = _subject_in(first, subject_words(first)) if not _HE_OR_SHE.search(folded) else subject_words(first)
    if who and who.lower() not in _FIRST_PERSON:
        return f"{who}：{text}" if han else f"{who}: {text}"
    verb = (predicate_zh if han else predicate_en)(first)
    if not who:
        # What begins with a verb goes on about what is gone (改成下周四), unless that was told of the speaker.
        return text if begins != "" or phrases_of(first) == (SPEAKER,) else ""
    if begins == "" and not pronoun and (han or _COORDINATED.search(first)):
        # It begins with a verb: (I hate mushrooms and) cook on gas. Not so (I have the Pro plan,) billed yearly.
        return f"{who}{text}" if han else f"{'We' if who.lower().startswith('we') else 'I'} {text}"
    one_more = _LISTED.search(first) if han else _ONE_MORE.search(text) or _is_one_more(verb, first, text)
    if verb and begins is None and not pronoun and one_more and not _NEGATED.search(fold(first)):
        # One more of a list: (I've got a cat,) a dog and a parrot.
        return f"{verb}{text}" if han else f"{verb} {text}"
    return f"{who}{text}" if han and not pronoun else text


def _is_one_more(verb: str | None, first: str, text: str) -> bool:
    """Whether a text without a verb goes on with what the verb before it takes."""
    listed = _COORDINATED.search(first) is not None or first.rstrip().endswith(",")
    takes = bool(verb) and _TAKES.search(verb or "") is not None
    return listed and takes and _NOUN_PHRASE.match(text) is not None and _NO_NOUN.match(text) is None


def _subject_in(first: str, who: str) -> str:
    """The words that name what a part is about: not the niece in "My niece's wedding is in July"."""
    owned = _OWNED.match(first, len(who)) if who and first.startswith(who) else None
    return who if owned is None else who + owned[0]


def says_something(piece: str) -> bool:
    """Whether a part of a fact is more than a filler or a bare name of its subject."""
    bare = _ONLY_SUBJECT.sub("", piece.strip(" ,，；;、:：&"))
    return len(bare) >= (2 if has_han(bare) else 4)
