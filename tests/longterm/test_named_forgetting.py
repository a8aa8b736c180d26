"""What the user asks to forget by naming it is in no answer and no prompt any more."""

from collections.abc import Sequence

import pytest

from jiyi.sync import AgentMemory


def say(memory: AgentMemory, session: str, *said: str, name: str | None = None) -> None:
    agent = memory.agent(session, kind="group" if name else "main", user="group:flat" if name else None)
    for text in said:
        agent.begin(text, name=name).finish("ok")
    memory.run_jobs()


def facts(memory: AgentMemory, scope: str = "main") -> list[str]:
    return [entry.content for entry in memory.list(memory_types="fact", scope=scope)]


def found(memory: AgentMemory, query: str) -> str:
    return " / ".join(hit.content for hit in memory.recall(query, limit=20))


@pytest.mark.parametrize("same_session", [True, False])
@pytest.mark.parametrize(
    ("said", "request_text", "gone", "stays"),
    [
        (
            ["Priya's expecting in February", "I run with Priya on Sundays"],
            "Forget what I said about Priya expecting, it's not public",
            "expecting",
            "I run with Priya on Sundays",
        ),
        (
            ["I have a loan of 9k with Barclays", "My sister Ruth lives in Hull"],
            "Please forget everything I told you about my loan.",
            "Barclays",
            "My sister Ruth lives in Hull",
        ),
        (
            ["楼下老李每天找我下象棋", "老伴儿叫刘芳，退休护士"],
            "你把我说的老李的事都忘了吧",
            "老李",
            "老伴儿叫刘芳，退休护士",
        ),
        (["我每月还贷款五千", "我对花生过敏"], "请忘掉我说过的关于贷款的话", "贷款", "我对花生过敏"),
    ],
)
def test_what_is_named_is_forgotten_and_nothing_else(
    memory: AgentMemory, said: Sequence[str], request_text: str, gone: str, stays: str, same_session: bool
) -> None:
    say(memory, "first", *said)
    say(memory, "first" if same_session else "second", request_text)
    assert facts(memory) == [stays]
    assert gone not in found(memory, f"{gone} {said[0]}")
    assert gone not in str(memory.agent("later").begin("Tell me what you know, 你知道什么").messages[0].text)
    assert memory.load_conversation_history("first")[0].text == said[0]


@pytest.mark.parametrize(
    ("said", "request_text", "gone"),
    [
        ("My PIN is 4471", "Don't save that PIN please", "4471"),
        ("我家WiFi密码是 wang1968", "刚才那个密码别存", "wang1968"),
    ],
)
def test_what_was_said_just_before_can_be_named_by_its_kind(
    memory: AgentMemory, said: str, request_text: str, gone: str
) -> None:
    say(memory, "s", said, "今天天气真好", request_text)
    assert gone not in " ".join(facts(memory))
    assert gone not in found(memory, said)


@pytest.mark.parametrize(
    "request_text",
    [
        "Don't forget what I said about the loan",
        "I forgot what I said about the loan",
        "Forget about the loan, let's talk about work",
        "Delete the loan function from the module",
        "别忘了我说的贷款的事 loan",
        "我忘了还loan",
    ],
)
def test_what_is_no_such_request_forgets_nothing(memory: AgentMemory, request_text: str) -> None:
    say(memory, "first", "I have a loan of 9k with Barclays")
    say(memory, "second", request_text)
    assert "I have a loan of 9k with Barclays" in facts(memory)


def test_who_somebody_is_stays_when_all_about_them_is_to_be_forgotten(memory: AgentMemory) -> None:
    say(memory, "first", "My husband is called Tom", "Tom hates his boss and wants to quit")
    say(memory, "second", "Forget everything I said about Tom")
    assert facts(memory) == ["My husband is called Tom"]


def test_nobody_forgets_for_others(memory: AgentMemory) -> None:
    say(memory, "flat", "I have a loan of 9k with Barclays", name="anna")
    say(memory, "flat", "Forget everything I said about the loan", name="carl")
    assert facts(memory, "group:flat") == ["I have a loan of 9k with Barclays"]


def test_what_was_forgotten_by_name_stays_in_the_history(memory: AgentMemory) -> None:
    say(memory, "first", "I have a loan of 9k with Barclays")
    (fact,) = memory.list(memory_types="fact")
    say(memory, "second", "Forget what I told you about the loan")
    assert facts(memory) == []
    assert [version.operation for version in memory.history(str(fact.key))][-1] == "forget"


@pytest.mark.parametrize(
    ("said", "request_text", "left"),
    [
        (
            ["My PIN is 4821.", "My wife's PIN is 1199."],
            "Don't save my PIN.",
            ["My wife's PIN is 1199."],
        ),
        (["My PIN is 4821.", "My mum's PIN is 1199."], "Can you forget the PIN I gave you?", ["My mum's PIN is 1199."]),
        (["我的密码是4821。", "我老婆的密码是1199。"], "请不要保存我的密码", ["我老婆的密码是1199。"]),
        (["我的密码是4821。", "我喜欢喝茶。"], "密码那个别记了", ["我喜欢喝茶。"]),
        (["我喜欢喝茶。", "我喜欢爬山。"], "忘记我喜欢喝茶这件事", ["我喜欢爬山。"]),
        (["我住在西安。", "我爸住在成都。"], "忘掉我住哪儿", ["我爸住在成都。"]),
        (["I live in Leeds.", "My dad lives in Hull."], "Forget where I live", ["My dad lives in Hull."]),
    ],
)
def test_only_what_is_the_speakers_own_is_forgotten(
    memory: AgentMemory, said: Sequence[str], request_text: str, left: Sequence[str]
) -> None:
    say(memory, "first", *said)
    say(memory, "second", request_text)
    assert facts(memory) == list(left)


@pytest.mark.parametrize(
    "request_text",
    ["别存我喜欢喝茶这件事", "别再记我喜欢喝茶的事了", "Don't remember that I like tea.", "不要记我爱喝茶"],
)
def test_a_request_not_to_keep_something_is_no_fact_itself(memory: AgentMemory, request_text: str) -> None:
    say(memory, "first", request_text)
    assert facts(memory) == []


def test_a_value_told_with_the_request_to_forget_the_old_one_stays(memory: AgentMemory) -> None:
    say(memory, "first", "My PIN is 4821")
    say(memory, "second", "I changed my PIN to 9911. Forget my old PIN.")
    assert facts(memory) == ["I changed my PIN to 9911."]
