"""What holds for a moment only: states and small events of today, complaints, and words about the conversation itself.

That something is told with "today" is no verdict: "I got the keys today, a terrace in Sheffield" stays. Patterns are
searched in folded text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import any_of
from jiyi.text.statements.keeping.life_events import tells_life_event

__all__ = ["MOMENTARY", "is_momentary", "momentary_features"]

_TODAY: Final = any_of(
    r"今[天早晚儿]|今儿个?|昨[天晚儿]|刚(?:刚|才)?|这会儿?|眼下|[早上下中][上午]午?(?=[^好])|终于|又(?=[^是])",
    r"\b(?:today|tonight|yesterday|this (?:morning|afternoon|evening)|last night|just now|just (?:had|got|walked"
    r"|sent|saw)"
    r"|earlier|right now|at the moment|again|finally)\b",
)
# What stays beyond the day: a result, a thing that is had from now on, a date ahead, a change.
_STAYS: Final = any_of(
    r"搬|买了|拿到|提车|领证|录取|入职|离职|辞|转正|调到?去|升|确诊|查出|检查出|长期|以后|起别|开始|订了|约好|定下"
    r"|下(?:周|个?月)|月底|明年"
    r"|接回|起名|叫[^我你他]|生了|毕业|考上|考过|通过了|退休|[姓]",
    r"\b(?:moved (?:in|to|into)|bought|picked up|signed|diagnosed|results?|promoted|fired|hired|quit|for good"
    r"|from now on"
    r"|as of|next (?:week|month|year|mon|tue|wed|thu|fri|sat|sun)\w*|booked|due|called|named|born|graduated|offer"
    r"|accepted"
    r"|keys|engaged|married|divorced|pregnant|merging|transferred|notice|passed|emigrat\w+)\b",
)
_FEELS: Final = any_of(
    r"(?:有点|有些|好|真|太|特别|挺|怪|贼|超)(?:困|累|饿|渴|冷|热|闷|烦|咸|淡|甜|苦|辣|硬|慢|吵|挤|堵|晕|酸|干|撑"
    r"|无聊|头疼|难吃|难喝|没劲|郁闷|离谱|糟)"
    r"|(?:吵|烦|笑|困|累|热|冷|饿|气|挤|堵|晒|撑|急)(?:死|疯|炸|得|坏)|得(?:要命|要死|不行|慌|直|睁不开|喘不)|头疼"
    r"|脑仁疼|头昏|眼皮|打瞌睡|犯困|心情|没睡好"
    r"|睡过头|吃撑|提不起劲|综合[征症]",
    r"\b(?:so|too|bit|really|pretty|way|all) (?:tired|sleepy|hungry|full|cold|hot|loud|noisy|salty|bland|sweet|slow"
    r"|bored"
    r"|boring|packed|crowded|annoy\w+|rough|grumpy|stuffed|awful|long)\b|\b(?:starving|knackered|exhausted"
    r"|shattered|headache"
    r"|awful|dreadful|terrible|ridiculous|typical|ugh|argh|meh|mondays|driving me (?:mad|nuts|crazy|up the wall)"
    r"|gone cold"
    r"|head hurts|can'?t be bothered|one of those days)\b",
)
# The message itself, the answers, how one talks with each other.
_CONVERSATION: Final = any_of(
    r"(?:发|打|点|按|写|说|复制|贴)(?:错|反|串|重)|手[滑误]|手抖(?=[点发按打])|作废|当没(?:看见|说)|不用管|别在意"
    r"|别介意|不是发给你|上(?:一条|面那[句条])|刚(?:才|刚)?那[条句]"
    r"|你.{0,6}(?:道歉|抱歉|对不起|幽默|有意思|反应|聪明|误会|说得|回答得|理解错|听错|又说)"
    r"|开玩笑|逗你|随便说说|随口|别当真|说到哪|走神|没看[懂明]|看不懂|听不懂|没听懂|没说清|什么意思|换个(?:话题"
    r"|问法)|聊聊|唠|解闷"
    r"|我再想想|先这样|别提了|算了",
    r"\b(?:typo|wrong (?:window|chat|person|thing|message)|ignore (?:that|me|this|it|the (?:last|first))|scrap that"
    r"|hit send"
    r"|wasn'?t meant for|never ?mind|nvm|apologi[sz]\w*|say(?:ing)? sorry|misunderst\w+|just (?:kidding|joking|teasing)"
    r"|only (?:kidding|joking|teasing)|don'?t take (?:that|it|me)|where were we|train of thought|lost my place"
    r"|let me (?:think|try|rephrase)"
    r"|(?:don'?t|didn'?t) (?:quite )?(?:get (?:it|this|that|the|what|you)|follow (?:you|that|this)|understand)"
    r"|not sure i (?:get|follow|understand)|chatting (?:with|to) you|your last (?:answer|reply|message)"
    r"|that (?:answer|reply)|you'?re (?:funny|a bit|so|very|welcome)|figured it out|sorted it|worked it out"
    r"|(?:have|got|'ve) (?:a|another|one|one more)(?: quick)? (?:question|one)\b)",
)
_INSTRUCTS_FOR_LATER: Final = any_of(
    r"以后|今后|往后|每次|从(?:现在|今天)起|一律|永远|记住",
    r"\b(?:from (?:now|here) on|in future|always|never|every)\b",
)
# What only stands around: the place, the noise, the queue, the machine, the weather.
_AROUND: Final = any_of(
    r"楼[上下]|隔壁|外面|对面|路上|堵车|地铁|公交|电梯|食堂|外卖|排队|闹钟|信号|网(?:又|断|速|页)|死机|卡(?:了|纸"
    r"|顿)|红灯|快递|敲门|天气|这天儿?|太阳|下雨|风大"
    r"|倒杯?水|洗澡|午觉|股市|广告|视频|段子|笑话|表情包|这[集首部题段行]|那[集首部场]",
    r"\b(?:queue|traffic|parking|bus|train|lift|wifi|printer|battery|door|parcel|weather|rain\w*|pouring|wind"
    r"|drilling|renovat\w+|upstairs|noise"
    r"|alarm|meme|joke|episode|film|match|advert|meeting ran|canteen|lunch|coffee machine|shower|nap|sneez\w+"
    r"|line \d+|step)\b",
)

# "Hang on", 一会儿说: the conversation is interrupted, and what is said with it is the reason.
_PAUSE: Final = any_of(
    r"^(?:等[等下会]|稍等|等我一下)|先不(?:聊|说)|(?:一会儿?|等会儿?|过会儿?)(?:再)?(?:说|聊|回[你来])"
    r"|等下(?:再)?(?:说|聊|哈)|回头(?:再)?(?:说|聊)|马上回来|信号(?:不好|时有时无)|长话短说",
    r"\b(?:hang on|hold on|bear with me|one (?:sec|second|moment|minute)|(?:give me|just) a (?:sec|second|minute"
    r"|moment|mo)|brb"
    r"|back in (?:an?|one|two|five|ten|\d{1,2})\b(?! (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
    r"|talk later|(?:might|may) cut out)\b",
)
# What was told for fun, and what somebody happened to see.
_AMUSED: Final = any_of(
    r"(?:讲|说|发|看)了?[个条件张段]?[^，。]{0,6}(?:段子|笑话|趣事|表情包|好[玩笑]的)|笑死|太逗|好可爱|真可爱",
    r"\b(?:told|telling|sent|showed) (?:me|us) (?:an? |the )?(?:[\w-]+ ){0,2}(?:joke|story|meme|gif|video)\b"
    r"|\bin stitches\b"
    r"|\b(?:had|having) a (?:good |great )?laugh\b|\bmade me laugh\b|\bi saw an? (?:cute|funny|lovely|huge|weird)\b",
)
_HABIT: Final = any_of(
    r"每|总是|总(?=[^算结之])|老是|一直|从来|从不|经常|天天|平时|多年|年了|只要|一(?:到|碰|喝|吃|闻|坐|看)|常年"
    r"|向来|容易|都会|再也|戒|一概|早就?(?:不|没|卸)|都(?:点|要|用|吃|喝|发)",
    r"\b(?:always|every|never|usually|often|since|for (?:\w+ )?(?:years|months)|whenever|each|tend to|any ?more"
    r"|no longer|regularly"
    r"|these days|constantly|most (?:days|nights|mornings))\b",
)
# What somebody cannot bear or does not want is told of them, not of today.
_LIMIT: Final = any_of(
    r"[吃喝看听坐碰]不|受不了|顶不住|扛不住|不能|不敢|怕|别|不要|不想要|只(?=[吃喝看听坐用])|[不没]法",
    r"\b(?:can'?t|cannot|don'?t|won'?t|only|please|no)\b",
)
_CLAUSE: Final = re.compile(r"[,，;；。.!！]+\s*")
_AROUND_CLAUSE: Final = " ,，;；。.!！~…"
# A text of more clauses is taken to tell something that lasts.
_MAX_CLAUSES: Final = 3

MOMENTARY: Final = (
    *("of today", "of today, and stays", "of today, and nothing stays", "a feeling of the moment"),
    *("a feeling of today", "about the conversation", "what stands around", "around and today", "around and felt"),
    *("a pause", "told for fun", "passing by all of these"),
)
"""The names of the features, in their order."""


@lru_cache(maxsize=4_096)
def is_momentary(text: str) -> bool:
    """Whether a text tells nothing but what is felt, seen or said at the moment, and nothing of it stays."""
    folded = fold(text)

    def has(pattern: re.Pattern[str]) -> bool:
        return pattern.search(folded) is not None

    if (
        len(_CLAUSE.split(folded.strip(_AROUND_CLAUSE))) > _MAX_CLAUSES
        or has(_HABIT)
        or has(_STAYS)
        or has(_INSTRUCTS_FOR_LATER)
        or tells_life_event(text)
    ):
        return False
    felt = has(_FEELS) and (has(_TODAY) or has(_AROUND)) and not has(_LIMIT)
    return has(_PAUSE) or has(_AMUSED) or has(_CONVERSATION) or felt


def momentary_features(text: str, folded: str) -> list[float]:
    """The features of a text, in the order of `MOMENTARY`."""

    def has(pattern: re.Pattern[str]) -> bool:
        return pattern.search(folded) is not None

    today, feels, around = has(_TODAY), has(_FEELS), has(_AROUND)
    stays = has(_STAYS) or tells_life_event(text)
    found = (
        *(today, today and stays, today and not stays, feels),
        *(
            feels and today,
            has(_CONVERSATION) and not has(_INSTRUCTS_FOR_LATER),
            around,
            around and today,
            around and feels,
        ),
        *(has(_PAUSE), has(_AMUSED), is_momentary(text)),
    )
    return [float(value) for value in found]
