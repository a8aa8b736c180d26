"""Forms of questions beside the plain one: "I wonder where it is", "my car - where is it", 查查我的血型, 护照呢."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from jiyi.text.irregular import BASE_FORMS
from jiyi.text.not_known import TELLING

__all__ = [
    "VERB",
    "asks_indirectly",
    "asks_indirectly_zh",
    "is_topic",
    "may_ask_indirectly",
    "only_requests_zh",
    "refers_to_topic",
    "without_topic",
]

# Compiled at first use: a command that only asks does not need them.
_compiled = cache(re.compile)

VERB: Final = (
    "accept|agree|arrive|ask|belong|bring|buy|call|charge|close|come|cook|cost|cover|cut|die|drink|drive|eat|end|expire"
    "|fit|fix|fly|forget|get|give|go|grow|happen|hate|have|hear|help|hurt|keep|know|last|learn|leave|like|live|look"
    "|lose|love|make|mean|meet|mention|move|need|offer|open|order|own|park|pass|pay|pick|play|prefer|put|read"
    "|run|say|see"
    "|sell|send|sign|sing|sleep|smoke|speak|start|stay|still|stop|study|swim|take|teach|tell|think|travel|try|use"
    "|visit|want|watch|wear|win|work|write"
)
_FORM: Final = rf"(?:{VERB})(?:e?s)?|tr(?:y|ies)|stud(?:y|ies)"
_AUXILIARY: Final = (
    r"is|are|was|were|be|been|am|do|does|did|has|had|have|can|could|will|would|should|must|may|might|not|\w+n't"
    r"|\w+'(?:ve|ll|d|re|m)"
    r"|it's|that's|he's|she's|there's|because|and|but|so|i|we|you|he|she|they"
)
_BEFORE: Final = (
    r"(?:(?:and|so|but|oh|hey|hi|ok|okay|wait|hmm|well|sorry|please|also|now|quick question|by the way|btw)[,:]? )*"
)
_DETERMINER: Final = r"(?:my|our|the|his|her|their|your|that|this|those|these)"
_THING: Final = rf"{_DETERMINER}(?: [\w'-]+){{1,5}}"
_WH: Final = r"(?:what|where|when|who|whom|whose|which|how)(?:'s|'re)?"
_TOPIC: Final = rf"(?P<topic>{_BEFORE}{_THING}?)(?:\s*[,:;]|\s*[–—]|\s+-)?\s+(?={_WH}\b)"
_REFERS: Final = r"\b(?:it|its|they|them|their|he|him|his|she|her|that|those|these|this|one)\b"
# Who says this wants to know what follows.
_SEEKS: Final = (
    r"(?:i (?:do |really |just |still |also )?wonder|(?:i was |i'm |i am |just |was )?wondering"
    r"|curious(?: to know)?|i'm curious"
    r"|(?:i(?:'d| would) (?:really )?(?:like|love)|i (?:just |really |still )?(?:need|want|have|wanted)|need"
    r"|want|trying|i'm trying"
    r"|i am trying|i was trying|help me)(?: to)? (?:know|find out|check|remember|recall|figure out|work out"
    r"|look up|see|be reminded)"
    r"|i(?:'ve| have)? (?:totally |completely |just |again |always |often |constantly )*(?:forgot|forgotten|forget)"
    r"(?: again)?|i (?:can |could )?(?:never|hardly ever) (?:quite )?(?:remember|know)"
    r"|i (?:just )?(?:keep|kept|keep on) (?:forgetting|wondering|asking myself)"
    r"|i(?:'ve| have) been (?:wondering|asking myself)"
    r"|(?:it would|it'd|would|it might) (?:really )?(?:help|be (?:good|nice|great|useful|helpful|handy|interesting))"
    r"(?: me)?(?: to)? (?:know|remember|find out)"
    r"|(?:my|the|one|another|a quick|quick|just a) question(?: (?:for|to) you)?(?: is| was|:)"
    r"|(?:what|all) i(?:'d| would)? (?:really |just )?(?:want|need|like|wanted|needed) to (?:know|ask)(?: is| was)"
    r"|(?:please |can you |could you |would you |go )*(?:let me know|find out|figure out|work out|look up"
    r"|show me|check|confirm|see)"
    r"(?: (?:for me|please|again))?)"
)
_INDIRECT: Final = (
    rf"{_BEFORE}{_SEEKS} (?:about |again )?(?:(?:what|where|when|who|whom|whose|which|how)\b(?! to\b)"
    rf"|(?P<whether>if|whether)\b)"
)
# "Check if the oven is off" is a task.
_TASK: Final = r"\b(?:check|let me know|find out|see|confirm|show|look)\b"
# "do you remember my locker code", "any idea about the date", "i'm looking for my passport"
_ASKED_FOR: Final = (
    rf"{_BEFORE}(?:(?:do|did|can|could|would) you (?:still |happen to |perhaps )*(?:know|remember|recall"
    rf"|have)(?: about)?"
    r"|remember|any idea (?:about|of|on)|(?:have you |you )?got|did i (?:ever |already )?(?:tell you"
    r"|mention)(?: about)?"
    rf"|(?:i'm |i am )?(?:still )?looking for) (?P<thing>{_THING})(?: (?:again|please|by any chance))?"
)
_SIGNS: Final = (
    r"\b(?:wonder(?:ing)?|curious|question|asking myself|forg(?:et|ot|otten|etting)|let me know|find out|figure out"
    r"|work out|look(?:ing)? (?:up|for)|show me|check|confirm|see"
    r"|(?:to )?(?:know|remember|recall)|got|reminded)\b"
    rf"|\b{_THING}?\W{{1,4}}{_WH}\b"
    "|查|找|搜|翻|看|核对|确认|呢[\\s.。!！…~～]*$|想想|想知道|忘|(?:知道|记得|晓得|清楚).{0,40}[不没么]|啥|咋"
)

_ASKING_ZH: Final = (
    "什么|啥|怎么|怎样|如何|多少|多久|多大|多长|多远|多高|多重|哪(?![吒怕])|谁|几|何时|何地|是否|有没有|是不是"
    "|能不能|咋|吗"
)
_RELATIVES: Final = "爸|妈|老公|老婆|哥|姐|弟|妹|儿子|女儿|朋友|同事|家人|爷|奶|舅|姨|叔|孩子|爸妈|父母"
_POLITE_ZH: Final = "(?:请|麻烦|你|您|再|先|能|能不能|可以|可不可以|帮我|帮忙|给我|替我|快|那|去)*"
_LOOK_ZH: Final = (
    "(?:(?:查|找|搜|翻|看|核对|确认|回忆|想)(?:一?下|查看|一查|一找|一看)|查查|找找|搜搜|翻翻|看看|想想"
    "|回想一?下)(?:看)?"
)
_INDIRECT_ZH: Final = (
    # 查查我的血型, 帮我看下护照在哪儿
    f"{_POLITE_ZH}{_LOOK_ZH}(?:我们?|咱们?|我家|我们家)的?(?!(?:{_RELATIVES})(?!.?的))(?:[^了：:要去]{{1,10}}"
    f"|.*(?:{_ASKING_ZH}).*)"
    f"|{_POLITE_ZH}{_LOOK_ZH}.*(?:{_ASKING_ZH}).*"
    f"|(?:请|麻烦|你|您)*(?:帮我|给我|替我)(?:查|找|搜|翻|看|核对|回忆){{1,2}}(?:一?下)?(?!了)[^了：:要去]{{1,10}}"
    # 你知道我护照在哪不
    "|(?:你|您)?(?:还)?(?:知道|记得|晓得|清楚)(?!我(?:是|在|有|不|对|要)).*(?:不|没|没有|么|吗)"
    "|(?:你|您)?(?:还)?(?:知不知道|记不记得|清不清楚|晓不晓得).*"
    # 我忘了护照放哪儿了, 想知道体检是哪天
    f"|(?:我|又|真|都|给|把|是|也|老|总|老是|总是|经常|一直|就|只|很|还)*"
    "(?:忘了|忘记|忘记了|忘|记不清|记不清楚|记不住|记不得|搞不清楚?|弄不清楚?|想知道|想问|想问问|想问一?下|想查|想了解"
    "|想弄清楚?|想搞清楚?|好奇|想查一?下|想确认|(?:要|得|需要|必须|想要)(?:先)?(?:知道|了解|弄清楚?|搞清楚?))"
    f"(?!.*(?:为什么|怎么|如何)).*(?:{_ASKING_ZH}).*"
    # 我的问题是哪天倒垃圾; not 我的问题是什么都想要
    f"|(?:我|我们)?(?:的|想问的|想知道的|要问的)?问题(?:就|其实)?是[:：]?(?!.*[都也]).*(?:{_ASKING_ZH}).*"
    f"|(?:我|我们)?(?:想问|想知道|要问|好奇|想了解)的(?:就|其实)?是[:：]?(?!.*[都也]).*(?:{_ASKING_ZH}).*"
)
_BESIDE_ZH: Final = (
    f"{_POLITE_ZH}(?:(?:看|查|找|想|搜|翻|说|回忆|核对|确认)(?:一?下|看|查|找|想|说)?|告诉我(?:一下|一声)?"
    f"|提醒我?(?:一下)?|跟我说(?:一?下|说)?)"
    "(?:呗|吧|啊|哈|呀|好吗|好不好|谢谢|可以吗)?|(?:我|又|真)*(?:忘了|忘记了|想不起来了?|记不清了?|不记得了)"
)
_AND_ZH: Final = (
    "(?P<thing>(?:那|还有|对了|话说|咦|哎|欸)?(?:(?:[我他她你您咱]们?|我家|我们家)的?)?[^,，]{1,7}?)呢(?:在哪.*)?"
)
_NOUNS: Final = ("n", "r", "uj", "m", "q", "eng", "vn", "t", "b", "s")


def may_ask_indirectly(folded: str) -> bool:
    """Whether a folded text has any sign of such a question."""
    return _compiled(_SIGNS).search(folded) is not None


def asks_indirectly(clause: str) -> bool:
    """Whether a folded English clause wants to know something without being a question: "I wonder where it is"."""
    if found := _compiled(_INDIRECT).match(clause):
        is_task = found["whether"] is not None and _compiled(_TASK).search(found[0]) is not None
        return not is_task and not _compiled(TELLING).search(clause, found.end())
    asked = _compiled(_ASKED_FOR).fullmatch(clause)
    return asked is not None and is_topic(asked["thing"])


def asks_indirectly_zh(clause: str) -> bool:
    """Whether a folded Chinese clause wants to know something without a word that asks: 查查我的血型, 护照呢."""
    if _compiled(_INDIRECT_ZH).fullmatch(clause):
        return True
    asked = _compiled(_AND_ZH).fullmatch(clause)
    return asked is not None and _is_noun(asked["thing"])


def only_requests_zh(clause: str) -> bool:
    """Whether a folded Chinese clause only asks for an answer, beside a question: 帮我看下."""
    return _compiled(_BESIDE_ZH).fullmatch(clause) is not None


def is_topic(clause: str) -> bool:
    """Whether a clause only names something: "my sister's birthday", not "my sister came"."""
    found = _compiled(rf"{_BEFORE}({_THING})").fullmatch(clause)
    if found is None:
        return False
    _, first, *others = found[1].split()
    if _compiled(_AUXILIARY).fullmatch(first):
        return False
    # The first word behind "my" is a noun, whatever else it may be ("my watch").
    return not any(
        _compiled(rf"{_AUXILIARY}|{_FORM}|\w{{3,}}ed").fullmatch(word) or word in BASE_FORMS for word in others
    )


def refers_to_topic(clause: str) -> bool:
    """Whether a question is about what was named beside it: "when is it"."""
    return _compiled(_REFERS).search(clause) is not None


def without_topic(question: str) -> str:
    """A question without what it is about, named ahead of it: "where is it" of "my passport - where is it"."""
    found = _compiled(_TOPIC).match(question)
    if found is None or not is_topic(found["topic"]) or not refers_to_topic(question[found.end() :]):
        return question
    return question[found.end() :]


def _is_noun(text: str) -> bool:
    """Whether a Chinese text is nothing but nouns: 护照, not 下雨."""
    import rjieba

    tags = [tag for _, tag in rjieba.tag(text)]
    return tags[-1].startswith(("n", "vn")) and all(tag.startswith(_NOUNS) for tag in tags)
