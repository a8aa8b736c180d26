"""What is said of one person or thing never hides what is known of another."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jiyi.sync import AgentMemory
from jiyi.text.statements.about.subject_phrases import about_different_things
from tests.longterm.answers import fact, model
from tests.longterm.conftest import OpenMemory

PARALLEL = [
    ("My mother-in-law takes statins", "My uncle stopped taking statins"),
    ("Chloe plays the viola", "Martin switched to the oboe"),
    ("The guest wifi password is tulip77", "The staff wifi password has changed to maple12"),
    ("The train to Bath leaves at 7:40", "The train to Exeter now leaves at 9:15"),
    ("Hannah's exam is on 2 June", "Oliver's exam has been moved to 11 June, I had it wrong"),
    ("My Spotify plan is 11 pounds a month", "My Audible plan went up to 9 pounds a month"),
    ("The front door code is 4411", "I changed the garage code to 9023"),
    ("My eldest is in year 5", "My youngest moved up to year 3"),
    ("我公公住在扬州", "我姑姑搬到镇江了"),
    ("大卧室的空调设26度", "小卧室的空调改成24度了"),
    ("去大理的机票是六月三号的", "去青岛的机票改签到六月九号了"),
    ("登录接口超时是5秒", "支付接口超时调到15秒了"),
    ("小张的生日是三月八号", "小刘的生日是五月一号，之前记错了"),
    ("主库用 MySQL 5.7", "从库升级到 MySQL 8 了"),
    ("我哥下个月结婚", "我离婚了"),
    ("My sister is getting married in June", "I broke up with Tom"),
]
SAME = [
    ("I live in Tampere", "I live in Turku now"),
    ("The garage code is 4411", "The garage code was changed to 9023"),
    ("Chloe plays the viola", "Chloe switched to the oboe"),
    ("The parcel from Zara arrives Monday", "It was delayed to Friday"),
    ("My phone number is 555 0101", "My new number is 555 0199"),
    ("My flatmate is Greta", "Greta moved out, Ines is my flatmate now"),
    ("My eldest is at Hillcrest primary", "My daughter moved to the grammar school"),
    ("dentist is the 14th at 9am", "the surgery rang, they've bumped my dentist appt to the 28th"),
    ("Our wedding is on August 8", "Venue double-booked us, so it'll be September 19"),
    ("我的直属领导叫周衍", "领导换成了徐琳"),
    ("游泳课在周二晚上", "改到周四晚上了"),
    ("我妈的手机号是13811112222", "我母亲的手机号码换成13933334444了"),
    ("面试定在3月9号上午", "hr刚来电话，给挪到3月12号下午两点了"),
    ("房租每月3200", "房东涨价了，从这个月开始3600"),
]


@pytest.mark.parametrize(("known", "said"), PARALLEL)
def test_what_changes_for_one_leaves_the_other_as_it_is(room: AgentMemory, known: str, said: str) -> None:
    for text in (known, said):
        room.longterm.extract_and_store_memories_for_round("alice", "c", text, "")
    assert about_different_things(said, known)
    assert room.longterm.superseded("alice") == []


@pytest.mark.parametrize(("known", "said"), SAME)
def test_the_same_thing_in_other_words_may_still_be_replaced(known: str, said: str) -> None:
    assert not about_different_things(said, known)


def test_a_model_cannot_replace_what_is_known_of_another_thing(open_room: OpenMemory) -> None:
    memory = open_room(llm=model(lambda data: [fact(data["user"], corrects=1)]))
    for text in ("The guest wifi password is tulip77", "The staff wifi password is maple12"):
        memory.longterm.extract_and_store_memories_for_round("alice", "c", text, "")
    assert memory.longterm.superseded("alice") == []
    assert len(memory.list(scope="alice", memory_types="fact")) == 2


# Kinds of subjects with values; any two of one row are different people or things.
OWNERS = ["Anna", "Ben", "My son", "My daughter", "My boss", "Grandma"]
OWNED = ["phone number", "favourite tea", "locker code", "train ticket"]
QUALIFIERS = ["office", "home", "guest", "upload", "download", "blue", "red", "savings"]
OWNERS_ZH = ["我儿子", "我女儿", "小王", "老赵", "我妈", "我爸", "表姐", "堂弟"]
THINGS_ZH = ["手机号", "生日", "座位", "密码"]
PLACES_ZH = ["办公室", "家里", "北京分公司", "测试环境", "生产环境", "客厅", "卧室"]


def different(values: list[str]) -> st.SearchStrategy[tuple[str, str]]:
    return st.permutations(values).map(lambda chosen: (chosen[0], chosen[1]))


@settings(max_examples=60, deadline=None)
@given(owners=different(OWNERS), thing=st.sampled_from(OWNED), qualifiers=different(QUALIFIERS))
def test_other_owners_and_other_qualifiers_are_other_things(
    owners: tuple[str, str], thing: str, qualifiers: tuple[str, str]
) -> None:
    one, other = owners
    assert about_different_things(f"{other}'s {thing} changed to 7", f"{one}'s {thing} is 5")
    assert about_different_things(f"{other} moved to Rome", f"{one} lives in Oslo")
    assert not about_different_things(f"{one}'s {thing} changed to 7", f"{one}'s {thing} is 5")
    one, other = qualifiers
    assert about_different_things(f"The {other} {thing} is now 7", f"The {one} {thing} is 5")
    assert not about_different_things(f"The {thing} is now 7", f"The {one} {thing} is 5")
    assert not about_different_things("It's 7 now", f"The {one} {thing} is 5")


@settings(max_examples=60, deadline=None)
@given(owners=different(OWNERS_ZH), thing=st.sampled_from(THINGS_ZH), places=different(PLACES_ZH))
def test_other_owners_and_places_are_other_things_in_chinese(
    owners: tuple[str, str], thing: str, places: tuple[str, str]
) -> None:
    for one, other in (owners, places):
        assert about_different_things(f"{other}的{thing}改成7了", f"{one}的{thing}是5")
        assert not about_different_things(f"{one}的{thing}改成7了", f"{one}的{thing}是5")
        assert not about_different_things(f"{thing}改成7了", f"{one}的{thing}是5")
        assert not about_different_things("改成7了", f"{one}的{thing}是5")


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(owners=different(OWNERS), thing=st.sampled_from(OWNED), number=st.integers(100, 999))
def test_no_change_of_one_hides_what_is_known_of_another(
    room: AgentMemory, owners: tuple[str, str], thing: str, number: int
) -> None:
    one, other = owners
    scope = f"{one}{other}{thing}{number}".replace(" ", "")
    for text in (f"{one}'s {thing} is {number}", f"{other}'s {thing} changed to {number + 1}, no longer {number + 2}"):
        room.longterm.extract_and_store_memories_for_round(scope, "c", text, "")
    assert room.longterm.superseded(scope) == []
