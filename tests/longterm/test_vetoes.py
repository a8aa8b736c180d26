"""What changes nothing hides nothing: neither a replacement nor a conflict comes of it."""

import pytest

from jiyi.longterm.vetoes import forbids
from jiyi.sync import AgentMemory

OTHER_PERSONS = [
    ("I'm 185 cm tall.", "Max is 120 cm tall."),
    ("Max is 120 cm tall.", "I'm 185 cm tall."),
    ("I wear size 9 shoes.", "Clara wears size 6 shoes."),
    ("I earn 4000 a month.", "Tom earns 5000 a month."),
    ("I moved to Porto last weekend.", "My colleague Sam lives in Porto too, he loves spaces over tabs."),
    ("Anton has two siblings.", "Clara has three siblings."),
    ("我的生日是4月12日。", "乐乐的生日是2月3日。"),
    ("我晚上一般十点半睡", "乐乐晚上九点睡"),
    ("诗远乳糖不耐受。", "诗雨的芒果过敏复查了，医生说已经不过敏了，可以吃。"),
    ("我住在南京", "小李搬到苏州了"),
]
MAY_BE_THE_SAME = [
    ("My manager is Colm", "Jo is my manager now"),
    ("My wife is a lawyer", "Clara quit her job"),
    ("I pay 900 rent a month", "Rent is 950 now"),
    ("My dog Rex eats fish", "We call him Maxi now"),
    ("Max is 5", "Max is 6 now"),
    ("My rent is 900", "The landlord wants 950 now"),
    ("Our meeting is on Monday", "Sam moved our meeting to Friday"),
    ("Tom is 5 and likes Lego", "He turned 6"),
    ("I'm dating Mia", "Mia and I broke up"),
    ("晓晓的生日是10月19号", "记错了，晓晓生日是10月20号"),
    ("我跟小李住", "小李搬走了"),
]


def told(room: AgentMemory, *messages: str) -> None:
    for text in messages:
        room.longterm.extract_and_store_memories_for_round("alice", "c", text, "")


@pytest.mark.parametrize(("known", "said"), OTHER_PERSONS)
def test_what_is_said_of_one_person_leaves_that_of_another(room: AgentMemory, known: str, said: str) -> None:
    told(room, known, said)
    assert room.longterm.superseded("alice") == []
    assert room.longterm.conflicts("alice") == []


@pytest.mark.parametrize(("known", "said"), MAY_BE_THE_SAME)
def test_what_may_be_about_the_same_person_is_not_forbidden(known: str, said: str) -> None:
    assert not forbids(said, known)


def test_whose_diagnosis_it_is_stays_with_the_diagnosis(room: AgentMemory) -> None:
    told(room, "Ben isn't lactose intolerant after all, the doctor says it's a milk protein allergy.")
    (fact,) = room.list(scope="alice", memory_types=["fact"])
    assert "Ben" in fact.content
    assert "milk protein" in fact.content
