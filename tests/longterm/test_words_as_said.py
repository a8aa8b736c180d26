"""What is kept has the words that were said: code, whom a pronoun means, the secrecy of a secret."""

from collections.abc import Sequence

import pytest

from jiyi.longterm.residue import without_pieces
from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from jiyi.text.statements.parts.claims import split_claims
from tests.longterm.conftest import OpenMemory


@pytest.fixture
def room(open_room: OpenMemory, bundled_embedder: Embedder) -> AgentMemory:
    return open_room(embedder=bundled_embedder)


def say(memory: AgentMemory, *messages: str, conversation: str = "c") -> None:
    for message in messages:
        memory.longterm.extract_and_store_memories_for_round("alice", conversation, message, "")


def known(memory: AgentMemory) -> list[str]:
    return [entry.content for entry in memory.list(scope="alice", limit=1_000) if entry.memory_type == "fact"]


def claims(message: str) -> Sequence[str]:
    return [claim.text for claim in split_claims(message)]


@pytest.mark.parametrize(
    "message",
    [
        "Always run `make lint` before committing.",
        "I prefer `tabs` over `spaces`.",
        "We deploy with `./deploy.sh --prod --env=a, b`.",
        "我们用 `pnpm dev` 启动前端。",
    ],
)
def test_inline_code_is_kept_as_a_part_of_the_fact(room: AgentMemory, message: str) -> None:
    say(room, message)
    assert known(room) == [message]


def test_a_name_before_the_pronoun_in_the_same_message_is_whom_it_means(room: AgentMemory) -> None:
    say(room, "Leo is allergic to hazelnuts.", "Anna had her check-up. She is allergic to penicillin.")
    assert any("Anna" in fact and "penicillin" in fact for fact in known(room))
    assert not any("Leo" in fact and "penicillin" in fact for fact in known(room))


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("My wife is called Clara.", "I met Julia at school. She works at Bosch now."),
        ("Mrs. Becker is Anna's teacher.", "Leo has a new teacher, Mrs. Klein. She is on sick leave."),
        ("我老婆叫小芳。", "我碰到同学小丽了。她现在在腾讯上班。"),
        ("张三的地址是南京路1号。", "李四来电。他的地址是淮海路8号。"),
        ("The orders service uses Redis.", "The billing service is new. It uses Kafka."),
        ("My sister is called Ana.", "My wife met Julia. She works at Bosch now."),
    ],
)
def test_where_a_message_names_somebody_its_pronoun_gets_no_name_of_an_older_message(
    room: AgentMemory, before: str, message: str
) -> None:
    say(room, before, message)
    assert message in known(room)


def test_a_pronoun_in_another_conversation_means_nobody_of_this_one(room: AgentMemory) -> None:
    say(room, "My wife is a nurse.", conversation="monday")
    say(room, "She is allergic to penicillin.", conversation="friday")
    assert "She is allergic to penicillin." in known(room)


def test_a_pronoun_in_the_next_message_means_whom_the_last_fact_is_about(room: AgentMemory) -> None:
    say(room, "My wife is a nurse.", "She is allergic to penicillin.")
    assert "My wife: She is allergic to penicillin." in known(room)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("My wife works in Berlin. She is 40.", ["My wife works in Berlin.", "My wife: She is 40."]),
        ("我老婆叫小芳。她在腾讯上班。", ["我老婆叫小芳。", "我老婆：她在腾讯上班。"]),
        ("My sister married Tom. She lives in Rome.", ["My sister married Tom. She lives in Rome."]),
        ("I'm vegan. It's my birthday tomorrow.", ["I'm vegan.", "It's my birthday tomorrow."]),
        ("Kate has a dog. It eats fish. It is 3.", ["Kate has a dog. It eats fish. It is 3."]),
    ],
)
def test_a_person_is_put_in_only_where_nobody_else_is_named(message: str, expected: list[str]) -> None:
    assert claims(message) == expected


@pytest.mark.parametrize(
    "message",
    [
        "Don't tell my wife about the present. It's a silver watch hidden in the garage.",
        "I bought a silver watch for my wife. Don't tell her.",
        "We are flying to Rome in May. My husband doesn't know yet.",
        "I'm pregnant. Don't tell anyone.",
        "我给老婆买了块手表。别告诉她。",
        "千万别告诉我妈。我辞职了。",
    ],
)
def test_a_secret_is_kept_with_its_secrecy(room: AgentMemory, message: str) -> None:
    say(room, message)
    assert known(room) == [message]


