"""What a message says is over by naming it: a car that was sold, a course that was given up, a cancelled trip.

A fact has that thing where it has its name ("the Golf", 健身房), or speaks of its kind ("the car", 车, for a Golf).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.content_words import content_words
from jiyi.text.statements.parts.clauses import clauses_of
from jiyi.text.statements.replacing.change_words import is_exception, is_wish

__all__ = ["EndedObject", "ended_objects", "ends_only", "pieces_with", "without_given_up"]

_LIGHT: Final = r"(?:(?:going to|doing|playing|taking|using|eating|drinking|the|my|our|all|that|those|up) )*"
_WHAT: Final = r"(?P<what>[A-Za-z][\w'&-]*(?: [A-Za-z][\w'&-]*){0,3})"
_ENDED_EN: Final = (
    re.compile(
        r"\b(?:sold|flogged|cashed in|axed|jacked in|called time on|wound (?:up|down)|shut(?: down)?|closed(?: down)?"
        r"|scrapped|ditched|cancelled|canceled|quit|gave up|given up|packed in|binned|returned|got rid of"
        r"|gave away|wrote off|(?:stepped|stood) down from|(?:resigned|withdrew) from|pulled out of|dropped out of"
        r"|stopped|unsubscribed from|deleted|chucked(?: in)?|came off|took me off|taken me off|dropped)"
        rf" {_LIGHT}{_WHAT}"
    ),
    re.compile(rf"\bleft (?:the|my|our) {_WHAT}"),
    re.compile(rf"\b(?:sent|gave|handed|took) {_LIGHT}{_WHAT} (?:back|away|up|in)\b"),
    re.compile(
        rf"\b(?:the|my|our) {_WHAT}(?: is|'s| was| has been|'s been| got| are| were) "
        r"(?:sold|cancelled|canceled|called off|scrapped|over|closed|written off"
        r"|off(?! (?:sick|ill|work|on|to|with|today|tomorrow|this|next|for|until|till?)\b)"
        r"|finished|wound up|disbanded)\b"
    ),
    re.compile(rf"\b(?:the|my|our) {_WHAT} went (?:as|in|for) (?:part exchange|scrap)"),
    re.compile(rf"\b(?:bought|took) (?:the|my|our) {_WHAT} off (?:me|us)\b"),
    re.compile(rf"\bno more {_WHAT}"),
    re.compile(rf"\brefund(?:ed|s)?(?: me| us)? (?:for|on) {_LIGHT}{_WHAT}"),
    re.compile(
        rf"\b(?:don't|dont|doesn't|no longer) (?:do|go to|play|take|have|use|eat|drink|own|see|run|teach|does|goes to"
        rf"|plays|takes|has|uses|eats|drinks|owns|runs|teaches) {_LIGHT}{_WHAT}"
    ),
)
_LEFT: Final = re.compile(r"\bleft\b|gave up the ghost|不吃了")
_ANYMORE: Final = re.compile(r"\b(?:any ?more|any longer|no longer|no more)\b")
_DONT: Final = re.compile(r"\b(?:don't|dont|doesn't)\b")
_CUT: Final = re.compile(
    r" (?:for|to|and|because|cos|so|last|on|in|at|after|off|this|from|with|back|away|yesterday|today|now|since|as|was"
    r"|is|before|until|when|but|by|of|any|anymore|altogether|completely|entirely|months?|weeks?|years?)\b.*"
)
_NOT_SO_EN: Final = re.compile(
    r"\b(?:haven't|hasn't|didn't|never|almost|nearly|might|may|want to|wants to|going to|thinking|should|if|would|could"
    r"|'d|will|'ll|can't|cannot|won't|not|wish|planning|about to|trying to|nobody|somebody|someone else)\b"
)
_OVER_ZH: Final = (
    r"(?:卖(?:了|掉|给)|退(?:了|掉|订)|停(?:了|掉)|取消|黄了|考完|结束|关(?:了|门|张)|转让|盘(?:出去|给|掉)|注销|送(?:人|走)|扔(?:了|掉)|报废"
    r"|转手|出掉|处理掉|清掉|退票|退款|丢了|辞(?:了|掉)|拆了|卸(?:了|载)|还给|解散|散(?:了|伙)|跑路|泡汤|作废|戒(?:了|掉)|撂挑子|做完了|让[^，]{1,8}(?:骑走|开走|买走)|被[^，]{1,6}买走"
    r"|不(?:去|学|读|念|练|上|考|吃|喝|养|订|续|办|报|做|打|玩|弹|拉|跑|租|用|追|当|干|抽|碰|拍|带)了)"
)
_BETWEEN_ZH: Final = (
    r"(?:那[头边]|这[头边])?(?:也|都|已经|终于|年前|上个?月|上周|昨天|前几天|全|就|我|最近|刚|早就|后来|去年|今年)*"
)
_ENDED_ZH: Final = (
    re.compile(rf"^(?P<what>[\u3400-\u9fffA-Za-z0-9 ]{{1,10}}?){_BETWEEN_ZH}{_OVER_ZH}"),
    re.compile(
        r"(?:卖了|卖掉了?|退了|退掉了?|取消了|停了|停掉了?|辞了|辞掉了?|戒了|戒掉了?|弃了|注销了|放弃了?|拆了|卸了|卸载了?|送走了|扔了|退出了?|推掉了?)"
        r"(?P<what>[\u3400-\u9fffA-Za-z0-9]{1,10})$"
    ),
    re.compile(
        r"不再?(?:去|学|练|上|考|吃|喝|养|订|续|做|打|玩|弹|拉|跑|租|用|当|抽)(?P<what>[\u3400-\u9fffA-Za-z0-9]{1,8}?)了?$"
    ),
)
_NOT_SO_ZH: Final = re.compile(
    r"还没|没有?(?:卖|退|停|取消)|想(?!通|开)|打算|准备|考虑|差点|要不要|该不该|可能|如果|要是|说不定|别(?!的)|快要|不会"
)
_ONCE: Final = re.compile(
    r"今天|今晚|明天|这周|本周|这次|这趟|昨晚"
    r"|\b(?:today|tonight|tomorrow|this (?:week|time|morning|afternoon|evening|one)|yesterday's|tonight's|today's)\b"
)
_LEAD_ZH: Final = re.compile(
    r"^(?:我们?家?的?|咱们?家?的?|俺家?的?|把|那[个台辆只份张]?|这[个台辆只份张]?|家里的?|之前的?|原来的?|终于|最近|现在)+"
)
# The kind of a thing, and how facts speak of such a thing.
_KINDS: Final = (
    (
        re.compile(r"^(?:车|车子|汽车|小车|car|motor|old car)$"),
        re.compile(
            r"车(?!站|间|票|程|厢)|开的?是?(?:一?辆|[^，]{1,6}的)|\b(?:car|drives?|drove|plate|mot|hatchback|estate)\b"
        ),
    ),
    (re.compile(r"^(?:烟|cigarettes?|smoking|fags|tobacco)$"), re.compile(r"烟|抽|\bsmok\w+|\bcigar\w+")),
    (re.compile(r"^(?:酒|drinking|alcohol|booze)$"), re.compile(r"酒|\b(?:drink\w*|wine|beer|alcohol|whisk\w+)\b")),
    (re.compile(r"^(?:健身卡|健身房|健身|gym)$"), re.compile(r"健身|撸铁|\bgym\b")),
    (re.compile(r"^(?:游戏|手游|gaming)$"), re.compile(r"游戏|王者|原神|吃鸡|\bgam(?:e|es|ing)\b")),
    (re.compile(r"^(?:店|铺子|shop|store)$"), re.compile(r"店|铺|\b(?:shop|store)\b")),
    (
        re.compile(r"^(?:bike|bicycle|pushbike|自行车|单车|电动车|小电驴|电瓶车)$"),
        re.compile(r"\b(?:bikes?|bicycle|cycl(?:e|es|ing))\b|自行车|单车|骑(?:车|行)|电动车|电驴|电瓶车"),
    ),
)
# The same for what people often have several of.
_SEVERAL: Final = (
    (
        re.compile(r"^(?:course|degree|studies|programme|uni|university|学业|学位)$"),
        re.compile(
            r"\b(?:course|degree|mba|bsc|msc|masters?|phd|doctorate|diploma|studying|undergrad\w*|uni|university)\b"
            r"|(?:读|念|攻读)(?:着|的是|了)?(?:在职|全日制)?[^，。]{0,8}(?:硕士|博士|研究生|本科|大专|mba|专业)|在职研"
        ),
    ),
    (
        re.compile(r"^(?:(?:big )?trip|holiday|vacation|getaway|travel plans?|flights?|旅行|旅游|行程|机票)$"),
        re.compile(
            r"\b(?:trip|holiday|vacation|getaway|flights?|fly(?:ing)?|travell?ing|honeymoon|airbnb)\b"
            r"|旅行|旅游|机票|飞(?!机场)|自驾|度假|出国玩|去[^，。]{1,8}玩|行程"
        ),
    ),
    (
        re.compile(r"^(?:tablets?|pills?|meds|medication|medicine|supplements?|药|药片|保健品|补剂)$"),
        re.compile(
            r"\b(?:tablets?|pills?|medication|supplements?|\d+ ?m?c?g)\b"
            r"|\b(?:on|take|takes|taking) [a-z]{4,}(?:ine|olol|tin|pril|ide|pam|lam|xone)\b"
            r"|(?:吃|服|服用|喝)[^，。]{0,6}药|[一两三半\d]+(?:片|粒|颗|毫克|mg)|[\u3400-\u9fff](?:他汀|地平|沙坦|双胍|唑|洛尔|西林|酸钙|褪黑素)"
        ),
    ),
    (
        re.compile(r"^(?:appointment|booking|reservation|预约|挂号|订位)$"),
        re.compile(r"\b(?:appointment|booked|booking|reservation|check-?up)\b|约了|预约|挂了?号|订了|订位"),
    ),
    (
        re.compile(r"^(?:membership|subscription|会员|订阅|年卡|月卡)$"),
        re.compile(r"\b(?:member(?:ship)?|subscri\w+|season ticket)\b|会员|订阅|年卡|月卡|包月|包年"),
    ),
    (
        re.compile(r"^(?:lessons|课|补习班|兴趣班|私教课?|网课)$"),
        re.compile(
            r"\b(?:lessons?|learning|tutor)\b|(?:上|报)了?[^，。]{0,6}[课班]|学(?!校|生|期|历|姐|长|院|位|费)[\u3400-\u9fff]"
        ),
    ),
)
_MIN_WORD: Final = {True: 3, False: 2}
_WITHOUT_NAME: Final = frozenset(
    [
        "it",
        "that",
        "them",
        "this",
        "everything",
        "nothing",
        "stuff",
        "lot",
        "way",
        "time",
        "job",
        "work",
        "home",
        "house",
        "one",
        "ones",
        "people",
        "person",
        "bit",
        "half",
        "day",
        "东西",
        "时候",
        "地方",
        "事情",
        "工作",
        "今天",
        "家里",
        "自己",
        "医生",
        "一个",
        "这个",
        "那个",
        "全部",
    ]
)


@dataclass(frozen=True, slots=True)
class EndedObject:
    """A thing that is over, by the words for it."""

    words: frozenset[str]
    kind: re.Pattern[str] | None = None
    """How facts speak of a thing of this kind, where the words only tell the kind."""
    several: bool = False
    """People often have several of this kind."""

    def is_in(self, text: str) -> bool:
        """Whether a text has the thing by its name, or speaks of its kind."""
        folded = fold(text)
        return self.is_named_in(text) or (self.kind is not None and self.kind.search(folded) is not None)

    def is_named_in(self, text: str) -> bool:
        """Whether a text has the name of the thing."""
        folded = fold(text)
        known = content_words(text)
        return any(word in known or (has_han(word) and word in folded) for word in self.words)


def ended_objects(message: str) -> list[EndedObject]:
    """The things that a message says are over for good."""
    return [thing for clause in clauses_of(message) if (thing := _ended_in(clause)) is not None]


def without_given_up(message: str) -> str:
    """A message without the clauses that say that something is over."""
    return ", ".join(clause for clause in clauses_of(message) if _ended_in(clause) is None)


def _ended_in(clause: str) -> EndedObject | None:
    folded = fold(clause)
    han = has_han(folded)
    if (
        is_exception(folded)
        or is_wish(folded)
        or _ONCE.search(folded)
        or (_NOT_SO_ZH if han else _NOT_SO_EN).search(folded)
        or (_DONT.search(folded) and not _ANYMORE.search(folded))
    ):
        return None
    matches = (pattern.search(folded) for pattern in (_ENDED_ZH if han else _ENDED_EN))
    things = (_thing(match["what"], han=han) for match in matches if match is not None)
    return next((thing for thing in things if thing is not None), None)


def _thing(what: str, *, han: bool) -> EndedObject | None:
    bare = _LEAD_ZH.sub("", what.strip()).strip() if han else _CUT.sub("", f" {what} ").strip()
    kind = next((told for name, told in _KINDS + _SEVERAL if name.search(bare)), None)
    words = frozenset(
        word for word in content_words(bare) if len(word) >= _MIN_WORD[word.isascii()] and word not in _WITHOUT_NAME
    )
    if kind is None and not words:
        return None
    several = any(told is kind for _, told in _SEVERAL)
    return EndedObject(words if kind is None else frozenset(), kind, several)


def ends_only(message: str) -> list[EndedObject]:
    """The things that a message of one clause says are over; empty where it says more.

    Who leaves a library may have been a librarian: what is left is no name of what is over.
    """
    clauses = clauses_of(message)
    return ended_objects(message) if len(clauses) == 1 and not _LEFT.search(fold(message)) else []


def pieces_with(thing: EndedObject, pieces: Sequence[str]) -> set[int]:
    """The places of the parts of a fact that have the thing: by its name, else by its kind."""
    named = {place for place, piece in enumerate(pieces) if thing.is_named_in(piece)}
    return named or {place for place, piece in enumerate(pieces) if thing.is_in(piece)}
