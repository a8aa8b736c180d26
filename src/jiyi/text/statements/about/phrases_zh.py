"""What a Chinese clause is about: the words before its verb, by the classes of words in the segmenter's dictionary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from jiyi.model.claim import USER
from jiyi.text.normalize import fold
from jiyi.text.statements.about.phrase import SPEAKER, Phrase, relation
from jiyi.text.statements.about.phrase_words import CHANGE_VERB_ZH, GENERIC, LEAD_ZH, NO_NOUN_ZH, REPORTS_ZH
from jiyi.text.statements.about.subjects import canonical, is_relation
from jiyi.text.statements.about.word_classes import tagged

__all__ = ["INTRODUCES", "PRONOUN_ZH", "phrase_zh", "predicate_zh", "read_zh"]

_MAX_WORDS: Final = 9
_USER_ZH: Final = re.compile(r"^(?:我们?|咱们?|俺|本人|自己)$")
PRONOUN_ZH: Final = re.compile(r"^(?:他|她|它|牠|佢|这|那|大家|别人|有人|谁|其他|其它|其余|别的)")
_NO_THING_ZH: Final = re.compile(
    r"(?:每[天次周月年晚早个日]?|最后|之后|以后|后来|平时|一般|人|大家|总共|一共|全部|全都|都|早上|晚上)$"
)
_TITLE_ZH: Final = re.compile(r"(?:医生|老师|经理|主任|教授|师傅|阿姨|叔叔|总|姐|哥|工|律师|教练|大夫|护士)$")
_NUMBERED_ZH: Final = re.compile(r"(?:[a-z]?\d+|.{1,3}[号期班楼组])$")
_VERBS_ZH: Final = frozenset("学教管写画练读念做当养买卖住吃喝穿戴开骑玩打报租")
# Nouns that the dictionary has as verbs.
_NOUNS_ZH: Final = frozenset(
    {"会", "超时", "限时", "延时", "接口", "配置", "缓存", "设置", "存储", "报销", "部署", "编码", "限速", "限额"}
)
INTRODUCES: Final = re.compile(
    r"^我?(?:加了|认识了?|交了|来了|遇到了?|碰到了?|招了|新来了?|介绍了)一?[个位名](?P<who>[^，。]{1,10})$"
)
_BA: Final = re.compile(
    r"[把将](?P<what>[^，。]{1,16}?)(?=改|换|调|搬|挪|移|推|提|升|降|设|转|定|延|放|卖|退|取消|取|停|删|涨|减|加|给|交)"
)


def read_zh(clause: str) -> Phrase | None:
    """What a Chinese clause is about; `None` where it does not tell."""
    text = LEAD_ZH.sub("", fold(clause).strip()).strip()
    moved = _BA.search(text)
    if moved is not None:
        return phrase_zh(_joined(word for word in tagged(moved["what"]) if word[0].strip()))
    introduced = INTRODUCES.search(text)
    if introduced is not None:
        # 认识了一个姑娘: what follows is about her.
        return phrase_zh(_joined(word for word in tagged(introduced["who"]) if word[0].strip()))
    text = text.removeprefix("是")
    if not text or PRONOUN_ZH.search(text):
        return None
    words = _joined(word for word in tagged(text) if word[0].strip())
    while words and (words[0][1] in {"t", "c", "y", "e"} or _NO_THING_ZH.match(words[0][0])):
        # 下周三我要去…: the time comes first.
        words.pop(0)
    if words and words[0][1] == "v" and words[0][0][0] in "我咱俺":
        return SPEAKER
    end = _verb_zh(words)
    if (
        end is None
        or end == 0
        or end > _MAX_WORDS
        or REPORTS_ZH.match("".join(word for word, _ in words[end : end + 2]))
    ):
        return None
    return phrase_zh(words[:end])


def _joined(words: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Words with those put together that the segmentation has cut: 小 and 刘, 月 and 会, 张 and 医生."""
    found: list[tuple[str, str]] = []
    for word, tag in words:
        before = found[-1][0] if found else ""
        if len(before) == 1 and (
            (before in "小老阿" and len(word) == 1 and tag[0] not in "upvmdc")
            or (word == "会" and before in "周月年早晚晨日")
            or (_TITLE_ZH.match(word) and found[-1][1][0] not in "uvpdm")
        ):
            found[-1] = (before + word, "nr" if word != "会" else "n")
        elif len(before) == 1 and found[-1][1] in {"a", "b"} and tag.startswith("n"):
            # 大卧室, 小女儿; but a new company is not another kind of one.
            found[-1] = (word if before in "新旧老好" else before + word, tag)
        elif word == "生日":
            found.append((word, "n"))
        else:
            found.append((word, tag))
    return found


