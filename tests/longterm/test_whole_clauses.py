"""What is left of a fact reads as whole clauses, and no subject is made up for a clause that names none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.longterm.residue import relative_named_in, without_pieces
from jiyi.sync import AgentMemory
from jiyi.text.day_and_time import says_more
from jiyi.text.statements.parts.claims import pieces_of, split_claims
from jiyi.text.statements.replacing.kept_the_same import keeps_some_of


def say(memory: AgentMemory, *messages: str) -> list[str]:
    for message in messages:
        memory.longterm.extract_and_store_memories_for_round("alice", "c", message, "好的。")
    return [entry.content for entry in memory.list(scope="alice", memory_types="fact")]


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("I take 10mg now", "My blood pressure meds are ramipril 5mg"),
        ("rent's gone up to 1600", "a 2-bed in Bristol for 1450 a month"),
        ("改到下周四", "周三下午三点看牙医"),
        ("公司把我调去做采购了", "我在长沙做销售"),
    ],
)
def test_a_clause_that_says_more_than_what_is_replaced_is_known(message: str, fact: str) -> None:
    assert says_more(message, fact)


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("The budget is 7000 euros now", "The budget is 5000 euros"),
        ("Upload limit is 12 MB now", "Upload limit is 10 MB"),
        ("It takes 3 hours now", "The ferry from Poole takes 40 minutes"),
        ("treated myself to an iPhone 15", "daily driver is a Pixel 6"),
        ("跳槽去北京了", "我在长沙做销售"),
    ],
)
def test_a_clause_that_says_only_what_is_replaced_is_known(message: str, fact: str) -> None:
    assert not says_more(message, fact)


@pytest.mark.parametrize(
    ("message", "clause"),
    [
        ("the sports hall it is, same evening", "we train on Mondays in the barracks"),
        ("we leave at noon, same airport", "We leave at 7:15 from Luton"),
        ("换到活动室了，日子没变", "每周四在食堂排练"),
        ("她转去学会计了，学校没变", "她在长春念护理"),
    ],
)
def test_what_a_message_says_stays_the_same_is_kept_with_its_clause(message: str, clause: str) -> None:
    assert keeps_some_of(message, clause)


@pytest.mark.parametrize(
    ("message", "clause"),
    [
        ("We moved to Leeds, same company", "I live in Bath"),
        ("搬到苏州了，公司没变", "我住在杭州"),
        ("it's 12 euros now, same place", "The set menu costs 10 euros"),
        ("改喝茶了，时间没变", "我早饭喝咖啡"),
    ],
)
def test_what_stays_the_same_elsewhere_keeps_nothing_of_a_clause(message: str, clause: str) -> None:
    assert not keeps_some_of(message, clause)


@pytest.mark.parametrize(
    "messages",
    [
        ("周二上午十点跟老王开会。", "周三上午十一点跟小李开会。", "周二的会取消了。"),
        ("My best friend is Josh.", "Josh owes me 200 pounds.", "I owe my dad 50 pounds."),
        ("I don't want a refund, just the replacement.", "Hmm, on second thought I'd rather have a refund."),
        ("I have the Pro plan, billed yearly.", "I want to downgrade to Basic.", "Cancel that, I'm keeping Pro."),
        (
            "The staging database is at stg-db.internal:5432, prod is at prod-db.internal:5432.",
            "The prod database moved to prod-db2.internal:5432.",
        ),
    ],
)
def test_every_fact_stands_in_what_was_said(room: AgentMemory, messages: tuple[str, ...]) -> None:
    for fact in say(room, *messages):
        assert any(fact.rstrip(".。") in message for message in messages), fact


@pytest.mark.parametrize(
    ("fact", "left"),
    [
        ("The budget is 5000 euros and the deadline is Friday", "the deadline is Friday"),
        ("每页显示 20 条，缓存 5 分钟", "缓存 5 分钟"),
        ("Alice owns billing, Bob owns routing", "Bob owns routing"),
        ("I've got a cat, a dog and a parrot", "I've got a dog and a parrot"),
        ("I hate mushrooms and cook on gas", "I cook on gas"),
        ("我在铁路上班，喜欢钓鱼", "我喜欢钓鱼"),
        ("My aunt Petra is from Bergen, she's a baker", "My aunt Petra: she's a baker"),
        ("We pay for Netflix and Spotify.", "We pay for Spotify."),
        ("订了一台吹风机和一把人体工学椅", "订了一把人体工学椅"),
        ("I don't use Slack, Teams", "Teams"),
    ],
)
def test_the_rest_of_a_fact_reads_alone(fact: str, left: str) -> None:
    assert without_pieces(pieces_of(fact), {0}) == left


THINGS = ["fridge", "budget", "upload limit", "garage code", "deadline", "rent"]


@given(
    things=st.permutations(THINGS).map(lambda chosen: chosen[:3]),
    values=st.lists(st.integers(100, 9_999), min_size=3, max_size=3),
    gone=st.integers(0, 2),
)
def test_whatever_goes_the_other_clauses_keep_their_values(things: list[str], values: list[int], gone: int) -> None:
    clauses = [f"the {thing} is {value}" for thing, value in zip(things, values, strict=True)]
    left = without_pieces(pieces_of(", ".join(clauses)), {gone})
    assert left == ", ".join(clause for place, clause in enumerate(clauses) if place != gone)


@pytest.mark.parametrize(
    ("said", "claims"),
    [
        ("加了个相亲对象，叫顾明，34岁，是医生", ["加了个相亲对象，叫顾明，34岁，是医生"]),
        ("豆包上个月走了，十三岁", ["豆包上个月走了，十三岁"]),
        ("周五下午三点要去看牙医，提醒我一下", ["周五下午三点要去看牙医，提醒我一下"]),
        (
            "Started seeing a counsellor, Dr. Okafor, every Wednesday at 4",
            ["Started seeing a counsellor, Dr. Okafor, every Wednesday at 4"],
        ),
        ("I'm vegetarian, hate mushrooms, and cook on gas", ["I'm vegetarian", "I hate mushrooms", "I cook on gas"]),
        ("我爸在铁路上班，我妈开小卖部", ["我爸在铁路上班", "我妈开小卖部"]),
    ],
)
def test_a_clause_without_its_subject_stays_with_the_one_before(said: str, claims: list[str]) -> None:
    assert [claim.text for claim in split_claims(said)] == claims


@pytest.mark.parametrize(
    "messages",
    [
        ("我爸在老家绍兴种茶叶", "我和阿凯在一起三年了", "她搬到苏州去了"),
        ("My brother works at a bank", "She lives in Leeds now"),
        ("我们家养了条金毛", "他在北京读研"),
    ],
)
def test_a_pronoun_is_not_given_to_somebody_whom_it_does_not_fit(room: AgentMemory, messages: tuple[str, ...]) -> None:
    facts = say(room, *messages)
    assert not [fact for fact in facts if fact.startswith(("我爸", "My brother:", "我们家")) and messages[-1] in fact]


def test_a_pronoun_that_fits_gets_its_person(room: AgentMemory) -> None:
    assert "My brother: He lives in Leeds now" in say(room, "My brother works at a bank", "He lives in Leeds now")


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        (("我哥林晓峰在北京做律师。", "我哥离职了，自己开了律所。"), "我哥林晓峰在北京"),
        (("我妹妹王小雨当护士。", "我妹妹不当护士了。"), "王小雨"),
    ],
)
def test_the_name_of_a_relative_stays_when_what_they_do_has_changed(
    room: AgentMemory, messages: tuple[str, ...], kept: str
) -> None:
    assert any(kept in fact for fact in say(room, *messages))


@pytest.mark.parametrize(
    ("fact", "message", "left"),
    [
        ("My sister Kate lives in Leeds.", "My sister moved to York", "My sister's name is Kate"),
        ("我妹妹王小雨当护士", "我妹妹不当护士了", "我妹妹叫王小雨"),
        ("My sister Kate lives in Leeds.", "Kate moved to York", "My sister's name is Kate"),
        (
            "Our daughter Ines's at the village school",
            "Ines has moved up to the grammar",
            "Our daughter's name is Ines",
        ),
        ("我哥林晓峰在北京做律师", "林晓峰搬去上海开店了", "我哥叫林晓峰"),
        ("My sister Kate lives in Leeds.", "My sister Kate moved to York", ""),
        ("My sister Kate lives in Leeds.", "My sister is called Cate", ""),
        ("My partner Tom works nights.", "My partner works days now", ""),
        ("我妈在盐城一个人住", "我妈搬来了", ""),
        ("我爸退休工作没了", "我爸又上班了", ""),
    ],
)
def test_a_relative_of_whom_only_the_fact_says_who_it_is_is_named_again(fact: str, message: str, left: str) -> None:
    assert relative_named_in(fact, message)[1] == left


@pytest.mark.parametrize(
    "text", ["下周三我要去协和医院复查", "我住在和平路8号", "天气暖和了我就去跑步", "这家店叫共和国际"]
)
def test_a_word_that_contains_the_word_for_and_is_not_cut(text: str) -> None:
    assert pieces_of(text) == [text]


def test_two_things_beside_each_other_are_two_pieces() -> None:
    assert [piece.strip("和") for piece in pieces_of("我喜欢茶和咖啡")] == ["我喜欢茶", "咖啡"]


@pytest.mark.parametrize("message", ["我不喜欢你叫我老王，叫我王老师吧", "我下周出差，提醒我周五订票"])
def test_what_the_assistant_is_to_do_for_the_speaker_has_no_speaker_as_its_subject(message: str) -> None:
    texts = " ".join(claim.text for claim in split_claims(message))
    assert "我叫我" not in texts
    assert "我提醒我" not in texts
