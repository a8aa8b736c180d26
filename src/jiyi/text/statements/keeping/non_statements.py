"""Patterns of sentences from which no fact is extracted: questions, hypotheses, requests, passing states.

They are searched in folded text, like those of `jiyi.text.statements.keeping.cue_rules`.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.patterns import any_of

__all__ = ["ANNOUNCES", "CORRECTS", "HYPOTHETICAL", "LEAD_IN", "PASSING", "QUESTION", "TASK_FOR_NOW"]


QUESTION: Final = any_of(
    r"[?？][\W_]*$",
    r"(?:吗|么|呢|来着|没有|不|没)[\W_]*$(?<!什么都不)(?<!了不)",
    r"(?:什么(?!都|也|的|事都)|为什么|怎么(?!也|都)|怎样|如何|多少|几(?:点|个|号|时|岁|天|次|年)(?!的)|哪(?:里|个"
    r"|些|位|一|儿|年"
    r"|部|天)|谁(?!都|也)|能不能|是不是|有没有|会不会|要不要|可不可以|行不行|好不好|还是选)",
    r"(?:今天|现在|明天)(?:周|星期|礼拜)?几(?:点|号)?",
    r"^(?:what|who|whom|whose|which|when|where|why|how|is|are|was|were|do|does|did|can|could|would|will|should|has"
    r"|have)\b(?! (?:i|we) (?:say|mention))",
)

HYPOTHETICAL: Final = any_of(
    r"(?:如果|假如|假设|要是|倘若|万一|若是).{0,20}(?:就好了|的话|会|该|能|怎|就|说不定)|(?:如果|假如|假设|要是)我"
    r"|说不定|就好了|当初.{0,10}(?:就好|就)|梦见|梦到|做梦",
    r"\bif (?:i|we|you|he|she|they) (?:were|was|had|could|won|win|ever)\b|\bi\'ll eat my hat\b|\b(?:suppose"
    r"|imagine|pretend|what if"
    r"|hypothetically|let'?s say|i wonder|i wish|in theory|dreamt|dreamed)\b|\bmaybe i should\b|\bi (?:could"
    r"|should|would|might) have\b|\bwould be nice\b",
)

TASK_FOR_NOW: Final = any_of(
    r"^(?:请|麻烦)?(?:再|先)?(?:(?:帮我|给我|替我|帮忙|把|将).{0,14}?)?(?:翻译|润色|改写|续写|缩写|总结|概括"
    r"|算一?下|计算|转成|转换|起个|写(?:一|个|段|首|篇)|讲个|讲一|发我|查一?下|搜一?下|解释|重写|列出|生成|画(?:一"
    r"|个)|推荐(?:一|几|个))",
    r"^(?:please )?(?:translate|summari[sz]e|rewrite|rephrase|convert|calculate|compute|explain|define|list"
    r"|generate|draw|write (?:a|an|me|some|the)|tell me|give me (?:a|an|some|the|\d|two|three|five|ten)\b|make it"
    r"|fix|show me|find|look up|proofread|shorten|continue|compare|describe|suggest|recommend)\b",
)
"""A request for the current turn only. A standing preference in the same sentence takes precedence."""

PASSING: Final = any_of(
    r"天气|下(?:好)?大?雨|下雪|刮风|好冷|好热|晚点|堵车|刚(?:吃|喝|到|才|起|下班|醒|看完|睡)|有点(?:困|累|无聊|饿"
    r"|冷|热)|好(?:困|累|饿|无聊)|烦死|笑死|绝杀|球赛|(?:今天|今晚|昨晚).{0,8}(?:真|好|太|又|有点)",
    r"\b(?:weather|raining|pouring|snowing|sunny|sunset|traffic|sleepy|bored|hungry|tired|yawn|ugh|typical)\b"
    r"|\bi just (?:had|ate|woke|got (?:up|home|back|here))\b|\bright now\b|\b(?:this morning|tonight"
    r"|today)\b.{0,10}$|\bjust went\b|\bwas late\b",
)
"""States that are outdated the next day."""

ANNOUNCES: Final = re.compile(
    r"^(?:(?:oh|ah|sorry|btw|by the way|also|and|wait|hey|yeah|ok|so|actually"
    r"|哦|啊|对了|哎呀?|不好意思|抱歉|还有)[,，:：!！ ]*)*"
    r"(?:(?:(?:i|we) )?(?:almost |nearly |just |totally |completely |always |also )?(?:forgot|forget|neglected|failed)"
    r" to (?:mention|say|tell you|add|note)(?: (?:before|earlier|this|last time))?(?:: *|, *|[-–—] *| that "
    r"|\s(?=(?:i|i'm|i've|my|we|we're|our)\b))"
    r"|(?:before|in case) i forget(?: (?:it|again))?[:,–—-]+ *"
    r"|i (?:also |just )?(?:should (?:have )?|wanted to |meant to |have to |need to |must |ought to |'d like to )"
    r"(?:mention(?:ed)?|sa(?:y|id)|t(?:ell|old) you|add(?:ed)?)(?: (?:before|earlier|too|also))?(?:: *|, *| that )"
    r"|(?:我?(?:差点|都|刚才|之前|一直|居然|好像)*(?:忘了?|忘记)(?:跟你|和你|告诉你|同你)?(?:说|讲|提|告诉你|补充)?"
    r"(?:了|一声|一句|一下)?"
    r"|趁我(?:还)?没忘|免得(?:我)?忘了|(?:有件事)?(?:要|得|应该)(?:先)?(?:跟你|和你)(?:说|讲)(?:一声|一下)?)"
    r"[，,:：、 ]+)(?=\S)",
    re.IGNORECASE,
)
"""Words that only announce a statement: "I forgot to mention: ", 忘了说，."""

CORRECTS: Final = re.compile(
    r"^(?:(?:oh|no|ah|wait|actually|ok)[,!]? )*(?:(?:sorry|my mistake|correction|oops"
    r"|i misspoke)[,:;–—-]* )+(?:i meant(?: to say)?"
    r"(?: that)? |it'?s )(?=(?:my|our|i|i'm|we)\b)"
    r"|^(?:啊|哦|哎呀?|等等|抱歉|不好意思|[,，！!。 ])*(?:我)?(?:刚才)?(?:说错了?|不对|不是|记错了?|搞错了?"
    r"|弄错了?|口误|更正(?:一下)?|纠正(?:一下)?)"
    r"[,，:：；;！!。 ]+(?:应该|其实)?是(?=(?:我|咱)(?!说|记|搞|弄|的错)[^，。]*(?:在|住|叫|有|是|对|喜欢|不|会"
    r"|爱|属|养|得|做|当|学|教|开|吃|喝|姓))",
    re.IGNORECASE,
)
"""Words before a corrected statement: "Sorry, I meant my cousin lives in Leeds", 说错了，是我表弟在深圳."""

# "Quick intro: ", 简单介绍下：, 跟你说两条规矩：
_HEADING: Final = (
    r"(?:(?:ok|okay|so|hi|hey|well|right)[,!]? )*(?:(?:a|one|some|just a|the) )?(?:quick|little|short|bit of(?: a)?|bit"
    r"|some)? ?(?:intro(?:duction)?|background|context|ground rules|about me|heads[ -]up|house rules)"
    r"(?: (?:about me|on me|for you|first))?: *"
    r"|[^：:，,。！？!?]{0,8}(?:介绍|交代|汇报|规矩|意见|背景|情况|跟[你您]说"
    r"|告诉[你您])[^：:，,。！？!?]{0,10}[:：]\s*"
)
LEAD_IN: Final = re.compile(
    rf"^(?:{_HEADING}|(?:对了|另外|还有|哦对了?|顺便说一?下|话说|其实|补充一下|嗯|啊|哦|那个|by the way|btw|oh|also"
    r"|well|so|actually|and|anyway"
    r"|quick note(?: for later)?|fyi|for (?:the record|(?:future )?reference))[\s,，:：;!！。、]+|(?:请|麻烦"
    r"|帮我)?(?:你)?(?:一定要?)?记(?:住|下来|下|一下)(?:了)?[\s,，:：]*"
    r"|(?:please )?(?:remember|note)(?: that|:|,)\s*)+",
    re.IGNORECASE,
)
"""Introductory words before a statement ("by the way, ")."""
