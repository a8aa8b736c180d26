"""What a correction, a quotation or a settled conflict must leave: no claim is lost with another one."""

from collections.abc import Sequence

import pytest

from jiyi.longterm.model_facts import claims_in
from jiyi.sync import AgentMemory
from jiyi.text.statements.parts.claims import split_claims
from tests.longterm.answers import fact, model
from tests.longterm.conftest import OpenMemory
from tests.support import present


def say(memory: AgentMemory, *messages: str) -> None:
    for number, message in enumerate(messages):
        memory.longterm.extract_and_store_memories_for_round("alice", f"c{number}", message, "")


def known(memory: AgentMemory) -> set[str]:
    return {entry.content for entry in memory.list(scope="alice", memory_types="fact", limit=100)}


def replaced(memory: AgentMemory) -> set[str]:
    return {each.entry.content for each in memory.longterm.superseded("alice")}


def linked(memory: AgentMemory) -> set[tuple[str, str]]:
    return {(each.newer.content, each.older.content) for each in memory.longterm.conflicts("alice")}


@pytest.mark.parametrize(
    ("first", "second", "stays"),
    [
        (
            "用户住在南京，在华为上班，养了两只猫",
            "用户住在杭州",
            {"用户住在杭州", "用户在华为上班", "用户养了两只猫"},
        ),
        (
            "The user works at Boots and has two children",
            "The user works at Asda",
            {"The user works at Asda", "The user has two children"},
        ),
        (
            "The user lives in Leeds and works at Boots",
            "The user lives in Bristol",
            {"The user lives in Bristol", "The user works at Boots"},
        ),
        (
            "The user lives in Leeds and is allergic to nuts",
            "The user lives in Bristol",
            {"The user lives in Bristol", "The user is allergic to nuts"},
        ),
        (
            "The user's name is Ann and she lives in Leeds with two cats",
            "The user's name is Anna",
            {"The user's name is Anna", "The user: she lives in Leeds with two cats"},
        ),
    ],
)
def test_a_new_fact_of_a_model_replaces_the_claim_that_sets_the_same_and_no_other(
    open_room: OpenMemory, first: str, second: str, stays: set[str]
) -> None:
    room = open_room(llm=model())
    say(room, first, second)
    assert known(room) == stays


def test_where_the_part_that_changes_says_more_both_facts_of_a_model_stay_and_are_linked(open_room: OpenMemory) -> None:
    room = open_room(llm=model())
    say(room, "The user lives in Leeds with two cats", "The user lives in Bristol")
    assert known(room) == {"The user lives in Leeds with two cats", "The user lives in Bristol"}
    assert linked(room) == {("The user lives in Bristol", "The user lives in Leeds with two cats")}


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("用户住在南京，在华为上班", ["用户住在南京", "用户在华为上班"]),
        ("The user lives in Leeds and works at Boots", ["The user lives in Leeds", "The user works at Boots"]),
        ("I am allergic to nuts and work at Acme", ["I am allergic to nuts", "I work at Acme"]),
        # A pronoun, one topic, and words of somebody else: left as the model wrote them.
        ("The user has a dog and it sleeps in the kitchen", ["The user has a dog and it sleeps in the kitchen"]),
        ("用户对花生过敏，对虾也过敏", ["用户对花生过敏，对虾也过敏"]),
        ('Sam says "I live in Leeds and work at Boots"', ['Sam says "I live in Leeds and work at Boots"']),
    ],
)
def test_a_fact_of_a_model_is_split_where_each_part_keeps_its_subject(text: str, claims: Sequence[str]) -> None:
    assert claims_in(text) == claims


@pytest.mark.parametrize("with_model", [False, True])
@pytest.mark.parametrize(
    ("quoted", "own"),
    [
        ('他说"我在南京上班"', "我在杭州上班"),
        ('he said "I live in Porto now"', "I live in Leeds"),
        ("he said 'I live in Porto now'", "I live in Leeds"),
        ('My mate Sam goes "I work at Tesco"', "I work at Asda"),
    ],
)
def test_the_words_of_somebody_else_are_not_replaced_by_those_of_the_user(
    open_room: OpenMemory, quoted: str, own: str, *, with_model: bool
) -> None:
    room = open_room(llm=model()) if with_model else open_room()
    say(room, f"Please remember: {quoted}" if not with_model else quoted, own)
    assert replaced(room) == set()
    assert linked(room) == set()
    assert own in known(room)
    (entry,) = [entry for entry in room.list(scope="alice", memory_types="fact") if quoted in entry.content]
    claim = present(entry.source.claim)
    assert claim.subject == claim.said_by != "user"
    assert claim.value == ""


def test_what_the_user_says_of_themselves_and_what_somebody_says_of_them_are_linked(open_room: OpenMemory) -> None:
    room = open_room(llm=model())
    say(room, "My mum says I live in Leeds", "I live in Bristol")
    assert linked(room) == {("I live in Bristol", "My mum says I live in Leeds")}


@pytest.mark.parametrize(
    ("text", "subject", "said_by"),
    [
        ("妈妈说我对青霉素过敏", "user", "mother"),
        ("My mum says I'm allergic to penicillin", "user", "mother"),
        ("My mum says my brother is allergic to penicillin", "brother", "mother"),
        ("Anna said that I snore", "user", "anna"),
        ("my boss said: “I am allergic to nuts”", "boss", "boss"),
        ("I said “I live in Leeds”", "user", ""),
    ],
)
def test_what_is_reported_is_about_whom_the_reported_clause_names(text: str, subject: str, said_by: str) -> None:
    (claim,) = split_claims(text)
    assert (claim.subject, claim.said_by) == (subject, said_by)


