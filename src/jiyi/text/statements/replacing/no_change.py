"""Messages that change nothing of what they touch: wishes, conditions, additions, celebrations, stays, visits, one day.

`changes_nothing_of` tells whether a message of one of these kinds surely says nothing against a fact; `only_differs`
whether it tells by how much something has changed, and not to what: the older figure is doubtful then, and not
replaced.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import WEEKDAY
from jiyi.text.statements.about.content_words import share_content
from jiyi.text.statements.parts.bound_clauses import MOVES, TRIP
from jiyi.text.statements.parts.claims import clauses_of
from jiyi.text.statements.replacing.change_words import changes, ends, is_mistake

__all__ = ["changes_nothing_of", "only_differs"]

# What somebody would like later is not so yet.
_LATER: Final = re.compile(
    r"明年|后年|将来|过[几两三]年|下半年|有机会|哪天|总有一天|退休[后了]|毕业[后了]|等.{1,8}[后了]"
    r"|\b(?:next year|in the future|one day|some ?day|eventually|in a (?:few|couple of) years"
    r"|(?:when|once|after) .{1,20}(?:retires?|graduates?|grown up))\b"
)
_WANTS: Final = re.compile(
    r"(?<!不)想(?!起|到|法|念)|打算|计划|希望|盼着|考虑"
    r"|\b(?:would (?:like|love)|'d (?:like|love)|wants?|hop(?:es?|ing)|plans?|planning|thinking (?:of|about)|dream\w*) "
)
_CONDITION: Final = re.compile(
    r"^(?:如果|要是|假如|假若|倘若|万一|只要|除非).{1,24}?[，, ].{0,12}?(?:就|会|再|才)"
    r"|^(?:如果|要是|假如|万一|只要).{1,14}我?(?:就|会|才)"
    r"|^(?:if|unless|once) .{1,60}?(?:,| then\b).{0,12}?(?:'ll|'d|\bwill|\bwould|\bgoing to)\b"
    r"|(?:'ll|'d|\bwill|\bwould)\b .{1,60}\b(?:if|unless|as long as)\b "
)
# Says how many more there are, not how many in all.
_MORE: Final = re.compile(
    r"(?:还|再|另外|额外)(?:需要?|要|想要|订|加|来|买|差|缺|添|招|多要)(?:了|个)?\s*[\d一二两三四五六七八九十百]+"
    r"|多[要订买加招来]\s*[\d一二两三四五六七八九十百]+"
    r"|\b(?:\d+|two|three|four|five|six|ten|a few|some) (?:more|extra|additional)\b"
    r"|\b(?:another|an extra) (?:\d+|two|three|four|five|six|ten|few)\b"
)
_BY: Final = re.compile(
    r"(?:涨|升|降|跌|减|加|瘦|胖|长|缩短|延长|贵|便宜)了\s*[\d一二两三四五六七八九十百千半]+"
    r"|\b(?:went|gone|goes|going|put) (?:up|down) (?:by )?(?:£|\$|€)?\d[\d.,]*%?(?! ?(?:a|per|each))"
    r"|\b(?:up|down|raised|cut|increased|decreased|reduced|dropped|rose|fell|grew|shrank) by (?:£|\$|€)?\d"
    r"|\b(?:lost|gained|put on|grew) (?:about )?\d[\d.,]* ?(?:kg|kilos?|pounds?|lbs?|cm|inch\w*|stone)\b"
)
_TOTAL: Final = re.compile(
    r"到|至|现在|变成|总共|一共|共\d|\b(?:now|to|at) (?:£|\$|€)?\d|\b(?:total|altogether|makes it|so it's|from \d)"
)
_NOT_YET: Final = re.compile(
    r"(?:还没|尚未|没有?把|还不?想|舍不得)[^，]{0,10}(?:卖|退|停|取消|换|搬|辞|改|扔)"
    r"|\b(?:haven't|hasn't|not) (?:yet )?(?:\w+ )?(?:sold|cancelled|moved|changed|quit|switched|given up)\b"
)
_THIS_TIME: Final = re.compile(
    r"(?:今天|今晚|明天|这周|本周|这次|这节)[^，]{0,8}(?:取消|停|不上|不去|不开|没有)"
    r"|\b(?:cancelled|canceled|off|no \w+|not on|isn't on) (?:today|tonight|tomorrow|this week|this time)\b"
    r"|\b(?:today's|tonight's|tomorrow's|this week's) [\w ]{1,20}(?:is|was|got|'s) (?:cancelled|canceled|off|called)"
)
_REPEATED: Final = re.compile(rf"每|周[一二三四五六日天末]|星期|\b(?:every|weekly|{WEEKDAY}s)\b")
_FOR_GOOD: Final = re.compile(r"以后|再也|从此|\b(?:for good|from now on|any ?more)\b")
_BIRTHDAY: Final = re.compile(r"生日|周岁|\bbirthday|\banniversary|纪念日")
_CELEBRATES: Final = re.compile(
    r"过(?:\d+岁|个|大)?生日|庆生|庆祝|生日(?:蛋糕|会|派对|聚会|礼物|宴|餐|快乐)|过.{0,6}纪念日"
    r"|\bcelebrat\w+|\bbirthday (?:party|cake|present|presents|gift|dinner|lunch|do|bash|surprise|treat)"
)
_STAYS: Final = re.compile(
    r"住(?:在|进|的是)?.{0,10}|酒店|宾馆|民宿|旅馆|青旅"
    r"|\b(?:stay(?:ing|s|ed)?|hotel|hilton|marriott|airbnb|hostel|b&b|booked)\b"
)
_HOME: Final = re.compile(r"住|家在|定居|租|\b(?:live[sd]?|living|based|home|flat|house|rent(?:ing)?)\b")
_VISITS: Final = re.compile(
    r"去.{0,8}(?:陪|看望?|探望?|照顾|接)(?:一?下)?(?:我|咱|他|她|老|爷|奶|外|爸|妈)|回.{0,6}看.{0,3}(?:爸|妈|爷|奶|父|母)"
    r"|\b(?:to (?:visit|see|look after|stay with|be with|pick up)|visiting) (?:my|our|his|her|[a-z]+)\b"
)
# What is done every day, and what was so on one day only.
_HABIT: Final = re.compile(
    r"一般|通常|每[天晚早日]|平时|天天|习惯|总是|[早晚][上晨]?[^，]{0,6}点半?(?:起|睡|醒|出门|开门|下班)"
    # How somebody gets to work is done every day, whether or not they say so.
    r"|[开骑坐走乘搭][^，。]{0,6}(?:上[班学]|去公司)|(?:上班|上学|去公司)(?:都|是)?[开骑坐走乘搭]"
    r"|\b(?:drive|cycle|walk|bike|ride|commute|bus|get|train|tram) (?:[a-z]+ ){0,3}?to (?:work|school|the office|uni)\b"
    r"|\b(?:always|usually|normally|every (?:day|morning|night|evening)|a day|up at|in bed (?:by|at)|get up)\b"
)
_ONE_DAY: Final = re.compile(
    r"(?<!到)今[天晚早]|昨[天晚]|前天|明[天儿晚]|放假"
    r"|\b(?:today|tonight|last night|yesterday|this (?:morning|evening|afternoon)"
    r"|(?:un)?till? (?:tomorrow|monday|tuesday|wednesday|thursday|friday|saturday|sunday|the weekend))\b"
)
_FROM_THEN_ON: Final = re.compile(
    r"以后|开始|起[，都]|从|现在|终于|决定|都[^，]{0,6}了|领证|结婚|离婚|分手|入职|毕业|退休|出院|手术"
    r"|整?[\d一二两三四五六七八九十百仨半]+(?:个月|年|周|天)"
    r"|\b(?:now|from|since|started|first|new|finally|decided|permanent\w*|these days|ever"
    r"|again|married|divorced|graduated|retired|surgery|days|weeks?|months?|years?)\b"
)
# A thing that is only lent replaces nothing.
_LENT: Final = re.compile(
    r"借(?:我|给我|了(?:我)?(?:一?[辆台部把]))|代步车"
    r"|\b(?:(?:lent|loaned) (?:us|me)|(?:courtesy|loan) car|on loan)\b"
)
# A place that is closed for some days is still the place.
_CLOSED: Final = re.compile(
    r"(?:关门|闭馆|闭园|停业|放假)[^，]{0,4}[\d一二两三四五六七八九十]+[天周]|[\d号日]到[^，]{1,8}(?:关门|闭馆|闭园|停业|放假)"
    r"|\b(?:closed|shut|closes|shuts) (?:from [^,.]{1,20} (?:to|until|till)|until|till|over"
    r"|for the (?:week|day|holidays?))\b"
)
_OPENING: Final = re.compile(r"开门|关门|营业|放假|闭|\b(?:opens?|clos\w+|shut|hours|holidays?)\b")
# Furniture that is carried into another room changes neither the house nor what it is.
_ROOM: Final = (
    r"(?:bedroom|loft|hall|kitchen|living room|garage|attic|cellar|basement|box room|spare room|study|shed|garden"
    r"|side street|corner|balcony)"
)
_CARRIED: Final = re.compile(
    rf"\bmoved\b[^,.]{{0,40}}\b(?:into|to|onto) the (?:[a-z]+ )?{_ROOM}\b"
    r"|[搬挪]到[^，]{0,2}(?:卧室|客厅|阳台|书房|厨房)"
)
_IN_ROOM: Final = re.compile(rf"\b(?:in|at|on) the (?:[a-z]+ )?{_ROOM}\b|卧室|客厅|阳台|书房|厨房")


def changes_nothing_of(message: str, fact: str) -> bool:
    """Whether a message is of a kind that changes nothing of a fact."""
    said, known = fold(message), fold(fact)
    if is_mistake(said):
        return False
    return (
        (_only_wishes(message) and not _WANTS.search(known))
        or _not_yet(message)
        or _only_this_time(said, known)
        or _only_one_day(said, known)
        or (_LENT.search(said) is not None and _LENT.search(known) is None and not _FOR_GOOD.search(said))
        or _by_condition(said, known)
        or _celebrates(said, known)
        or (_CARRIED.search(said) is not None and _IN_ROOM.search(known) is None)
        or (_CLOSED.search(said) is not None and _OPENING.search(known) is None and not _FOR_GOOD.search(said))
        or _stays_on_trip(said, known)
        or _only_visits(message, fact)
        or (_MORE.search(said) is not None and _MORE.search(known) is None and not _tells_total(said))
    )


def _not_yet(message: str) -> bool:
    """Whether a message only says that something has not happened: 我还没把车卖了."""
    clauses = [fold(clause) for clause in clauses_of(message)]
    yet = [_NOT_YET.search(clause) is not None for clause in clauses]
    return any(yet) and not any(
        changes(clause) or ends(clause) for clause, not_yet in zip(clauses, yet, strict=True) if not not_yet
    )


def _only_this_time(said: str, known: str) -> bool:
    """Whether one time of something that is repeated does not take place."""
    return _THIS_TIME.search(said) is not None and _REPEATED.search(known) is not None and not _FOR_GOOD.search(said)


def _only_one_day(said: str, known: str) -> bool:
    """Whether a habit was broken on one day: "slept in till ten today" against "I always get up at 6"."""
    told = changes(said) or ends(said) or _FROM_THEN_ON.search(said) is not None
    return _ONE_DAY.search(said) is not None and _HABIT.search(known) is not None and not told


def only_differs(message: str) -> bool:
    """Whether a message tells by how much something has changed, and not to what: "went up by 100"."""
    said = fold(message)
    return _BY.search(said) is not None and not _tells_total(_BY.sub(" ", said))


def _is_conditional(text: str) -> bool:
    """Whether a text says what follows if something happens."""
    return any(_CONDITION.search(fold(sentence)) for sentence in re.split(r"(?<=[.!?。！？])\s*", text) if sentence)


def _tells_total(said: str) -> bool:
    return _TOTAL.search(said) is not None


def _only_wishes(message: str) -> bool:
    """Whether all that a message says of a change is that somebody would like it later."""
    clauses = [fold(clause) for clause in clauses_of(message)]
    wishes = [_WANTS.search(clause) is not None and _LATER.search(clause) is not None for clause in clauses]
    return any(wishes) and not any(
        (changes(clause) or ends(clause)) and not wish for clause, wish in zip(clauses, wishes, strict=True)
    )


def _by_condition(said: str, known: str) -> bool:
    """Whether one of the two holds only under a condition, which the other says nothing of."""
    if _is_conditional(said):
        return not _is_conditional(known)
    return _is_conditional(known) and not ends(said) and not (changes(said) and share_content(said, known))


def _celebrates(said: str, known: str) -> bool:
    return (
        _CELEBRATES.search(said) is not None
        and _BIRTHDAY.search(known) is not None
        and _CELEBRATES.search(known) is None
    )


def _stays_on_trip(said: str, known: str) -> bool:
    return (
        TRIP.search(said) is not None
        and _STAYS.search(said) is not None
        and MOVES.search(said) is None
        and _HOME.search(known) is not None
        and TRIP.search(known) is None
    )


def _only_visits(message: str, fact: str) -> bool:
    """Whether a message tells of the person of a fact only that somebody visits them."""
    clauses = clauses_of(message)
    visits = [clause for clause in clauses if _VISITS.search(fold(clause))]
    if not visits or _VISITS.search(fold(fact)):
        return False
    rest = "，".join(clause for clause in clauses if clause not in visits)
    return not share_content(rest, fact)