def _verb_zh(words: Sequence[tuple[str, str]]) -> int | None:
    """Where the verb begins. 体检 in 体检改到… is a noun; and so is 登录 in 登录接口是…."""
    start = _relative_clause(words)
    for place, (word, tag) in enumerate(words[start:], start):
        following = words[place + 1] if place + 1 < len(words) else ("", "")
        if _is_verb_zh(word, tag, following, place):
            return place
    return None


def _relative_clause(words: Sequence[tuple[str, str]]) -> int:
    """How many words say which one of a kind: 去青岛的 in 去青岛的机票."""
    if not words or (words[0][1] != "v" and words[0][0] != "从"):
        return 0
    for place, (word, _) in enumerate(words[1:5], 1):
        if word == "的" and place + 1 < len(words) and words[place + 1][1].startswith("n"):
            return place + 1
    return 0


def _is_verb_zh(word: str, tag: str, following: tuple[str, str], place: int) -> bool:
    changed = CHANGE_VERB_ZH.match(following[0]) is not None
    if word[0] in "换改搬挪不没" or following[0][:1] in {"了", "过", "着"} or (place and word[0] == "我"):
        return True
    if (tag[0] in "pdtcuyz" and tag not in {"uj", "zg"}) or (place and word in _VERBS_ZH):
        return True
    if tag[0] in "ab":
        return bool(place) and following[1][:1] not in {"n", "u"} and word not in _NOUNS_ZH
    if tag[0] == "m":
        return not (following[1][:1] in {"p", "d", "v", "n"} and _NUMBERED_ZH.match(word))
    noun = len(word) > 1 and NO_NOUN_ZH.match(word) is None
    event = word in _NOUNS_ZH and (place > 0 or following[1].startswith("m"))
    belongs = noun and not place and (following[1].startswith("n") or following[0] in _NOUNS_ZH)
    return tag == "v" and not event and not belongs and not (changed and noun)


def phrase_zh(tags: Sequence[tuple[str, str]]) -> Phrase | None:
    """The thing that a noun with the words around it names."""
    owned, owner, words, head = False, "", list[str](), ""
    for place, (word, tag) in enumerate(tags):
        if _USER_ZH.match(word) or (word.startswith("我") and word[1:] in {"家", "们家"}):
            owned = owned or not words
            continue
        if tag[0] in "uxw" or word in GENERIC:
            if word == "的" and words and is_relation(canonical(words[-1]) or words[-1]):
                owner = words[-1]
            continue
        if tag[0] in "rq" or (tag[0] == "m" and not _NUMBERED_ZH.match(word)):
            continue
        name = relation(word) or word
        if word.startswith("我"):
            owned = owned or not words
        words.append(name)
        head = name
        if is_relation(canonical(name) or name) and place + 1 < len(tags) and tags[place + 1][0] != "的":
            owner = name
    words = [word for word in words if len(word) > 1] or [
        word for word, tag in tags if word in words and tag in {"n", "zg"}
    ]
    if all(map(_NUMBERED_ZH.match, words)):
        return SPEAKER if owned else None
    person = is_relation(canonical(head) or head) or tags[-1][1] == "nr"
    if owner == head and len(words) == 1:
        owner = ""
    return Phrase(frozenset(words), owner or (USER if owned else ""), head, person)


def predicate_zh(clause: str) -> str | None:
    """A clause up to its verb (我养了), empty where it begins with one, `None` where it has none."""
    text = ""
    for place, (word, tag) in enumerate(tagged(clause)):
        if tag == "v" or word in _VERBS_ZH:
            if not place and word[0] not in "我咱俺":
                return ""
            after = re.match(r"[了过着]", clause[len(text) + len(word) :])
            return text + word + (after[0] if after is not None else "")
        if not place and tag[0] in "dp":
            return ""
        text += word
    return None
