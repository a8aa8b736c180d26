"""Sentences that tell nothing of the speaker: a film or a case, what is known in general, the persona of a text."""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.sentences import sentences
from jiyi.text.statements.keeping.lasting import asks_to_remember

__all__ = ["is_of_others", "without_matters_of_others"]

_LEAD: Final = (
    r"^(?:(?:so|and|but|well|btw|by the way|also|oh|ok|fun fact|did you know(?: that)?|you know|apparently"
    r"|anyway|basically"
    r"|哦|嗯|对了|话说|其实|听说|你知道吗|原来|而且|另外|那个)[,，:： ]*)*"
)
_FIRST: Final = re.compile(r"\b(?:i|i'm|im|i've|ive|i'd|i'll|me|my|mine|we|we're|we've|our|ours|us)\b|我|咱|俺")
_QUOTED: Final = re.compile(r"“[^”]*”|「[^」]*」|『[^』]*』|\"[^\"]*\"|《[^》]*》")
# "the film we watched last night", 我昨天看的电影.
_SEEN: Final = re.compile(
    r"\b(?:that |which )?(?:i|we)(?:'m|'re|'ve|'d| am| are| have)? (?:just |currently |recently |all |both )*"
    r"(?:watch\w*|saw|seen|read\w*|heard|listen\w* to|finish\w*|got|lov\w+|lik\w+|discuss\w*|stud\w+|analy\w+)"
    r"|我们?(?:昨天|昨晚|最近|刚才?|今天|正在?|上周)*(?:看|读|听|追|学|刷)(?:过|完|到|了)?的"
)

# --- films, books, songs, cases ---------------------------------------------------------------------------------------

_WORK_EN: Final = (
    r"(?:movie|film|novel|book|story|tv series|series|sitcom|soap|episode|documentary|cartoon|anime|comic|song|ballad"
    r"|lyrics|fairy tale|fable|poem|musical|opera|case study|vignette|scenario|case|exam question|textbook"
    r"|sketch|trailer"
    r"|advert|commercial|biography|drama|thriller|rom-?com|screenplay|script)"
)
_THING_OF_WORK: Final = (
    r"(?!,? (?:club|shop|store|studio|industry|group|festival|project|business|company|department|rights|deal"
    r"|night|school"
    r"|class|of|that (?:i|we) (?:wrote|am|are)))"
)
_NOBODY_OF_MINE: Final = r"(?!(?:my|our|i|i'm|we|we're)\b)"
_STORY_EN: Final = re.compile(
    rf"{_LEAD}(?:in (?:the|a|one)(?! case\b(?! stud| (?:the|a|an|we|i) ))|in (?:that|this)(?! case\b(?! stud)))"
    rf" (?:\w+ ){{0,2}}{_WORK_EN}\b{_THING_OF_WORK}[^,;:]{{0,30}}?,? {_NOBODY_OF_MINE}\w"
    rf"|{_LEAD}(?:the|that|this) (?:\w+ )?{_WORK_EN}\b (?:(?:is|was) (?:all )?about|tells|follows|goes|says"
    rf"|sings|(?:starts|begins|ends) with an?)\b"
    rf"|{_LEAD}the (?:main |lead(?:ing)? |title |male |female )?(?:character|hero|heroine|protagonist"
    rf"|antagonist|villain"
    rf"|narrator|lead|main guy|main girl)\b(?! (?:of|in) (?:my|our))"
    rf"|{_LEAD}(?:the|a|an|this|that) (?:[\w-]+ ){{1,3}}(?:in|from|of|described in) (?:the|this|that|a|an|our)"
    rf" (?:\w+ ){{0,2}}{_WORK_EN}\b{_THING_OF_WORK}"
    rf"|{_LEAD}(?:case(?: study)?|vignette|scenario)(?: \d+)?: "
)
_WORK_ZH: Final = (
    r"(?:《[^》]+》|电影|影片|片子|电视剧|连续剧|网剧|韩剧|美剧|剧|小说|书|故事|漫画|动画片?|动漫|纪录片|歌曲?"
    r"|歌词|短片|课文|绘本|话剧"
    r"|病例|案例|个案|例子|例题|题目|题干|情景题?|剧本|剧情|广告|传记|童话|寓言)"
)
_STORY_ZH: Final = re.compile(
    rf"{_LEAD}(?:在)?(?:我们?[^，。]{{0,6}}的)?(?:那|这|该)?(?:部|本|首|个|集|出|篇)?{_WORK_ZH}(?:里面?|中(?!午"
    rf"|间|旬|断|止|介|心|文|学)|里头)"
    r"(?!.{0,4}(?:夹|放|藏|存|塞))"
    rf"|{_LEAD}(?:我们?[^，。]{{0,6}}的)?(?:那|这)(?:部|本|首|集|篇|个){_WORK_ZH}?(?:主要)?(?:讲述?|说|写|描写"
    rf"|唱)(?!得|好|完|不|定|到|过|错)(?:的是|的|了|述)?"
    rf"|{_LEAD}《[^》]+》(?:主要)?(?:讲述?|说|写|描写|唱)(?!得|好|完|不|定|到|过|错)(?:的是|的|了|述)?"
    rf"|{_LEAD}(?:[男女]主角?|[男女]二号?|主角|主人公|反派|配角)(?!的?(?:演员|是我))"
    rf"|{_LEAD}(?:病例|案例|个案)[一二三四\d]?[:：]"
)
_GOES_ON: Final = re.compile(
    r"^(?:(?:and|but|then|so|later|finally|at the end),? )*(?:he|she|they|it|his|her|their|the (?:guy|man|woman"
    r"|girl|boy"
    r"|patient|client|end))\b|^(?:后来|然后|最后|结局|结果|接着|于是|他|她|它|患者|病人|客户|男主|女主|主角)"
)

