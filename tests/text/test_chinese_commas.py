"""Half-width commas in Chinese text end a clause as full-width ones do."""

import pytest

from jiyi.text.chinese_commas import with_chinese_commas
from jiyi.text.statements.parts.claims import clauses_of, pieces_of, split_claims


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("对芒果过敏,对虾也过敏", "对芒果过敏，对虾也过敏"),
        ("驾照C1,有一辆老捷达; 蓝色的", "驾照C1，有一辆老捷达；蓝色的"),
        ("工资12,000元,房租3,200", "工资12,000元，房租3,200"),
        ("用 `f(甲,乙)` 调用,然后保存", "用 `f(甲,乙)` 调用，然后保存"),
        ('{"名":"张三","年龄":3}', '{"名":"张三","年龄":3}'),
        ("tea, coffee", "tea, coffee"),
    ],
)
def test_commas_between_chinese_clauses_become_full_width_and_others_stay(text: str, made: str) -> None:
    assert with_chinese_commas(text) == made
    assert with_chinese_commas(made) == made


def test_a_message_with_half_width_commas_has_the_same_claims() -> None:
    texts = ("我叫小王,在上海工作,有两个孩子", "我叫小王，在上海工作，有两个孩子")
    assert [claim.text for claim in split_claims(texts[0])] == [claim.text for claim in split_claims(texts[1])]
    assert clauses_of(texts[0]) == clauses_of(texts[1])
    assert [piece.strip(",，") for piece in pieces_of(texts[0])] == ["我叫小王", "在上海工作", "有两个孩子"]