@pytest.mark.parametrize(
    ("older", "newer", "stays"),
    [
        ("The user is a plumber with a workshop in Hull", "The user is an electrician", "Earlier: {}"),
        ("用户在苏州当牙医", "用户当校长了", "以前：{}"),
    ],
)
def test_a_settled_conflict_keeps_what_was_not_in_conflict_as_what_was_so_earlier(
    open_room: OpenMemory, monkeypatch: pytest.MonkeyPatch, older: str, newer: str, stays: str
) -> None:
    facts = iter([[fact(older)], [fact(newer, corrects=1)]])
    room = open_room(llm=model(lambda _: next(facts)))
    monkeypatch.setattr("jiyi.longterm.corrections._PROPOSED", 2.0)  # both stay, whatever the models say
    say(room, older, newer)
    (conflict,) = room.longterm.conflicts("alice")
    assert room.longterm.settle_conflict("alice", conflict.newer, conflict.older, keep="newer")
    assert known(room) == {newer, stays.format(older)}
    assert replaced(room) == {older}
    assert linked(room) == set()


def test_a_settled_conflict_leaves_the_other_clauses_of_the_older_fact(
    open_room: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newer = "The dentist is on Monday at 3 pm and costs 80 pounds", "The dentist is on Thursday now"
    facts = iter([[fact(older)], [fact(newer, corrects=1)]])
    room = open_room(llm=model(lambda _: next(facts)))
    monkeypatch.setattr("jiyi.longterm.corrections._PROPOSED", 2.0)
    say(room, older, newer)
    (conflict,) = room.longterm.conflicts("alice")
    assert room.longterm.settle_conflict("alice", conflict.newer, conflict.older, keep="newer")
    assert known(room) == {newer, "The dentist is at 3 pm and costs 80 pounds"}


def test_the_rest_of_a_list_has_its_verb_and_is_as_exempt_from_forgetting_as_the_whole(room: AgentMemory) -> None:
    say(room, "I take metformin in the morning and ramipril at night", "My doctor took me off metformin")
    assert "I take ramipril at night" in known(room)
    (rest,) = [entry for entry in room.list(scope="alice", memory_types="fact") if "ramipril" in entry.content]
    assert present(rest.source.claim).attribute == "medication"
    assert present(room.longterm.explain("alice", rest))["exempt"] == "health"


def test_the_rest_of_an_appointment_keeps_the_blank_between_its_parts(room: AgentMemory) -> None:
    say(room, "The dentist is on Monday at 3 pm and costs 80 pounds", "The dentist is on Thursday now")
    assert "The dentist is at 3 pm and costs 80 pounds" in known(room)


@pytest.mark.parametrize(
    ("facts", "message", "older"),
    [
        (
            ("The dentist is on Monday at 3 pm and costs 80 pounds", "My physio is on Monday at 5 pm"),
            "The dentist and the physio are both on Thursday now",
            "The dentist is on Monday at 3 pm and costs 80 pounds",
        ),
        (("我周一看牙", "我周二做理疗"), "看牙和理疗都改到周四了", "我周二做理疗"),
    ],
)
def test_a_message_that_replaces_one_fact_is_linked_with_others_about_the_same_attribute(
    room: AgentMemory, facts: tuple[str, str], message: str, older: str
) -> None:
    say(room, *facts, message)
    assert replaced(room)
    assert linked(room) == {(message, older)}


def test_a_message_that_replaces_one_appointment_leaves_the_others_alone(room: AgentMemory) -> None:
    say(room, "The dentist is on Monday at 3 pm", "The physio is on Tuesday at 5 pm", "The dentist is on Thursday now")
    assert replaced(room) == {"The dentist is on Monday at 3 pm"}
    assert linked(room) == set()


def test_words_of_change_in_a_compacted_conversation_correct_what_is_known(room: AgentMemory) -> None:
    say(room, "The team meeting is every Thursday at two")
    chat = room.chat("talk", scope="alice")
    chat.put({"role": "user", "content": "Please remember: the team meeting has been moved to Friday at two."})
    chat.put({"role": "assistant", "content": "ok"})
    chat.compact()
    assert room.longterm.take_candidates("alice")
    assert replaced(room) == {"The team meeting is every Thursday at two"}


def test_claims_of_one_compacted_message_do_not_replace_each_other(room: AgentMemory) -> None:
    chat = room.chat("talk", scope="alice")
    chat.put({"role": "user", "content": "I moved to Bristol last week. My office has been moved to Bath now."})
    chat.put({"role": "assistant", "content": "ok"})
    chat.compact()
    room.longterm.take_candidates("alice")
    assert replaced(room) == set()


def test_what_is_so_only_for_now_is_linked_and_replaces_nothing(open_room: OpenMemory) -> None:
    facts = iter([[fact("The user lives in Leeds")], [fact("The user lives in York", corrects=1)]])
    room = open_room(llm=model(lambda _: next(facts)))
    say(room, "I live in Leeds", "I live in York just for this week")
    assert replaced(room) == set()
    assert linked(room) == {("The user lives in York", "The user lives in Leeds")}
