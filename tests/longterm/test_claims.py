"""Claims: a correction replaces one claim and nothing else, and everything that was judged can be undone."""

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.ports import Embedder
from jiyi.sync import AgentMemory
from jiyi.text.statements.parts.claims import split_claims
from tests.longterm.answers import fact, model
from tests.longterm.conftest import FakeClock, OpenMemory
from tests.support import present


def say(memory: AgentMemory, *messages: str, user: str = "alice") -> None:
    for message in messages:
        memory.longterm.extract_and_store_memories_for_round(user, "c", message, "")


def known(memory: AgentMemory, user: str = "alice") -> list[str]:
    return [entry.content for entry in memory.list(scope=user, limit=1_000) if entry.memory_type == "fact"]


def says(texts: Sequence[str], *parts: str) -> bool:
    return any(all(part.lower() in text.lower() for part in parts) for text in texts)


@pytest.mark.parametrize(
    ("first", "second", "stays", "goes"),
    [
        (
            "I'm a vet nurse in Truro, I do four long days, and I've got a lurcher called Hobbs",
            "they've cut us all to three days at the practice",
            [("vet nurse",), ("hobbs",), ("three days",)],
            [("four", "days")],
        ),
        # Half-width commas end a clause too.
        ("我对芒果过敏,对虾也过敏", "芒果过敏好了，现在天天吃", [("虾", "过敏")], [("对芒果过敏",)]),
        ("我爸在铁路上班，我妈开小卖部", "我妈把店盘出去了，现在去物业干了", [("铁路",), ("物业",)], [("小卖部",)]),
        (
            "I'm vegetarian, I hate mushrooms, and I cook on gas",
            "I switched from gas to an induction hob",
            [("mushroom",), ("vegetarian",), ("induction",)],
            [("cook on gas",)],
        ),
    ],
)
def test_a_correction_replaces_one_claim_of_a_message_and_leaves_the_others(
    room: AgentMemory, first: str, second: str, stays: list[tuple[str, ...]], goes: list[tuple[str, ...]]
) -> None:
    say(room, first, second)
    for parts in stays:
        assert says(known(room), *parts), parts
    for parts in goes:
        assert not says(known(room), *parts), parts


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("我姐姐是律师", "我姐姐是左撇子"),
        ("My manager is Denise", "My manager is out on Monday"),
        ("My boss is called Tom", "My boss is off sick"),
        ("I am allergic to penicillin", "I am allergic to wasps too"),
        ("我平时坐11号线上班", "今天11号线故障，打车去的公司"),
        ("I work for the Environment Agency", "My brother works for Rolls Royce"),
        ("我在杭州定居了", "我哥去年在成都买的房"),
        ("我老家是湖南衡阳的", "我现在在珠海生活"),
        ("I was born in Trieste", "These days it's Leipzig I call home"),
        ("I've been to Peru twice", "I went to Nepal for a month in 2021"),
        ("家里养了一条柯基叫豆包", "上周捡到一只白猫，决定留下来养了，取名叫元宵"),
        ("部门周会每周四下午两点开", "这周四放假，周会顺延到周五，就这一次"),
        ("My aunt Brenda lives in Whitby", "Brenda's mad about bell ringing, has been since school"),
        ("My wife Anna is a nurse", "My sister is getting divorced, poor thing"),
        ("我老婆在银行上班", "我姐离婚了"),
        ("Ines thinks we should move to Otley.", "Boxes everywhere in Otley."),
        ("我约了周四上午九点看牙", "牙医打电话来了"),
        ("My knee's been playing up today.", "I've stopped running"),
        ("我一月四号去中信上班", "我提离职了"),
    ],
)
def test_another_attribute_another_person_an_addition_or_an_exception_replaces_nothing(
    room: AgentMemory, first: str, second: str
) -> None:
    say(room, first)
    before = known(room)
    say(room, second)
    assert set(before) <= set(known(room))


