"""Requests to remember something, and decisions of a group."""

import pytest

from jiyi.text.sentences import sentences
from jiyi.text.statements.keeping.lasting import (
    DECISION,
    REQUESTED,
    asks_to_remember,
    lasting_in,
    only_asks_to_remember,
    states_decision,
)


@pytest.mark.parametrize(
    "said",
    [
        *("家里wifi密码是 Tangyuan2023! ，你帮我记一下", "记住，车位是B2-117。", "保险柜密码是4471。记住了哈"),
        *("请记一下：物业电话 8801", "帮我记一下物业电话是8801", "Remember that the safe code is 4471."),
        *("Please remember: the spare key is under the pot.", "My plate is AB12 CDE, please remember that."),
        *("Can you remember my locker number, it's 22", "The gate code is 5512. Remember it."),
    ],
)
def test_a_request_to_remember_is_known(said: str) -> None:
    assert asks_to_remember(said) or any(map(only_asks_to_remember, sentences(said)))


@pytest.mark.parametrize(
    "said",
    [
        *("I don't remember that", "Do you remember my name?", "我记住了", "你记住了吗", "记得带伞", "还记得我住哪吗"),
        *("Remember when we went to Rome?", "I can't remember my password", "Remember to water the plants"),
        *("别忘了提醒我吃药", "你记得我妈的生日吗", "I remember the old house"),
    ],
)
def test_memories_questions_and_reminders_are_no_requests_to_remember(said: str) -> None:
    assert not asks_to_remember(said)
    assert not only_asks_to_remember(said)


@pytest.mark.parametrize(
    "said", ["We went to Rome", "我决定去大疆了", "我们吃了火锅", "I dropped my phone", "He owns a car"]
)
def test_what_one_person_does_is_no_decision_of_a_group(said: str) -> None:
    assert not states_decision(said)


def test_a_fact_lasts_for_what_its_message_says() -> None:
    assert lasting_in("The gate code is 5512. Remember it.", "The gate code is 5512.") == REQUESTED
    decided = "We dropped Redis, the job queue is on PostgreSQL now. It rained."
    assert lasting_in(decided, "the job queue is on PostgreSQL now") == DECISION
    assert lasting_in(decided, "It rained.") == ""
