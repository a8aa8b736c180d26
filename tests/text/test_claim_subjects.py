"""Whom a claim is about, what about, and when."""

import pytest

from jiyi.text.statements.keeping.fact_kinds import fact_kind
from jiyi.text.statements.parts.claims import split_claims

SUBJECTS = [
    ("小雪搬到大连去了。", "小雪"),
    ("小罗跳槽去腾讯了。", "小罗"),
    ("王磊调走了。", "王磊"),
    ("Ella switched to Hillcrest after Easter.", "ella"),
    ("Nina had the baby, a girl called Isla!", "nina"),
    ("Marcus got promoted last week.", "marcus"),
    ("Priya quit her job.", "priya"),
    ("Leo passed his driving test.", "leo"),
    ("Fatima is moving to Oslo.", "fatima"),
    ("Derek broke his arm.", "derek"),
    ("Sofia sold her car.", "sofia"),
    ("Moved to Cardiff last week.", "user"),
    ("Sold the Focus, I drive a Niro now.", "user"),
    ("Started at Aldi on Monday.", "user"),
    ("Quit smoking in May.", "user"),
    ("张伟辞职了。", "张伟"),
    ("李娜生了个女儿。", "李娜"),
    ("老周住院了。", "老周"),
    ("阿强买车了。", "阿强"),
    ("陈静搬家了。", "陈静"),
    ("换工作了，现在在京东。", "user"),
    ("高兴死了，我升职了。", "user"),
    ("周末我跑外卖。", "user"),
    ("马上要搬家了。", "user"),
    ("我爸妈住在扬州。", "parents"),
    ("我爸妈的结婚纪念日是8月2号。", "parents"),
    ("爸妈都退休了。", "parents"),
    ("我的父母住在乡下。", "parents"),
    ("爷爷奶奶住在老家。", "grandparents"),
    ("Whoops, dad's birthday is 13 March, not 3 March.", "father"),
    ("Oops, my sister lives in Hull.", "sister"),
    ("Sorry, my brother is 32.", "brother"),
    ("Ah, mum's allergic to nuts.", "mother"),
    ("Right, my son's teacher is Ms. Hale.", "son"),
    ("Wait, my wife is a nurse.", "wife"),
    ("Hmm, dad takes warfarin.", "father"),
    ("Actually no, my aunt lives in Porto.", "aunt"),
    ("哎呀，我妈生日是3月13号。", "mother"),
    ("哦对了，我哥住在株洲。", "elder brother"),
    ("不好意思，我爸是3月3号生日。", "father"),
    ("领导说我六月升组长", "user"),
    ("領導說我六月升組長", "user"),
    ("醫生說我血壓高。", "user"),
    ("My boss said I'm getting promoted to team lead in June.", "user"),
    ("老闆說我下個月去上海出差。", "user"),
    ("how do I tell my boss Sarah that I'm leaving in March?", "user"),
    ("How should I tell my mum that I'm pregnant?", "user"),
    ("小龙虾涨价了。", "user"),
    ("小米出了新手机，我买了一台。", "user"),
    ("Nobody came to my birthday.", "user"),
    ("Marta is learning to drive.", "marta"),
    ("Joan joined a choir.", "joan"),
    ("Spent all day at the allotment.", "user"),
    ("小敏怀孕了。", "小敏"),
    ("刘洋去上海工作了。", "刘洋"),
    ("高兴得睡不着，考上研究生了。", "user"),
    ("天天加班，累死了。", "user"),
    ("外公外婆身体都很好。", "grandparents"),
    ("我公公婆婆住在隔壁小区。", "parents-in-law"),
    ("My in-laws live in Whitby.", "parents-in-law"),
    ("我爸的朋友开了家店。", "friend"),
    ("我妈同事住院了。", "colleague"),
    ("Hey, my daughter is vegan.", "daughter"),
    ("糟糕，我妈对青霉素过敏。", "mother"),
    ("抱歉，我住在宁波。", "user"),
    ("媽媽說我對花生過敏。", "user"),
    ("老師說我的論文通過了。", "user"),
    ("What should I get my dad, he loves stamps?", "father"),
    ("Right, my brother is a baker.", "brother"),
    ("老方法行不通了。", "user"),
    ("小陈周五结婚。", "小陈"),
    ("等等，我姐是护士。", "elder sister"),
]
TOPICS = [
    ("I used to be a lawyer but now I run a bakery.", "work"),
    ("I run a small café with my husband.", "work"),
    ("She runs a hotel in Wales.", "work"),
    ("I run three times a week.", "sport and fitness"),
    ("I run a half marathon every spring.", "sport and fitness"),
    ("我左耳聽不見，影片請給我字幕", "health"),
    ("我右眼看不见。", "health"),
    ("我是O型血", "health"),
    ("我妈不能吃麸质", "diet"),
    ("我奶奶不能吃花生。", "diet"),
    ("my landlord's name is mr okafor, number 07700 900333", "contact"),
    ("我给纪录片做字幕。", "farming and trade"),
]
TIMES = [
    ("Since I'm left-handed I need other scissors.", ""),
    ("Since 2010 I've worked at Bosch.", "Since 2010"),
    ("I've had asthma since I was ten.", "since I was ten"),
    ("I go swimming every two weeks.", "every two weeks"),
    ("I take it every other day.", "every other day"),
    ("Every single time I call I wait an hour.", "Every single time"),
    ("The landline is 555-0188.", ""),
    ("回答请简短一点", ""),
    ("说话慢一点。", ""),
    ("下午一点开会。", "下午一点"),
    ("周五一点开会。", "周五一点"),
    ("我十一点睡觉。", "十一点"),
]


@pytest.mark.parametrize(("text", "subject"), SUBJECTS)
def test_a_claim_is_about_whom_its_clause_names(text: str, subject: str) -> None:
    assert subject in [claim.subject for claim in split_claims(text)]


@pytest.mark.parametrize(("text", "topic"), TOPICS)
def test_a_claim_is_about_what_its_words_say(text: str, topic: str) -> None:
    assert [claim.topic for claim in split_claims(text)] == [topic]


@pytest.mark.parametrize(("text", "when"), TIMES)
def test_only_a_time_tells_when(text: str, when: str) -> None:
    assert split_claims(text)[0].when == when


@pytest.mark.parametrize("text", ["領導說我六月升組長", "领导说我六月升组长"])
def test_what_somebody_says_of_the_user_is_of_the_user_in_both_scripts(text: str) -> None:
    claim = split_claims(text)[0]
    assert (claim.subject, claim.said_by) == ("user", "boss")


@pytest.mark.parametrize(
    "text", ["我是O型血", "我左耳聽不見，影片請給我字幕", "我右眼失明。", "My blood type is O negative."]
)
def test_a_blood_type_and_an_ear_that_does_not_hear_are_never_forgotten(text: str) -> None:
    assert fact_kind(text) == "health"


@pytest.mark.parametrize("text", ["我听不见你说话", "这台电视是A型号"])
def test_what_is_not_heard_or_built_is_no_health(text: str) -> None:
    assert fact_kind(text) != "health"