@pytest.mark.parametrize(
    ("first", "second", "stays", "goes"),
    [
        (
            "My aunt Petra is from Bergen, she's a baker",
            "Petra gave up baking in May, she drives a tram now",
            [("bergen",), ("tram",)],
            [("she's a baker",)],
        ),
        (
            "I use a Fairphone, my laptop is a Dell and I type on a Ducky keyboard",
            "The laptop died, I replaced it with a Lenovo",
            [("fairphone",), ("ducky",), ("lenovo",)],
            [("dell",)],
        ),
        (
            "我用的是索尼相机，镜头是适马的，三脚架是百诺的",
            "镜头换成腾龙的了",
            [("索尼",), ("百诺",), ("腾龙",)],
            [("适马",)],
        ),
        ("I weigh 91 kilos", "On the scales this morning: 84 kilos", [("84",)], [("91",)]),
        (
            "Dr Moss is my dentist, has been for years",
            "Dr Moss retired, Dr Akande is my dentist now",
            [("akande",)],
            [("moss is my dentist",), ("has been for years",)],
        ),
    ],
)
def test_by_meaning_the_part_is_found_that_a_correction_replaces(
    open_room: OpenMemory,
    bundled_embedder: Embedder,
    first: str,
    second: str,
    stays: list[tuple[str, ...]],
    goes: list[tuple[str, ...]],
) -> None:
    room = open_room(embedder=bundled_embedder)
    say(room, first, second)
    for parts in stays:
        assert says(known(room), *parts), (parts, known(room))
    for parts in goes:
        assert not says(known(room), *parts), (parts, known(room))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My husband drives for a dairy", "He's left handed, my husband, so scissors are a nuisance"),
        ("Our freezer is a Miele from 2015", "The freezer engineer comes on the 9th of March"),
        ("I have a parrot called Kiko", "The children have been given stick insects as well"),
        ("我在出版社做校对", "我晚上在合唱团唱男低音"),
        ("My sister Ulla is a vet", "Ulla's terrified of thunder"),
    ],
)
def test_by_meaning_too_another_attribute_or_one_more_replaces_nothing(
    open_room: OpenMemory, bundled_embedder: Embedder, first: str, second: str
) -> None:
    room = open_room(embedder=bundled_embedder)
    say(room, first)
    before = known(room)
    say(room, second)
    assert set(before) <= set(known(room))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My dog Rex is afraid of storms and eats only fish", "We lost Rex on Sunday, he was 14"),
        ("Our dog is called Juno and she loves the beach", "The vet couldn't save her. Juno is gone."),
        ("Pip, our cat, sleeps on the router", "We had to say goodbye to Pip last night"),
        ("We've got a beagle, Otto", "our beagle passed away in March"),
        ("我家狗叫豆豆，每天遛两次", "豆豆没了，昨天埋在老家院子里"),
        ("家里养了一只猫叫年糕", "猫上个月去喵星了"),
    ],
)
def test_what_was_said_of_an_animal_that_is_gone_is_no_longer_current(
    room: AgentMemory, first: str, second: str
) -> None:
    say(room, first)
    claims = known(room)
    assert claims
    say(room, second)
    assert not set(claims) & set(known(room))
    assert set(claims) <= {replaced.entry.content for replaced in room.longterm.superseded("alice")}


@pytest.mark.parametrize(
    ("first", "second", "stays"),
    [
        ("I have a cat named Tom and a dog named Rex.", "My cat Tom died.", "I have a dog named Rex."),
        ("My dog Rex and my cat Tom sleep in the kitchen", "Rex died last week", "my cat Tom sleep in the kitchen"),
        ("我养了一只猫叫小白和一只狗叫大黄。", "小白去世了", "我养了一只狗叫大黄。"),
        ("My wife Ann and my son Ben live in Leeds", "Ann and I broke up", "my son Ben live in Leeds"),
    ],
)
def test_what_was_said_of_others_beside_one_who_is_gone_stays(
    room: AgentMemory, first: str, second: str, stays: str
) -> None:
    say(room, first, second)
    assert first not in known(room)
    assert stays in known(room)


