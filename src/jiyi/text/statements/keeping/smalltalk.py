"""Sentences that carry no information: greetings, thanks, assent, laughter, good-byes."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.sentences import sentences

__all__ = ["is_small_talk", "says_nothing"]

# Folded. A sentence made of nothing but these, in any number, says nothing.
_PHRASES: Final = (
    # Longer ones first: a phrase is not read again as a shorter one.
    # good wishes
    (
        r"have (?:a |an )?(?:very |really )?(?:good|nice|great|lovely|safe|pleasant|wonderful|fun|amazing|excellent)"
        r" (?:day|one|night|evening|afternoon|morning|week|weekend|time|trip|flight|journey|holidays?|vacation"
        r"|drive|ride|stay|meal|rest|break)(?: (?:today|tonight|tomorrow|there|too|everyone))?|have fun"
    ),
    r"(?:safe|happy) travels?|(?:drive|travel|get home|fly) safe(?:ly)?|bon voyage|bon app[eé]tit|sweet dreams",
    r"sleep (?:well|tight)|get well soon|(?:i )?hope you feel better(?: soon)?|rest well|get some (?:rest|sleep)",
    r"stay (?:safe|well)|(?:best of luck|good luck)(?: with (?:it|that|everything)| there| tomorrow| today)?",
    r"enjoy(?: yourself| it| that| (?:your|the) (?:day|evening|weekend|trip|meal|holiday|vacation|flight|stay|rest))?",
    r"(?:happy (?:birthday|new year|holidays|easter|anniversary)|merry christmas)(?: to you)?",
    r"(?:路上|开车|骑车|出门|一路|注意)(?:要|多)?(?:小心|当心|慢点|注意安全|平安|顺风|安全)|一帆风顺|万事如意|早日康复",
    r"(?:旅途|旅行|一路|出行|用餐|玩得)(?:愉快|顺利|开心|平安|顺风|高兴)(?:点|些)?|不着急|不急",
    r"(?:你|您)?(?:好好|早点|早些|多多?)(?:休息|睡|睡觉|保重)(?:吧|啊|哦)?|(?:多喝热水|慢慢来|别担心)(?:吧|啊|哦)?",
    r"祝(?:你们?|您|大家)[^，。！？,.!?\s]{0,4}(?:愉快|顺利|开心|快乐|好运|成功|平安)",
    r"don'?t tell anyone|keep it (?:between us|to yourself)",
    r"no (?:problem|worries|way)(?: at all)?",
    r"well done|good (?:idea|point|job|to know)|never ?mind|sure thing|of course",
    r"sounds (?:good|great|fun|like a plan)|makes sense|you'?re welcome|don'?t mention it|glad (?:i could|to) help",
    r"that'?s (?:great|good|nice|awesome|cool|amazing|true|right|all|it|fine|funny|hilarious|sweet)|all right",
    r"got it|gotcha|i see|anytime|my pleasure|(?:just )?look at (?:her|him|it|this|that|them)",
    r"(?:你)?(?:可)?(?:别|不要)(?:告诉|跟)(?:别人|人)(?:说)?[哈啊哦呀]*",
    r"你?看看?(?:她|他|它|这个?|那个?)",
    # greetings
    (
        r"(?:hi|hey|hello|yo|hiya|howdy|(?:good )?(?:morning|afternoon|evening)|good (?:night|day))"
        r"(?: (?:there|again|everyone|all|team|guys|folks|buddy|man|mate|dear|friend))?"
    ),
    r"(?:how are (?:you|things|u)|how'?s it going|what'?s up|sup|nice to (?:meet|see) you|long time no see)(?: doing)?",
    r"(?:i'm |i am |doing )?(?:fine|great|good|pretty good|not bad|all good|so so)",
    r"(?:(?:大家|各位|你们|您|你)(?:早上|上午|中午|下午|晚上)?|早上|上午|中午|下午|晚上)好(?:呀|啊|哇|吗)?|早(?:安|呀|啊)?|晚安",
    r"哈喽|嗨|喂|在吗|在不在|在么|吃了吗|最近怎么样|最近好吗|好久不见|很高兴认识你|辛苦(?:了|啦|你了)?",
    # thanks
    (
        r"(?:many |a lot of )?(?:thanks|thank you|thx|ty|cheers|much appreciated|appreciate it|i appreciate it)"
        r"(?: (?:a lot|a bunch|a million|so much|very much|again"
        r"|for (?:your|the|all your|all the) (?:help|time|reply|info|advice)))*"
    ),
    r"(?:非常|太|真的?|十分)?(?:感谢|谢谢|多谢|谢)(?:你|您|大家|了|啦|呀|啊|哈|哦|们|老师|帮忙)*|3q|(?:太|真)?麻烦你了",
    r"(?:真的?|很|非常|实在)?(?:抱歉|对不起|不好意思)(?:[啊呀哈了]|啦)*|不客气|不用谢|没事(?:儿|的)?|没关系|别客气|应该的|小意思",
    # assent, surprise, laughter, fillers
    r"ok(?:ay|ie|的|了)?|kk?|yes|yeah|yep|yup|sure|nope|nah|no|right|alright|cool|nice|perfect|awesome|amazing",
    r"(?:i'?m |i am )?(?:so |very |really )?sorry(?: about that)?|(?:my )?apologies|oops",
    r"wonderful|excellent|lovely|sweet|wow|oh|ah|hm+|uh|um|well|so|absolutely|exactly|indeed|lol|(?:ha)+h?|(?:he)+h?",
    r"please|whatever|done|understood|noted|interesting|really|congrats|congratulations",
    r"好(?:的|吧|啊|呀|滴|哒|嘞|哦|极了|棒|厉害)?|行(?:吧|啊|了)?|可以(?:的|啊|呀)?|嗯+(?:呢|啊)?|恩+|哦+|噢|喔|啊+|哎+(?:呀|哟)?",
    r"唉+|呃|哇+(?:塞|哦)?|对[的啊呀对]*|是[的啊呀吗吧哦]*|没错|明白[了啦]?|知道[了啦]?|懂了|了解了?|收到|原来如此|这样[啊子呀]?",
    r"当然(?:了|可以)?|没问题|太(?:好|棒|厉害|牛|赞|强)了|真(?:好|棒|厉害|不错)|不错[哦啊]?|厉害了?|哈+|呵+|嘻+|嘿+|算了",
    r"真的(?:吗|假的|啊)?|有意思|有道理|说得对|说的是|同意|赞同?|加油|恭喜[你啊]*|牛[啊逼]?|6+",
    # the weather
    r"(?:今天|外面|今儿)?天气(?:真|很|好|太|挺)?(?:好|不错|冷|热|差|糟糕?)(?:了|啊|呀|呢)*",
    # good-byes
    r"bye(?: bye)?|goodbye|see (?:you|ya)(?: (?:later|soon|tomorrow|around|then|next time))?",
    r"take care|cya|ttyl|later|you too",
    r"talk to you (?:later|soon)",
    r"(?:再见|拜拜?|回头见|明天见|下次见|回聊|先这样|改天聊|下次聊|慢走|保重|祝你(?:好运|顺利|愉快|开心))[啦了吧哦]*",
    r"(?:周末|假期)愉快|(?:节日|新年|生日)快乐",
    # sighs
    r"(?:please )?send help|wish me luck|fingers crossed|(?:god |lord )?help me|kill me now",
    r"救命[啊呀]?|祝我好运",
    # leaving for now, and why one asked
    r"(?:那|那么|就|我|先|得|要|该|去|回去|这就)+(?:忙|睡|睡觉|休息|吃饭|开会|上课|洗澡|干活|下线|撤|走|溜|闪)(?:去)?(?:了|啦|咯|吧)",
    r"(?:i(?:'ve| have)? )?(?:gotta|got to|have to|need to|should|must) (?:go|run|leave|get going)(?: now| then)?",
    r"(?:i'?m |i am )?(?:off|heading off|heading out|going)(?: to bed| to sleep)? (?:now|then)",
    r"(?:i'?m |i am )?off to (?:bed|sleep)|brb",
    r"(?:我)?(?:就|只是|不过是)*(?:随口|随便|顺便|好奇)(?:一?问(?:问|一下|一句)?|说说|一说)(?:而已|罢了|的)?",
    r"(?:i(?:'m| was| am) )?just (?:asking|curious|wondering|checking|kidding|saying)",
)
# Atomic, so that a long row of 哈 is not read in every possible way.
_ONLY: Final = re.compile(rf"(?>(?:{'|'.join(_PHRASES)})(?![a-z])[\W_]*)++")
_WORDLESS: Final = re.compile(r"[\W_]*")
_MAX_CHARACTERS: Final = 80


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence is only greeting, thanks, assent or the like, or has no words at all."""
    folded = fold(sentence).strip()
    start = _WORDLESS.match(folded)
    bare = folded[start.end() :] if start else folded
    return not bare or (len(bare) <= _MAX_CHARACTERS and _ONLY.fullmatch(bare) is not None)


def says_nothing(text: str) -> bool:
    """Whether a text is nothing but sentences like "OK" or 好的. Longer ones are not looked at: they say something."""
    return len(text) <= _MAX_CHARACTERS and all(map(is_small_talk, sentences(text)))
