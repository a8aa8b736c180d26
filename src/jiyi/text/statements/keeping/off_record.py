"""What somebody asks not to keep: "don't store that", 这个不要记."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from jiyi.text.normalize import fold
from jiyi.text.sentences import sentences
from jiyi.text.statements.keeping.forget_topics import Topic, forgotten_topics, speaks_of, without_topic_requests

__all__ = [
    "MessageText",
    "asks_only_not_to_keep",
    "keepable_texts",
    "off_record_text",
    "repeats",
    "takes_back",
    "without_off_record",
]

# Folded. At the beginning of a clause: "I don't remember that" is no request.
_CLAUSE_EN: Final = (
    r"(?:^|[,.;:!?()\-–—\"'] ?|\b(?:but|so|and|please|pls) )(?:please |pls |just |but |so |and |hey,? ){0,3}"
)
_NOT_EN: Final = (
    r"(?:don'?t|do not|never|no need to|you (?:don'?t|do not) (?:have|need) to"
    r"|(?:i'?d )?(?:rather|prefer(?: it)?(?: if| that)?) you (?:didn'?t|did not|don'?t|do not|not|wouldn'?t)"
    r"|you (?:must|should|may|can|shall|are)(?: never| not)(?: allowed to| to)?"
    r"|you (?:cannot|can'?t|mustn'?t|shouldn'?t)"
    r"|i (?:don'?t|do not|wouldn'?t) (?:want|like) you to"
    r"|(?:can|could|would|will) you (?:please |kindly )?(?:not|never))"
)
_END_EN: Final = r"(?= ?(?:[,.;:!?()\-–—]|$))"
# "this, but …" and "that I smoke": what is not to be kept stands in the same sentence.
_GOES_ON_EN: Final = r"(?= (?:but|though|because|cos|since|as|and|however|please|yet|ok)\b)"
_THIS_EN: Final = (
    r"(?:(?:any|all) of )?(?:this|that|it|these|those|anything|(?:the|my) last (?=one|part|bit|thing|message|sentence))"
    r"(?: ?(?:one|down|anywhere|part|bit|thing|message|sentence|next bit))*"
)
_FACT_EN: Final = r"(?:that |the fact that |what |how )?(?:i|i'm|i've|im|my|we|we're|our|he|she|they|his|her)\b"
_OFF_EN: Final = (
    r"(?:off the (?:record|books)|not for the (?:record|records|file|notes|log|memory)|for your ears only"
    r"|not to be (?:stored|saved|recorded|remembered|kept|written down))"
)
_REQUEST: Final = re.compile(
    rf"{_CLAUSE_EN}{_NOT_EN} (?:(?:store|save|remember|record|memori[sz]e|keep|note|write down|log)"
    rf" {_THIS_EN}(?: (?:please|pls|ok(?:ay)?|for me))*(?:{_END_EN}|{_GOES_ON_EN})"
    rf"|(?:store|save|record|memori[sz]e|log) {_FACT_EN}|remember (?:that |the fact that )(?:i|i'm|i've|im|my|we|our)\b"
    r"|(?:keep|make) (?:a )?(?:record|note|memory) of\b"
    r"|keep (?=(?:my|our) (?:salary|income|pay|address|phone|number|e-?mail|birthday|age|name|password|pin|diagnosis"
    r"|data)\b)"
    r"|(?:put|write|keep) .{1,40} (?:in|into|on) (?:your |the )?(?:memory|notes|records?|file)\b)"
    rf"|{_CLAUSE_EN}(?:(?:this|that|it|what follows)(?: is|'s| stays?| remains?| should stay)? )?(?:(?:strictly|totally"
    rf"|completely) )?{_OFF_EN}\b"
    rf"|{_CLAUSE_EN}keep (?:this|that|it) {_OFF_EN}\b"
    # "Scratch that", 当我没说: what was said just now is not to count.
    r"|(?:^|[.!?] ?)(?:(?:oh|no|no wait|wait|sorry|actually|please|ok),? )*"
    r"(?:(?:scratch|strike|disregard|forget|unsay) that"
    r"|(?:disregard|ignore|forget) (?:what i (?:just )?(?:said|told you|wrote|typed)|my last (?:message|sentence)"
    r"|i (?:ever )?said (?:that|anything)))(?: please| just now)?(?= ?(?:[.!?]|$))"
    r"|(?:就)?当我没(?:说|讲)(?:过)?|(?:^|[.。!！;；] ?)我收回(?:刚才)?(?:说)?的?(?:话|那句)?"
    r"|刚才(?:说)?的(?:话)?不算(?:数)?"
    r"|(?:刚才|刚刚|前面|上面|之前)(?:那(?:个|条|句|件事?|些)?|这(?:个|条|句|件事?|些)?|说的?|讲的?|提的?)*(?:话|事情?|内容|消息)?"
    r"(?:请|千万|就|可|你|都|也){0,3}(?:(?<!要)不要|别|不用|不必|不许|请勿)(?:帮我|给我|替我)?"
    r"(?:记(?:下来?|住|录(?:下来)?)?|存(?:下来?|起来|储)?|保存(?:下来)?)(?:了|啦|哦|哈|啊|吧|呀)*"
    r"(?= ?(?:[,，.。;；:：!！?？、)）~～]|$))"
    r"|(?:这个?|那个?|这些|这(?:件)?事|这(?:一)?[条句]|以上|刚才(?:说)?的|它|请|千万|就|可|你|都){0,4}"
    r"(?:(?<!要)不要|别|不用|不必|不许|请勿)(?:帮我|给我|替我)?(?:记(?:下来?|住|录(?:下来)?)?|存(?:下来?|起来|储)?|保存(?:下来)?|记到记忆里)"
    r"(?:这个|这些|这条|它|了|啦|哦|哈|啊|吧|呀|在记忆里)*(?= ?(?:[,，.。;；:：!！?？、)）~～]|$))"
    r"|(?P<whole>(?:不要|别|请勿|千万别|不许|不想让你|不希望你)(?:把|将)[^，。；;!！?？]{1,30}"
    r"(?:记(?:下来?|住|录|进|到)|存(?:下来?|起来|档|进)|保存|写进|写到|录入))"
    r"|(?:不要|别|请勿|千万别|不想让你|不希望你)(?:记住|记录|记下来?|保存|存下来?)(?:我|这|那|他|她|以下|下面)"
    r"|(?:不|别|不要|请勿)(?:进|入|写进|计入|写入|存进)(?:记忆|记录|档案|笔记)|不作记录|不做记录|别外传|不要外传|不得外传"
    r"|(?:^|[,，.。;；!！?？] ?)(?:私下(?:里)?(?:跟你)?(?:说|讲)(?:一?[句下])?|说完就忘)(?= ?[,，:：])"
)
_WORDS: Final = re.compile(r"\w")
_NUMBERS: Final = re.compile(r"\d+")
# What may stand beside the request in a message that consists of it.
_COURTESY: Final = re.compile(
    # Why it is not to be kept: "don't remember that, it's only for today".
    r"[,;–—-] ?(?:it'?s|it is|that'?s|that is|because|cos|since) [^.!?;:\d]*$"
    r"|[,，;；] ?(?:因为|这是|那是|只是)[^。.!！?？;；:：\d]*$"
    r"|\b(?:ok(?:ay)?|please|pls|thanks?|thank you|hey|oh|wait|no|yes|actually|sorry|by the way|btw)\b"
    r"|好的?|谢谢|麻烦|拜托|哦|对了|等等|抱歉|不好意思|刚才(?:说)?的(?:那个|这个|话)?|(?:这|那)(?:个|些|件事|句话)"
)


# What every request has, in texts as they are written, letters of full width too: most texts have no part of it. Every
# message of a chat is looked at, so these are plain searches: patterns take ten times as long.
_REFUSES: Final = ("not", "never", "no need", "rather", "off the", "ears only")
_REFUSES_WIDE: Final = ("不", "别", "別", "勿", "私下", "说完就忘", "說完就忘", "ｔ")
_CONTRACTED: Final = re.compile(r"n.?t\b")
_KEEPS: Final = (
    *("stor", "sav", "remember", "record", "memori", "keep", "note", "writ", "log", "put", "books", "ears", "file"),
    *("make", "kept"),
)
_KEEPS_WIDE: Final = (*"记存下写录入进忘传記錄寫進傳ｅ",)
_RETRACTS: Final = ("scratch that", "strike that", "disregard", "ignore what", "ignore my", "forget", "unsay")
_RETRACTS_WIDE: Final = ("我没说", "我没講", "我没讲", "我沒說", "我沒講", "收回", "不算")
_LOOKED_AT: Final = 12_000
_MAX_REQUEST: Final = 300


# Kept for a short while: the same message is checked for its own request, for earlier ones, and when it is answered.
@lru_cache(maxsize=32)
def _may_ask(text: str) -> bool:
    spelled = text.casefold()
    has, wide = spelled.__contains__, not spelled.isascii()
    if any(map(has, _RETRACTS)) or (wide and any(map(has, _RETRACTS_WIDE))):
        return True
    if not (any(map(has, _REFUSES)) or (wide and any(map(has, _REFUSES_WIDE))) or _CONTRACTED.search(spelled)):
        return False
    return any(map(has, _KEEPS)) or (wide and any(map(has, _KEEPS_WIDE)))


class MessageText(NamedTuple):
    """The text of a message, and who said it."""

    role: str
    name: str | None
    text: str


def without_off_record(text: str) -> str:
    """The text without the sentences that somebody asks not to keep.

    A request that stands alone means the sentence before it, or the one after it at the beginning of a text.
    """
    if len(text) > 2 * _LOOKED_AT:
        # Of a very long text only both ends are read, where people put such a request: so the time stays short.
        ends = text[:_LOOKED_AT], text[-_LOOKED_AT:]
        head, tail = map(without_off_record, ends)
        return text if (head, tail) == ends else f"{head}\n{text[_LOOKED_AT:-_LOOKED_AT]}\n{tail}"
    if not _may_ask(text) or _REQUEST.search(fold(text)) is None:
        return text
    parts = sentences(text)
    left_out = _off_record(parts)
    return "\n".join(part for place, part in enumerate(parts) if place not in left_out) if left_out else text


def asks_only_not_to_keep(text: str) -> bool:
    """Whether a text is such a request and nothing else: it means what was said before."""
    if len(text) > _MAX_REQUEST or not _may_ask(text):
        return False
    folded = fold(text)
    if _REQUEST.search(folded) is None:
        return False
    rest = _COURTESY.sub("", _REQUEST.sub(lambda found: found["whole"] or "", folded))
    return _WORDS.search(rest) is None


def takes_back(text: str) -> bool:
    """Whether a message of a user asks not to keep something that was said before it."""
    return asks_only_not_to_keep(text) or bool(forgotten_topics(text))


def keepable_texts(said: Sequence[MessageText]) -> list[str]:
    """What of the messages of a conversation may be kept, one text for each.

    Without what a user asks not to keep, in the same message or in the next one, and without the sentences of replies
    that repeat it.
    """
    kept: list[str] = []
    last: dict[str | None, int] = {}
    secret = ""
    for place, (role, name, text) in enumerate(said):
        if role == "user":
            topics = forgotten_topics(text)
            kept.append(without_off_record(without_topic_requests(text) if topics else text))
            secret = "" if topics or kept[-1] == text else _taken_out(text)
            for topic in topics:
                _take_back(said, kept, topic, name, place)
            if secret and name in last and asks_only_not_to_keep(text):
                secret = said[last[name]].text
                kept[last[name]] = ""
                for index in range(last[name] + 1, place):
                    if said[index].role == "user":
                        break
                    if said[index].role == "assistant":
                        kept[index] = ""
            last[name] = place
        else:
            kept.append(_without_repeated(text, secret) if secret and role == "assistant" else text)
    return kept


def _take_back(said: Sequence[MessageText], kept: list[str], topic: Topic, name: str | None, before: int) -> None:
    """Leave out what the same person has said of a topic, and the sentences of replies that repeat it."""
    meant = [
        place
        for place in range(before - 1, -1, -1)
        if said[place].role == "user" and said[place].name == name and speaks_of(said[place].text, topic)
    ]
    for place in meant[:1] if topic.only_last else meant:
        kept[place] = ""
        for index in range(place + 1, before):
            if said[index].role == "user":
                break
            if said[index].role == "assistant":
                kept[index] = _without_repeated(kept[index], said[place].text)


def off_record_text(said: Sequence[MessageText]) -> str:
    """What the last message of a conversation asks not to keep; empty where it asks for nothing."""
    if not said or said[-1].text == without_off_record(said[-1].text):
        return ""
    if asks_only_not_to_keep(said[-1].text):
        last = said[-1]
        return next((one.text for one in reversed(said[:-1]) if (one.role, one.name) == (last.role, last.name)), "")
    return _taken_out(said[-1].text)


def _off_record(parts: Sequence[str]) -> set[int]:
    """The places of the sentences that are not to be kept."""
    left_out: set[int] = set()
    for place, part in enumerate(parts):
        folded = fold(part).strip()
        if _REQUEST.search(folded) is None:
            continue
        left_out.add(place)
        if _WORDS.search(_REQUEST.sub(lambda found: found["whole"] or "", folded)) is None:
            left_out.add(place - 1 if place else place + 1)
    return left_out


def _taken_out(text: str) -> str:
    parts = sentences(text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]}\n{text[-_LOOKED_AT:]}")
    left_out = _off_record(parts)
    return "\n".join(part for place, part in enumerate(parts) if place in left_out)


def repeats(text: str, secret: str) -> bool:
    """Whether a text has a word or a number of a secret."""
    from jiyi.text.statements.about.content_words import share_content

    if not set(_NUMBERS.findall(secret)).isdisjoint(_NUMBERS.findall(text)):
        return True
    return share_content(text, secret)


def _without_repeated(reply: str, secret: str) -> str:
    """A reply without the sentences that have a word or a number of a secret."""
    parts = sentences(reply)
    left = [part for part in parts if not repeats(part, secret)]
    return reply if len(left) == len(parts) else "\n".join(left)
