"""Clauses in which people introduce themselves: name, age, where from, home, work, family and pets in a row.

Each kind is a fact of its own, so that a move does not touch the cat. The subject is the speaker as long as nobody
else has been told of; after a child or a cat it could only be guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.text.normalize import fold
from jiyi.text.patterns import has_han
from jiyi.text.statements.about.subjects import relations_in

__all__ = ["is_greeting", "speaker_again", "tells_more_of_it", "tells_other_kind"]

_GREETING: Final = re.compile(
    r"^(?:你好|您好|你们好|大家好|各位好|哈[喽啰]|嗨|早上好|晚上好|下午好"
    r"|hi|hello|hey|good (?:morning|evening|afternoon))"
    r"(?: (?:there|all|everyone|everybody))?[呀啊哦]?\W*$"
)
_SPEAKER_ZH: Final = re.compile(r"^(?:我本人|本人|我|俺)(?![们俩的和跟])")
_SPEAKER_EN: Final = re.compile(r"^(?:i'm|i am|im|my name is|my name's) ")
_TIME_ZH: Final = re.compile(r"^(?:现在|目前|今年|如今|这几年|这些年|近几年|一直|常年|长期|平时|都|也|还|就)+")
_COUNT_ZH: Final = r"(?:[一二两三四五六几]|\d)"
_JOB_ZH: Final = (
    r"(?:医生|护士|[^，的]{0,4}[师员]|会计|司机|保安|警察|店长|经理|编辑|记者|学生|研究生|博士生|程序猿|码农|客服|教练"
    r"|[^，的]{0,4}老师|厨子|裁缝|木匠|[电焊瓦]工|主播|导游|前台|出纳|护工|月嫂)"
)
_OWN_JOB_ZH: Final = re.compile(rf"^(?:是|做|当)(?:一?[名个位])?[^，了过的我]{{0,6}}{_JOB_ZH}$")
_AT_WORK_ZH: Final = r"^在(?!家|线|网上)[^，了过]"
_KINDS_ZH: Final = {
    "name": re.compile(r"^(?:叫|名叫|名字叫)(?![了他她它你车我])[\u3400-\u9fff·]{2,4}$"),
    "age": re.compile(r"^(?:刚满|快)?[\d一二三四五六七八九十]+岁(?:半|了|多)?$"),
    "sign": re.compile(r"^属[鼠牛虎兔龙蛇马羊猴鸡狗猪]的?$"),
    # No 老实人 and no 一个人.
    "origin": re.compile(
        r"^是(?:土生土长的?|地道的?|地地道道的?)?(?!.*[个的男女老好大病客家主新本单性熟路穷实]人$)[\u3400-\u9fff]{2,6}人$"
        r"|^(?:老家|屋头|屋里)(?:是|在)?[\u3400-\u9fff]{2,8}$"
    ),
    "home": re.compile(r"^(?:(?:人|家)?(?:常?住|定居|现居)(?!院|校|了|过)|人在)(?:在|于)?[\u3400-\u9fff\d]{2,10}$"),
    "work": re.compile(
        rf"{_AT_WORK_ZH}{{2,16}}(?:上班|工作|打工|任职|实习)$"
        rf"|{_AT_WORK_ZH}{{1,14}}(?:教(?!堂|会|育)|当(?!地)|做(?!饭|梦|客|完|东西)|跑(?!步)|搞|开(?!心|会|车|始|玩笑|的)"
        r"|卖|送(?!孩|娃)|修)[^，了过]{1,8}$"
        rf"|{_OWN_JOB_ZH.pattern}|^是(?:做|搞|教|开|跑|卖)[^，]{{1,8}}的$"
    ),
    "family": re.compile(rf"^有了?{_COUNT_ZH}?[个俩]?(?:孩子|小孩|娃|女儿|儿子|闺女|宝宝)$"),
    "marriage": re.compile(r"^(?:已婚|未婚|单身|离异|丧偶)(?!的|.*人$)"),
    "pet": re.compile(rf"^养了?{_COUNT_ZH}?[只条][^，]{{1,12}}$"),
    "allergy": re.compile(r"^对[^，]{1,8}过敏$"),
    "wedding": re.compile(r"^[俩们][^，]{0,14}结[的了]?婚的?$"),
    "hobby": re.compile(r"^(?:喜欢|爱好|迷上|热爱)(?!.*[你他她它])[^，]{2,10}$"),
    "equipment": re.compile(rf"^家里(?:有|放着|摆着)?{_COUNT_ZH}[台架部套把辆块]"),
}
_KINDS_EN: Final = {
    "name": re.compile(r"^[A-Z][a-z]+(?: [A-Z][a-z]+)?$"),
    "age": re.compile(r"^(?:aged )?[1-9]\d$"),
    # "a nurse in Leeds", "joiner by trade"; "a bit late" and "a nation of singers" are no work.
    "work": re.compile(
        r"^an? (?!(?:bit|little|lot|few|while|year|week|month|day|friend|fan|big|huge|mess|member)\b|[^,]* of )"
        r"[a-z][a-z-]+(?: [a-z-]+){0,3}(?: (?:in|at|from|for|by|near|with) [\w' -]+)?$"
        r"|^[a-z]+(?: [a-z]+)? by (?:trade|profession)$"
    ),
    "origin": re.compile(r"^(?:originally )?from [A-Z][\w' -]+$"),
    "home": re.compile(r"^(?:living|based) in [A-Z][\w' -]+$"),
    "marriage": re.compile(r"^(?:married|single|divorced|widowed|retired)$"),
    "family": re.compile(r"^(?:an? )?(?:single )?(?:mum|mom|mother|dad|father) of (?:one|two|three|four|five|\d)$"),
}
# Of whom the next clause tells is certain after these, and a guess after a child or a cat.
_OF_SPEAKER: Final = frozenset({"name", "age", "sign", "origin", "home", "work", "allergy", "hobby", "marriage"})
_ILLNESS_ZH: Final = re.compile(r"(?:病|炎|症|癌|[血尿][压糖脂]高?|高尿酸|甲[亢减]|哮喘|过敏|失眠|贫血|三高)\W*$")
_TREATMENT_ZH: Final = re.compile(
    r"^(?:每[天周月日年晚]|每个月|天天|一直|长期|平时|得|要|在)+(?:都|得|要|在)?"
    r"(?:吃[^，]{0,6}[药片]|服药|打[^，]{0,3}(?:针|胰岛素)|做?透析|复[查诊]|治|控制|喷|随身带)"
)
_TASK_ZH: Final = re.compile(r"^(?:主要|专门)?(?:负责|教|管|带|学)[^，]{1,8}$")
# 我在医院上班，做护士; 我是护士，在急诊科; 我对海鲜过敏，吃了就起疹子; 我住在二楼，是老小区.
_EMPLOYED_ZH: Final = re.compile(r"在[^，]{1,12}(?:上班|工作|打工|任职|实习)$")
_DEPARTMENT_ZH: Final = re.compile(r"^在[^，]{1,6}(?:科|科室|部|部门|组|车间|病房)$")
_REACTION_ZH: Final = re.compile(r"^一?(?:吃|碰|沾|闻)(?:到|了|一口)?[^，]{0,3}就|^在[^，]{2,8}[看查治开]的$")
_HOUSE_ZH: Final = re.compile(r"^是[^，]{0,6}(?:小区|房子?|楼|公寓|宿舍|城中村|租的|买的)$")
_LIKES_ZH: Final = re.compile(r"喜欢|爱好是?|爱|迷上了?")
_HOW_OFTEN_ZH: Final = re.compile(
    r"(?:每[天周月年晚]|每个?(?:星期|礼拜|月|周末)|天天|周末|经常|几乎天天)[都会要去]*(?P<verb>[\u3400-\u9fff])"
)
_THING_ZH: Final = re.compile(r"(?:买|换|租|订|收|捡|养|生)了?[一两二三几\d]?[辆台只条套部件双把块栋间个]")
_OF_THING_ZH: Final = re.compile(r"^(?:是(?!因|为|不)[^，]{1,6}(?:的|色|款|牌子?)|花了)")
_RELATION_FIRST: Final = re.compile(
    r"^我?(?:老婆|老公|媳妇|太太|先生|丈夫|妻子|爱人|对象|女朋友|男朋友|[爸妈哥姐弟妹]{1,2}(?!们)|爷爷|奶奶|儿子|女儿)"
)
_OTHERS: Final = re.compile(r"[他她它]|\b(?:he|she|they|his|her|their)\b", re.IGNORECASE)
_AROUND: Final = " ,，；;、。.!！"


def is_greeting(clause: str) -> bool:
    """Whether a clause only greets."""
    return _GREETING.search(fold(clause).strip()) is not None


def speaker_again(clause: str, before: Sequence[str]) -> str:
    """The words to put before a clause that tells another kind of fact about the speaker.

    Empty where the clause names its subject, tells nothing of the kind, or may be told of somebody else.
    """
    said = list(before[1:] if before and is_greeting(before[0]) else before)
    if not said or not _names_speaker(said[0]) or any(map(_mentions_somebody, said)):
        return ""
    kind, kinds = _kind(clause), [_kind(each) for each in said]
    since = max(place for place, each in enumerate(said) if _names_speaker(each))
    if kind in ("", "name", "wedding", *kinds) or not _OF_SPEAKER.issuperset(kinds[since:]):
        return ""
    if _OTHERS.search(clause) or _names_speaker(clause):
        return ""
    if has_han(clause):
        # 家里两台望远镜 tells more of what somebody likes; elsewhere it may tell of the home.
        return "" if kind == "equipment" and "hobby" not in kinds else "我"
    # "I'm from Leeds, a city in Yorkshire": what the place is.
    of_place = kind == "work" and kinds[-1] not in ("name", "age")
    return "I'm " if all(kinds) and not of_place else ""


def tells_other_kind(clause: str, before: Sequence[str]) -> bool:
    """Whether a clause with its own subject tells one more kind of fact, or the same of another: 我属牛，老婆属兔."""
    kind = _kind(clause)
    last = _kind(before[-1]) if before else ""
    if not kind or last in ("", "family", "pet"):
        return False
    if not has_han(clause) and not _names_speaker(before[-1]):
        # "Hi, I'm based in Boston": one word in capitals is no name here.
        return False
    relation = _relation_first(_bare(clause))
    if relation:
        return relation != _relation_first(_bare(before[-1]))
    return _names_speaker(clause) and kind != last


def tells_more_of_it(clause: str, before: str) -> bool:
    """Whether a clause without a subject says more of what the one before has told.

    我在医院上班，做护士; 我买了辆车，是白色的; 我有糖尿病，每天打胰岛素; 我喜欢跑步，每天跑五公里.
    """
    bare, said = _bare(clause), _bare(before)
    if not has_han(bare) or _names_speaker(clause):
        return False
    often, liked = _HOW_OFTEN_ZH.match(bare), _LIKES_ZH.search(said)
    return (
        (_kind(before) == "work" and _matches(bare, _TASK_ZH, _DEPARTMENT_ZH))
        or (_EMPLOYED_ZH.search(said) is not None and _OWN_JOB_ZH.search(bare) is not None)
        or (_kind(before) == "home" and _HOUSE_ZH.search(bare) is not None)
        or (_THING_ZH.search(said) is not None and _OF_THING_ZH.search(bare) is not None)
        or (_ILLNESS_ZH.search(said) is not None and _matches(bare, _TREATMENT_ZH, _REACTION_ZH))
        or (often is not None and liked is not None and often["verb"] in said[liked.end() :])
    )


def _matches(bare: str, *patterns: re.Pattern[str]) -> bool:
    return any(pattern.search(bare) for pattern in patterns)


def _bare(clause: str) -> str:
    """A clause without the signs around it; Chinese in simplified characters."""
    bare = clause.strip(_AROUND)
    return fold(bare) if has_han(bare) else bare


def _predicate(clause: str) -> str:
    """A clause without its subject and without the words that say when."""
    bare = _bare(clause)
    if not has_han(bare):
        begin = _SPEAKER_EN.match(fold(bare))
        return bare[begin.end() :] if begin is not None else bare
    bare = bare[1:] if bare.startswith(("我俩", "我们")) else _SPEAKER_ZH.sub("", bare)
    return _TIME_ZH.sub("", bare.removeprefix(_relation_first(bare)))


def _kind(clause: str) -> str:
    told = _predicate(clause)
    kinds = _KINDS_ZH if has_han(clause) else _KINDS_EN
    return next((kind for kind, pattern in kinds.items() if pattern.search(told)), "")


def _names_speaker(clause: str) -> bool:
    return _bare(clause).startswith(("我", "俺", "本人")) or _SPEAKER_EN.search(fold(_bare(clause))) is not None


def _mentions_somebody(clause: str) -> bool:
    # 我是小学老师 and 我属狗 tell of the speaker alone.
    own = _kind(clause) == "sign" or _OWN_JOB_ZH.search(_predicate(clause)) is not None
    of_speaker = own and not _relation_first(_bare(clause))
    return _OTHERS.search(clause) is not None or bool(relations_in(fold(clause)) and not of_speaker)


def _relation_first(bare: str) -> str:
    match = _RELATION_FIRST.match(bare)
    return match[0] if match is not None else ""
