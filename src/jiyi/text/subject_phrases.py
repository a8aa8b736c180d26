"""What a clause is about, in its own words: the noun before the verb, with all that tells it from others of its kind.

"The office wifi password is …" is about *office wifi password*, 我妈的手机号换成… about 妈 and 手机号, "they moved my
flight to Oslo to …" about *flight, Oslo*. What follows the verb is the value and is not looked at. Two clauses whose
phrases both name something that the other text does not have are about different things: `about_different_things`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from jiyi.text.change_words import changes, ends
from jiyi.text.claims import clauses_of
from jiyi.text.normalize import fold
from jiyi.text.phrase_words import (
    ADVERB_EN,
    CHANGE_VERB_EN,
    CHANGE_VERB_ZH,
    COMMENT,
    GENERIC,
    LEAD_EN,
    LEAD_ZH,
    NO_NOUN_ZH,
    NO_WORDS_EN,
    NOT_A_NOUN_EN,
    ONE_THING,
    REPORTS_EN,
    REPORTS_ZH,
    VERB_EN,
)
from jiyi.text.subjects import USER, canonical, is_relation, may_be_one, relations_in
from jiyi.text.word_classes import tagged

__all__ = ["Phrase", "about_different_things", "phrases_of"]

_TELLS: Final = re.compile(
    r"\d|[一二三四五六七八九十]+(?:点|号|月|日|元|块|个|次|岁)|[周月]|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day"
)
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_TOKEN: Final = re.compile(r"[A-Za-z0-9À-ÿ][\w.+#-]*(?:'(?!s\b)\w+)?(?:'s\b|s'(?=\s))?|[\u3400-\u9fff]+")
_MOST_TOKENS: Final = 9
_FIRST_EN: Final = re.compile(r"(?:i|we|me|us|myself|i'm|im|i've|ive|i'd|i'll|we're|we've|we'll|we'd)$")
_PRONOUN_EN: Final = re.compile(
    r"(?:he|she|it|they|this|that|these|those|there|he's|she's|it's|they're|they've|that's|there's|its|hes|shes"
    r"|you|you're|your|it'll|he'll|she'll|they'll|that'll|let's|everyone|everything|nobody|nothing|somebody|someone|one|him|her|them)$"
)
_REFERS_BACK: Final = re.compile(r"\b(?:it|that|this|him|them|its)\b|[他她它]")
_HE_OR_SHE: Final = re.compile(r"\b(?:he|she|they|him|her|his|them|it|he's|she's|they're)\b|[他她它佢]")
# Whoever holds a role is told of the speaker as well: "My manager is Colm", "I report to Sunita".
_ROLES: Final = frozenset(
    {"boss", "teacher", "landlord", "roommate", "childminder", "assistant", "doctor", "colleague"}
)
# Relations of which people have several, each with a word of its own.
_COARSE: Final = frozenset(
    {"cousin", "uncle", "aunt", "grandfather", "grandmother", "grandchild", "brother-in-law", "sister-in-law", "senior"}
    | {"first child", "nephew", "niece", "teacher", "pet", "dog", "cat", "drummer"}
)
_OWN: Final = frozenset({"my", "our"})
_OBJECT_END: Final = re.compile(
    r"(?:to|from|at|into|until|till|back|forward|by|down|up|out|off|for good|again|now|so|because)$"
)
_USER_ZH: Final = re.compile(r"^(?:我们?|咱们?|俺|本人|自己)$")
_PRONOUN_ZH: Final = re.compile(r"^(?:他|她|它|牠|佢|这|那|大家|别人|有人|谁|其他|其它|其余|别的)")
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
_ATTRIBUTED: Final = re.compile(r"(?P<who>[^:：]{1,24})[:：]\s*(?=\D)")
_BA: Final = re.compile(
    r"[把将](?P<what>[^，。]{1,16}?)(?=改|换|调|搬|挪|移|推|提|升|降|设|转|定|延|放|卖|退|取消|取|停|删|涨|减|加|给|交)"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """What one clause is about."""

    words: frozenset[str] = frozenset()
    """The nouns and names, in lower case; empty for the speaker and where nothing is named."""
    owner: str = ""
    """`user` for "my …" and for the speaker alone, a person's word for "Ann's …", empty where nobody is named."""
    head: str = ""
    """The last noun: what kind of thing it is."""
    person: bool = False
    """Whether it is surely a person or an animal."""

    @property
    def named(self) -> bool:
        """Whether it names something else than the speaker."""
        return bool(self.words)


