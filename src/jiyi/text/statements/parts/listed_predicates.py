"""Several things that are told of one subject in a row: "lives in Ottawa, drives a truck and supports Galatasaray".

Only what holds lastingly is a list of facts. What happened is a story, and its sentences belong together.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.phrases_en import predicate_en, read_en
from jiyi.text.statements.about.subjects import names_in, relations_in, starts_with_subject
from jiyi.text.statements.about.word_classes import tagged

__all__ = ["omitted_subject", "predicate_breaks", "tells_of_speaker"]

_PRESENT: Final = (
    "live|work|play|drive|study|teach|make|support|keep|do|have|run|sing|volunteer|coach|cycle|own|speak|eat|drink|love"
    "|hate|like|prefer|take|wear|want|manage|lead|sleep|go|collect|train|write|read|paint|cook|bake|knit|swim|climb|ride"
    "|walk|commute|share|rent|help|bank|smoke|row|dance|garden|fish|sew|foster|breed|sell|tutor|chair|edit|host|translate"
    "|mentor|design|build|grow|restore|attend|belong|vote|pay|earn|wake|get up"
)
# "works", "does", "goes", "studies".
_BASE: Final = re.compile(rf"^(?:also |still |only |mostly |usually )?(?:(?:{_PRESENT})|am|can't|cannot|don't|can)\b")
_OF_OTHER: Final = re.compile(
    rf"^(?:also |still |only |mostly |usually )?(?:(?:{_PRESENT})e?s|has(?! been| had)|studies|is|doesn't|can't|cannot"
    r"|can)\b"
)
_STATE: Final = re.compile(
    r"^(?:also )?(?:allergic|married|single|divorced|vegetarian|vegan|pregnant|diabetic|coeliac|celiac|retired"
    r"|left-handed|right-handed|based in|born in|originally from|engaged to|intolerant|lactose|terrified of|scared of"
    r"|afraid of|obsessed with|fluent in|training for|learning|studying|living in|working (?:as|at|in|for))\b"
)
_AND: Final = re.compile(r"(?<=[\w).'’])\s+(?=and (?:also |still )?[a-z])")
_MIN_WORDS: Final = 4
# What happened, once.
_STORY_EN: Final = re.compile(
    r"\b(?:yesterday|last (?:night|week|month|year)|today|this morning|just|ago|was|were|did)\b"
)
_STORY_ZH: Final = re.compile(
    r"昨|刚|上(?:周|个?月|次)|前天|今天|今早|终于|突然|后来|结果|[^养有]了(?:$|[，。！~])|过$"
)
_BEGINS_ZH: Final = re.compile(
    r"^(?:另外|同时|现在|平时|周末|目前|每天|每周|一直|还|也|特别|最|不|不太|主要|业余)?(?:在(?!于)|做|当|教|学|读|念|养|住|租|开|骑|吃|喝|用|爱|喜欢|讨厌"
    r"|怕|会|对.{1,8}过敏|负责|管|带|练|玩|打|写|画|弹|拉|唱|跳|踢|跑|爬|属|信|姓|叫|有|是|从事|坐|穿|戴|听|看|种|卖|跟|和)"
)
_PLACE_ZH: Final = re.compile(r"^(?:人在|人住|家住|家在|常住|现居|定居|老家)")
_MODIFIES_ZH: Final = re.compile(
    r"^(?:用|住|干|做|待|合作|当|学|练|教|养|开|租|是)了?[\d一二两三四五六七八九十好几多快]+|^(?:是|有)(?:点|些|时)|^(?:不过|也不|都)"
    r"|^(?:还|也)?有(?:一?[个位只条]|俩|两)|^和|^跟(?:他|她|它)|^[^，]{0,6}(?:次|遍|年了?|个月)$|^在(?:家|线|校)$|^看(?:着|来|样)|^会不会|^用来"
    r"|时候|时要|注意|记得|小心|麻烦|帮我"
)
_INTRODUCES_ZH: Final = re.compile(r"有|养|生了|认识|谈了|交了|娶|嫁|收了|招了|捡|请了|雇|带了")
_INTRODUCES_EN: Final = re.compile(r"\b(?:have|has|'ve|got|met|adopted|keeps?)\b")
_ONE_MORE_ZH: Final = re.compile(r"^还[有养]了?[一两二三]?[只条个]")
_OTHERS_ZH: Final = re.compile(r"[他她它]")
_MIN_ZH: Final = 4
_MIN_BEFORE_ZH: Final = 2
_SPEAKER: Final = re.compile(r"^(?:i|we|i'm|im|i've|ive|we're|we've|i am|we are|我们?家?|咱们?家?|俺家?|本人)$")
_EXPLICIT: Final = re.compile(
    rf"^(?:i (?:also |still |only )?(?:{_PRESENT})|i'?ve (?:got |two |three |a )|i'm (?:a|an|in|on|at|allergic|learning"
    r"|training)"
    r"|we(?: have|'ve| rent| own| live| keep)|i (?:am|can't|don't))\b"
)
_BEING: Final = re.compile(r"^(?:i'm|im|i am|we're|we are)\b")


def predicate_breaks(sentence: str) -> list[int]:
    """The places where one more predicate of the same subject begins after "and"."""
    if has_han(sentence):
        return []
    found: list[int] = []
    for match in _AND.finditer(sentence):
        after = fold(sentence[match.end() + len("and ") :])
        before = re.split(r"[,;:] | and ", sentence[: match.start()])[-1]
        told = _BASE.search(after) or _OF_OTHER.search(after) or _STATE.search(after)
        if told and len(before.split()) >= _MIN_WORDS and not _STORY_EN.search(fold(sentence)):
            found.append(match.end())
    return found


def tells_of_speaker(clause: str, before: str) -> bool:
    """Whether a clause tells one more lasting thing of the speaker, in a sentence that is no story."""
    folded = fold(clause.strip(" ,，；;、"))
    if has_han(folded):
        bare = re.sub(r"^(?:我们?|咱们?)", "", folded)
        return bare != folded and _is_told_zh(bare, "我", before, speaker=True)
    return _EXPLICIT.search(folded) is not None and not any(map(_STORY_EN.search, (folded, fold(before))))


def omitted_subject(clause: str, lead: str, before: str) -> str:
    """The words to put before a clause that tells one more lasting thing of the subject before.

    Empty where it is no such clause, or where it may be told of somebody else.
    """
    bare = clause.strip(" ,，；;、")
    folded = fold(bare)
    speaker = _SPEAKER.match(lead.lower()) is not None
    if not lead:
        return ""
    if has_han(bare):
        return lead if _is_told_zh(bare, lead, before, speaker=speaker) else ""
    said = fold(before.strip(" ,;"))
    told = predicate_en(said) is not None or read_en(before.strip(" ,;")) is not None or _BASE.search(said)
    if not told or any(map(_STORY_EN.search, (folded, said))):
        # "Pip, our cat, sleeps on the router".
        return ""
    if not speaker:
        others = relations_in(said.removeprefix(lead.lower())) and _INTRODUCES_EN.search(said)
        return f"{lead}: " if not others and (_OF_OTHER.search(folded) or _STATE.search(folded)) else ""
    plural = lead.lower().startswith("we")
    if _STATE.search(folded):
        # "I'm vegetarian, allergic to kiwi".
        return ("We are " if plural else "I am ") if _BEING.search(said) else ""
    return ("We " if plural else "I ") if _BASE.search(folded) else ""


def _is_told_zh(bare: str, lead: str, before: str, *, speaker: bool) -> bool:
    place = speaker and _PLACE_ZH.search(bare) is not None
    if speaker and _ONE_MORE_ZH.search(bare) and _INTRODUCES_ZH.search(before):
        # 我家养了一只金毛，还有一只橘猫.
        return True
    if (not _BEGINS_ZH.search(bare) and not place) or starts_with_subject(bare):
        return False
    if (
        len(bare) < _MIN_ZH
        or len(before.removeprefix(lead).strip(" ，,；、")) < _MIN_BEFORE_ZH
        or any(pattern.search(bare) for pattern in (_MODIFIES_ZH, _STORY_ZH, _OTHERS_ZH))
        or any(pattern.search(before) for pattern in (_STORY_ZH, _OTHERS_ZH))
        # 写字楼在中环: a noun, though it begins like a verb.
        or (tagged(bare)[0][1].startswith("n") and not place)
    ):
        return False
    others = relations_in(fold(before.removeprefix(lead))) or (names_in(before) and not before.startswith(f"{lead}叫"))
    # 我有个儿子，在读高中: he is.
    return not (others and _INTRODUCES_ZH.search(before))
