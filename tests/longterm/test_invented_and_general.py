"""Films, cases, personas and general knowledge tell nothing of the user; what the user tells beside them does."""

import pytest

from jiyi.sync import AgentMemory


def kept(memory: AgentMemory, *messages: str) -> list[str]:
    for message in messages:
        memory.longterm.extract_and_store_memories_for_round("alice", "c", message, "")
    return [entry.content for entry in memory.list(scope="alice", memory_types="fact")]


@pytest.mark.parametrize(
    "message",
    [
        "In the movie the guy quits his job and moves to Alaska.",
        "In that film the mother is allergic to peanuts and dies.",
        "The book is about a nurse who lives in Dublin with three cats.",
        "The song goes: I live on a hill with my two dogs.",
        "The patient in the case study is 54, smokes and has asthma.",
        "The main character is a vegan chef who moved to Rome.",
        "In the series her husband is a lawyer and drinks too much.",
        "In the case the client is 40, married, and owns a flat in Leeds.",
        "电影里男主辞了职搬到阿拉斯加去了。",
        "病例里的患者54岁，吸烟，有哮喘。",
        "歌里唱“我家住在黄土高坡”。",
        "这本书讲的是一个护士在上海养了三只猫。",
        "电视剧里那个妈妈对花生过敏。",
        "女主角是个素食主义者，住在巴黎。",
        "案例中的客户今年40岁，已婚，有两套房。",
        "小说里的主人公戒了酒，搬回了老家。",
    ],
)
def test_what_a_film_a_book_or_a_case_tells_is_no_fact(memory: AgentMemory, message: str) -> None:
    assert kept(memory, message) == []


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("My patient is 54 and smokes, I see her on Mondays.", "My patient"),
        ("I'm writing a novel about a nurse in Dublin.", "novel"),
        ("My favourite movie is Alien and I watch it every year.", "Alien"),
        ("I work in a film studio in Leeds.", "film studio"),
        ("My sister got a part in a movie and moved to Alaska.", "moved to Alaska"),
        ("I have two patients with asthma on my ward.", "asthma"),
        ("I'm reading Dune and I live in Leeds.", "live in Leeds"),
        ("我的病人54岁，吸烟，我每周一给她看诊。", "54"),
        ("我在写一本关于护士的小说。", "小说"),
        ("我最喜欢的电影是《霸王别姬》。", "霸王别姬"),
        ("我妹妹在电影公司上班。", "电影公司"),
        ("我在电影院上班，住在成都。", "电影院"),
        ("我儿子在剧里演一个医生。", "儿子"),
    ],
)
def test_what_the_user_has_to_do_with_films_and_patients_is_kept(memory: AgentMemory, message: str, told: str) -> None:
    assert told in " / ".join(kept(memory, message))


def test_a_film_does_not_replace_the_job_of_the_user(memory: AgentMemory) -> None:
    facts = kept(memory, "I work as a plumber in Leeds.", "In the movie the guy quits his job and moves to Alaska.")
    assert facts == ["I work as a plumber in Leeds."]


@pytest.mark.parametrize(
    "message",
    [
        "水在标准大气压下100度沸腾。",
        "世界卫生组织建议每周运动150分钟。",
        "据百度百科，猫一天睡15个小时。",
        "根据统计，成年人每天平均喝两杯咖啡。",
        "研究表明，每天走一万步有助于减肥。",
        "地球绕太阳一圈要365天。",
        "The WHO recommends 150 minutes of exercise a week.",
        "Water boils at 100 degrees at sea level.",
        "According to Wikipedia, cats sleep 15 hours a day.",
        "Studies show that adults need eight hours of sleep.",
        "The NHS advises adults to drink two litres a day.",
        "Light travels at 300,000 kilometres per second.",
    ],
)
def test_general_knowledge_is_no_fact_about_the_user(memory: AgentMemory, message: str) -> None:
    assert kept(memory, message) == []


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("My doctor recommends 150 minutes of exercise a week.", "150 minutes"),
        ("I boil my eggs for six minutes every morning.", "six minutes"),
        ("I work for the WHO in Geneva.", "WHO"),
        ("According to my scan I have a kidney stone.", "kidney stone"),
        ("Our cat sleeps 15 hours a day.", "15 hours"),
        ("The gym recommends that I train three times a week.", "three times"),
        ("医生建议我每周运动150分钟。", "150"),
        ("我家猫一天睡15个小时。", "15"),
        ("我在世界卫生组织上班。", "世界卫生组织"),
        ("据体检报告，我血糖偏高。", "血糖"),
        ("我每天喝两杯咖啡。", "两杯"),
        ("我们公司规定每周三居家办公。", "周三"),
    ],
)
def test_what_concerns_the_user_is_no_general_knowledge(memory: AgentMemory, message: str, told: str) -> None:
    assert told in " / ".join(kept(memory, message))


@pytest.mark.parametrize(
    "message",
    [
        "Write a post as a vegan mother of three",
        "Write a tweet as a vegan mum of three who hates cheese.",
        "Draft a letter in the style of a retired teacher with two dogs.",
        "Answer as if you were a doctor who lives in Rome.",
        "Write a review from the perspective of a diabetic customer.",
        "Compose an email in the voice of an angry landlord with four kids",
        "以一个三个孩子的素食妈妈的口吻写一条朋友圈",
        "用一个退休老教师的语气写封信",
        "假装你是一个住在巴黎的厨师，写段自我介绍",
        "模仿一个离婚律师的口气写条微博",
        "从一个糖尿病患者的角度写篇影评",
        "站在房东的立场写一封催租信",
    ],
)
def test_the_persona_of_a_text_is_not_the_user(memory: AgentMemory, message: str) -> None:
    assert kept(memory, message) == []


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("As a vegan mother of three I never have time to cook.", "vegan mother of three"),
        ("I write a blog as a vegan mother of three.", "vegan mother of three"),
        ("I work as a letter writer in Leeds.", "letter writer"),
        ("我是三个孩子的素食妈妈，经常写朋友圈。", "三个孩子"),
        ("作为一个退休老教师，我每天练书法。", "退休老教师"),
        ("我是一个糖尿病患者，在写影评公众号。", "糖尿病"),
    ],
)
def test_who_the_user_is_is_kept_although_it_sounds_like_a_persona(
    memory: AgentMemory, message: str, told: str
) -> None:
    assert told in " / ".join(kept(memory, message))