def test_of_two_cats_the_one_that_is_meant_must_be_named(room: AgentMemory) -> None:
    say(room, "Pip, our cat, sleeps on the router", "My other cat Mustard bites", "The cat died")
    assert says(known(room), "pip")
    assert says(known(room), "mustard")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I'm majoring in economics at Purdue", "my major is now linguistics"),
        ("I live in Leeds with my partner Jo", "We finally moved, our place is in York now"),
    ],
)
def test_a_clause_that_also_tells_a_place_or_company_stays_as_a_possible_conflict(
    open_room: OpenMemory, bundled_embedder: Embedder, first: str, second: str
) -> None:
    room = open_room(embedder=bundled_embedder)
    say(room, first, second)
    assert first in known(room)
    (conflict,) = room.longterm.conflicts("alice")
    assert conflict.older.content == first


def test_reflections_that_went_with_a_fact_are_listed_only_when_they_are_asked_for(room: AgentMemory) -> None:
    say(room, "I live in Leeds.", "I am allergic to nuts.")
    assert room.longterm.try_generate_reflection("alice", "c", 0.1, 0) is not None
    say(room, "I moved to Oslo.")
    assert [each.entry.content for each in room.longterm.superseded("alice")] == ["I live in Leeds."]
    everything = room.longterm.superseded("alice", reflections=True)
    assert sorted(each.entry.memory_type for each in everything) == ["fact", "reflection"]
    assert len(room.longterm.superseded("alice", reflections=True, limit=1)) == 1


def test_what_was_replaced_can_be_listed_explained_and_restored(room: AgentMemory) -> None:
    say(room, "I live in Leeds.", "I moved to Oslo.")
    (replaced,) = room.longterm.superseded("alice")
    assert replaced.entry.content == "I live in Leeds."
    assert replaced.by is not None
    assert "Oslo" in replaced.by.content
    told = room.longterm.explain("alice", replaced.entry)
    assert told is not None
    assert [entry["content"] for entry in told["superseded_by"]] == ["I moved to Oslo."]
    by = room.longterm.explain("alice", replaced.by)
    assert by is not None
    assert [entry["content"] for entry in by["replaces"]] == ["I live in Leeds."]
    assert [entry.id for entry in room.longterm.restore("alice", replaced.entry)] == [replaced.entry.id]
    assert room.longterm.superseded("alice") == []
    assert {"I live in Leeds.", "I moved to Oslo."} == set(known(room))


def test_the_parts_of_a_claim_are_kept_across_export_and_import(
    room: AgentMemory, open_room: OpenMemory, tmp_path: object
) -> None:
    say(room, "My sister lives in Leeds.")
    (entry,) = room.list(scope="alice", limit=10)
    claim = entry.source.claim
    assert claim is not None
    assert (claim.subject, claim.attribute, claim.value, claim.single) == ("sister", "city", "Leeds", True)
    path = f"{tmp_path}/all.jsonl"
    room.export_jsonl(path)
    other = open_room("other")
    other.import_jsonl(path)
    assert [each.source.claim for each in other.list(scope="alice", limit=10)] == [claim]


def test_a_model_that_proposes_a_wrong_correction_keeps_both_and_links_them(open_room: OpenMemory) -> None:
    facts = iter([[fact("The user likes coffee")], [fact("The user also likes tea", corrects=1)]])
    room = open_room(llm=model(lambda _: next(facts)))
    say(room, "I like coffee", "I also like tea")
    assert set(known(room)) == {"The user likes coffee", "The user also likes tea"}
    assert room.longterm.superseded("alice") == []


