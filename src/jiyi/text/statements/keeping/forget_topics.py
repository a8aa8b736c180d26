"""What a request to forget names: "Forget what I told you about the loan", 把我说的老李的事都忘了, 刚才那个密码别存."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.sentences import sentences
from jiyi.text.statements.about.subjects import USER, is_person, named_subject, subject_of
from jiyi.text.statements.about.topics import topics_of
from jiyi.text.statements.keeping.forget_words import named_en, named_zh

if TYPE_CHECKING:
    from jiyi.text.statements.parts.claims import ClaimText

__all__ = ["Topic", "forgotten_topics", "speaks_of", "without_topic_requests"]

_MAX_LENGTH: Final = 400
"""A longer message is about something else."""
_MIN_SHARE: Final = 2 / 3
"""Of several words of a topic so many have to be in a text that speaks of it."""

_ASK_EN: Final = (
    r"^(?:(?:please|pls|hey|ok(?:ay)?|oh|no|wait|actually|sorry|and|so|just|also|can you|could you|would you|will you"
    r"|you can|i want you to|i'd like you to|i need you to|let's),? )*"
)
_DROP_EN: Final = (
    r"(?:forget|disregard|ignore|scrap|scratch|strike|delete|erase|unsay|drop|remove|never ?mind|(?:i )?take back)"
)
_SAID_EN: Final = (
    r"(?:what|everything|anything|all|whatever|the (?:thing|things|bit|part|stuff|story))(?: of it)? (?:that )?(?:i|we)"
    r"(?:'ve| have)? (?:just |ever |once |already )?(?:said|told you|mentioned|wrote|shared|let slip)(?: to you)?"
    r"(?: earlier| before| once| just now)? (?:about|on|regarding)"
)
_KNOWN_EN: Final = (
    r"(?:everything|anything|all|whatever|what)(?: that)? you(?: now)? (?:know|have|remember|stored) (?:about|on)"
)
_TOPIC_EN: Final = r" (?P<topic>[^,.;:!?()–—]{2,80})"
_NOT_EN: Final = (
    r"(?:don'?t|do not|never|no need to|(?:i'?d )?(?:rather|prefer(?: it)? if) you (?:didn'?t|did not|don'?t)"
    r"|(?:can|could|would|will) you (?:please |kindly )?not)"
)
_POINTS_EN: Final = (
    rf"{_NOT_EN} (?:store|save|remember|record|memori[sz]e|keep|note|write down|log)"
    r"(?: (?:that|those|these|this) "
    r"(?P<last>(?!last\b|next\b|fact\b|one\b|bit\b|part\b|thing\b|way\b)[a-z]+(?: [a-z]+)?)"
    r"| the (?P<given>[a-z]+(?: [a-z]+)?) (?:i|we) just (?:gave|told|sent|said|mentioned|typed)(?: you)?)"
    r"(?: please| pls| anywhere)*$"
)
_EN: Final = re.compile(
    rf"{_ASK_EN}(?:(?:{_DROP_EN} {_SAID_EN}|(?:forget|erase|delete|remove|wipe) {_KNOWN_EN}){_TOPIC_EN}|{_POINTS_EN})"
)
# "just now", "please" behind a topic.
_TAIL_EN: Final = re.compile(r"(?: (?:please|pls|earlier|before|just now|today|yesterday|then|ok|okay|thanks))+$")

_ASK_ZH: Final = r"^(?:请|麻烦|拜托|你|帮我|可以|能不能|能否|好了|算了|对了|那|就|还是|,|，| )*"
_SAID_ZH: Final = (
    r"(?:我们?|咱们?)?(?:之前|刚才|刚刚|上次|以前|前面|昨天|那天)?(?:跟你|和你|对你)?"
    r"(?:说|讲|提|聊|告诉你)(?:过|到|起)?的?(?:关于|有关)?"
)
_END_ZH: Final = r"(?:都|全都|全部|全|也|给我|给|统统)*"
_GONE_ZH: Final = r"(?:吧|了|啊|呀|哦|好吗|行吗|可以吗)*$"
_MATTER_ZH: Final = r"(?:的(?:那些|这些|那件|这件)?(?:事情?|话|内容|信息|情况)|[这那]件?事)?"
_ZH: Final = re.compile(
    rf"{_ASK_ZH}(?:把|将)(?:{_SAID_ZH}|关于|有关)(?P<told>[^,，.。;；!！?？]{{1,30}}?){_MATTER_ZH}{_END_ZH}"
    rf"(?:忘了|忘掉|忘记|删了|删掉|删除|抹掉|清掉|清除){_GONE_ZH}"
    rf"|{_ASK_ZH}(?:把|将)(?P<topic>[^,，.。;；!！?？]{{1,30}}?){_MATTER_ZH}{_END_ZH}(?:忘了|忘掉|忘记){_GONE_ZH}"
    rf"|{_ASK_ZH}(?:(?:(?:忘掉|忘记|删掉|删除)|(?<=[请你我])忘了)(?:{_SAID_ZH}|关于|有关)|(?:忘掉|删掉)(?=我))"
    rf"(?P<about>[^,，.。;；!！?？]{{1,30}}?){_MATTER_ZH}{_GONE_ZH}"
    r"|^(?:(?:刚才|刚刚|上面|前面|之前)(?:我?(?:说|讲|提|发|给你?)(?:过)?的?)?(?:[那这](?:个|条|句|串|些)?)?"
    r"|[那这](?:个|条|串|些))(?P<last>[^,，.。;；!！?？别不]{1,12}?)(?:请|你|就|都|也|可|千万)*(?:不要|别|不用|不必)(?:帮我|给我|替我)?"
    rf"(?:记|存|保存|留)(?:住|下来?|起来|着|录)?{_GONE_ZH}"
    r"|^(?:请|麻烦|你|千万|可)*(?:不要|别|不用|不必)(?:帮我|给我|替我)?(?:记|存|保存|留)(?:住|下来?|起来|着)?"
    rf"(?:刚才|刚刚|上面|前面)?(?:我?(?:说|讲|提|发)的?)?[那这](?:个|条|串|些)(?P<that>[^,，.。;；!！?？]{{1,12}}?){_GONE_ZH}"
)
_NO_TOPIC_ZH: Final = re.compile(r"^(?:[这那](?:个|些|件|条|句)?|它|话|事情?|消息|内容|我|我们|东西|的|说|讲)*$")
# What every request has: most messages have no part of it.
_DROPS: Final = (
    *(
        "forget",
        "forgot",
        "disregard",
        "ignore",
        "scra",
        "strike",
        "striking",
        "eras",
        "delet",
        "unsay",
        "drop",
        "remov",
    ),
    *(
        "wip",
        "scrub",
        "purg",
        "clear",
        "take",
        "taking",
        "get",
        "discard",
        "gone",
        "unlearn",
        "unremember",
        "lose",
        "destroy",
        "cross",
    ),
    *(
        "pretend",
        "as if",
        "act like",
        "make believe",
        "never mind",
        "nevermind",
        "leave",
        "pull",
        "keep my",
        "keep our",
    ),
    *(
        "忘",
        "删",
        "抹",
        "清",
        "去掉",
        "移除",
        "擦",
        "拿掉",
        "撤掉",
        "丢掉",
        "扔掉",
        "划掉",
        "消掉",
        "销毁",
        "剔除",
        "当",
        "假装",
    ),
)
_REFUSES: Final = (
    *("n't", "not", "never", "no need", "rather", "dont", "stop", "quit", "without", "avoid", "n’t"),
    *("别", "不", "甭", "勿", "少", "无需", "停止", "取消", "別", "無需"),
)
_KEEPS: Final = (
    *("stor", "sav", "remember", "record", "memori", "keep", "kept", "not", "writ", "log", "retain", "hold", "hang"),
    *("jot", "put", "add", "list", "记", "存", "留", "收", "写", "放", "录", "記"),
)
_OWN: Final = re.compile(r"^(?:my|our|i|i'm|we)\b|^(?:我|咱|俺)")
_OWNER_ZH: Final = re.compile(r"^(?:我们?|咱们?|俺)?家?的?")
_MIN_BARE: Final = 2
# "my PIN and my address", 密码和地址.
_LISTED: Final = re.compile(
    r" and (?=(?:my|our|the)\b)|(?<=[码号址日龄资入])(?:和|跟|与|以及|、)(?=我|[\u3400-\u9fff]{1,4}[码号址日龄资入箱]$)"
)
_LAST: Final = frozenset({"last", "that", "given"})
_FORMER: Final = re.compile(r"\b(?:old|former|previous|last|ex)\b|旧|以前|原来|之前")
_MAX_EXACT: Final = 3
"""Of so many words each has to be in a text: who likes green curry says nothing of green tea."""
# "Forget where I live", 忘掉我住哪儿.
_ASKED_ATTRIBUTES: Final = tuple(
    (topic, re.compile(pattern))
    for topic, pattern in (
        (
            "home",
            r"^where (?:i|we)(?: currently| now)? live|^where (?:i'm|we're) living|我?们?家?(?:住|家)在?(?:哪|什么)",
        ),
        ("home", r"^(?:my|our) (?:home )?address$|^(?:我们?的?)?(?:家庭)?住址$|^(?:我们?的?)?住处$"),
        (
            "work",
            r"^(?:where|who|what) (?:i|we) (?:work|do for)|在(?:哪|什么)[^,，]{0,6}(?:上班|工作)|做什么(?:工作|的)",
        ),
        ("age", r"^how old (?:i am|i'm)|我?多大|我?几岁|^我?的?年龄$|^my age$"),
        ("name", r"^what (?:my name is|i'm called|i am called)|我叫什么|^我?的?(?:名字|姓名|真名)$|^my (?:\w+ )?name$"),
        ("origin", r"^where (?:i'm|i am|i come|i was) (?:from|born)?|我是?(?:哪里|哪儿|什么地方)的?人"),
        ("rent and money", r"^(?:how much|what) i (?:earn|make|get paid|owe)|(?:挣|赚|欠)多少|工资多少"),
        ("medication", r"^what (?:medication|meds|pills?|medicine) i(?:'m| am)? |我吃什么药"),
        ("relationship", r"^who i(?:'m| am) (?:dating|seeing|married|with)|我跟谁(?:在一起|谈)"),
    )
)


_REASON: Final = re.compile(
    r"[,;:–— ]+(?:because|since|as|cos|please|pls|thanks?|ok(?:ay)?|will you|would you|can you|if you"
    r"|(?:it|that|this)(?:'s| is| was| stays| should stay) (?:not|no|none|nobody|private|personal|secret|confidential"
    r"|sensitive|embarrassing|only|between|a (?:secret|mistake|joke|lie)|wrong|untrue|nonsense|rubbish)"
    r"|(?:i|we) (?:shouldn'?t|should not|wasn'?t|weren'?t|don'?t want|didn'?t mean|promised|agreed|made it up))\b"
    r"|[,，;；:： ]*(?:因为|这是|那是|不想|不该|不方便|别外传|谢|好吗|行吗|拜托|麻烦)"
)
"""What may follow a request in its sentence. Anything else tells how it is now, which makes it a correction."""


class Topic(NamedTuple):
    """What is to be forgotten."""

    text: str
    only_last: bool
    """Whether only what was said last of it is meant: "don't save that number"."""
    own: bool = False
    """Whether it is something of the speaker's own: "my PIN" is not the one of somebody else."""
    about: str = ""
    """The topic that is asked for in place of a name: `home` for "where I live"."""

    @property
    def former(self) -> bool:
        """Whether what held before is meant, and not what the same message tells: "forget my old PIN"."""
        return _FORMER.search(self.text) is not None


