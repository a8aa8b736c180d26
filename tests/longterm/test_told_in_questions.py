"""What a question tells of somebody is kept in whole, readable claims, and a mere question is not kept."""

import pytest

from jiyi.sync import AgentMemory
from jiyi.text.statements.parts.claims import split_claims


def kept(memory: AgentMemory, *messages: str) -> list[str]:
    for message in messages:
        memory.longterm.extract_and_store_memories_for_round("alice", "c", message, "")
    return [entry.content for entry in reversed(memory.list(scope="alice", memory_types="fact"))]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("what's a good gift for my dad who collects stamps?", "my dad who collects stamps"),
        ("any present ideas for my wife who loves orchids?", "my wife who loves orchids"),
        ("Which bike suits my nephew who has short legs?", "my nephew who has short legs"),
        ("What should I cook for my flatmate who can't eat gluten?", "my flatmate who can't eat gluten"),
        ("Where can I take my kids who are scared of dogs?", "my kids who are scared of dogs"),
        ("What food is good for our cat that has diabetes?", "our cat that has diabetes"),
        ("给我爱钓鱼的爸爸买什么生日礼物好？", "我爱钓鱼的爸爸"),
        ("送我喜欢画画的女儿什么好？", "我喜欢画画的女儿"),
        ("给我吃素的室友做什么菜？", "我吃素的室友"),
        ("带我怕狗的儿子去哪个公园好？", "我怕狗的儿子"),
    ],
)
def test_a_relative_clause_about_somebody_of_the_user_is_kept(memory: AgentMemory, message: str, told: str) -> None:
    assert told in " / ".join(kept(memory, message))


@pytest.mark.parametrize(
    "message",
    [
        "what's a good gift for a man who collects stamps?",
        "what's a good gift for my dad?",
        "Who was the king who lost his head?",
        "What do you call people who love orchids?",
        "Which singer who lives in Leeds is famous?",
        "给爱钓鱼的人买什么礼物好？",
        "给爸爸买什么生日礼物好？",
        "喜欢画画的孩子送什么好？",
        "我的朋友是谁？",
        "给老师的礼物买什么好？",
    ],
)
def test_a_question_that_tells_nothing_is_not_kept(memory: AgentMemory, message: str) -> None:
    assert kept(memory, message) == []


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("Since I'm left-handed, which scissors should I buy?", ["I'm left-handed"]),
        ("Because I have asthma, can I dive?", ["I have asthma"]),
        ("As I'm vegan, what can I order there?", ["I'm vegan"]),
        ("Given that I'm allergic to nuts, which snacks are safe?", ["I'm allergic to nuts"]),
        ("因为我是左撇子，买哪种剪刀好？", ["我是左撇子"]),
        ("由于我有哮喘，能潜水吗？", ["我有哮喘"]),
        ("recommend a hotel for me and my two kids, we're vegan", ["we're vegan"]),
        ("推荐一家酒店给我和两个孩子，我们吃素", ["我们吃素"]),
        ("帮我和两个孩子推荐酒店，我们吃素", ["我们吃素"]),
    ],
)
def test_what_a_question_or_a_request_tells_reads_as_a_claim(
    memory: AgentMemory, message: str, facts: list[str]
) -> None:
    found = [fact.rstrip(".。") for fact in kept(memory, message)]
    assert all(any(fact in each for each in found) for fact in facts)
    assert not any(
        each.lower().startswith(("since ", "because ", "as ", "given that", "因为", "由于")) for each in found
    )
    assert not any(each.startswith("my two kids, we") for each in found)
    assert all("vegan" in each or "吃素" in each for each in found if "recommend" in each or "推荐" in each)


def test_a_reason_before_a_statement_stays_with_it(memory: AgentMemory) -> None:
    assert kept(memory, "Since I moved to Leeds, I cycle to work every day.") == [
        "Since I moved to Leeds, I cycle to work every day."
    ]


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("给我推荐一本书，我喜欢科幻", "我喜欢科幻"),
        ("Find me a flat, my budget is 900", "my budget is 900"),
        ("帮我写封信，我住在西安", "我住在西安"),
        ("Recommend a hotel, my wife is vegan.", "my wife is vegan."),
    ],
)
def test_a_request_beside_a_fact_is_no_fact(memory: AgentMemory, message: str, fact: str) -> None:
    assert kept(memory, message) == [fact]


@pytest.mark.parametrize(
    "message",
    ["Please keep answers short, I'm dyslexic.", "Always recommend vegan food, I'm vegan.", "以后只推荐素食。"],
)
def test_a_standing_request_is_kept_with_its_reason(memory: AgentMemory, message: str) -> None:
    together = " ".join(kept(memory, message))
    assert message[:8] in together


@pytest.mark.parametrize(
    ("message", "claims"),
    [
        ("我姐生了，是个男孩，叫豆包。", ["我姐生了，是个男孩，叫豆包。"]),
        ("我嫂子生了，是个女孩，叫小米", ["我嫂子生了，是个女孩，叫小米"]),
        ("我家狗生了，是三只小狗，叫大毛二毛三毛", ["我家狗生了，是三只小狗，叫大毛二毛三毛"]),
        ("我表姐领养了个孩子，是个女孩，名字叫安安", ["我表姐领养了个孩子，是个女孩，名字叫安安"]),
        ("My sister had a baby, it's a boy, called Leo.", ["My sister had a baby, it's a boy, called Leo."]),
        ("I live with my wife and my two kids, we're vegan", ["I live with my wife and my two kids", "we're vegan"]),
        ("I live in Leeds and my dad collects stamps", ["I live in Leeds", "my dad collects stamps"]),
        ("I work at Aldi and my two kids go to Oakfield", ["I work at Aldi", "my two kids go to Oakfield"]),
        ("我住在成都，我爸住在西安", ["我住在成都", "我爸住在西安"]),
        ("我姐在医院当护士，喜欢爬山", ["我姐在医院当护士", "我姐喜欢爬山"]),
    ],
)
def test_each_claim_reads_by_itself(message: str, claims: list[str]) -> None:
    assert [claim.text for claim in split_claims(message)] == claims


@pytest.mark.parametrize(
    ("message", "subjects"),
    [
        ("说错了，是我表弟在深圳，我弟弟在东莞。", {"我表弟在深圳": "cousin", "我弟弟在东莞。": "younger brother"}),
        ("不对，是我妈住在扬州，我爸住在南京。", {"我妈住在扬州": "mother", "我爸住在南京。": "father"}),
        (
            "Sorry, I meant my cousin lives in Leeds, my brother's in Hull.",
            {"my cousin lives in Leeds": "cousin", "my brother's in Hull.": "brother"},
        ),
        ("记错了，应该是我儿子对花生过敏，我女儿不过敏。", {"我儿子对花生过敏": "son", "我女儿不过敏。": "daughter"}),
    ],
)
def test_a_correction_of_who_it_is_tells_of_each(memory: AgentMemory, message: str, subjects: dict[str, str]) -> None:
    kept(memory, message)
    facts = memory.list(scope="alice", memory_types="fact")
    assert {fact.content: fact.source.claim.subject for fact in facts if fact.source.claim} == subjects
