"""Which sentences of a message belong together.

A pronoun belongs to the sentence that tells whom it means, and a secret to the request to keep it. A name is put before
a pronoun only where the message leaves no choice. Elsewhere the sentences stay together as they were said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.subjects import is_name
from jiyi.text.statements.about.word_classes import tagged

__all__ = ["asks_for_secrecy", "joined", "mentions_another", "name_before_verb", "needs_sentence_before"]

# "Anna had her check-up", "Leo came home".
_NAME_AND_VERB: Final = re.compile(
    r"^(?:(?:So|And|But|Well|Oh),? )?(?P<of>[A-Z][a-z]{2,})"
    r"(?= (?:(?:just|also|now|really|finally|still) )?(?:had|has|will|would|can|could|must|should|went"
    r"|came|got|took|saw|met|ate|broke|fell|lost|won|bought|sold|quit|left|found|made|gave|ran|drove|began|felt|slept|said|told|did|does|is|was|isn't|wasn't|hasn't|can't|[a-z]{2,}(?:ed|s))\b)"
)
# Somebody besides the subject: "met Julia", "her teacher is Mrs Klein".
_ANOTHER: Final = re.compile(
    r"\b(?:met|meets?|saw|married|marry|dating|visited|visits|know|knows|called|rang|texted|told|asked|hired|with|and|than"
    r"|helps|helped|named|teacher|friend|boss|colleague|neighbou?r|doctor|about|behind|beside) "
    r"(?:(?:Mrs?|Ms|Dr|Aunt|Uncle|Old)\.? )?(?P<of>[A-Z][a-z]{2,})\b|\b(?:Mrs?|Ms|Dr)\.? (?P<title>[A-Z][a-z]+)"
)
_THING: Final = re.compile(r"^(?:(?:and|but|so),? )*(?:it|it's|its)\b|^[它牠]")
# "It's raining", "it's important that": no noun before it is meant.
_NO_NOUN: Final = re.compile(
    r"^(?:it's|it is|it was|its|it will be|it'll be|it has been|it takes)"
    r" (?:now |just |only |about |almost |not |very |so |really |too |a bit |always ){0,3}"
    r"(?:my|our|your|his|her|\d{1,2}(?::\d\d| ?(?:am|pm|o'clock))|time|birthday|turn|fault|rain\w*|snow\w*|sunny|cold"
    r"|hot|warm|dark|late|early|hard|easy|important|possible|impossible|nice|great|good|fine|ok|okay|fun|sad|because|been"
    r"|that|when|true|clear|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december)|summer|winter|spring|autumn|christmas|easter|like|what|why|how|up to|worth"
    r"|better|best|likely|always|never|me|us|him)\b"
    r"|^it (?:seems|looks|turns out|turned out|feels|sounds|rained|snowed|depends|hurts)\b"
)
_SECRECY: Final = re.compile(
    r"^(?:(?:please|pls|but|and|so|just|oh|shh+|psst),? )*(?:(?:don'?t|do not|never) (?:you )?(?:ever )?"
    r"(?:tell (?!me\b|us\b|jokes|lies|stories)"
    r"|(?:mention|say|breathe|reveal|spoil) (?:it|this|that|anything|a word|a thing|nothing)\b"
    r"|let .{1,30}\b(?:know|see|find out|hear)\b|show (?:it|this|that|him|her|them|my|anyone|anybody)\b)"
    r"|keep (?:it|this|that) (?:a secret|secret|quiet|to yourself|between us|from|private)"
    r"|(?:it|this|that)(?:'s| is|'ll be| will be| has to (?:be|stay)| must (?:be|stay)| should (?:be|stay)| stays)"
    r" (?:still )?(?:a |meant to be a |supposed to be a )?(?:big |complete )?(?:surprise|secret)\b"
    r"|(?:he|she|they|nobody|no one|my \w+)(?: must(?: not|n'?t)| should(?: not|n'?t)| can'?t| cannot| may not"
    r"| do(?:es)?n'?t| must never| is not to| isn'?t to) (?:yet )?(?:know|find out|hear|see it))"
    r"|^(?:请|但|不过|可|你|千万|先|暂时|一定){0,4}(?:别|不要|不能|不许|不准|不可以|勿)(?:跟|和|对|向|让|给)?[^，。！？]{0,8}"
    r"(?:告诉|提起|提这|说出去|透露|声张|知道|发现|剧透|泄露)"
    r"|^(?:请|要|你|一定|务必|先|得){0,3}(?:帮我)?(?:保密|瞒着|保守秘密)|^这(?:是|可是)(?:个|一个)?(?:秘密|惊喜)|^(?:是|算)(?:个)?(?:惊喜|秘密)"
)
# "Don't tell my wife that I smoke" tells itself what is secret.
_SAYS_WHAT: Final = re.compile(
    r"\b(?:about (?!it\b|this\b|that\b|them\b)|that (?:i|we|he|she|they|my|our)\b|what |where |how |i'm |i am )"
    r"|(?:告诉|让)[^，。]{1,5}我.{2,}|关于"
)
_OWN_NAME: Final = re.compile(
    r"(?:叫(?:做)?|名叫|小名|名字是?|改叫)(?P<zh>[\u3400-\u9fff]{1,4})|\b(?:called|named|name is) (?P<en>[A-Z][\w'-]+)"
)
# What follows on these is a place or a company.
_PLACES: Final = frozenset(
    ["在", "去", "到", "从", "住", "住在", "回", "来", "用", "吃", "玩", "看", "去过", "搬到", "了"]
)
_MARKS: Final = " \t\n\"'“”()（）"


def asks_for_secrecy(sentence: str) -> bool:
    """Whether a sentence only asks to tell nobody, or somebody not: what it is about, another sentence tells."""
    folded = fold(sentence).strip(_MARKS)
    return _SECRECY.search(folded) is not None and _SAYS_WHAT.search(folded) is None


def joined(first: str, second: str) -> str:
    """Two sentences as one text."""
    return f"{first}{'' if has_han(first) and first[-1:] in '。！？；' else ' '}{second}"


def name_before_verb(sentence: str) -> str:
    """The name with which a sentence begins: "Anna had her check-up"; empty where it begins otherwise."""
    found = _NAME_AND_VERB.search(sentence)
    return found["of"] if found is not None and is_name(found["of"]) else ""


def mentions_another(said: Sequence[str], person: str) -> bool:
    """Whether sentences name somebody by name besides the person that they are about."""
    own = fold(person)
    for sentence in said:
        introduced = "".join(fold(match[0]) for match in _OWN_NAME.finditer(sentence))
        if has_han(sentence):
            words = tagged(sentence)
            names = {
                word
                for (before, _), (word, tag) in zip([("", ""), *words], words, strict=False)
                if tag == "nr" and len(word) > 1 and before not in _PLACES
            }
        else:
            names = {fold(match["of"] or match["title"]) for match in _ANOTHER.finditer(sentence)}
        if any(name not in own and name not in introduced and is_name(name) for name in names):
            return True
    return False


def needs_sentence_before(claim: str) -> bool:
    """Whether a claim that begins with a pronoun means somebody or something that was named before it."""
    folded = fold(claim).strip(_MARKS)
    return not (_THING.search(folded) and _NO_NOUN.search(folded))
