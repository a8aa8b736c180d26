"""The words by which `subject_phrases` finds where a subject ends and a verb begins, and which nouns say little."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "ADVERB_EN",
    "ATTRIBUTES",
    "CHANGE_VERB_EN",
    "CHANGE_VERB_ZH",
    "COMMENT",
    "GENERIC",
    "LEAD_EN",
    "LEAD_ZH",
    "NOT_A_NOUN_EN",
    "NO_NOUN_ZH",
    "NO_WORDS_EN",
    "ONE_THING",
    "REPORTS_EN",
    "REPORTS_ZH",
    "VERB_EN",
]

VERB_EN: Final = re.compile(
    r"(?:is|are|was|were|am|be|been|isn't|aren't|wasn't|isnt|has|have|had|hasn't|haven't|does|do|did|doesn't|don't"
    r"|didn't|will|won't|can|can't|cannot|could|should|must|may|might|would|needs?|costs?|weighs?|takes?|took|lives?"
    r"|works?|goes|go|went|comes?|came|gets?|got|makes?|made|gives?|gave|says?|said|told|wants?|likes?|loves?|hates?"
    r"|prefers?|eats?|drinks?|plays?|studies|studied|teaches|taught|attends?|uses?|runs?|ran|drives?|drove|owns?|keeps?"
    r"|kept|sits?|stands?|sleeps?|slept|starts?|ends?|begins?|began|opens?|closes?|arrives?|leaves?|left"
    r"|departs?|expires?"
    r"|renews?|falls?|fell|becomes?|became|stays?|speaks?|spoke|wears?|wore|reads?|writes?|wrote|sings?|sang|supports?"
    r"|requires?|allows?|holds?|contains?|pays?|paid|earns?|charges?|rose|drops?|dropped|quit|switches|swapped|moves"
    r"|joins|broke|died|dies|turns|hits?|knows?|means?|lasts?|seems?|looks|feels|finishes|kicks|meets|met|sells?|sold"
    r"|buys?|bought|rings?|rang|put|set|cut|grew|grows|built|sent|reports?|manages?|leads?|heads|covers?"
    r"|sticks?|needn't"
    r"|points?|listens?|expects?|returns?|flies|flew|lands?|belongs?|remains?|smokes?|snores?|bites?|barks?|walks?"
    r"|swims?|[a-z]{3,}(?<!need)(?<!spe)(?<!hundr)(?<!bed)(?<!wed)(?<!seed)(?<!feed)(?<!shed)ed)"
)
ADVERB_EN: Final = re.compile(
    r"(?:now|currently|already|still|also|just|only|no|not|never|always|usually|actually|recently|finally|really|both"
    r"|all|again|instead|once|twice|today|tomorrow|probably|apparently|sometimes|often|normally|definitely|officially"
    r"|who|which|since)"
)
NOT_A_NOUN_EN: Final = re.compile(
    r"(?:a|an|the|my|our|his|her|in|on|at|to|from|with|for|off|up|down|out|over|gone|back|done|due|going|getting|\w+ing"
    r"|\d[\w:.,]*|about|very|so|too|called|allergic|vegan|vegetarian|pregnant|fine|ok|home|retired|left"
    r"|married|single|moved)"
)
CHANGE_VERB_EN: Final = re.compile(
    r"(?:moved|move|moving|changed|change|changing|switched|switch|raised|raise|lowered|set|reset|bumped"
    r"|pushed|postponed"
    r"|rescheduled|cancelled|canceled|renamed|updated|upgraded|downgraded|swapped|replaced|increased|decreased|reduced"
    r"|rewrote|ported|migrated|extended|shortened|delayed|booked|sold|repainted|painted|doubled|halved|dropped|cut)"
)
# Whoever reports or asks something is not what it is about: "the vet says …", 房东说….
REPORTS_EN: Final = re.compile(
    r"(?:says?|said|told|tells|rang|called|texted|emailed|wrote|reckons|asked|asks|insists|thinks|wants|announced"
    r"|confirmed)"
)
REPORTS_ZH: Final = re.compile(
    r"说|讲|通知|告诉|来电|打电话|电话|发消息|问|让|叫我|要我|给我?(?:们)?[挪换改调推]|刚来|催|要求|回复|回我"
)
LEAD_EN: Final = re.compile(
    r"^(?:(?:and|but|so|ok|okay|oh|btw|also|actually|well|sorry|update|correction|now|then|plus|yeah|yes|no"
    r"|wait|fyi|hey"
    r"|turns out|it turns out|looks like|apparently|today|yesterday|as of \w+|from \w+|this week|last week|next week"
    r"|by the way|for now|good news|bad news|news|note|reminder|scratch that|no wait|finally|anyway|right"
    r"|just so you know"
    r"|just|remember|please|because|since|although|though|while|whereas|however)\b[\s,:;!.–-]*)+",
    re.IGNORECASE,
)
LEAD_ZH: Final = re.compile(
    r"^(?:(?:对了|其实|那个?|哦|喔|嗯|啊|另外|更正(?:一下)?|纠正(?:一下)?|不对|补充(?:一下)?|顺便(?:说|提)一?[下句]?|说一下|通知|最近|现在"
    r"|目前|而且|但是?|不过|所以|然后|今天|今早|今晚|昨晚|昨天|刚刚|刚才|刚|上周|上个月|这周|下周|下个月|今年|去年|明年|已经|原来|本来|终于|突然|后来"
    r"|记一下|记住|请|麻烦|帮我|还有|以后|从今天起|从现在起|听说|好消息|坏消息|汇报(?:一下)?)[\s，,：:、]*)+"
)
# Comments that are about nothing: "I had it wrong", 我记错了.
COMMENT: Final = re.compile(
    r"^(?:sorry|my (?:bad|mistake)|oops|i (?:had (?:it|that)|got (?:it|that)|was|said|wrote|meant|misspoke"
    r"|checked|asked"
    r"|think|guess|know|hope|hear|heard|forgot|just (?:checked|heard|found out))\b[^,]{0,14}$"
    r"|i made a mistake|(?:that|it) was (?:a )?(?:wrong|typo"
    r"|mistake)|just so you know|as i said|thank|please|fyi)"
    r"|^(?:我?(?:刚才|之前|上次)?(?:记|说|写|打|弄|搞|看)错了?|不好意思|抱歉|对不起|谢谢|麻烦|别忘了|记得|不对)"
)
CHANGE_VERB_ZH: Final = re.compile(
    r"改(?:到|成|在|为|用|期|了|去|叫|名)?|换(?:成|到|了|给)?|推(?:迟|到|后)|延(?:期|后|到|迟)|提前|取消|挪(?:到|至)?|移到|调(?:到|成|整)?|升(?:级"
    r"|到|至)?|降(?:到|至|级)?"
    r"|涨(?:到|了)?|提高|上调|下调|增加|减少|是|在|定在?|安排|要|需要|变成|搬|停|结束|开始|用|设(?:成|为|置)?|没|不|已经|从|由|刷成|转到?"
)
# Verbs of two characters that are never the name of an event.
NO_NOUN_ZH: Final = re.compile(
    r"跳槽|入职|升职|离职|决定|打算|准备|开始|喜欢|觉得|希望|可以|应该|记得|建议|同意|通知|确认|考虑|想要|需要|已经|没有|不是|不要|不用|帮我|换成|改成|改到|搬到|搬去|辞职"
    r"|离婚|分手|结婚|毕业|退休|生病|知道|认为|发现|听说|看到|收到|买了|卖了|养了|取消|推迟|提前|变成|升级|换了|改了|说是|还是|继续|不再|正在|住在|刚刚"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GENERIC: Final = _words(
    "appointment appt time date thing things stuff one ones version number details plan update part side"
    " place situation"
    " 预约 时间 日期 事 事情 安排 计划 东西 号码 地方 情况 那边 这边 那个 这个"
    " 时刻 时刻表 日程 日子 版本 个 位 只 条 家 辆 台 部 间 套 那 这 本 名字 名"
)
# What is said of a thing under its own name: the deadline of an essay is told of the essay as well.
ATTRIBUTES: Final = _words(
    "deadline due price cost costs fee size length address colour color name age weight height status level rate code"
)
NO_WORDS_EN: Final = _words(
    "the a an my our his her their its your this that these those of for to with at in on from by about and new old own"
    " today tomorrow week weeks month months year onwards as next last same actual real little dear good whole usual"
)
# Words that may name one thing.
ONE_THING: Final = tuple(
    _words(group)
    for group in (
        "salary pay wage wages income 工资 薪水 薪资 月薪 收入 年薪 底薪",
        "phone mobile cell number telephone 手机 手机号 电话 号码 手机号码 电话号码 联系电话 联系方式",
        "flight plane 航班 飞机 机票",
        "rent lease 房租 租金 月租",
        "car motor ride vehicle 车 车子 座驾",
        "flat apartment place house home 房子 家 公寓 住处 住址 地址 address",
        "job work role position employer company 工作 公司 单位 职位 岗位",
        "class lesson lessons session sessions course classes 课 课程",
        "doctor gp doc physician surgery clinic 医生 大夫",
        "dentist teeth tooth 牙医 牙科 看牙 牙",
        "laptop computer machine pc macbook 电脑 笔记本 本子",
        "email mail 邮箱 邮件",
        "deadline due 截止 截止日期 ddl",
        "birthday bday 生日",
        "backend 后端",
        "frontend 前端",
        "production prod 生产 生产环境 线上",
        "test testing 测试 测试环境",
        "staging 预发",
        "db database 数据库",
        "meeting meet call standup 会 会议 例会 开会",
        "manager boss supervisor lead 领导 老板 上司 主管 经理 直属",
        "weight 体重",
        "gym training workout fitness 健身 健身房",
        "trip holiday vacation travel journey 旅行 旅游 行程",
        "wedding marriage 婚礼 结婚",
        "nursery kindergarten 幼儿园",
        "teacher tutor 老师",
        "coach trainer 教练",
        "swimming swim 游泳 泳",
        "party celebration 聚会 派对",
        "operation surgery op 手术",
        "exam test 考试",
    )
)

_SIDED: Final = (
    "(?:eyes?|ears?|hands?|arms?|legs?|foot|feet|knees?|hips?|shoulders?|ankles?|wrists?|elbows?|side|one|lens|lung"
    "|kidney|wing|door|speaker|wheel|thumb|heel|breast)"
)
_CHILD: Final = "(?:one|son|daughter|boy|girl|dog|cat)"
_LEFT: Final = rf"左[眼耳手脚腿膝肩肘腕臂边侧]|\bleft {_SIDED}\b"
_RIGHT: Final = rf"右[眼耳手脚腿膝肩肘腕臂边侧]|\bright {_SIDED}\b"
_ELDEST: Final = rf"老大|大宝|大(?:女儿|儿子|闺女|的那?个?)|\b(?:eldest|oldest|older {_CHILD})\b"
_YOUNGEST: Final = rf"老[二三]|[二小]宝|小(?:女儿|儿子|闺女|的那个)|\b(?:youngest|younger {_CHILD}|puppy|kitten)\b"
_HIRED: Final = r"租的车|租来的|\b(?:rental|hired?|rented) (?:car|van)\b"
_OWNED: Final = r"自己的车|自家的?车|\b(?:my|our) own (?:car|van)\b"
_TRAVELS: Final = "(?:flight|plane|train|ferry|coach|bus|drive|journey)"
_THERE: Final = rf"去程|去[^，]{{0,6}}的(?:航班|飞机|机票|票|火车|高铁)|\boutbound\b|\b{_TRAVELS} (?:out|there|to)\b"
_BACK: Final = (
    rf"[返回]程|回[^，]{{0,6}}的(?:航班|飞机|机票|票|火车|高铁)|\breturn {_TRAVELS}\b|\b{_TRAVELS} (?:back|home)\b"
)
_AT_WORK: Final = r"公司|单位|办公室|\b(?:work|office) (?!from)"
_AT_HOME: Final = r"家里的|小区|私人|\b(?:home|personal|private) (?!town)"
CONTRASTS: Final = tuple(
    (re.compile(one), re.compile(two))
    for one, two in (
        (_LEFT, _RIGHT),
        (_ELDEST, _YOUNGEST),
        ("自己住的|我住的|自住", "出租的|租出去的"),
        (_HIRED, _OWNED),
        (_AT_WORK, _AT_HOME),
        (_THERE, _BACK),
        (r"前门|\bfront (?:door|gate)\b", r"后门|\bback (?:door|gate)\b"),
    )
)
"""Pairs of words for things of one kind that are never the same: the left eye and the right eye."""
