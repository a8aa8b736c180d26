"""Routing without a model: cue words of both languages."""

from __future__ import annotations

import re
from typing import Final

from jiyi.model.domain import DOMAINS, GENERAL_CHAT
from jiyi.text import fold, sentences
from jiyi.text.statements.keeping.smalltalk import is_small_talk

# Small talk that asks or tells something, and still needs no memory.
_CHAT: Final = re.compile(
    r"\b(?:tell me a joke|how are you|what(?:'s| is) the weather(?: like)?(?: today)?|who are you|what can you do)\b"
    r"|讲个?笑话|(?:今天|明天|外面)?天气(?:怎么样|如何|真?好|不错)|你是谁|你会(?:做)?什么|你能做什么"
)
_OF_THE_USER: Final = re.compile(r"\b(?:i|me|my|mine|we|our|us)\b|我|咱|俺|本人")
_CUES: Final = {
    "user_preferences": re.compile(
        r"\b(?:prefer\w*|favou?rites?|likes?|dislikes?|hates?|allerg\w*|diet\w*|usually|style|theme|format|settings?)\b"
        r"|喜欢|偏好|讨厌|过敏|忌口|口味|习惯|不吃|爱吃|风格|主题|格式|最爱|药"
    ),
    "professional_and_academic": re.compile(
        r"\b(?:work\w*|jobs?|company|office|career|project|code|coding|program\w*|database|stack|technolog\w*|stud\w+"
        r"|school|universit\w*|exam|thesis|paper|research|architecture|framework|deploy\w*|api)\b"
        r"|工作|公司|职业|职位|项目|代码|编程|数据库|技术|架构|框架|学习|学校|大学|专业|考试|论文|研究|部署|接口|选型"
    ),
    "lifestyle_and_interests": re.compile(
        r"\b(?:hobb\w+|sports?|gym|run(?:ning)?|travel\w*|trip|music|movies?|books?|games?|cook\w*|health|doctor|sleep"
        r"|live|home|house|city|pets?|cats?|dogs?|weekend)\b"
        r"|爱好|兴趣|运动|健身|跑步|旅行|旅游|音乐|电影|看书|游戏|做饭|健康|医生|睡眠|住|家里|城市|宠物|猫|狗|周末"
    ),
    "social_and_relationships": re.compile(
        r"\b(?:wife|husband|partner|girlfriend|boyfriend|mother|father|mom|dad|parents?|sister|brother|son|daughter"
        r"|kids?|child(?:ren)?|friends?|colleagues?|boss|family|name|called|birthday)\b"
        r"|妻子|老婆|丈夫|老公|女朋友|男朋友|妈妈|爸爸|父母|母亲|父亲|姐|妹|哥|弟|儿子|女儿|孩子|朋友|同事|老板|家人|叫什么|名字|生日"
    ),
    "tasks_and_schedules": re.compile(
        r"\b(?:when|schedule\w*|meetings?|appointments?|deadlines?|due|todos?|tasks?|remind\w*|tomorrow|today|tonight"
        r"|calendar|plans?|monday|tuesday|wednesday|thursday|friday|saturday|sunday|next week|flight)\b"
        r"|什么时候|几点|日程|安排|会议|开会|预约|截止|待办|任务|提醒|明天|后天|今天|下周|本周|周[一二三四五六日]|航班|计划"
    ),
}


def route_by_rules(query: str) -> tuple[str, ...]:
    """`general_chat` for small talk, the domains whose words stand in it, or all where none does."""
    parts = sentences(query) or [query]
    if all(is_small_talk(part) or _is_chat(part) for part in parts):
        return (GENERAL_CHAT,)
    folded = fold(query)
    return tuple(domain for domain, cues in _CUES.items() if cues.search(folded)) or DOMAINS


def _is_chat(sentence: str) -> bool:
    folded = fold(sentence)
    return _CHAT.search(folded) is not None and _OF_THE_USER.search(_CHAT.sub("", folded)) is None