def uncertain(open_room: OpenMemory) -> AgentMemory:
    facts = iter([[fact("The user drinks coffee")], [fact("The user drinks tea in the morning", corrects=1)]])
    room = open_room(llm=model(lambda _: next(facts)))
    say(room, "I drink coffee", "I drink tea in the morning")
    return room


def test_what_is_not_certain_is_listed_as_a_conflict_until_somebody_settles_it(open_room: OpenMemory) -> None:
    room = uncertain(open_room)
    (conflict,) = room.longterm.conflicts("alice")
    assert (conflict.newer.content, conflict.older.content) == (
        "The user drinks tea in the morning",
        "The user drinks coffee",
    )
    assert room.longterm.settle_conflict("alice", conflict.newer, conflict.older, keep="newer")
    assert known(room) == ["The user drinks tea in the morning"]
    assert room.longterm.conflicts("alice") == []
    assert not room.longterm.settle_conflict("alice", conflict.newer, conflict.older)


def test_a_prompt_shows_the_newer_one_first_and_marks_the_older_one_as_possibly_outdated(open_room: OpenMemory) -> None:
    room = uncertain(open_room)
    block = room.longterm.get_memory_context_for_prompt("alice", "What does the user drink: coffee or tea?")
    lines = [line for line in block.splitlines() if line.startswith("- ")]
    assert [("may be outdated" in line, line.rsplit("] ", 1)[1]) for line in lines] == [
        (False, "The user drinks tea in the morning"),
        (True, "The user drinks coffee"),
    ]


def test_a_prompt_that_finds_only_the_older_one_shows_the_newer_one_before_it(open_room: OpenMemory) -> None:
    room = uncertain(open_room)
    block = room.longterm.get_memory_context_for_prompt("alice", "coffee", top_k_final=1)
    lines = [line for line in block.splitlines() if line.startswith("- ")]
    assert [("may be outdated" in line, line.rsplit("] ", 1)[1]) for line in lines] == [
        (False, "The user drinks tea in the morning"),
        (True, "The user drinks coffee"),
    ]
    (conflict,) = room.longterm.conflicts("alice")
    room.longterm.settle_conflict("alice", conflict.newer, conflict.older, keep="both")
    assert "outdated" not in room.longterm.get_memory_context_for_prompt("alice", "coffee", top_k_final=1)


def test_what_may_be_outdated_stays_so_when_the_newer_one_is_replaced(open_room: OpenMemory) -> None:
    facts = iter(
        [
            [fact("The user drinks coffee")],
            [fact("The user drinks tea in the morning", corrects=1)],
            [fact("The user does not drink tea in the morning any more", corrects=1)],
        ]
    )
    room = open_room(llm=model(lambda _: next(facts)))
    say(room, "I drink coffee", "I drink tea in the morning", "I don't drink tea in the morning any more")
    assert [each.entry.content for each in room.longterm.superseded("alice")] == ["The user drinks tea in the morning"]
    (conflict,) = room.longterm.conflicts("alice")
    assert (conflict.newer.content, conflict.older.content) == (
        "The user does not drink tea in the morning any more",
        "The user drinks coffee",
    )


def test_the_newer_side_of_a_conflict_may_be_outdated_when_the_older_one_is_replaced(open_room: OpenMemory) -> None:
    facts = iter(
        [
            [fact("The user drinks coffee")],
            [fact("The user drinks tea in the morning", corrects=1)],
            [fact("The user does not drink coffee any more", corrects=1)],
        ]
    )
    room = open_room(llm=model(lambda _: next(facts)))
    say(room, "I drink coffee", "I drink tea in the morning", "I don't drink coffee any more")
    assert [each.entry.content for each in room.longterm.superseded("alice")] == ["The user drinks coffee"]
    (conflict,) = room.longterm.conflicts("alice")
    assert conflict.older.content == "The user drinks tea in the morning"