# --- what is known in general -----------------------------------------------------------------------------------------

_SAYS_EN: Final = (
    r"(?: also| now| generally| usually| currently)? (?:recommends?|advises?|advise|suggests?|says?|shows?|found|finds?"
    r"|states?|estimates?|warns?|claims?|believes?|agrees?|reports?|indicates?|defines?)\b"
)
_GENERAL_EN: Final = re.compile(
    rf"{_LEAD}(?:(?:the )?(?:who|nhs|cdc|fda|usda|un|nasa|world health organi[sz]ation"
    rf"|american heart association|government"
    r"|health authorities|(?:new |recent |many |several |some |most )*(?:studies|surveys|experts|scientists|researchers"
    r"|nutritionists|dietitians|economists|historians|guidelines|statistics))|research|science"
    r"|a (?:new |recent )?(?:study|survey)|(?:most )?(?:doctors|dentists|vets))"
    rf"{_SAYS_EN}"
    rf"|{_LEAD}according to (?:(?:the )?(?:wikipedia|google|chatgpt|internet|web|studies|research|experts|statistics"
    r"|scientists|nasa|who|nhs|cdc|news|guidelines|bible|encyclop\w+)\b|an? (?:\w+ )?(?:study|survey|article"
    r"|report|book)\b)"
    rf"|{_LEAD}(?:water|light|sound|ice|gold|iron|steel|oxygen|hydrogen|carbon|nitrogen|the (?:earth|sun|moon"
    rf"|universe)|mars"
    r"|venus|jupiter|humans?|the (?:human|average|typical) \w+|adults|mammals|most (?:people|adults|humans"
    r"|mammals|cats|dogs))"
    r" (?:\w+ly )?(?:boils?|freezes?|melts?|evaporates?|travels?|orbits?|revolves?|rotates?|weighs?|contains?|consists?"
    r"|needs?|sleeps?|lives?|breathes?|beats?|expands?|conducts?|reflects?|takes?|spends?|drinks?|eats?|has|have"
    r"|(?:is|are) (?:made|about|roughly|approximately|\d))\b"
)
_GENERAL_ZH: Final = re.compile(
    rf"{_LEAD}(?:(?:世界卫生组织|世卫组织|联合国|国家卫健委|卫健委|疾控中心|膳食指南|居民膳食指南|美国心脏协会"
    rf"|政府|科学家们?|研究者|研究人员|学者们?"
    r"|营养学家|(?:最新|一项)?(?:科学|医学)?(?:研究|调查|统计))(?:也|都|曾|均|普遍)?"
    r"(?:建议|推荐|认为|表明|显示|发现|指出|提倡|规定|说|称|证实|提醒)"
    r"|专家们?(?:指出|表示|认为|提醒|呼吁))"
    rf"|{_LEAD}(?:根?据|按照?)(?!.{{0,6}}(?:体检|化验|检查|医|合同))[^，,。]{{0,10}}(?:百科|维基|统计|研究|调查"
    rf"|报道|新闻|网上|网络|书上"
    r"|科学家?|专家|资料|百度|谷歌)[^，,。]{0,6}[，,]?"
    rf"|{_LEAD}(?:纯|液态)?(?:水|光|声音|冰|地球|月球|月亮|太阳(?!能|镜|伞|花|穴)|火星|木星|金星|土星|宇宙|黄金"
    rf"|铁|铜|氧气|氢气|空气|人体|人类|成年人|成人"
    r"|正常人|普通人|一般人|食盐)[^，。]{0,20}(?:沸腾|沸点|结冰|凝固|熔化|熔点|融化|蒸发|绕|自转|公转|传播|密度"
    r"|质量|直径|距离"
    r"|组成|含有|占|需要|平均|每天|每晚)"
)