_SPEAKER: Final = Phrase(owner=USER)
UNKNOWN: Final = Phrase()
"""Of a clause that does not say what it is about."""


@lru_cache(maxsize=2_048)
def phrases_of(text: str) -> tuple[Phrase, ...]:
    """What the clauses of a text are about, each thing once; `UNKNOWN` for those that do not tell.

    A clause without a subject goes on about the one before, and "I had it wrong" as well; not so if the one before only
    says why: "the venue double-booked us, so it'll be the 19th".
    """
    found: list[Phrase] = []
    telling = False
    for clause in clauses_of(text):
        folded = fold(clause)
        if COMMENT.search(folded):
            continue
        phrase = _read(clause)
        tells = _TELLS.search(folded) is not None or changes(folded) or ends(folded)
        if phrase is None or (not phrase.named and _REFERS_BACK.search(folded)):
            if found and (telling or not tells):
                continue
            phrase = UNKNOWN
        telling = telling or tells
        if phrase not in found:
            found.append(phrase)
    return tuple(found)


def about_different_things(message: str, fact: str) -> bool:
    """Whether a message is surely about something else than a fact: nothing of the fact can be ended by it then."""
    new, old = phrases_of(message), phrases_of(fact)
    if not new or not old:
        return False
    said, known = _Words(message), _Words(fact)
    pairs = [(mine, theirs) for mine in new for theirs in old]
    if any(_parallel(mine, theirs, said, known) for mine, theirs in pairs) and not any(
        theirs.named and mine.named and not _differ(mine, theirs, said, known) for mine, theirs in pairs
    ):
        return True
    return all(_differ(mine, theirs, said, known) for mine, theirs in pairs)


def _differ(mine: Phrase, theirs: Phrase, said: _Words, known: _Words) -> bool:
    """Whether two phrases name different things."""
    if not mine.named or not theirs.named:
        # The speaker, against somebody else whom the message does not name.
        return (
            mine == _SPEAKER
            and theirs.person
            and not theirs.words & _ROLES
            and not said.has_any(theirs.words)
            and not said.has_pronoun
        )
    if mine.person != theirs.person and USER in {mine.owner, theirs.owner} and not (mine.words & theirs.words):
        # People change things of the speaker: "the landlord wants 950 now".
        return False
    if {mine.owner, theirs.owner} >= {USER} and mine.owner != theirs.owner and mine.owner and theirs.owner:
        return not said.has_any(theirs.words - mine.words)
    return bool(said.missing(theirs.words)) and bool(known.missing(mine.words)) and not _one_thing(mine, theirs)


def _relation(word: str) -> str:
    """The relation that a word names, where all its words mean the same: 妈 and 母亲; but 表弟 is not 堂妹."""
    found = canonical(word)
    return word if found in _COARSE else found


def _parallel(mine: Phrase, theirs: Phrase, said: _Words, known: _Words) -> bool:
    """Whether two phrases name different things of one kind: upload limit, download limit."""
    if not mine.named or not theirs.named or not mine.words & theirs.words:
        return False
    return _differ(mine, theirs, said, known)


def _one_thing(mine: Phrase, theirs: Phrase) -> bool:
    """Whether what is named differently may be the same: 工资 and 薪水, "my eldest" and "my daughter"."""
    ours, other = mine.words - theirs.words, theirs.words - mine.words
    kin = [(one, another) for one in ours for another in other if may_be_one(one, another)]
    if kin and any(ours == {one} or other == {another} for one, another in kin):
        return True
    return any(ours & group and other & group for group in ONE_THING)


def _of_child(word: str) -> list[str]:
    """An eldest and a youngest are children, and not the same one."""
    return ["child", "eldest" if word == "oldest" else word] if word in {"eldest", "oldest", "youngest"} else []