@pytest.mark.parametrize("keep", ["older", "both"])
def test_a_conflict_can_be_settled_the_other_way(open_room: OpenMemory, keep: Any) -> None:
    room = uncertain(open_room)
    (conflict,) = room.longterm.conflicts("alice")
    assert room.longterm.settle_conflict("alice", conflict.newer, conflict.older, keep=keep)
    assert (conflict.older.content in known(room), conflict.newer.content in known(room)) == (True, keep == "both")
    assert room.longterm.conflicts("alice") == []


def test_a_settled_conflict_takes_the_reflection_of_the_fact_that_lost(open_room: OpenMemory) -> None:
    room = uncertain(open_room)
    (conflict,) = room.longterm.conflicts("alice")
    assert room.longterm.try_generate_reflection("alice", "c", 0.1, 0) is not None
    assert room.longterm.settle_conflict("alice", conflict.newer, conflict.older, keep="newer")
    assert room.list(scope="alice", memory_types="reflection") == []
    (left,) = room.list(scope="alice", memory_types="fact")
    assert left.summarized_by is None
    (restored,) = room.longterm.restore("alice", [conflict.older.id])
    assert restored.summarized_by is None


@pytest.mark.parametrize("keep", ["newer", "older", "both"])
def test_a_fact_that_no_longer_holds_is_in_no_conflict(open_room: OpenMemory, clock: FakeClock, keep: Any) -> None:
    room = uncertain(open_room)
    (conflict,) = room.longterm.conflicts("alice")
    room.update(conflict.older.id, expires_at=clock.time - timedelta(seconds=1), scope="alice")
    assert room.longterm.conflicts("alice") == []
    assert not room.longterm.settle_conflict("alice", conflict.newer, conflict.older, keep=keep)
    assert known(room) == [conflict.newer.content]


def test_one_flawed_item_of_a_reply_loses_that_item_only(open_room: OpenMemory) -> None:
    flawed = [
        {"importance_score": 0.9, "extracted_fact": None, "domain": "user_preferences", "corrects": None},
        fact("The user is allergic to nuts"),
        fact("The user works at Acme", domain="jobs"),
        {"importance_score": "high", "extracted_fact": "x", "domain": "user_preferences", "corrects": None},
    ]
    room = open_room(llm=model(lambda _: flawed))
    say(room, "I am allergic to nuts and work at Acme")
    assert set(known(room)) == {"The user is allergic to nuts", "The user works at Acme"}


def test_a_person_who_is_quoted_is_who_says_it(room: AgentMemory) -> None:
    say(room, "我公公说：“我这辈子就没进过电影院。”")
    (entry,) = room.list(scope="alice", limit=10)
    assert entry.source.claim is not None
    assert entry.source.claim.said_by == "father-in-law"
    block = room.longterm.get_memory_context_for_prompt("alice", "公公去过电影院吗")
    assert "用户转述" in block


def test_a_pronoun_gets_the_person_it_stands_for() -> None:
    claims = split_claims("My sister-in-law Pilar came by. She's head nurse in Albuquerque now.")
    assert says([claim.text for claim in claims], "pilar", "nurse")


# --- the law, against a plain model -----------------------------------------------------------------------------------

SINGLE = {
    ("user", "home"): ("I live in {}.", ("Leeds", "Oslo", "Lyon")),
    ("user", "employer"): ("I work at {}.", ("Acme", "Globex", "Initech")),
    ("sister", "home"): ("My sister lives in {}.", ("Bonn", "Graz", "Cork")),
    ("user", "name"): ("My name is {}.", ("Ada", "Bea", "Cleo")),
}
MANY = {
    "allergy": ("I am allergic to {}.", ("walnuts", "pollen", "penicillin")),
    "hobby": ("I play the {} every week.", ("cello", "piano", "drums")),
}
Statement = tuple[tuple[str, str] | str, str]
statements = st.lists(
    st.one_of(
        *(st.tuples(st.just(slot), st.sampled_from(values)) for slot, (_, values) in SINGLE.items()),
        *(st.tuples(st.just(slot), st.sampled_from(values)) for slot, (_, values) in MANY.items()),
    ),
    min_size=1,
    max_size=8,
)


