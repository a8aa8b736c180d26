"""What somebody asks not to keep is not kept."""

import pytest

from jiyi.sync import AgentMemory
from jiyi.text.statements.keeping.off_record import asks_only_not_to_keep, without_off_record


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("家里wifi密码是doubao4ever，这个不要记。", ""),
        ("我住在苏州。我的密码是1234。别记下来！", "我住在苏州。"),
        ("这件事不要保存：我在面试。我喜欢绿茶。", "我喜欢绿茶。"),
        ('Did I tell you the wifi password is "biscuit4ever"? Don\'t store that please.', ""),
        ("I live in Leeds. My PIN is 4711, but please don't remember that.", "I live in Leeds."),
        ("Do not save this: I am looking for a job. I like tea.", "I like tea."),
        ("don't store this but the shop lost 4 grand last month", ""),
        ("I like tea. Please don't remember that I smoke.", "I like tea."),
        ("not for the record, my wife is pregnant", ""),
        ("Off the record, my salary is 90k. I live in Leeds.", "I live in Leeds."),
        ("this stays off the books - I earn 90k", ""),
        ("I'd rather you didn't save what I owe: 4,000", ""),
        ("别把我抽烟的事记下来。我喜欢绿茶。", "我喜欢绿茶。"),
        ("不要记住我离过婚", ""),
        ("私下说，我在面试", ""),
    ],
)
def test_the_sentence_that_is_not_to_be_kept_goes_and_the_others_stay(said: str, kept: str) -> None:
    assert without_off_record(said) == kept


@pytest.mark.parametrize(
    "said",
    [
        "I don't remember that, but my sister Amara lives in Toronto.",
        "Please don't forget it: the meeting is at three.",
        "不要忘记我对花生过敏。",
        "我的电话别记错了，是13900001243。",
        "我不用记账软件，用本子。",
        "I don't keep it in the garage, the car is outside.",
        "We never store that kind of wine in the kitchen.",
        "不要存钱了，我想去旅行。",
        "I work off the books on Fridays.",
        "For the record, I'm vegan.",
        "Don't remember that restaurant's name but my sister lives near it.",
        "Don't put onions in my food.",
        "别把车停在门口，我家在一楼。",
    ],
)
def test_what_only_sounds_like_such_a_request_stays(said: str) -> None:
    assert without_off_record(said) == said


def test_no_fact_is_made_of_it_and_no_candidate(memory: AgentMemory) -> None:
    for said in ("我的银行卡密码是998877，这个不要记。", "My bank PIN is 998877. Please don't store that."):
        memory.agent("s").begin(said).finish("OK")
    memory.run_jobs()
    memory.chat("s").flush()
    assert [fact.content for fact in memory.list(memory_types="fact") if "998877" in fact.content] == []
    assert [one.content for one in memory.candidates() if "998877" in one.content] == []


def test_of_a_very_long_text_beginning_and_end_are_looked_at() -> None:
    filling = "We walked to the market, but nothing was sold there; so we don't know. " * 2_000
    long = f"My PIN is 4711, please don't store that. {filling}I like tea. Off the record, I smoke."
    left = without_off_record(long)
    assert "4711" not in left
    assert "smoke" not in left
    assert "I like tea." in left
    assert len(left) > len(filling)
    assert without_off_record(filling) == filling


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ("don't remember the last one, it's only for this branch", True),
        ("Don't keep that, it's private", True),
        ("这个别记，这是私事", True),
        ("别记了，因为是我瞎说的", True),
        ("Don't keep that, my PIN is 1234", False),
        ("I don't remember the last one", False),
    ],
)
def test_a_request_with_its_reason_means_what_was_said_before(said: str, before: bool) -> None:
    assert asks_only_not_to_keep(said) is before
