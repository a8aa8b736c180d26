"""What a request to forget names: "Forget what I told you about the loan", 把我说的老李的事都忘了, 刚才那个密码别存."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.sentences import sentences

__all__ = ["Topic", "forgotten_topics", "speaks_of", "without_topic_requests"]

_MAX_LENGTH: Final = 400
"""A longer message is about something else."""
_MIN_SHARE: Final = 2 / 3
"""Of several words of a topic so many have to be in a text that speaks of it."""

_ASK_EN: Final = (
    r"^(?:(?:please|pls|hey|ok(?:ay)?|oh|no|wait|actually|sorry|and|so|just|also|can you|could you|would you|will you"
    r"|you can|i want you to|i'd like you to|i need you to|let's),? )*"
)
_DROP_EN: Final = r"(?:forget|disregard|ignore|scrap|scratch|strike|delete|erase|unsay|drop|remove)"
_SAID_EN: Final = (
    r"(?:what|everything|anything|all|whatever|the (?:thing|things|bit|part|stuff|story))(?: of it)? (?:that )?(?:i|we)"
    r"(?:'ve| have)? (?:just |ever |once |already )?(?:said|told you|mentioned|wrote|shared|let slip)(?: to you)?"
    r"(?: earlier| before| once| just now)? (?:about|on|regarding)"
)
_KNOWN_EN: Final = (
    r"(?:everything|anything|all|whatever|what)(?: that)? you(?: now)? (?:know|have|remember|stored) (?:about|on)"
)
_TOPIC_EN: Final = r" (?P<topic>[^,.;:!?()–—]{2,80})"
_OWN_EN: Final = (
    r" (?:about |that |the fact that ){0,2}(?P<own>(?:my|our) [a-z' -]{2,40}|(?:i|i'm|i've|we|we're) [^,.;:!?]{2,60})$"
)
_NOT_EN: Final = (
    r"(?:don'?t|do not|never|no need to|(?:i'?d )?(?:rather|prefer(?: it)? if) you (?:didn'?t|did not|don'?t)"
    r"|(?:can|could|would|will) you (?:please |kindly )?not)"
)
_POINTS_EN: Final = (
    rf"{_NOT_EN} (?:store|save|remember|record|memori[sz]e|keep|note|write down|log)"
    r"(?: (?:that|those|these|this) "
    r"(?P<last>(?!last\b|next\b|fact\b|one\b|bit\b|part\b|thing\b|way\b)[a-z]+(?: [a-z]+)?)"
    r"| the (?P<given>[a-z]+(?: [a-z]+)?) (?:i|we) (?:just )?(?:gave|told|sent|said|mentioned|typed)(?: you)?)"
    r"(?: please| pls| anywhere)*$"
)
_EN: Final = re.compile(
    rf"{_ASK_EN}(?:(?:{_DROP_EN} {_SAID_EN}|(?:forget|erase|delete) {_KNOWN_EN}){_TOPIC_EN}"
    rf"|(?:forget|erase){_OWN_EN}|{_POINTS_EN})"
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
    *("forget", "disregard", "ignore", "scra", "strike", "erase", "delete", "unsay", "drop", "remove"),
    *("忘", "删", "抹掉", "清掉", "清除"),
)
_REFUSES: Final = ("n't", "not", "never", "no need", "rather", "dont", "别", "不要", "不用", "不必", "n’t")
_KEEPS: Final = ("stor", "sav", "remember", "record", "memori", "keep", "note", "write", "log", "记", "存", "留")
_LAST: Final = frozenset({"last", "that", "given"})


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


def forgotten_topics(text: str) -> tuple[Topic, ...]:
    """What the sentences of a message ask to forget, by naming it; a request that names nothing is not meant here."""
    if len(text) > _MAX_LENGTH:
        return ()
    has = text.casefold().__contains__
    if not any(map(has, _DROPS)) and not (any(map(has, _KEEPS)) and any(map(has, _REFUSES))):
        return ()
    return tuple(found for part in sentences(text) if (found := _topic(part)) is not None)


def without_topic_requests(text: str) -> str:
    """The text without the sentences that ask to forget something: they say what it is."""
    return "\n".join(part for part in sentences(text) if _topic(part) is None)


def speaks_of(text: str, topic: Topic) -> bool:
    """Whether a text has the words of a topic."""
    wanted = _content(topic.text)
    if not wanted:
        return False
    there = _content(text)
    found = sum(any(_same(word, other) for other in there) for word in wanted)
    return found == len(wanted) or (len(wanted) > 2 and found >= _MIN_SHARE * len(wanted))


def _topic(sentence: str) -> Topic | None:
    folded = fold(sentence).strip().rstrip(".!?。！？~～ ")
    found = _EN.search(folded) or (_ZH.search(folded) if has_han(folded) else None)
    if found is None:
        return None
    behind = folded[found.end() :].strip()
    if behind and _REASON.match(folded[found.end() :]) is None:
        return None
    kind, text = next((name, value) for name, value in found.groupdict().items() if value)
    text = _TAIL_EN.sub("", text).strip()
    if not text or _NO_TOPIC_ZH.match(text) or not _content(text):
        return None
    return Topic(text, kind in _LAST)


@lru_cache(maxsize=512)
def _content(text: str) -> frozenset[str]:
    from jiyi.text.statements.about.content_words import content_words

    return content_words(text) - {"being", "having", "thing", "事", "事情"}


def _same(word: str, other: str) -> bool:
    return word == other or (has_han(word) and (word in other or other in word))