def sentence(statement: Statement) -> str:
    slot, value = statement
    form = SINGLE[slot][0] if isinstance(slot, tuple) else MANY[slot][0]
    return form.format(value)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=statements)
def test_a_claim_is_reachable_unless_a_later_one_with_the_same_subject_and_attribute_replaces_it(
    room: AgentMemory, said: list[Statement]
) -> None:
    user = f"user-{abs(hash(tuple(said)))}"
    say(room, *map(sentence, said), user=user)
    current = known(room, user)
    last = {slot: value for slot, value in said if isinstance(slot, tuple)}
    for slot, value in said:
        stated = re.compile(rf"\b{value}\b")
        if isinstance(slot, str) or last[slot] == value:
            assert any(map(stated.search, current)), (sentence((slot, value)), current)
    replaced = room.longterm.superseded(user, limit=1_000)
    for each in replaced:
        assert each.by is not None
        assert room.longterm.explain(user, each.entry) is not None
        slots = [{s for s, v in said if sentence((s, v)) == text} for text in (each.entry.content, each.by.content)]
        assert slots[0] & slots[1], (each.entry.content, each.by.content)
    if replaced:
        restored = room.longterm.restore(user, [each.entry for each in replaced])
        assert len(restored) == len(replaced)
        assert {each.entry.content for each in replaced} <= set(known(room, user))


ONE_VALUE_EACH = {
    "en": dict(SINGLE.values()),
    "zh": {
        "我住在{}。": ("成都", "厦门", "大连"),
        "我在{}上班。": ("华为", "腾讯", "顺丰"),
        "我妹妹住在{}。": ("青岛", "昆明", "沈阳"),
        "我叫{}。": ("张伟", "李强", "王芳"),
    },
}
"""By language: sentences of which the last one holds, and what they may say."""


@pytest.mark.parametrize("language", ["en", "zh"])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_superseded_claim_is_listed_explained_and_restored(
    room: AgentMemory, language: str, data: st.DataObject
) -> None:
    forms = ONE_VALUE_EACH[language]
    drawn = [st.tuples(st.just(form), st.sampled_from(values)) for form, values in forms.items()]
    said = [form.format(value) for form, value in data.draw(st.lists(st.one_of(drawn), min_size=2, max_size=6))]
    user = f"{language}-{abs(hash(tuple(said)))}"
    say(room, *said, user=user)
    listed = room.longterm.superseded(user, limit=1_000)
    hidden = {each.entry.content for each in listed}
    assert set(said) == hidden | set(known(room, user)), "each is current or listed"
    last = {_form_of(text, forms): text for text in said}
    assert set(last.values()) <= set(known(room, user))
    assert set(said) - set(last.values()) <= hidden
    for each in listed:
        assert each.by is not None
        told = present(room.longterm.explain(user, each.entry))
        assert each.by.id in {entry["id"] for entry in told["superseded_by"]}
        by = present(room.longterm.explain(user, each.by))
        assert each.entry.id in {entry["id"] for entry in by["replaces"]}
    for each in listed:
        assert [entry.id for entry in room.longterm.restore(user, each.entry)] == [each.entry.id]
        assert present(room.get(id=each.entry.id, scope=user)).superseded_by is None
        assert each.entry.id not in {other.entry.id for other in room.longterm.superseded(user, limit=1_000)}
    assert room.longterm.superseded(user, limit=1_000) == []
    assert set(said) <= set(known(room, user))


def _form_of(text: str, forms: Iterable[str]) -> str:
    return next(form for form in forms if text.startswith(form.partition("{}")[0]))


