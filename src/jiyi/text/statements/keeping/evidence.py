"""Statements that no cue phrase announces: weighed by what they speak of.

A plain sentence is worth remembering when several things come together: somebody's own affairs, a subject of lasting
interest (health, food, pets, work, people, duties), a name, a figure or a date, and words that make it hold for longer
than today. Words that point at the conversation itself ("this line", 你刚才说的) speak against it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from jiyi.text.dates import find_dates
from jiyi.text.patterns import has_han
from jiyi.text.statements.keeping.cue_rules import Domain, Kind, Rule

__all__ = ["has_date", "weigh"]

_MIN_WEIGHT: Final = 2.0

_PERSON: Final = re.compile(r"我|咱|家里|本人|\b(?:i|i'm|i've|i'd|i'll|my|me|we|we're|we've|our|us|mine)\b")
_LASTING: Final = re.compile(
    r"每|都|只|从来|一直|好多年|多年|快.{1,2}年|了.{1,2}年|不能|不要|不吃|别|免了|统一|全部|必须|得|通常|一般|从小"
    r"|年底|命根|定期|固定"
    r"|\b(?:never|ever|always|every|each|only|no|since|years?|have to|has to|must|usually|most|both|by trade|all"
    r"|any|used to)\b"
)
_NAMED: Final = re.compile(
    r"(?<=[a-z,'’] )[A-Z][a-z]+|\b[A-Z]{2,}\b|\d|[\u4e00-\u9fff]\s?[A-Za-z]{2,}"
    r"|[阿小老][\u4e00-\u9fff]|[\u4e00-\u9fff][总工姐哥]"
)
_ABOUT_THE_CHAT: Final = re.compile(
    r"这(?:个|句|道|首|集|篇|段|张|题|里|样)|那(?:张|个|句|段)|刚才|上面|前面那|你说|你刚|再想|试试|看看|来玩|先来"
    r"|我再|问你|看懂|看不懂|模板|又要|跑通|报错"
    r"|\b(?:this|that|above|it|let me|let'?s|try|trying|question|not sure|follow|meant|line \d+|error|\w+error"
    r"|screen|font"
    r"|understand|second step|first one|pick a|roll a|add a|here you|looks|was okay)\b"
)
# Chinese leaves the speaker out: a sentence about nobody else is about the one who says it.
_SOMEBODY_ELSE: Final = re.compile(r"[你您他她它这那谁]|大家|人们|网上|新闻")
_ADDRESSED: Final = re.compile(r"[你您]|\byou\b")

# Subjects by domain; health stands by itself, because it matters most.
_HEALTH: Final = re.compile(
    r"过敏|肿|疹|胃|肝|肾|甲状腺|结节|手术|血压|血糖|尿酸|腰|颈椎|膝|复查|确诊|查出|慢性|药|疫苗|牙套|近视|哮喘"
    r"|碰都不能碰"
    r"|\b(?:allerg\w*|lactose|gluten|intoleran\w*|stomach|hip|knee|back pain|surgery|replacement|diagnos\w*|asthma"
    r"|pills?"
    r"|medication|blood|heart|chronic|pregnan\w*|vaccin\w*|injur\w*|hearing aid|wheelchair)\b"
)
_SUBJECTS: Final[tuple[tuple[Domain, re.Pattern[str]], ...]] = (
    (
        "social_and_relationships",
        re.compile(
            r"太太|老婆|老公|丈夫|妻子|女友|男友|[爸妈爷奶公婆舅姑姨叔伯]{1,2}(?![平司园主开布])|外孙|孙子|孙女"
            r"|儿子|女儿|孩子|[哥姐弟妹](?![夫])|兄弟|亲戚|同学|朋友|邻居|单身|结婚"
            r"|离婚|过寿|满月|长大|[\u4e00-\u9fff]总(?![是会结共数之而的])|一块儿|发小|闺蜜|对象|相亲"
            r"|\b(?:wife|husband|partner|fianc\w+|mother|father|mom|mum|dad|grand\w+|godmother|godfather|aunt"
            r"|uncle|cousin|sister"
            r"|brother|son|daughter|kids?|niece|nephew|friend|neighbou?r|next door|together|married|widow\w*"
            r"|birthday|wedding"
            r"|late wife|roommate|landlord)\b"
        ),
    ),
    (
        "professional_and_academic",
        re.compile(
            r"公司|同事|老板|客户|项目|数据库|后端|前端|服务器|权限|上线|下线|代码|算法|本科|硕士|博士|专业|学的"
            r"|大学|诊所|牙医|医生|律师|老师|工程师|预算|合同|薪|工资|创业"
            r"|行业|部门|岗位|开了(?:个|家)|论文|课题|证书"
            r"|\b(?:monorepo|repo\w*|ci|backend|frontend|database|deploy\w*|cluster|customer|client|vendor|invoice"
            r"|net \d+|undergrad"
            r"|degree|linguistics|science|welder|teacher|nurse|engineer|trade|classes|graphql|rest|api|team"
            r"|company|startup"
            r"|office|contract|salary|shift|coworker|university|college|thesis|lab|license[ds]?)\b"
        ),
    ),
    (
        "user_preferences",
        re.compile(
            r"微辣|辣|甜|口味|喜剧|字体|摄氏|显示|格式|打电话|发微信|发邮件|推荐|苦情|免了|点(?:餐|菜|外卖)|外卖"
            r"|少糖|去冰|靠窗|过道|静音|夜间模式|语速|称呼"
            r"|\b(?:subtitles?|mild|spicy|chili|podcasts?|audiobooks?|format|emoji|email|calls?|texts?|decaf|units"
            r"|tone|seat|dark mode"
            r"|bore me|listen to|font size|notifications?|volume|language)\b"
        ),
    ),
    (
        "tasks_and_schedules",
        re.compile(
            r"驾照|换证|护照|签证|扣款|房贷|还款|交(?:费|房|稿)|缴|到期|年检|发布会|开会|例会|体检|复查|约好|说好"
            r"|回国|出差|航班|火车|机票|考试|面试|搬家|预约|截止|提前到|推迟"
            r"|\b(?:visa|interview|taxes|filed|renew\w*|mot|appointment|booked|leaving|flight|collected|collection"
            r"|due|deadline"
            r"|meeting|exam|delivery|inspection|move-in|check-?in|reservation|pick up|rehearsal|closing)\b"
        ),
    ),
    (
        "lifestyle_and_interests",
        re.compile(
            r"夜跑|跑步|健身|游泳|柯基|猫|狗|阳台|种|租的?房|派到|住|武汉|烘焙|钓鱼|露营|骑行|素食|减脂|咖啡|茶|酒"
            r"|旅行|摄影|追剧|乐器|花园|养"
            r"|\b(?:bouldering|climb\w*|gym|hives?|bees|garden\w*|home is|live|lives|flat|apartment|dairy|diet"
            r"|vegan|fish\w*|cycl\w+"
            r"|hik\w+|choir|guitar|piano|violin|knit\w*|dog|cat|horse|chickens|allotment|surf\w*|chess|yoga"
            r"|swim\w*|bake\w*|brew\w*)\b"
        ),
    ),
)
_KINDS: Final[dict[Domain, Kind]] = {
    "social_and_relationships": "relation",
    "professional_and_academic": "fact",
    "user_preferences": "preference",
    "tasks_and_schedules": "date",
    "lifestyle_and_interests": "fact",
}
_NOTHING: Final = re.compile("")
# Dates are only looked for, not computed: any moment will do.
_SOME_DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)


def has_date(folded: str) -> bool:
    """Whether the sentence names a day, a time or a period."""
    return bool(find_dates(folded, now=_SOME_DAY, tz=UTC))


def _subject_domain(folded: str) -> tuple[Domain, int] | None:
    """The domain that most of the words speak of, and how many; the first of equals."""
    counts = [(len(set(pattern.findall(folded))), domain) for domain, pattern in _SUBJECTS]
    best = max(count for count, _ in counts)
    return next(((domain, count) for count, domain in counts if count == best), None) if best else None


def _person_weight(folded: str) -> float:
    if _PERSON.search(folded):
        return 1.0
    return 0.75 if has_han(folded) and not _SOMEBODY_ELSE.search(folded) else 0.0


def weigh(sentence: str, folded: str) -> Rule | None:
    """A rule for a sentence that states something worth remembering without a cue phrase, else `None`."""
    subject = _subject_domain(folded)
    is_health = _HEALTH.search(folded) is not None
    dated = has_date(folded)
    if subject is None and not is_health:
        return None
    count = subject[1] if subject is not None else 1
    weight = (
        _person_weight(folded)
        + 1.0
        + 0.5 * (count > 1 or is_health)
        + 1.0 * dated
        + 0.5 * (_NAMED.search(sentence) is not None)
        + 0.75 * (_LASTING.search(folded) is not None)
        - 1.5 * (_ABOUT_THE_CHAT.search(folded) is not None)
        - 1.0 * (_ADDRESSED.search(folded) is not None and _PERSON.search(folded) is None)
    )
    if weight < _MIN_WEIGHT:
        return None
    if is_health and not (dated and subject is not None and subject[0] == "tasks_and_schedules"):
        return Rule("health", "lifestyle_and_interests", 0.85, 0.6, _NOTHING)
    domain = subject[0] if subject is not None else "lifestyle_and_interests"
    return Rule(_KINDS[domain], domain, 0.72, 0.55, _NOTHING)
