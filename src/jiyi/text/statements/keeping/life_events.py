"""Events that change a life: a death, a birth, a dismissal. They are told in few words, often with "today".

"I got fired today" is no passing state. What happens in a film or in the news is not meant.
"""

from __future__ import annotations

import re
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import any_of

__all__ = ["tells_life_event"]

_EVENT_EN: Final = (
    r"(?:(?:just |finally |only |recently )?(?:got|was|were|been|am being|is being|are being) (?:just |finally )?"
    r"(?:fired|sacked|laid off|let go|made redundant|promoted|diagnosed|engaged|married|divorced|evicted|expelled"
    r"|adopted|widowed|deported|hospitali[sz]ed|admitted to hospital|suspended from (?:work|school))"
    r"|died|passed away|is dead|has died|(?:is|are|am|'m|'re) (?:pregnant|expecting(?= ?(?:$|[.!,]|a (?:baby|boy|girl"
    r"|child)|twins|our|their|in ))|getting (?:married|divorced)|engaged|retiring)"
    r"|(?:had|have had|'ve had|has had) (?:a |our |their |her )?(?:baby|miscarriage|stroke|heart attack|twins)"
    r"|gave birth|broke up|split up|separated|lost (?:my|his|her|their|our) (?:job|baby|wife|husband|mother|father"
    r"|mum|mom|dad|son|daughter)|quit (?:my|his|her|their) job|retired|graduated|got (?:the|a new) job"
    r"|got into (?:college|uni|university)"
    r"|has (?:cancer|dementia|leukaemia|leukemia)|is in (?:hospital|the hospital|intensive care|a coma|prison|jail))"
)
# Somebody of the speaker's life: "I", "my aunt", a name at the beginning.
_WHO_EN: Final = (
    r"(?:(?:i|we|he|she|they)(?:'ve|'s|'re|'m)?(?: have| has)?|(?:my|our) [\w' -]{2,40}?"
    r"|(?-i:[A-Z][a-z]+)(?: (?:and|&) (?-i:[A-Z][a-z]+)| (?-i:[A-Z][a-z]+))?)"
)
_TOLD_EN: Final = re.compile(
    rf"^(?:(?:so|and|but|well|oh|oh no|guess what|sad news|bad news|good news|great news|news|omg)[,:!]? )*"
    rf"{_WHO_EN} ?{_EVENT_EN}\b",
    re.IGNORECASE,
)
_TOLD_ZH: Final = re.compile(
    r"^(?:(?:今天|昨天|刚刚?|刚才|上周|上个?月|今早|终于|唉|哎)[，,]?)*被(?:公司|单位|老板)?(?:裁|辞退|开除|炒|解雇|优化)"
    r"|^(?:[\u3400-\u9fff]{0,3}[，,])?(?:我|咱|俺|[小老阿][\u3400-\u9fff]|爷|奶|爸|妈|姥|外[公婆]|老[公婆]|哥|姐|弟|妹|儿子|女儿)"
    r"[^，。！？]{0,10}(?:被(?:裁|辞退|开除|炒|解雇|优化)|失业了|下岗了|去世|过世|病逝|离世|不在了|怀孕|怀上|有喜了|生了|生孩子|流产"
    r"|结婚了|领证|离婚了|分手了|订婚|求婚成功|确诊|升职|退休了|毕业了|住院|中风|考上|辞职了|出车祸|破产|坐牢)"
)
_NOT_OF_LIFE: Final = any_of(
    r"电影|电视|剧里|小说|游戏|新闻|主角|明星|演员|歌手|总统|皇帝|角色|直播|热搜|手机|电脑|如果|要是|假如|差点|梦|历史|没有?被|还没",
    r"\b(?:movie|film|episode|season|series|show|novel|book|game|news|character|president|king|queen|actor|actress"
    r"|singer|celebrity|battery|phone|laptop|server|process|plot|history|century|wikipedia"
    r"|almost|nearly|if|dream\w*|level|boss fight"
    r"|in (?:1[0-9]{3}|20[01]\d)|laughing|joke|of boredom|million|thousand|people)\b",
)


def tells_life_event(sentence: str) -> bool:
    """Whether a sentence tells of such an event in the life of the speaker or of somebody whom they know."""
    told = _TOLD_EN.search(sentence.strip()) or _TOLD_ZH.search(fold(sentence).strip())
    return told is not None and _NOT_OF_LIFE.search(fold(sentence)) is None
