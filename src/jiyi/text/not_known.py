"""Sentences that say nothing but that something is not known: "No idea.", "I don't have that figure.", 我不太清楚.

The whole clause has to say it. An ability or an event that is denied is a statement ("I don't know how to swim", "I
can't tell red from green", 我没找到工作), and so is what stands in another clause ("Not sure about the colour, but it
is 2 m wide").
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from jiyi.text.patterns import has_han

__all__ = ["TELLING", "clause_says_not_known", "may_say_not_known", "says_not_known"]

# Compiled at first use: a command that only asks does not need them.
_compiled = cache(re.compile)

TELLING: Final = r"\b(?:because|since|that|if|after|before|while|now that|when (?:i|we|my))\b"
"""What follows these inside a question is told, not asked."""
_TOLD_OF: Final = (
    r"\b(?:of|for|to|on|about) .*\b(?:because|since|after|before|while"
    r"|(?:that|which|who) (?:i|we|he|she|they|my|our|is|was|has|had))\b"
)
"""What follows the thing that is not known is told: "the price of the boat that we sold"."""
_SIGNS: Final = (
    "不",
    "没",
    "not",
    "n't",
    "dont",
    "cant",
    "忘",
    "记不",
    "never",
    "no ",
    "nobody",
    "dunno",
    "unknown",
    "beats me",
    "unable",
    "无",
)
"""Each sentence that says that something is not known has one of them."""
_CLAUSE_END: Final = (
    r"[,;:—–]| - |(?:^|\s)(?:but|though|although|however)\s"
    r"|\s(?:and|so)\s(?=(?:i|i'm|i've|we|he|she|it|it's|they|you|there|my|our)\b)"
)
_CLAUSE_END_ZH: Final = r"[,，、;；:：—–\s]|但是?|不过|可是"
_ENDING: Final = r"[\s.。!！…~～\"'”’)）\]】]+$"

_EN_LEAD: Final = (
    r"(?:(?:sorry|i'm sorry|i'm afraid|well|hmm|oh|ah|honestly|actually|unfortunately|to be honest|and|but|so"
    r"|also|though|still) )*"
)
_ADV: Final = (
    r"(?:(?:really|actually|quite|exactly|honestly|just|still|even|currently|yet|also|ever|unfortunately|seem to) )*"
)
_NOT: Final = r"(?:do not|don'?t|did not|didn'?t|have not|haven'?t|cannot|can not|can'?t|could not|couldn'?t)"
_HAS_NOT: Final = r"(?:have not|haven'?t|has not|hasn'?t|never|did not|didn'?t)"
_WHAT: Final = (
    r"(?:answer|name|address|date|time|number|code|password|pin|price|cost|size|colou?r|type|age|birthday|figure|detail"
    r"|reason|amount|total|title|location|rest)s?"
)
_ATTRIBUTE: Final = rf"(?:the|your|that|this|those|his|her|their|its|any|my|our|a|an) (?:[\w'-]+ ){{0,2}}{_WHAT}"
# "The names of the twins"; what is told of them ("… the boat that we sold") is looked at apart.
_OF: Final = r"(?: (?:of|for|to|on) (?:the|your|my|our|his|her|their|that|this|an?|[\w-]+'s)\b[^,;]*)?"
_NOTES: Final = (
    r"(?:my|the|your|our|these|this|any of (?:my|the|your)) "
    r"(?:(?:saved|stored|earlier|previous|chat) )?"
    r"(?:notes?|records?|memory|memories|files?|history|data|database|messages?)"
)
_RECORD: Final = (
    r"(?:any|a|an|the|that|this|your|enough|further|more|specific) (?:[\w'-]+ )?"
    r"(?:records?|notes?|info|information|mention|data|entry|entries"
    rf"|{_WHAT})"
)
_POINT: Final = (
    r"(?:it|that|this|them|those|these|anything|exactly|yet|at all|for sure|for certain|offhand|right now|just now|now"
    r"|at the moment|anymore|any more|either|here|anywhere|so far|sorry|off the top of my head|from (?:that"
    r"|this|here|you)"
    r"|(?:of|about|on) (?:it|that|this|them|those))"
)
# Not a clause of its own: "you haven't said the name of the shop", not "… said you are married".
_NAMED: Final = r"(?!(?:i|you|he|she|we|they|it|that|is|are|was|were)\b)[\w'-]+"
# What is asked, as a clause. "Why he left" tells that he left, and "how to swim" is an ability.
_ASKED: Final = r"(?:what(?! to\b)|where|when|who|whom|whose|which|how(?! to\b)|if|whether)\b.*"
_TO_FIND: Final = (
    rf"to (?:find|say|tell|answer|recall|determine)(?: (?:it|that|this|anything(?: (?:about|on|for) .*)?"
    rf"|{_ATTRIBUTE}{_OF}|{_RECORD}(?: (?:of|about|on|for|with|in) .*)?|{_ASKED}))?(?: {_POINT})*"
)
_UNABLE: Final = rf"(?:unable|not able) {_TO_FIND}"
_NOT_KNOWN: Final = (
    rf"(?:(?:i|we) )?(?:{_ADV}{_NOT} {_ADV}(?:know|recall|remember)|dunno|(?:i|we) {_ADV}forget)"
    rf"(?: {_POINT})*(?: {_ASKED}| {_ATTRIBUTE}{_OF}| your [\w'-]+(?: [\w'-]+){{0,2}}| anything about (?:your|it"
    rf"|that|this)\b.*)?"
    rf"|(?:i|we) {_ADV}{_NOT} {_ADV}(?:say|tell|be sure)(?: you)?(?: {_POINT})*(?: {_ASKED}| {_ATTRIBUTE})?"
    rf"|(?:(?:i'm|i am|we're|we are) )?not (?:(?:really|entirely|quite|completely|so|too|100%) )*(?:sure|certain)"
    rf"(?: {_POINT})*(?: about {_ATTRIBUTE}| (?:of|about) {_ASKED}| {_ASKED})?"
    rf"|(?:(?:i|we) {_ADV}(?:have|had|got|'ve got) |(?:i|we)'ve got )?no (?:idea|clue)(?: {_POINT})*"
    rf"(?: about {_ATTRIBUTE}| {_ASKED})?"
    rf"|(?:(?:i|we) {_ADV}have |there(?:'s| is| are) )no (?:records?|notes?|info|information|mention"
    rf"|data)(?: {_POINT})*"
    r"(?: (?:of|about|on|for|with) .*)?"
    rf"|(?:i|we) {_ADV}have no memory of (?:it|that|this)"
    rf"|(?:i|we) {_ADV}{_NOT} {_ADV}have (?:that(?: one)?|anything (?:about|on|for) .*"
    rf"|{_RECORD}(?: {_POINT})*(?: (?:of|about|on|for|with|in|when|where) .*)?)(?: {_POINT})*"
    rf"|(?:i|we) {_ADV}{_NOT} {_ADV}(?:find|see|found) (?:it|that|anything(?: (?:about|on|for) .*)?"
    rf"|{_RECORD}(?: (?:of|about|on|for|with|in) .*)?)(?: {_POINT})*"
    # "I couldn't find when the sauna is heated", "I'm unable to find anything about the sauna"
    rf"|(?:i|we) {_ADV}{_NOT} {_ADV}find (?:out )?(?:{_ASKED}|{_ATTRIBUTE}{_OF})"
    rf"|(?:(?:i'm|i am|i was|we're|we are|we were) )?{_UNABLE}|(?:i|we) (?:wasn'?t|weren'?t) able {_TO_FIND}"
    # "There is nothing in my notes about the sauna", "My notes do not say when"
    rf"|(?:(?:there(?:'s| is| was)|i(?:'ve| have)(?: got)?|i (?:see|find|found)) )?nothing"
    rf" (?:(?:in|on|from) {_NOTES}|on (?:file|record)|(?:noted|recorded|stored|saved|written)(?: down)?)"
    r"(?: (?:about|on|for|of|that|saying|mentioning) .*)?"
    rf"|{_NOTES} {_ADV}(?:do not|don'?t|does not|doesn'?t|did not|didn'?t) {_ADV}"
    r"(?:say|mention|tell|show|contain|include|have|cover|list)\b.*"
    rf"|{_NOTES} (?:says?|contains?|has|have|mentions?|tells? me) nothing\b.*"
    rf"|(?:it|that|this|{_ATTRIBUTE}{_OF}) (?:is not|isn'?t|was not|wasn'?t) (?:in|on|part of|among)"
    rf" (?:{_NOTES}|file|record)"
    rf"|(?:you|nobody|no one|no-one) {_ADV}{_HAS_NOT} {_ADV}(?:told|tell|mentioned|mention|said|say|given"
    rf"|shared|share|sent)"
    rf"(?: (?:me|us))?(?: {_POINT})*(?: {_ASKED}| {_ATTRIBUTE}| your [\w'-]+(?: [\w'-]+){{0,2}}"
    r"|(?: anything)? (?:about|on) (?:your|it|that|this)\b.*)?"
    rf"|(?:(?:it|that|this|{_ATTRIBUTE}) (?:has not|hasn'?t|was not|wasn'?t|is not|isn'?t) |not |nothing (?:has"
    rf"|was|is) )"
    r"(?:yet )?(?:been )?(?:yet )?(?:noted|recorded|decided|mentioned|come up|known|specified|stored|saved"
    r"|written down)"
    rf"(?: {_POINT})*"
    rf"|you {_ADV}(?:have not|haven'?t) {_ADV}(?:told me|mentioned|said|given me|shared)(?: {_NAMED}){{1,6}}"
    rf"|nothing (?:noted |recorded |stored |saved |here )?(?:about|on) (?:that|it|this)(?: {_POINT})*"
    r"|not that i (?:know|remember|recall|can (?:remember|recall))(?: of)?|(?:it's |that's |it is "
    r"|that is )?unknown|beats me"
)
# What may stand beside it and tells nothing either.
_BESIDE: Final = (
    r"(?:sorry|i'm sorry|i'm afraid|though|honestly|actually|unfortunately|well|hmm|oh|ah|no|yes|yet|either"
    r"|right now|exactly"
    r"|at the moment|to be honest|please|thanks|so far|so|off the top of my head"
    r"|(?:if|once|when|until|unless) you (?:tell|let|share|give|send|mention|remind|want|like)\b.*"
    # What the other one may do to know it.
    r"|(?:maybe |perhaps |please |just |best |better |but )?(?:ask|check|look|try|see)\b.*"
    r"|(?:maybe |perhaps )?you(?:'d| would| could| can| may| might| should|'ll| will)(?: best| better| have to"
    r"| need to| want to)?"
    r" (?:ask|check|look|find|see|try|tell|give|share|say)\b.*"
    r"|(?:the|your|their|his|her|our) [\w' -]{1,40} (?:should|might|would|will|may|could) (?:say|tell|tell you"
    r"|know|help)"
    r"|i (?:can|could|will|would)(?: gladly| happily)? (?:note|remember|write|save|store|add|remind|look|check"
    r"|keep)\b.*"
    r"|i'(?:ll|d) (?:gladly |happily |be happy to )?(?:note|remember|write|save|store|add|remind|look|check|keep)\b.*"
    r"|(?:please |just |feel free to |you can |can you |could you )?(?:tell me|let me know|remind me|share it)\b.*)"
)

_ZH_LEAD: Final = (
    "(?:我们?|咱们?|你|您|这个|那个|这件事|那件事|这事|那事|这点|这|这里|这边|记录里?|笔记里?|目前|暂时|现在|还"
    "|也|都|真|可"
    "|并|倒|好像|似乎|抱歉|不好意思|对不起|嗯|哦|额|呃|哎|其实|实在|确实|从来|一直|可能|手头|具体|关于这个|这方面)*"
)
_ZH_WHAT: Final = (
    "(?:密码|名字|姓名|地址|时间|日期|号码|电话|手机号|价格|价钱|金额|答案|生日|细节|详情|情况|原因|数字|型号"
    "|尺码|账号|编号)"
)
_ZH_TAIL: Final = "(?:了|呢|啊|呀|诶|哎|欸|吧|哦|哈|耶|的)*"
# How something is done is an ability, and why it is so is told.
_ZH_ASKED: Final = (
    "(?:(?!.*(?:为什么|为啥|为何|因为))(?!.*(?:怎么|如何|咋)(?![样回])[^了的]{1,4}$).*"
    "(?:什么|啥|哪|谁|多少|几|何时|多久|多大|多长|多远|多高|多重|怎么|咋|如何|是否|是不是|有没有|能不能|会不会"
    "|吗|没有?$).*)"
)
_ZH_THING: Final = (
    f"(?:这个|那个|这件事|那件事|这事|那事|这一?点|这些|具体.{{0,6}}|(?:你|您)们?的.{{1,8}}|(?:我们?的?|他的?"
    f"|她的?)?.{{0,4}}{_ZH_WHAT})"
)
_ZH_RECORD: Final = "(?:记录|信息|资料|笔记|内容|数据)"
_NOT_KNOWN_ZH: Final = (
    f"{_ZH_LEAD}(?:.{{0,4}}{_ZH_WHAT}|.{{1,4}}的.{{1,6}}(?=我))?{_ZH_LEAD}(?:"
    "(?:不(?:太|大|是很|怎么)?(?:知道|清楚|记得|确定|晓得|了解)|记不(?:太)?(?:清楚?|得|起来)|想不起来|说不(?:好"
    "|准|上来|清楚?)"
    f"|没(?:什么|啥)?印象|忘了|忘记了?){_ZH_TAIL}(?:{_ZH_ASKED}|{_ZH_THING})?"
    f"|没(?:有)?(?:人)?(?:跟我们?|和我们?|对我们?|向我们?|给我们?)?(?:说|提|讲|告诉)(?:过|到"
    f"|起)?(?:我们?)?(?:过)?(?:{_ZH_ASKED}|{_ZH_THING})?"
    f"|没(?:有)?(?:查到|找到|看到|收到|记录|记下来?|记|定下来?|定)(?:过|到)?(?:{_ZH_THING}|(?:这|相关|任何|你的"
    f"|您的|关于).{{0,12}}{_ZH_RECORD}?)?"
    f"|(?:暂时)?没有(?:(?:这|相关|任何|你的|您的|关于).{{0,12}})?(?:{_ZH_RECORD}|印象)"
    "|没有(?:这个|这条|这方面)"
    "|(?:暂时?|目前)?(?:没有?|未能?|无)(?:查询到?|检索到?|搜索?到|查到|找到)?(?:任何|相关|有关|对应|这方面|更多)+的?"
    "(?:记录|信息|资料|笔记|内容|数据|结果)"
    "|(?:无法|没法|没办法|不能)(?:确定|回答|得知|判断|知道|确认|查到|告诉[你您])"
    f"|(?:找不到|查不到|没找到|没查到|没有找到|没有查到|搜不到)(?:{_ZH_ASKED}|[^了]{{0,12}}(?:{_ZH_WHAT}|{_ZH_RECORD}))"
    f"){_ZH_TAIL}"
    # 我的记录里没有桑拿房的加热时间
    "|(?:在)?(?:我的?|我这里的?|我这边的?|现有的?|目前的?|这里的?|已有的?|之前的?)?"
    "(?:记录|笔记|资料|记忆|数据|备忘录|聊天记录|对话|信息)(?:里面?|中|当中|之中|上)?(?:并|也|还|都|暂时|目前|好像|似乎)*"
    "(?:没有?|未|找不到|查不到|没找到|没查到)(?:提到过?|提及|写|记载|记录|显示|说明|包含|关于)?.*"
    "|[你您](?:还|也|好像|从来|并)*没(?:有)?(?:跟我|和我|对我|向我)?(?:说|提|讲|告诉)(?:过|到"
    "|起)?我?(?:过)?(?:[^你您我他她了]{1,8})?"
)
_I_DENY_ZH: Final = "^我们?.{0,3}没(?:有)?(?:跟|和|对|向)?.{0,3}(?:说|提|讲|告诉)"
_BESIDE_ZH: Final = (
    "(?:抱歉|不好意思|对不起|嗯+|哦|额|呃|哎|唉|可能|其实|真的|的|(?:请|麻烦|可以|要不|要|能"
    "|方便的话)?你?(?:可以|能|先|再)?"
    "(?:告诉我|跟我说|提醒我|说一下|补充).{0,8}|我(?:可以|来|会|就|先|好|再)?(?:帮你|给你|替你)?(?:记|查|看|找"
    "|补).{0,8}"
    # What the other one may do to know it.
    "|(?:这个|这事|[你您])?(?:可以|要|得|需要|最好|不妨|再|去|还是|只能|自己|先)+(?:去|再)?(?:问|看|查|找|翻"
    "|确认|打听).*|.{0,6}可以(?:发|告诉|给).{0,3}我.*"
    "|我(?:也)?不好(?:说|判断|确定)|(?:如果|要是)?你告诉我.{0,8})"
)


def may_say_not_known(folded: str) -> bool:
    """Whether a folded text has any sign of it; most texts have none, and are not taken apart."""
    return any(sign in folded for sign in _SIGNS)


def says_not_known(sentence: str) -> bool:
    """Whether a folded sentence says that something is not known, and nothing else."""
    if not may_say_not_known(sentence):
        return False
    pattern = _CLAUSE_END_ZH if has_han(sentence) else _CLAUSE_END
    clauses = [clause for each in _compiled(pattern).split(sentence) if (clause := _bare(each))]
    beside = _BESIDE_ZH if has_han(sentence) else _BESIDE
    said = [clause_says_not_known(clause) for clause in clauses]
    return any(said) and all(
        empty or _compiled(beside).fullmatch(clause) for empty, clause in zip(said, clauses, strict=True)
    )


def clause_says_not_known(clause: str) -> bool:
    """Whether a folded clause is nothing but that."""
    clause = _bare(clause)
    if has_han(clause):
        return not _compiled(_I_DENY_ZH).search(clause) and _compiled(_NOT_KNOWN_ZH).fullmatch(clause) is not None
    rest = _compiled(_EN_LEAD).sub("", clause, count=1)
    if not _compiled(_NOT_KNOWN).fullmatch(rest):
        return False
    asked = _compiled(r"\b(?:what|where|when|who|whom|whose|which|how|if|whether)\b").search(rest)
    if asked is None:
        return not _compiled(_TOLD_OF).search(rest)
    return not _compiled(TELLING).search(rest, asked.end())


def _bare(clause: str) -> str:
    return _compiled(_ENDING).sub("", clause).strip()
