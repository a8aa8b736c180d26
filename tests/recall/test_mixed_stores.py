"""A store of several kinds of memories: facts that stand alone beside messages and dated events on the same topic."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jiyi.model.relevance import CONFIDENT
from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from tests.support import present

OpenMemory = Callable[..., AgentMemory]
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)

FACTS = (
    "Our son Mikolaj is eleven and plays the cello",
    "Ferdinand looks after the bees",
    "The annual fee of the club is 120 euros",
    "The choir rehearses in the old mill",
    "Agnieszka Lis handles cargo claims",
    "The piano tuner is Mrs. Okafor",
    "The spare key hangs behind the mirror",
    "Our greenhouse is heated to 12 degrees",
    "The bicycle is locked with the code 5031",
    "The landlord lives in Trondheim",
    "俱乐部一年一百二十元",
    "合唱团在老磨坊排练",
    "车险买的是平安",
    "办公室在三零七号房间",
    "费迪养蜜蜂",
    "钢琴由欧阳老师调音",
    "备用钥匙挂在镜子后面",
    "自行车锁的密码是5031",
    "房东住在大理",
)
TOLD = (
    "Mikolaj got his first glasses",
    "The bees swarmed",
    "Somebody at the club lost a wallet",
    "The choir sang in the cathedral",
    "Her cargo claims go to Imran for the time being.",
    "The piano was carried up to the third floor",
    "I lost a key at the beach",
    "A pane of the greenhouse broke in the storm",
    "Rode the bicycle to the lake",
    "The landlord came to look at the roof",
    "加入了俱乐部",
    "合唱团在教堂演出",
    "车在车库刮花了",
    "办公室停电了",
    "蜜蜂分群了",
    "钢琴搬到了三楼",
    "在海边丢了一把钥匙",
    "骑自行车去了湖边",
    "房东来看了屋顶",
)
QUESTIONS = (
    ("How old is Mikolaj?", "eleven"),
    ("What does the club cost?", "120 euros"),
    ("Where does the choir practise?", "old mill"),
    ("Who tunes our piano?", "Okafor"),
    ("Where do we keep the spare key?", "mirror"),
    ("How warm is the greenhouse?", "12 degrees"),
    ("What is the number of the bicycle lock?", "5031"),
    ("In which town is the landlord's home?", "Trondheim"),
    ("俱乐部要多少钱", "一百二十"),
    ("合唱团在哪里练习", "老磨坊"),
    ("车的保险是哪家", "平安"),
    ("办公室在几号房间", "三零七"),
    ("谁照看蜜蜂", "费迪"),
    ("钢琴谁来调音", "欧阳"),
    ("备用钥匙放在哪", "镜子"),
    ("自行车锁的号码是多少", "5031"),
    ("房东家在哪座城市", "大理"),
)
EVENTS = (
    ("When did the bees swarm?", "swarmed"),
    ("Where did the choir sing?", "cathedral"),
    ("What was lost at the club?", "wallet"),
    ("What broke in the greenhouse?", "pane"),
    ("Where did I lose a key?", "beach"),
    ("蜜蜂什么时候分群的", "分群"),
    ("合唱团在哪里演出", "教堂"),
    ("车怎么刮花的", "刮花"),
    ("钥匙丢在哪里了", "海边"),
)


def _in_one_language(texts: tuple[str, ...], *, chinese: bool) -> list[str]:
    return [text for text in texts if text.isascii() != chinese]


def _stored(memory: AgentMemory, *, chinese: bool, dated: bool) -> AgentMemory:
    facts = [{"key": f"fact{n}", "content": text} for n, text in enumerate(_in_one_language(FACTS, chinese=chinese))]
    told: list[dict[str, Any]] = []
    for number, text in enumerate(_in_one_language(TOLD, chinese=chinese)):
        when: dict[str, Any] = {"occurred_at": NOW - timedelta(days=11 * number + 3)}
        where = {"category": "conversation", "conversation_id": f"c{number // 5}", "position": number % 5}
        told.append({"key": f"told{number}", "content": text, **(when if dated else where)})
    memory.store_many(facts + told)
    return memory


@pytest.mark.parametrize("dated", [True, False], ids=["dated events", "messages"])
@pytest.mark.parametrize("chinese", [False, True], ids=["en", "zh"])
@pytest.mark.parametrize("questions", [QUESTIONS, EVENTS], ids=["facts", "events"])
def test_what_answers_comes_first_whatever_kind_of_memory_it_is(
    open_memory: OpenMemory,
    bundled_embedder: Embedder,
    questions: tuple[tuple[str, str], ...],
    chinese: bool,
    dated: bool,
) -> None:
    memory = _stored(open_memory(embedder=bundled_embedder), chinese=chinese, dated=dated)
    missed = [
        question
        for question, answer in questions
        if question.isascii() != chinese and answer not in present(memory.recall(question, 1, now=NOW)[0]).content
    ]
    assert missed == []


@pytest.mark.parametrize(
    ("fact", "event", "query"),
    [
        ("Our son Mikolaj is eleven and plays the cello", "Mikolaj got his first glasses", "How old is Mikolaj?"),
        ("Ferdinand looks after the bees", "The bees swarmed", "Who cares for the bees?"),
        ("俱乐部一年一百二十元", "加入了俱乐部", "俱乐部要多少钱"),
        ("车险买的是平安", "车在车库刮花了", "车的保险是哪家"),
    ],
)
def test_of_two_memories_the_fact_that_answers_comes_before_the_dated_event(
    open_memory: OpenMemory, bundled_embedder: Embedder, fact: str, event: str, query: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("fact", fact)
    memory.store("event", event, occurred_at=NOW - timedelta(days=100))
    assert memory.recall(query, now=NOW)[0].key == "fact"


@pytest.mark.parametrize(
    ("fact", "messages", "query"),
    [
        ("The bees live behind the barn", ("The bees were loud", "Bees again"), "Where do the bees live behind?"),
        ("蜜蜂养在谷仓后面", ("今早蜜蜂很吵", "又是蜜蜂"), "蜜蜂养在谷仓哪里"),
    ],
)
def test_by_words_alone_the_words_of_a_fact_count_as_much_as_those_of_a_message(
    memory: AgentMemory, fact: str, messages: tuple[str, ...], query: str
) -> None:
    memory.store("fact", fact)
    for number, text in enumerate(messages):
        memory.store(f"m{number}", text, conversation_id="c", position=number)
    assert memory.recall(query, mode="keyword", now=NOW)[0].key == "fact"


NAMES = (
    "My mother Ilona lives in Szeged and turns 70 in April",
    "The staging server listens on port 8443",
    "Winter tyres are stored at Kowalski's garage",
    "Spent two weeks hiking around the Lofoten islands",
    "The policy number of the boat is HB-2209-K",
    "我在苏州博物馆做文物修复师",
    "数据库端口是5433",
    "豆包怕打雷",
    "Our dentist is on the square",
    "房租每月三千八",
)


@pytest.mark.parametrize(
    "name",
    ["Szeged", "SZEGED", "szeged", "8443", "Kowalski", "LOFOTEN", "Lofoten", "HB-2209-K", "苏州", "5433", "豆包"],
)
def test_a_name_or_a_number_that_one_memory_has_is_answered_by_it(
    open_memory: OpenMemory, bundled_embedder: Embedder, name: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store_many({"key": str(number), "content": text} for number, text in enumerate(NAMES))
    best = memory.recall(name, 1, now=NOW)[0]
    assert name.lower() in best.content.lower()
    assert present(best.relevance_score) > 2 * CONFIDENT


@pytest.mark.parametrize(("name", "confident"), [("Henrik", True), ("work", False), ("的", False)])
def test_each_of_a_few_memories_with_a_rare_word_is_likely_and_none_for_an_everyday_word(
    open_memory: OpenMemory, bundled_embedder: Embedder, name: str, confident: bool
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("a", "Henrik is head of the survey team, there is a lot of work")
    memory.store("b", "The tickets were paid for by Henrik, after work")
    memory.store("c", "蜜蜂分群的日子")
    hits = [hit for hit in memory.recall(name, now=NOW) if hit.matched]
    assert all(hit.confident is confident for hit in hits)
    assert len(hits) == 2 or not confident


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (("The office wifi is called Plover", "The router is an AX3000"), "wifi"),
        (("My dentist is Dr. Roe", "牙医是贺医生"), "dentist"),
        (("My dentist is Dr. Roe", "牙医是贺医生"), "Who is my dentist?"),
        (("备用钥匙挂在镜子后面", "自行车锁的密码是5031"), "备用钥匙放在哪"),
        (("租金按月付", "Rent is 900 euros"), "租金"),
        (("Anna's dog is called Rex", "小狗叫豆包"), "dog"),
    ],
)
def test_no_other_word_says_more_than_the_word_itself(
    open_memory: OpenMemory, bundled_embedder: Embedder, texts: tuple[str, ...], query: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store_many({"key": str(number), "content": text} for number, text in enumerate(texts))
    assert memory.recall(query, now=NOW)[0].content == texts[0]


@pytest.mark.parametrize(
    ("answer", "other", "query"),
    [
        (
            "Jetty project\n\n| Name | Phone |\n|---|---|\n| Marbud | 58 300 21 00 |\n| Portex | 58 411 77 20 |",
            "My phone number is 604 118 220.",
            "Phone number of Portex",
        ),
        (
            "仓库项目\n\n| 名称 | 电话 |\n|---|---|\n| 恒达 | 83002100 |\n| 博泰 | 84117720 |",
            "我的电话是60411822",
            "博泰电话",
        ),
    ],
)
def test_words_that_are_looked_for_together_are_found_before_a_text_on_a_related_topic(
    open_memory: OpenMemory, bundled_embedder: Embedder, answer: str, other: str, query: str
) -> None:
    memory = open_memory(embedder=bundled_embedder)
    memory.store("answer", answer, conversation_id="note", position=0)
    memory.store("other", other, conversation_id="chat", position=0)
    memory.store("fact", "The plumber is Mr. Osowski, phone 58 620 11 94")
    assert memory.recall(query, now=NOW)[0].key == "answer"