def forgotten_topics(text: str) -> tuple[Topic, ...]:
    """What the sentences of a message ask to forget, by naming it; a request that names nothing is not meant here."""
    if len(text) > _MAX_LENGTH:
        return ()
    has = text.casefold().__contains__
    if not any(map(has, _DROPS)) and not (any(map(has, _KEEPS)) and any(map(has, _REFUSES))):
        return ()
    return tuple(each for part in sentences(text) for each in _topics(part))


def without_topic_requests(text: str) -> str:
    """The text without the sentences that ask to forget something, and without those before them that tell it."""
    parts = sentences(text)
    left: list[str] = []
    for part in parts:
        topics = _topics(part)
        left = [each for each in left if not any(speaks_of(each, topic) for topic in topics if not topic.former)]
        if not topics:
            left.append(part)
    return "\n".join(left)


def speaks_of(text: str, topic: Topic) -> bool:
    """Whether a text has the words of a topic; of what is the speaker's own, a claim about nobody else."""
    if not topic.own:
        return _has_words(text, topic.text)
    return any(_is_own(claim, topic.text) and _tells(claim, topic) for claim in _claims(text))


def _tells(claim: ClaimText, topic: Topic) -> bool:
    if topic.about:
        return topic.about in topics_of(fold(claim.text))
    return _has_words(claim.text, topic.text)