QUESTIONS = (
    "Where do I live now?",
    "what's my cat called?",
    "When is my dentist appointment?",
    "Do you remember what I'm allergic to?",
    "Should I change jobs?",
    "Can I eat kung pao chicken?",
    "who is my manager again",
    "我现在住哪儿？",
    "我老婆的生日是哪天来着？",
    "你记得我对什么过敏吗？",
    "我该不该换工作？",
    "我的猫叫什么？",
    "So my flight is on Tuesday, right?",
    "Do I still work at the mill?",
    "wait is Bram still my boss",
    "我报的是周三的班，对吧",
    "我对虾过敏还是对蟹过敏",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_to_the_memory_is_not_kept(room: AgentMemory, question: str) -> None:
    say(room, question)
    assert known(room) == []


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=statements, asked=st.lists(st.sampled_from(QUESTIONS), min_size=1, max_size=4))
def test_questions_replace_nothing(room: AgentMemory, said: list[Statement], asked: list[str]) -> None:
    user = f"asking-{abs(hash((tuple(said), tuple(asked))))}"
    say(room, *map(sentence, said), user=user)
    before = (known(room, user), len(room.longterm.superseded(user, limit=1_000)))
    say(room, *asked, user=user)
    assert (known(room, user), len(room.longterm.superseded(user, limit=1_000))) == before


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("我血压高，能喝浓茶吗？", "我血压高"),
        ("My son is 3, which books would he like?", "My son is 3"),
        ("Can I take ibuprofen with my blood thinner?", "Can I take ibuprofen with my blood thinner?"),
    ],
)
def test_of_a_question_the_part_that_states_something_is_kept(room: AgentMemory, message: str, fact: str) -> None:
    say(room, message)
    assert known(room) == [fact]


@pytest.mark.parametrize(
    "message",
    [
        "What picture books suit my nephew? He's four and loves cranes",
        "can I deduct the train if I'm a freelancer, I do stage lighting",
        "送外婆什么花好？她今年八十八了",
    ],
)
def test_a_statement_that_speaks_of_what_was_asked_is_kept_with_the_question(
    open_room: OpenMemory, bundled_embedder: Embedder, message: str
) -> None:
    room = open_room(embedder=bundled_embedder)
    say(room, message)
    assert known(room) == [message]


@pytest.mark.parametrize(
    "message",
    [
        "Please stop opening every reply with a compliment.",
        "Just so you know: I have a pacemaker.",
        "以后回答别超过三句话",
    ],
)
def test_wishes_for_answers_and_announced_facts_are_kept(
    open_room: OpenMemory, bundled_embedder: Embedder, message: str
) -> None:
    room = open_room(embedder=bundled_embedder)
    say(room, message)
    assert len(known(room)) == 1


@pytest.mark.parametrize(
    ("message", "claims"),
    [
        ("Rasmus in payroll, who sits by the door, is deaf, so we write to him", ["Rasmus in payroll", "is deaf"]),
        ("Parents' evening, November 9, 5:15 pm, hall B", ["Parents' evening", "November 9"]),
    ],
)
def test_a_clause_without_a_subject_and_a_bare_time_stay_with_what_they_belong_to(
    message: str, claims: list[str]
) -> None:
    assert says([claim.text for claim in split_claims(message)], *claims)


@pytest.mark.parametrize(
    "message", ["hello there", "that's funny", "辛苦了", "太好了", "Don't tell anyone, haha.", "你别告诉别人哈"]
)
def test_small_talk_is_neither_kept_nor_compared_with_what_is_known(room: AgentMemory, message: str) -> None:
    say(room, "My sister is called Ann.")
    before = known(room)
    say(room, message)
    assert known(room) == before
    assert room.longterm.conflicts("alice") == []


def test_a_model_that_corrects_by_a_question_replaces_nothing(open_room: OpenMemory) -> None:
    facts = iter([[fact("I live in Oslo")], [fact("Where do I live now?", corrects=1)]])
    room = open_room(llm=model(lambda _: next(facts)))
    say(room, "I live in Oslo", "Where do I live now?")
    assert known(room) == ["I live in Oslo"]
    assert room.longterm.superseded("alice") == []