class _Words:
    """The words of a text, to be looked up."""

    def __init__(self, text: str) -> None:
        self._folded = fold(text)
        self._latin = {_stem(word) for word in re.findall(r"[a-z0-9à-ÿ](?:[a-z0-9à-ÿ.+#-])*", self._folded)}
        self._kin = relations_in(self._folded)

    @property
    def has_pronoun(self) -> bool:
        """Whether it speaks of somebody without a name."""
        return _HE_OR_SHE.search(self._folded) is not None

    def has(self, word: str) -> bool:
        """Whether a word stands there, in some form."""
        if word in self._kin:
            return True
        if _HAN.search(word):
            return word in self._folded or (len(word) > 2 and word[:-1] in self._folded)
        return _stem(word) in self._latin

    def has_any(self, words: frozenset[str]) -> bool:
        """Whether one of the words stands there."""
        return any(map(self.has, words))

    def missing(self, words: frozenset[str]) -> list[str]:
        """The words that do not stand there."""
        return [word for word in words if not self.has(word)]


def _stem(word: str) -> str:
    word = word.removesuffix("'s").rstrip(".")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _read(clause: str) -> Phrase | None:
    """What a clause is about; `None` where it does not tell."""
    attributed = _ATTRIBUTED.match(clause)
    if attributed is not None:
        # "About me: …", 我妈：她…: whom it is about was put before it.
        who, clause = attributed["who"], clause[attributed.end() :]
        if _PRONOUN_EN.match(fold(clause).split(" ")[0]) or _PRONOUN_ZH.search(clause):
            return _phrase_zh(tagged(who)) if _HAN.search(who) else _noun_phrase(who.split())
    return _read_zh(clause) if _HAN.search(clause) else _read_en(clause)


# --- English ----------------------------------------------------------------------------------------------------------


def _read_en(clause: str) -> Phrase | None:  # noqa: PLR0911
    text = LEAD_EN.sub("", clause).strip()
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    if not tokens:
        return None
    first = tokens[0].lower()
    verb = _verb_place(tokens)
    if _FIRST_EN.match(first) or _PRONOUN_EN.match(first):
        thing = _object(tokens[1:])
        if thing is not None:
            return thing
        return _SPEAKER if _FIRST_EN.match(first) else None
    if verb is None or verb == 0 or verb > _MOST_TOKENS or REPORTS_EN.fullmatch(tokens[verb].lower()):
        return None
    if VERB_EN.fullmatch(first) or (first.endswith("ing") and verb > 1):
        # "Ditched keto", "doing keto since …": the speaker is left out.
        return None
    # "the rent's now 950": what belongs to nobody has no owner.
    subject = [*tokens[: verb - 1], re.sub(r"'s?$", "", tokens[verb - 1])]
    phrase = _noun_phrase(subject)
    if phrase is not None and (thing := _object(tokens[verb:])) is not None:
        # "Dr Hale moved our sessions to Fridays" is about the sessions.
        return thing
    return phrase


def _verb_place(tokens: Sequence[str]) -> int | None:
    """Where the verb begins: the first word that can only be one, and has a noun before it."""
    noun = False
    for place, token in enumerate(tokens):
        lower = token.lower()
        if noun and (VERB_EN.fullmatch(lower) or ADVERB_EN.fullmatch(lower)):
            return place
        if noun and lower.endswith("'s") and _contracted(tokens, place):
            return place + 1
        noun = noun or lower not in NO_WORDS_EN
        if place == 0 and lower.endswith("'s") and _contracted(tokens, place):
            return 1
    return None


def _contracted(tokens: Sequence[str], place: int) -> bool:
    """Whether 's stands for is or has: "the rent's now 950", not "Tom's birthday is"."""
    after = [token.lower() for token in tokens[place + 1 : place + 6]]
    if not after:
        return False
    if VERB_EN.fullmatch(after[0]) or ADVERB_EN.fullmatch(after[0]) or NOT_A_NOUN_EN.fullmatch(after[0]):
        return True
    return not any(VERB_EN.fullmatch(word) or word.endswith("'s") for word in after[1:])