def _is_own(claim: ClaimText, named: str) -> bool:
    """Whether a claim is about nobody but the speaker and whom the topic names."""
    subjects = (claim.subject, claim.said_by)
    others = {who for who in subjects if who and who != USER and is_person(who)}
    return others <= {subject_of(fold(named)), named_subject(named)} or any(who in fold(named) for who in others)


def _has_words(text: str, named: str) -> bool:
    wanted = _content(named)
    if not wanted:
        return bool(_bare(named)) and _bare(named) in fold(text)
    there = _content(text)
    found = sum(any(_same(word, other) for other in there) for word in wanted)
    return found == len(wanted) or (len(wanted) > _MAX_EXACT and found >= _MIN_SHARE * len(wanted))


def _topics(sentence: str) -> tuple[Topic, ...]:
    """What a sentence asks to forget: each of several things that it lists."""
    found = _topic(sentence)
    if found is None or found.about:
        return () if found is None else (found,)
    listed = [part.strip() for part in _LISTED.split(found.text)]
    several = len(listed) > 1 and all(map(_content, listed))
    return tuple(found._replace(text=part) for part in listed) if several else (found,)


def _topic(sentence: str) -> Topic | None:
    folded = fold(sentence).strip().rstrip(".!?。！？~～ ")
    found = _EN.search(folded) or (_ZH.search(folded) if has_han(folded) else None)
    if found is not None:
        kind, text = next((name, value) for name, value in found.groupdict().items() if value)
        text, last, own, end = _TAIL_EN.sub("", text).strip(), kind in _LAST, False, found.end()
    else:
        named = (named_zh(folded) if has_han(folded) else None) or named_en(folded)
        if named is None:
            return None
        text, last, own, end = named.text, False, named.own, named.end
    if not text or _NO_TOPIC_ZH.match(text) or not _ends_request(folded[end:]):
        return None
    about = "" if last else next((name for name, pattern in _ASKED_ATTRIBUTES if pattern.search(text)), "")
    if not about and not _content(text) and len(_bare(text)) < _MIN_BARE:
        return None
    return Topic(text, last, own or bool(about) or (not last and _OWN.search(text) is not None), about)


def _bare(named: str) -> str:
    """A Chinese name for what is to be forgotten without whose it is; empty in other scripts."""
    return _OWNER_ZH.sub("", fold(named)) if has_han(named) else ""


def _ends_request(behind: str) -> bool:
    """Whether what follows a request in its sentence only gives a reason for it."""
    return not behind.strip() or _REASON.match(behind) is not None


@lru_cache(maxsize=256)
def _claims(text: str) -> tuple[ClaimText, ...]:
    from jiyi.text.statements.parts.claims import split_claims

    return tuple(split_claims(text))


@lru_cache(maxsize=512)
def _content(text: str) -> frozenset[str]:
    from jiyi.text.statements.about.content_words import content_words

    return content_words(text) - {"being", "having", "thing", "事", "事情"}


def _same(word: str, other: str) -> bool:
    return word == other or (has_han(word) and (word in other or other in word))
