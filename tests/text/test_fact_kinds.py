"""What kind of fact a text states, alike in both languages."""

import pytest

from jiyi.text.questions import hands_over_text
from jiyi.text.statements.keeping.fact_kinds import begins_with_another_person, fact_kind, is_request, states_nothing

KINDS = {
    "health": (
        *("I'm vegetarian", "I'm allergic to ibuprofen", "My husband Olaf has a pacemaker", "I don't drink alcohol"),
        *("我对青霉素过敏", "我现在戒糖", "我妈膝盖做过手术", "我不吃猪肉", "我爸有高血压，在吃降压药"),
        *("I take 20 mg of omeprazole every morning.", "Clara doesn't eat fish.", "我每天早上吃一片阿司匹林"),
        *("I have a bad back", "Tom's back on meat", "I'm trying to lose weight, 1500 calories a day"),
        *("He still won't touch prawns", "我胃不好", "我膝盖疼", "我吃不了辣的", "我妈牙不好，硬的东西吃不了"),
    ),
    "identity": (
        *("I'm Marcus, 41", "My name is Marcus", "I live in Leeds", "My wife is Priya", "Priya is my wife"),
        *(
            "I have two kids",
            "I work at Bettys as a baker",
            "We moved to Harrogate",
            "My brother Jonas lives in Toronto",
        ),
        *("我叫林悦", "我住在长沙", "我老婆叫林一诺", "我在拾光科技做产品经理", "我是小学语文老师", "我有两个孩子"),
        *(
            "我们搬家了，搬到了相城区，小区叫星河湾。",
            "我换工作了，从思必驰跳到了同程",
            "I run a bakery",
            "My phone number is 555-0134",
        ),
    ),
    "instruction": (
        *("Never commit to main", "use structlog instead of print", "Please keep your answers short"),
        *("All public functions need a doc comment", "Don't add new dependencies without asking me"),
        *("不要在回答里用 emoji", "代码注释用中文", "时间一律存 UTC", "merge commit 不允许，只能 squash"),
    ),
    "preference": (
        "I don't like olives",
        "Max hates broccoli.",
        "I prefer metric units",
        "I hate coriander",
        "我怕辣",
        "我喜欢喝绿茶",
    ),
    "": (
        "My phone is a Pixel 8",
        "I run every Saturday morning",
        "The car has a broken window",
        "I can't touch that code without tests",
        "I drive a Transit van",
        "Our office has a blue door",
        "我骑电动车上班",
        "数据库是 PostgreSQL 16",
    ),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_the_kind_of_a_statement_is_read_from_its_words(kind: str, text: str) -> None:
    assert fact_kind(text) == kind
    assert not is_request(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Write a sick note to my boss", "Plan a dinner for me and Priya", "Can I eat this soup with coriander?"),
        *("add an endpoint that lists invoices", "Can you translate this into French: My sister lives in Paris"),
        *("Please proofread: I live in Manchester", "What should I get Priya for our anniversary?"),
        *("帮我安排下周的行程", "推荐一款家用清洁剂", "新建一个前端组件", "出差一周家里的宠物怎么办"),
        *("把这句话翻译成英文：我住在上海，我有两个孩子", "注意我的饮食", "写完代码提交一下"),
    ],
)
def test_what_only_asks_has_no_kind(text: str) -> None:
    assert is_request(text)
    assert fact_kind(text) == fact_kind(text, "allergy") == ""


def test_an_attribute_that_is_known_counts_as_well() -> None:
    assert fact_kind("About me: Asha is 10 and Ben is 6", "age") == "identity"
    assert fact_kind("no shellfish", "allergy") == "health"


@pytest.mark.parametrize(
    ("text", "handed"),
    [
        ("把这句话翻译成英文：我住在上海，我有两个孩子", True),
        ("帮我把下面这段润色一下：我在北京工作", True),
        ("发一条朋友圈：我们今天结婚啦", True),
        ("Can you translate this into French: My sister lives in Paris", True),
        ("Please proofread: I have been live in Manchester", True),
        ("Write a Facebook post: We are closing the shop", True),
        ('translate "I am allergic to nuts" into Thai', True),
        ("我的翻译课改到周三：下午两点", False),
        ("My notes: I translate novels for a living", False),
        ("I translate medical texts", False),
        ("记住：我对青霉素过敏", False),
    ],
)
def test_a_text_that_is_given_to_be_worked_on_is_told_from_a_statement(text: str, handed: bool) -> None:
    assert hands_over_text(text) is handed


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("Plan a dinner for me and Priya this weekend, mind our diets", True),
        ("Plan a dinner for Friday. I'm coeliac.", False),
        ("Book a table for two, I don't eat fish", False),
        ("帮我安排下周的行程", True),
        ("周末在家附近吃什么，注意我的饮食", True),
        ("帮我订周五的餐厅，我不吃辣", False),
        ("我对花生过敏，帮我推荐一家餐厅", False),
        ("我对芒果过敏，嘴会肿，以后推荐甜品的时候注意一下。", False),
        ("I'm coeliac, please recommend a bakery", False),
        ("好的。", True),
        ("I live in Leeds", False),
        ("以后回答都用中文", False),
    ],
)
def test_a_message_that_states_nothing_is_told_from_one_that_does(text: str, only: bool) -> None:
    assert states_nothing(text) is only


@pytest.mark.parametrize(
    "text", ["Clara doesn't eat fish.", "Max hates broccoli.", "小刘对尘螨过敏。", "最近晓晓在吃素，说是吃一个月。"]
)
def test_a_fact_that_begins_with_a_name_is_about_that_person(text: str) -> None:
    assert begins_with_another_person(text)


@pytest.mark.parametrize(
    "text",
    ["对青霉素过敏", "不吃辣", "最近在吃素", "No gluten for me", "The user is vegan", "用户不吃猪肉", "我对花生过敏"],
)
def test_a_fact_without_a_name_is_about_the_user(text: str) -> None:
    assert not begins_with_another_person(text)
