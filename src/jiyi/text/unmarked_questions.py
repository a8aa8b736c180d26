"""Questions without a question mark: "where did I park", "is Ben vegan", 我的护照放哪儿了, 告诉我项目预算.

Told by how they begin, or by a Chinese word that asks. In doubt a text is a statement ("Can opener is in the drawer",
"What I like is tea", 什么都吃, 谁也没来): a statement that is taken for a question is harder to find.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from jiyi.text.not_known import clause_says_not_known
from jiyi.text.patterns import has_han
from jiyi.text.question_forms import (
    VERB,
    asks_indirectly,
    asks_indirectly_zh,
    is_topic,
    may_ask_indirectly,
    only_requests_zh,
    refers_to_topic,
    without_topic,
)

__all__ = ["asks_without_mark", "may_ask_without_mark"]

# Compiled at first use: a command that only asks does not need them.
_compiled = cache(re.compile)

_SPEAKER: Final = r"^[\w .-]{1,20}: (?=\S)"
_LEAD: Final = (
    r"(?:(?:and|so|but|oh|hey|hi|ok|okay|wait|hmm|well|sorry|please|quick question|by the way|btw|remind me|tell me"
    r"|(?:can|could|would|will) you (?:please )?(?:remind me|tell me)|do you (?:know|remember)|any idea)[,:]? )*"
)
_AUX: Final = "is|are|was|were|do|does|did|can|could|will|would|should|must|has|have|had|am|may|might"
_PRONOUN: Final = "i|we|you|he|she|they"
_SUBJECT: Final = rf"(?:{_PRONOUN}|it|there|this|that|the|my|our|your|his|her|their|an?)"
_NO_NAME: Final = (
    r"(?!(?:\w+(?:ing|ed|ly)|not|no|a|an|at|in|on|off|out|up|to|of|for|from|with|about|as|so|too|very|quite|rather|really"
    r"|just|still|also|always|never|now|here|back|away|home|going|nice|good|great|fine|bad|sad|sick|ill|late|early|busy|free"
    r"|happy|sorry|glad|sure|able|about|over|under|due|well|better|best|worth|hard|easy|fun|cold|hot|warm|full|it's"
    rf"|be|let|{_SUBJECT}|{VERB})\b)"
)
_OF_A_KIND: Final = r"(?:the|my|our) (?:best|worst|first|last|most|only|least|second|same|favou?rite|\w+est)\b"
# What begins like this asks. The rest of a statement may tell otherwise: `_TELLS`.
_ASKS: Final = (
    # "where is my bag", "when's dinner", "how do I get there", "what can I eat"
    rf"(?:what|where|when|why|how|who|whom)(?:'?s|'re|'d|'ll| (?:{_AUX}|shall|\w+n't))\b (?!(?:is|was) )"
    # "which train do I take", "how many eggs do we need", "what time is dinner"
    rf"|(?:which|whose|what|how)(?: (?!(?:{_SUBJECT}|{_AUX})\b)[\w'-]+){{1,4}}"
    rf" (?:{_AUX})\b"
    # "which relative looks after children", not "Which means that …"
    r"|which of (?:my|our|your|the|his|her|their|these|those) \w"
    rf"|which (?!(?:{_SUBJECT}|{_AUX}|\w+ed|makes?|made|means?|meant|reminds|leads?|led|leaves|left|takes|took"
    r"|gives|gave|helps|sucks|hurts|works|felt|feels|kind|sort|of)\b)\w+ \w"
    rf"|how (?:many|much|often|old|far|long) (?!(?:{_PRONOUN}|it|the|my|our|your|his|her|their)\b)"
    # "who wrote the report", "who else", "what about Ben", "where to buy salt"
    rf"|who (?!(?:{_SUBJECT}|knows|cares)\b)\w+ \w|what(?: happened| cause[sd]| else| about)\b|how (?:about|come)\b"
    r"|(?:what|where|when|who|how) to \w"
    # "do we get Friday off", "can I", "isn't it", "is there"
    rf"|(?:am|is|are|was|were|do|does|did|can|could|will|would|has|have|might) (?:{_PRONOUN}|there)\b"
    r"|(?:should|shall|may) (?:i|we)\b|should (?:he|she|they)\b|(?:is|does|was|will|can|could|should|has) it\b"
    rf"|(?:is|are|was|were|do|does|did|can|could|will|would|has|have|should)n'?t (?:{_PRONOUN}|it|there)\b"
    rf"|can't (?:{_PRONOUN})\b|(?:is|are|was|were|has|have|does|did) any(?:one|body|thing|where)?\b"
    # "is my flight on time", "does the dog bite", "has the parcel arrived", "did my brother call"
    rf"|(?:is|are|was|were) (?!{_OF_A_KIND})(?:the|my|our|your|his|her|their|this|that|these|those) \w"
    r"|(?:does|will|can|could|would|should) (?:the|my|our|your|his|her|their|this|that) (?!head\b)\w"
    r"|ha(?:s|ve) (?:the|my|our|your|his|her|their)(?: [\w'-]+){1,3}"
    r" (?:\w+ed|been|gone|come|left|done|found|sent|paid|made|got|begun|started|changed)\b"
    rf"|(?:did|do) (?:the|my|our|your|his|her|their)(?: [\w'-]+){{1,2}} (?:{VERB})\b"
    # "is Ben vegan", "does Lena eat kiwi"
    rf"|(?:is|are) {_NO_NAME}[^\W\d_]+(?: \w|$)"
    rf"|(?:does|did|can|could|will|would|should) {_NO_NAME}(?:[\w'-]+ )(?:{_NO_NAME}[\w'-]+ )?(?:{VERB})\b"
)
_REQUESTS: Final = (
    r"(?:please |can you |could you |will you |would you )*(?:remind me|tell me) "
    r"(?:(?:again )?(?:what|where|when|who|whose|which|how|why)\b|of (?:my|the|our)\b|(?:my|our|the) [\w' -]{1,30}$)"
)
_TELLS: Final = (
    # What is important to me is family. What matters is honesty. Where is the key: under the mat
    r"^what(?:'?s| is| was)(?: [\w'-]+){1,5} (?:is|was)\b"
    r"|^what (?:matters|helps|works|counts|hurts|happened|cause[sd]|bothers|annoys|scares"
    r"|surprise[sd]|struck|makes|made|keeps|kept)\b.* (?:is|was)\b|^which (?:is|was|are|were|has)\b"
    r"|[:：=] ?\S|(?: -|–|—) ?\S|^will (?:is|was|has)\b|^can \w+ is\b"
)
_TAIL: Final = r"(?:please|thanks|thank you|again|now|today|then|or not|by the way|btw|exactly|ok|okay)?"
_CLAUSE_END: Final = r"[,，、;；]|(?<=[^\x00-\x7f]) (?=[^\x00-\x7f])"

_INTERROGATIVE: Final = (
    "什么|啥|怎么|咋(?![舌呼唬])|怎样|如何|多少|多久|多大|多长|多远|多高|多重|哪(?![吒怕])|谁|为何|何时|何地"
)
_ASKS_ZH: Final = (
    rf"{_INTERROGATIVE}|吗$|(?:星期|礼拜|周|第)几|几(?:点|号|月份?|岁|楼|层|路|栋|码|级|时)"
    "|(?:每[天周月年次回顿]|一共|总共|到底|还剩|还有)[^，,]{0,4}几|有几.{1,4}$|几.{0,6}来着$"
    "|(?:是不是|能不能|会不会|要不要|可不可以|该不该|用不用|需不需要|有没有)(?=..)|是否"
)
# Words that ask in other sentences and not in these.
_INDEFINITE: Final = (
    "^哪天[^，,]*了(?=我)[^，,]*|(?:不管|无论|不论|随便|任何|哪怕|谁知道|怎么说|就是为什么|就是怎么|就是什么|因为什么都|不知怎么)[^，,]*"
    "|(?:什么|啥|谁|哪|怎么|怎样|多少|几|多久)[^，,]{0,5}?[都也](?!在|是什么|有谁|去哪)[^，,]*"
    "|没(?:有)?[^，,]?(?:什么|啥|怎么|多少|多久|几|谁|哪|多大|多远|多长)|不(?:太)?怎么|不[是算]什么"
    "|(?<![做干开卖学教管搞])(?:什么|啥|谁|哪|怎么|多少|几)的$|多少(?:有[些点]|还是|会|得|算)|[这那前后过好十近隔]几|几(?:点[要意建说希]|乎|率|何)"
    "|[说提讲补充强调有]几点|什么[啊呀嘛]|多少钱都"
    "|(什么时候|什么(?!时候)|啥|谁|哪|怎么|多少)[^，,]{1,6}\\1|(?:有没有|[是能会要]不[是能会要])[^，,]{0,3}[都也]"
)
# "He asked me what …", 我知道密码是多少, 他教我怎么修车: what is asked there is not asked by the speaker.
_REPORTS: Final = (
    "^(?!.*(?:[你您谁]|想知道|想问|吗$|来着$))(?:.*?)(?:教|学[会了]|知道|明白|记得|记住|告诉[了过我他她]|发现|搞清楚|清楚|讨论|研究"
    f"|解释|介绍|决定|取决于|考虑|问[了过我他她])[^，,]*?(?:{_INTERROGATIVE}|是否|有没有|[是能会要]不[是能会要])"
)
_RELATIVES: Final = "爸|妈|老公|老婆|哥|姐|弟|妹|儿子|女儿|朋友|同事|家人|爷|奶|舅|姨|叔"
_REQUESTS_ZH: Final = (
    "^(?:请|麻烦|你|再|能|可以|帮我|快|那)*(?:告诉我|跟我说说|提醒我一?下|我想知道|我想问一?下?|请问)(?:一下)?"
    rf"(?:.*(?:{_INTERROGATIVE}|几|是否|有没有|吗$)|(?:我们?的?)?(?!(?:{_RELATIVES})(?!.?的))[^我了，,：:]{{1,12}}$)"
)
_MAY_ASK: Final = (
    r"(?:^|[.!;\n:,] *)(?:\W*)(?:what|where|when|why|how|who|which|whose|am|is|are|was|were|do|does|did|can|could"
    r"|will|would|should|shall|has|have|might|may|isn|remind me|tell me|any idea|and|so|but|oh|hey|hi|ok|wait|hmm|well"
    r"|sorry|please|quick|by the|btw)"
    rf"|{_INTERROGATIVE}|[吗几]|是否|有没有|不[是能会要用]|不可以|不该|不需要"
    "|告诉我|跟我说|提醒我|我想知|我想问|请问"
)
_ENDING: Final = r"[\s.。!！…~～\"'”’)）\]】]+$"


def may_ask_without_mark(folded: str) -> bool:
    """Whether a folded text has any sign of such a question; most texts have none, and are not taken apart."""
    return _compiled(_MAY_ASK).search(folded) is not None or may_ask_indirectly(folded)


def asks_without_mark(folded: str) -> bool:
    """Whether a folded sentence is a question, and tells nothing before or after it."""
    sentence = _compiled(_SPEAKER).sub("", folded)
    if sentence.endswith(("!", "！")):
        return False
    sentence = _compiled(_ENDING).sub("", sentence).strip()
    return _asks_zh(sentence) if has_han(sentence) else _asks_en(sentence)


def _asks_en(sentence: str) -> bool:
    if _compiled(_REQUESTS).match(sentence):
        return True
    asked = without_topic(sentence)
    first, *others = [part.strip() for part in _compiled(_CLAUSE_END).split(asked)]
    if not asks_indirectly(first):
        rest = _compiled(_LEAD).sub("", asked, count=1)
        if not _compiled(_ASKS).match(rest) or _compiled(_TELLS).search(rest):
            return False
        first, *others = [part.strip() for part in _compiled(_CLAUSE_END).split(rest)]
    return all(
        _compiled(_TAIL).fullmatch(part)
        or _compiled(_ASKS).match(part)
        or asks_indirectly(part)
        or clause_says_not_known(part)
        or (refers_to_topic(first) and is_topic(part))
        for part in others
    )


def _asks_zh(sentence: str) -> bool:
    if _compiled(_REQUESTS_ZH).match(sentence):
        return True
    if _compiled(r"[:：=]\s*\S").search(sentence):
        return False
    parts = [part.strip() for part in _compiled(_CLAUSE_END).split(sentence) if part.strip()]
    asked = [_clause_asks_zh(part) for part in parts]
    return any(asked) and all(
        asks or only_requests_zh(part) or (len(part) <= 4 and not _compiled("[我咱]").search(part))
        for asks, part in zip(asked, parts, strict=True)
    )


def _clause_asks_zh(clause: str) -> bool:
    if asks_indirectly_zh(clause):
        return True
    rest = _compiled(_INDEFINITE).sub("", clause)
    return _compiled(_ASKS_ZH).search(rest) is not None and not _compiled(_REPORTS).match(clause)
