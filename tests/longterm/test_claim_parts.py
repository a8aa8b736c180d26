"""A message with several facts is split into claims, and no claim says of anybody what the message does not."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.text.statements.parts.claims import split_claims

SETS = Path(__file__).parents[2] / "bench" / "sets" / "judgement"
# What may be put before a clause that leaves its subject out, beside words of the message.
SPEAKER = ("I ", "We ", "I am ", "We are ", "我", "我们", "")


def claims(message: str) -> list[str]:
    return [claim.text.rstrip(".。!！") for claim in split_claims(message)]


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        (
            "I've got two kids, Mia who's in year 4 and Ben who started nursery in September.",
            ["I've got two kids, Mia who's in year 4", "I've got two kids, Ben who started nursery in September"],
        ),
        (
            "我有两个孩子，大的叫小米读四年级，小的叫豆豆刚上幼儿园。",
            ["我有两个孩子，大的叫小米读四年级", "我有两个孩子，小的叫豆豆刚上幼儿园"],
        ),
        ("我在杭州做设计，老公在银行，孩子上小学。", ["我在杭州做设计", "老公在银行", "孩子上小学"]),
        ("工资卡是招行的，房贷在建行，公积金在杭州。", ["工资卡是招行的", "房贷在建行", "公积金在杭州"]),
        ("我叫苗青，人在厦门，做室内设计，养着一条金毛", ["我叫苗青", "我人在厦门", "我做室内设计", "我养着一条金毛"]),
        (
            "下周行程：周二飞北京，周三上午内训，周五回长沙",
            ["下周行程：周二飞北京", "下周行程：周三上午内训", "下周行程：周五回长沙"],
        ),
        (
            "Sam is vegetarian, Leo can't have gluten and I hate mushrooms.",
            ["Sam is vegetarian", "Leo can't have gluten", "I hate mushrooms"],
        ),
        (
            "My brother Yusuf lives in Ottawa, drives a truck for a living and supports Galatasaray.",
            [
                "My brother Yusuf lives in Ottawa",
                "My brother Yusuf: drives a truck for a living",
                "My brother Yusuf: supports Galatasaray",
            ],
        ),
        (
            "My flight is on the 12th from Stansted and the hotel is the Ibis.",
            ["My flight is on the 12th from Stansted", "the hotel is the Ibis"],
        ),
        ("coffee: flat white, oat milk, two sugars", ["coffee: flat white", "coffee: oat milk", "coffee: two sugars"]),
        (
            "My brother's vegan and his girlfriend is coeliac.",
            ["My brother's vegan", "My brother: his girlfriend is coeliac"],
        ),
    ],
)
def test_each_fact_of_a_message_is_a_claim_with_its_subject(message: str, parts: list[str]) -> None:
    assert claims(message) == parts


@pytest.mark.parametrize(
    ("message", "invented"),
    [
        ("我叫林晓雯，朋友都叫我小雯，95年的，在深圳一家公司当产品经理。", "朋友在深圳"),
        ("我哥在北京做律师，嫂子刚生了个女儿，小名叫豆豆。", "嫂子：小名"),
        ("航航说圣诞不回来了，导师不放人，改到春节，2月10号到。", "导师改到"),
        ("我晓得他忙，就是他妈念叨", "我就是他妈"),
        ("我在杭州做产品经理，老公是中学老师，家里还养了一只英短", "老公：家里"),
        ("儿子在三中读初二，班主任姓孙，每天骑车上学。", "班主任每天"),
        ("我有个儿子，在读高中", "我在读高中"),
        ("my landlady said i could keep the parrot, his name is Admiral. he knows 30 words", "landlady: h"),
        ("My brother has a dog, sleeps in the kitchen", "My brother: sleeps"),
    ],
)
def test_nothing_is_told_of_somebody_of_whom_it_was_not_said(message: str, invented: str) -> None:
    assert not any(invented in claim for claim in claims(message))


def test_every_claim_is_made_of_words_of_its_message_in_their_order() -> None:
    paths = sorted(SETS.glob("[a-g]/sequences.*.jsonl")) + sorted(SETS.glob("t5/sequences.*.jsonl"))
    messages = [
        m for path in paths for line in path.read_text("utf-8").splitlines() for m in json.loads(line)["messages"]
    ]
    assert len(messages) > 1_000
    strange = [
        (message, claim.text)
        for message in messages
        for claim in split_claims(message)
        if not told(claim.text, message)
    ]
    assert strange == []


def told(claim: str, message: str) -> bool:
    """Whether a claim is a stretch of the message, after words that stand before it or after the speaker alone."""
    plain, said = squeezed(claim), squeezed(message)
    if plain in said:
        return True
    for cut in range(1, len(plain)):
        head, rest = plain[:cut], plain[cut:]
        place = said.find(rest)
        if place >= 0 and (head.strip(":： ") in said[:place] or head in map(squeezed, SPEAKER)):
            return True
    return False


def squeezed(text: str) -> str:
    return " ".join(text.replace("：", ":").split()).lower()


SUBJECTS = st.sampled_from(["我", "我老公", "我妈", "小林", "房东", "朋友"])
PREDICATES = st.sampled_from(
    ["在银行上班", "喜欢钓鱼", "叫我早点睡", "对花生过敏", "不同意", "有个女儿", "养了两只猫", "昨天来过", "姓孙"]
)
CLAUSES = st.lists(st.tuples(st.one_of(st.just(""), SUBJECTS), PREDICATES), min_size=2, max_size=4)


@settings(max_examples=150)
@given(CLAUSES)
def test_a_subject_is_only_put_before_a_clause_that_follows_one_about_it(clauses: list[tuple[str, str]]) -> None:
    message = "，".join(subject + predicate for subject, predicate in clauses)
    for claim in split_claims(message):
        if claim.text in message:
            continue
        first = claim.text.split("，")[0]
        place = next(n for n, (who, said) in enumerate(clauses) if not who and first.endswith(said))
        lead = first.removesuffix(clauses[place][1]).rstrip("：")
        # The last subject that was named is the one that is put in, and nobody else was named in between.
        assert [who for who, _ in clauses[:place] if who][-1] == lead