@pytest.mark.parametrize(
    "message",
    ["Don't tell my wife that I smoke. I live in Rome.", "Please don't say sorry all the time. I live in Rome."],
)
def test_a_request_that_says_itself_what_it_is_about_stays_alone(message: str) -> None:
    assert claims(message)[-1] == "I live in Rome."


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("I forgot to mention: I'm allergic to penicillin.", "I'm allergic to penicillin."),
        ("Before I forget: I'm allergic to penicillin.", "I'm allergic to penicillin."),
        ("I forgot to tell you that I'm vegan.", "I'm vegan."),
        ("I should mention that my son has asthma.", "my son has asthma."),
        ("忘了说，我对花生过敏。", "我对花生过敏。"),
        ("对了，差点忘了告诉你：我吃素。", "我吃素。"),
    ],
)
def test_what_somebody_forgot_to_mention_is_kept_without_the_announcement(
    room: AgentMemory, message: str, fact: str
) -> None:
    say(room, message)
    assert known(room) == [fact]


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("能推荐个餐厅吗？我吃素。", "我吃素。"),
        ("Can you recommend a restaurant? I'm vegetarian.", "I'm vegetarian."),
        ("What should I cook tonight? My daughter doesn't eat fish.", "My daughter doesn't eat fish."),
        ("今晚吃什么好？我老婆不吃辣。", "我老婆不吃辣。"),
    ],
)
def test_a_question_takes_nothing_from_the_statement_after_it(room: AgentMemory, message: str, fact: str) -> None:
    say(room, message)
    assert known(room) == [fact]


@pytest.mark.parametrize(
    "message",
    [
        "I got fired today.",
        "Jean died this morning.",
        "Kate and Priya are expecting!",
        "We broke up yesterday.",
        "我今天被裁了。",
        "奶奶昨晚住院了。",
    ],
)
def test_an_event_that_changes_a_life_is_kept(room: AgentMemory, message: str) -> None:
    say(room, message)
    assert known(room) == [message]


@pytest.mark.parametrize(
    "message",
    [
        "My phone died this morning.",
        "I'm expecting a call.",
        "I almost got fired today, haha.",
        "Hamlet died in the film.",
    ],
)
def test_what_only_sounds_like_such_an_event_is_not_kept(room: AgentMemory, message: str) -> None:
    say(room, message)
    assert known(room) == []


@pytest.mark.parametrize("message", ["Emergency contact: Kate, 07700 900123.", "紧急联系人：小芳，13811112222。"])
def test_a_number_stays_with_whom_it_belongs_to(message: str) -> None:
    assert claims(message) == [message]


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("The meeting is at 4, not 3.", "The meeting is at 5 now."),
        ("客户要的是红色的。", "客户改要蓝色的了。"),
        ("Don't use lodash.", "You may use lodash again."),
    ],
)
def test_a_change_of_what_is_known_is_kept_however_short(room: AgentMemory, before: str, message: str) -> None:
    say(room, before, message)
    assert message in known(room)


@pytest.mark.parametrize(
    ("before", "message"),
    [("The wifi password is hunter2.", "The wifi is slow again."), ("We use tabs.", "The tabs look nice.")],
)
def test_a_remark_about_something_known_is_no_change_of_it(room: AgentMemory, before: str, message: str) -> None:
    say(room, before, message)
    assert known(room) == [before]


def test_one_of_several_that_is_gone_leaves_the_sentence_whole(room: AgentMemory) -> None:
    say(room, "我养了两只猫，咪咪和毛毛。", "毛毛上周走丢了。")
    assert set(known(room)) == {"我养了两只猫，咪咪和毛毛。", "毛毛上周走丢了。"}


@pytest.mark.parametrize(
    ("pieces", "gone", "left"),
    [
        (["我喜欢喝茶和", "咖啡。"], {1}, "我喜欢喝茶"),
        (["I drink tea and ", "coffee."], {1}, "I drink tea"),
        (["下周三家长会，", "晚上七点。"], {0}, "家长会：晚上七点。"),
        (["The dentist is on Friday, ", "at 7 pm."], {0}, "dentist: at 7 pm."),
    ],
)
def test_what_is_left_of_a_fact_reads_as_a_sentence(pieces: list[str], gone: set[int], left: str) -> None:
    assert without_pieces(pieces, gone) == left


@pytest.mark.parametrize("request_", ["Scratch that.", "Forget that.", "刚才那个别记下来。", "当我没说。"])
def test_what_is_taken_back_at_once_is_not_kept(room: AgentMemory, request_: str) -> None:
    say(room, "My sister is pregnant.", request_)
    assert known(room) == []


@pytest.mark.parametrize(
    "message",
    [
        "You must not save my address, which is 8 Oak Ave.",
        "Could you please not store my phone number, it's 0151 222?",
        "I'd rather you didn't keep my salary.",
        "Forget what I told you about my job interview.",
        "忘掉我之前说的面试。",
    ],
)
def test_a_request_to_keep_or_remember_nothing_is_no_fact(room: AgentMemory, message: str) -> None:
    say(room, message)
    assert known(room) == []


def test_a_correction_that_begins_with_scratch_that_is_kept(room: AgentMemory) -> None:
    say(room, "I live in Oslo.", "Scratch that, I live in Rome.")
    assert any("Rome" in fact for fact in known(room))


def test_a_relative_of_somebody_is_not_that_person() -> None:
    assert [claim.subject for claim in split_claims("Tom's mother isn't vegan")] == ["tom's mother"]
    assert [claim.subject for claim in split_claims("Tom is vegan")] == ["tom"]
