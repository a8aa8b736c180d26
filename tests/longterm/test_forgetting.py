"""Forgetting: only what has faded, never for good, and only long-term memories."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.errors import InvalidInputError
from jiyi.longterm.forgetting import _next_size
from jiyi.sync import AgentMemory
from jiyi.text.statements.keeping.fact_kinds import fact_kind
from jiyi.text.statements.keeping.upcoming import last_day_ahead
from tests.longterm.conftest import FakeClock, OpenMemory
from tests.support import present

DOMAIN = "user_preferences"


def fill(memory: AgentMemory, clock: FakeClock, **more: Any) -> None:
    """Ten facts of growing importance."""
    memory.store_many(
        [
            {
                "key": f"k{number}",
                "content": f"fact number {number} about tea",
                "scope": "alice",
                "domain": DOMAIN,
                "importance": number / 10,
                **more,
            }
            for number in range(10)
        ]
    )


def test_what_has_faded_goes_and_the_rest_stays(room: AgentMemory, clock: FakeClock) -> None:
    fill(room, clock)
    clock.advance(days=18)
    plan = room.longterm.cleanup_forgotten_memories("alice", dry_run=True)
    goes = [memory.entry.key for memory in plan.memories if memory.goes]
    assert plan.considered == 10
    assert 0 < plan.count == len(goes) < 10
    assert goes == [f"k{number}" for number in range(plan.count)]
    assert room.count(scope="alice") == 10
    assert room.longterm.cleanup_forgotten_memories("alice") == plan.count
    assert sorted(present(entry.key) for entry in room.list(scope="alice")) == [f"k{n}" for n in range(plan.count, 10)]
    assert room.longterm.cleanup_forgotten_memories("alice") == 0


def test_a_dry_run_tells_when_each_will_fall(room: AgentMemory, clock: FakeClock) -> None:
    fill(room, clock)
    plan = room.longterm.cleanup_forgotten_memories("alice", dry_run=True)
    moments = [present(memory.falls_below_at) for memory in plan.memories]
    assert len(moments) == 10
    assert moments == sorted(moments)
    clock.time = moments[4]
    clock.advance(seconds=1)
    assert room.longterm.cleanup_forgotten_memories("alice") == 5


def test_recalled_memories_last_longer(room: AgentMemory, clock: FakeClock) -> None:
    room.store("used", "drinks green tea", scope="alice", domain=DOMAIN)
    room.store("unused", "owns a violin", scope="alice", domain=DOMAIN)
    for _ in range(3):
        (hit, *_) = room.longterm.retrieve_relevant_memories("alice", "green tea", top_k_final=1)
        assert hit.key == "used"
        room.longterm.feedback("alice", hit)
    entry = present(room.get("used", scope="alice"))
    assert entry.access_count == 3
    assert entry.last_accessed_at == clock.time
    clock.advance(days=25)
    assert room.longterm.cleanup_forgotten_memories("alice") == 1
    assert room.get("used", scope="alice") is not None


def test_what_is_forgotten_can_be_brought_back_and_is_not_taken_again_at_once(
    room: AgentMemory, clock: FakeClock
) -> None:
    fill(room, clock)
    clock.advance(days=100)
    assert room.longterm.cleanup_forgotten_memories("alice") == 10
    assert room.longterm.retrieve_relevant_memories("alice", "tea") == []
    assert room.get("k1", scope="alice") is None
    assert [entry.key for entry in room.longterm.restore("alice", ["k1", "nobody"])] == ["k1"]
    assert room.longterm.cleanup_forgotten_memories("alice") == 0
    assert [hit.key for hit in room.longterm.retrieve_relevant_memories("alice", "tea")] == ["k1"]
    assert len(room.longterm.restore("alice")) == 9
    operations = [version.operation for version in room.history("k1", scope="alice")]
    assert operations == ["create", "update", "restore"]


def test_pinned_memories_never_go(room: AgentMemory, clock: FakeClock) -> None:
    fill(room, clock)
    assert room.longterm.pin("alice", "k0")
    assert not room.longterm.pin("alice", "nobody")
    assert not room.longterm.pin("bob", "k0")
    clock.advance(days=1000)
    assert room.longterm.cleanup_forgotten_memories("alice") == 9
    assert room.longterm.pin("alice", "k0", False)
    assert room.longterm.cleanup_forgotten_memories("alice") == 1


def test_reflections_stay_unless_the_caller_wants_them_to_go(room: AgentMemory, clock: FakeClock) -> None:
    fill(room, clock)
    reflection = present(room.longterm.try_generate_reflection("alice"))
    clock.advance(days=1000)
    assert room.longterm.cleanup_forgotten_memories("alice") == 10
    assert [entry.id for entry in room.list(scope="alice")] == [reflection.id]
    assert room.longterm.cleanup_forgotten_memories("alice", exclude_memory_types=()) == 1


def test_keyed_memories_conversations_and_other_users_are_left_alone(room: AgentMemory, clock: FakeClock) -> None:
    room.store("name", "she is called Ann", scope="alice")
    room.store("theirs", "likes tea", scope="bob", domain=DOMAIN)
    room.store("shared", "likes tea", scope="public", domain=DOMAIN)
    room.longterm.extract_and_store_memories_for_round("alice", "c", "hello there", "hi")
    clock.advance(days=1000)
    assert room.longterm.cleanup_forgotten_memories("alice") == 0
    assert room.get("name", scope="alice") is not None
    assert room.recall("hello there", scope="alice", memory_types="message")
    assert room.get("theirs", scope="bob") is not None


def test_what_is_touched_meanwhile_is_not_forgotten(room: AgentMemory, clock: FakeClock) -> None:
    fill(room, clock)
    clock.advance(days=100)
    parts = room._target._longterm_deps
    page = parts.store.forgetting_candidates("alice", (), after=None, limit=100)
    parts.records.touch([page[0].id], clock.time)
    assert parts.store.forget_candidates("alice", page, actor="test") == 9


def test_a_large_clean_up_goes_page_by_page(room: AgentMemory, clock: FakeClock) -> None:
    room.store_many([{"key": str(n), "content": f"fact {n}", "scope": "alice", "domain": DOMAIN} for n in range(1_100)])
    clock.advance(days=100)
    assert room.longterm.cleanup_forgotten_memories("alice") == 1_100
    assert room.count(scope="alice") == 0


@given(st.integers(1, 500), st.floats(1e-6, 10))
def test_a_batch_that_took_too_long_is_followed_by_a_smaller_one(size: int, seconds: float) -> None:
    following = _next_size(size, seconds)
    assert 1 <= following <= 500
    if seconds > 0.03:
        assert following <= size
        assert following == 1 or following * seconds / size <= 0.0301


@pytest.mark.parametrize(
    "arguments",
    [{"threshold": 1.5}, {"base_retention": 0}, {"strengthening_factor": 0.5}, {"exclude_memory_types": ["a b"]}],
)
def test_bad_numbers_are_refused(room: AgentMemory, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        room.longterm.cleanup_forgotten_memories("alice", **arguments)


def test_maintain_does_what_is_due(open_room: OpenMemory, clock: FakeClock) -> None:
    memory = open_room()
    fill(memory, clock, tags=["tea"])
    memory.longterm.schedule_round("bob", "c", "I am allergic to nuts", "ok")
    clock.advance(days=100)
    dry = memory.maintain(dry_run=True)
    assert (dry["forgotten"], dry["jobs_run"]) == ({"alice": 10}, 0)
    report = memory.maintain()
    assert report["forgotten"] == {"alice": 10}
    assert report["jobs_run"] == 1
    assert report["jobs"] == {"done": 1}
    assert report["dead_jobs"] == []
    clock.advance(days=8)
    assert memory.maintain()["jobs_purged"] == 1


def test_health_and_identity_are_not_forgotten_unless_the_settings_say_so(
    open_room: OpenMemory, clock: FakeClock
) -> None:
    for exempt, left in ((("health", "identity"), 1), ((), 0)):
        memory = open_room(f"exempt-{left}", forgetting_exempt=exempt)
        said = "I am allergic to penicillin. I play the cello every week."
        memory.longterm.extract_and_store_memories_for_round("alice", "c", said, "")
        clock.advance(days=400)
        plan = memory.longterm.cleanup_forgotten_memories("alice", dry_run=True)
        assert (plan.count, dict(plan.exempt)) == (2 - left, {"health": 1} if left else {})
        assert all("not used for 400 days" in each.reason for each in plan.memories)
        memory.longterm.cleanup_forgotten_memories("alice")
        kept = [entry.content for entry in memory.list(scope="alice", memory_types="fact")]
        assert kept == (["I am allergic to penicillin."] if left else [])


@pytest.mark.parametrize(
    "said",
    [
        *("I'm Marcus, 41", "I live in Leeds", "My wife is Priya", "I'm vegetarian", "Never commit to main, please"),
        *("I got promoted to staff engineer", "Our wedding anniversary is June 4", "My father passed away in 2019"),
        *("我换工作了，从思必驰跳到了同程，做产品总监", "我爸前年去世了", "我们的结婚纪念日是11月20号"),
        *("我叫林悦", "我住在长沙", "我老婆叫林一诺", "我吃素", "以后不要在回答里用 emoji"),
        *("老伴儿叫刘芳，退休护士。", "I'm off coffee, it was giving me palpitations."),
        *(
            "家里wifi密码是 Tangyuan2023! ，你帮我记一下",
            "记住，车位是B2-117。",
            "Remember that the safe code is 4471.",
        ),
        *("Please remember: the spare key is under the blue pot.", "The gate code is 5512. Remember it."),
    ],
)
def test_who_somebody_is_and_what_they_always_want_stays_in_both_languages(
    open_room: OpenMemory, clock: FakeClock, said: str
) -> None:
    memory = open_room()
    assert memory.longterm.extract_and_store_memories_for_round("alice", "c", said, "")
    clock.advance(days=400)
    plan = memory.longterm.cleanup_forgotten_memories("alice", dry_run=True)
    facts = memory.list(scope="alice", memory_types="fact")
    assert facts
    assert (plan.count, sum(plan.exempt.values())) == (0, len(facts))
    assert all(present(memory.longterm.explain("alice", fact.id))["exempt"] in plan.exempt for fact in facts)
    assert memory.longterm.cleanup_forgotten_memories("alice") == 0


@pytest.mark.parametrize(
    "said",
    [
        *("We dropped Redis, the job queue is on PostgreSQL now.", "We decided to use Kafka for events."),
        *("我们决定用 Vue 做前端。", "大家商量好了，登录改用短信验证码。", "Mira owns the billing service now."),
    ],
)
def test_decisions_of_a_group_stay_where_the_settings_say_so(
    open_room: OpenMemory, clock: FakeClock, said: str
) -> None:
    for kinds, forgotten in ((("decision",), 0), ((), 1)):
        memory = open_room(f"decisions-{forgotten}", forgetting_exempt=kinds)
        assert memory.longterm.extract_and_store_memories_for_round("alice", "c", said, "")
    clock.advance(days=400)
    for kinds, forgotten in ((("decision",), 0), ((), 1)):
        memory = open_room(f"decisions-{forgotten}", forgetting_exempt=kinds)
        plan = memory.longterm.cleanup_forgotten_memories("alice", dry_run=True)
        assert (plan.count, dict(plan.exempt)) == (forgotten, dict.fromkeys(kinds, 1))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("老伴儿叫刘芳，退休护士。", "identity"),
        ("女儿周敏在重庆当小学老师。", "identity"),
        ("以后快递寄到宝安西乡海滨新村5栋1203。", "identity"),
        ("医生把甘精加到16个单位了。", "health"),
        ("I'm off coffee, it was giving me palpitations.", "health"),
        ("My friend Dani is getting divorced, please don't bring it up when she's around.", "instruction"),
        ("儿子在楼下打篮球", ""),
        ("我们公司有3个单位参加", ""),
    ],
)
def test_close_people_doses_and_what_is_not_to_be_mentioned_have_a_kind_that_is_not_forgotten(
    said: str, kind: str
) -> None:
    assert fact_kind(said) == kind


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ("My flight to Tokyo leaves on January 15 at 10:40 from Pudong.", (2027, 1, 15)),
        ("提醒我明年1月15号交个税。", (2027, 1, 15)),
        ("The visa appointment is on 3 March 2027.", (2027, 3, 3)),
    ],
)
def test_what_names_a_day_ahead_is_not_forgotten_before_it(
    open_room: OpenMemory, said: str, last: tuple[int, int, int]
) -> None:
    clock = FakeClock(datetime(2026, 11, 16, 9, tzinfo=UTC))
    memory = open_room(clock=clock)
    stored = memory.longterm.extract_and_store_memories_for_round("alice", "c", said, "", created_at=clock.time)
    assert stored
    clock.time = datetime(*last, 12, tzinfo=UTC)
    plan = memory.longterm.cleanup_forgotten_memories("alice", dry_run=True)
    assert (plan.count, dict(plan.exempt)) == (0, {"upcoming": len(stored)})
    assert present(memory.longterm.explain("alice", stored[0]))["exempt"] == "upcoming"
    assert memory.longterm.cleanup_forgotten_memories("alice") == 0
    clock.advance(days=2)
    assert memory.longterm.cleanup_forgotten_memories("alice") == len(stored)


@pytest.mark.parametrize(
    "said",
    [
        "I watched a film on 3 March 2020.",
        "今年我看了三部电影。",
        "Since 2019 the fence is green.",
        "last week it rained",
    ],
)
def test_what_names_no_day_ahead_fades_as_ever(said: str) -> None:
    assert last_day_ahead(said, datetime(2026, 11, 16, 9, tzinfo=UTC)) is None


def test_what_has_expired_is_no_part_of_what_the_curve_took_and_comes_back_by_name(room: AgentMemory) -> None:
    soon = datetime.now(UTC) - timedelta(seconds=1)
    room.store("code", "the code is 1234", scope="alice", domain="user_preferences", expires_at=soon)
    assert room.maintain()["expired"] == 1
    assert room.longterm.restore("alice") == []
    assert [entry.key for entry in room.longterm.restore("alice", ["code"])] == ["code"]
    assert present(room.get("code", scope="alice")).expires_at is None
    assert room.maintain()["expired"] == 0