# --- personas of texts ------------------------------------------------------------------------------------------------

_PERSONA_EN: Final = re.compile(
    r"^(?:(?:please|pls|can you|could you|would you|now|then|ok|hey|help me)\b,? ?)*(?:(?:write|draft|compose"
    r"|post|answer"
    r"|reply|respond|talk|speak|describe|explain|review|give|create|generate|make|tell|rewrite|narrate|introduce)\b.*"
    r"(?:\bas (?:if|though) you(?:'re| are| were)\b|\bas (?:an? |the )(?!whole|rule|result|reminder|file|pdf"
    r"|list|table)"
    r"|\bin the (?:style|voice|tone|role|name|person|words|manner) of\b|\bfrom the (?:perspective|point of view|pov"
    r"|viewpoint|standpoint|view) of\b|\bpretending to be\b|\bimpersonating\b)"
    r"|(?:as|in the (?:style|voice|tone|role) of|from the (?:perspective|point of view) of) an? .*\b(?:write"
    r"|draft|compose"
    r"|answer|reply|describe|explain|tell)\b)"
)
_PERSONA_ZH: Final = re.compile(
    r"^(?:请|麻烦|帮我|给我|替我|你|再|可以|能|那|就)*(?:以|用|模仿|仿照|学着?|扮演|站在|从|假装|假设|按照?"
    r"|代入|换成?)[^，。]{1,30}?"
    r"(?:口吻|语气|口气|身份|角度|视角|立场|风格|笔调|名义|人设|文风|第一人称|腔调)"
    r"(?=.*(?:写|发|回|讲|说|描述|编|拟|评|介绍|改|生成|翻译|来))"
    r"|^(?:请|麻烦|帮我|给我|替我|你|再)*(?:写|编|拟|发)[^，。]{1,12}，?(?:以|用|模仿)[^，。]{1,30}?(?:口吻"
    r"|语气|口气|身份|角度|视角|立场|风格)"
)
_ASKS_ME: Final = re.compile(r"(?:帮|给|替)我|\b(?:help|write|give|tell|make|draft|for|to) (?:me|us)\b")
_STANDING: Final = re.compile(
    r"\b(?:always|from now on|every time|whenever|in future|each time)\b|以后|每次|从现在|一律|永远|总是|都用"
)


def without_matters_of_others(text: str) -> str:
    """The text without the sentences that tell nothing of the speaker."""
    parts = sentences(text)
    left: list[str] = []
    story = False
    for part in parts:
        folded = fold(part).strip()
        story = _is_story(folded) or (story and _GOES_ON.search(folded) is not None and not _FIRST.search(folded))
        if asks_to_remember(part) or not (story or is_of_others(part)):
            left.append(part)
    return text if len(left) == len(parts) else "\n".join(left)


def is_of_others(sentence: str) -> bool:
    """Whether a sentence tells what a film or a case tells, what is known in general, or the persona of a text."""
    folded = fold(sentence).strip()
    return _is_story(folded) or _is_general(folded) or _is_persona(folded)


def _is_story(folded: str) -> bool:
    if (_STORY_ZH if has_han(folded) else _STORY_EN).search(folded) is None:
        return False
    # "The song goes: I live on a hill": whoever sings it is meant.
    told = re.sub(r"(?:唱|写|\bgoes|\bsings|\bsays)\s*[:：,，]?.*", "", _QUOTED.sub("", folded))
    return _FIRST.search(_SEEN.sub("", told)) is None


def _is_general(folded: str) -> bool:
    pattern = _GENERAL_ZH if has_han(folded) else _GENERAL_EN
    return pattern.search(folded) is not None and _FIRST.search(_QUOTED.sub("", folded)) is None


def _is_persona(folded: str) -> bool:
    pattern = _PERSONA_ZH if has_han(folded) else _PERSONA_EN
    if pattern.search(folded) is None or _STANDING.search(folded):
        return False
    return _FIRST.search(_ASKS_ME.sub("", folded)) is None