def _noun_phrase(tokens: Sequence[str]) -> Phrase | None:
    owner, head, before = "", "", True
    words: list[str] = []
    for place, token in enumerate(tokens):
        lower = token.lower()
        if lower in _OWN and not words:
            owner = USER
            continue
        if lower.endswith(("'s", "s'")):
            name = lower.removesuffix("'s").rstrip("'")
            if before:
                owner = name
            words.append(_relation(name) or name)
            continue
        if lower in {"of", "for", "to", "with", "at", "in", "on", "from", "by", "about"}:
            before = False
            continue
        if (
            lower in NO_WORDS_EN and not (place and token == "A")  # noqa: S105 - service A
        ) or lower in GENERIC:
            continue
        if not words and lower.isdecimal():
            continue
        words += _of_child(lower) or [_relation(lower) or lower]
        if before:
            head = words[-1]
    if owner == USER and not words:
        return Phrase(owner=USER)
    if not words:
        return None
    person = is_relation(canonical(head) or head) or (len(words) == 1 and not owner and tokens[-1][:1].isupper())
    return Phrase(frozenset(words), owner, head or words[-1], person)


def _object(tokens: Sequence[str]) -> Phrase | None:
    """The thing that somebody changes: "(they've) moved my flight to Oslo to …"."""
    for place, token in enumerate(tokens[:5]):
        if not CHANGE_VERB_EN.fullmatch(token.lower()):
            continue
        rest = tokens[place + 1 :]
        if not rest or rest[0].lower() not in {"my", "our", "the"}:
            return None
        taken: list[str] = []
        for number, word in enumerate(rest):
            lower = word.lower()
            if number and (VERB_EN.fullmatch(lower) or ADVERB_EN.fullmatch(lower)):
                break
            if _OBJECT_END.match(lower) and not (lower in {"to", "from", "at"} and _goes_on(rest, number)):
                break
            taken.append(word)
        return _noun_phrase(taken) if 1 < len(taken) <= _MOST_TOKENS else None
    return None


def _goes_on(tokens: Sequence[str], place: int) -> bool:
    """Whether a preposition belongs to the noun: another one follows ("my flight to Oslo to the 8th")."""
    after = [word.lower() for word in tokens[place + 1 : place + 4]]
    return any(word in {"to", "from", "until", "till", "by"} for word in after[1:])


# --- Chinese ----------------------------------------------------------------------------------------------------------


def _read_zh(clause: str) -> Phrase | None:
    text = LEAD_ZH.sub("", fold(clause).strip()).strip()
    moved = _BA.search(text)
    if moved is not None:
        return _phrase_zh(_joined(word for word in tagged(moved["what"]) if word[0].strip()))
    if not text or _PRONOUN_ZH.search(text):
        return None
    words = _joined(word for word in tagged(text) if word[0].strip())
    while words and (words[0][1] in {"t", "c", "y", "e"} or _NO_THING_ZH.match(words[0][0])):
        # 下周三我要去…: the time comes first.
        words.pop(0)
    if words and words[0][1] == "v" and words[0][0][0] in "我咱俺":
        return _SPEAKER
    end = _verb_zh(words)
    if (
        end is None
        or end == 0
        or end > _MOST_TOKENS
        or REPORTS_ZH.match("".join(word for word, _ in words[end : end + 2]))
    ):
        return None
    return _phrase_zh(words[:end])


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
    """Where the verb begins. 体检 in 体检改到… is a noun; 登录 in 登录接口是… and 去青岛 in 去青岛的机票… are not the verb."""
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
    event = word in _NOUNS_ZH if place else changed and noun
    belongs = noun and not place and (following[1].startswith("n") or following[0] in _NOUNS_ZH)
    return tag == "v" and not event and not belongs and not (changed and noun)


def _phrase_zh(tags: Sequence[tuple[str, str]]) -> Phrase | None:
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
        name = _relation(word) or word
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
        return _SPEAKER if owned else None
    person = is_relation(canonical(head) or head) or tags[-1][1] == "nr"
    if owner == head and len(words) == 1:
        owner = ""
    return Phrase(frozenset(words), owner or (USER if owned else ""), head, person)
