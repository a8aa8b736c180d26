"""JSON is found in what models write, and never accepted when it is not what was asked for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.errors import ModelReplyError
from jiyi.model.replies import MAX_REPLY, parse_json_reply

SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "facts": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 20}, "maxItems": 3},
        "domain": {"type": "string", "enum": ["work", "home"]},
        "note": {"type": ["string", "null"]},
    },
    "required": ["score", "facts"],
    "additionalProperties": False,
}
GOOD = '{"score": 0.9, "facts": ["对花生过敏"], "domain": "home", "note": null}'
VALUE = {"score": 0.9, "facts": ["对花生过敏"], "domain": "home", "note": None}


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"Sure! Here is the JSON you asked for:\n\n```\n{GOOD}\n```\nAnything else?",
        f"好的，结果如下：{GOOD}。希望有帮助！",
        f"<think>maybe {{'score': 1}} or [2]?</think>{GOOD}",
        f"The set {{a, b}} is empty [1]. {GOOD}",
    ],
)
def test_json_is_found_alone_in_a_fence_and_among_words(text: str) -> None:
    assert parse_json_reply(text, SCHEMA) == VALUE


@pytest.mark.parametrize(
    ("text", "reason", "words"),
    [
        ("", "empty", "empty"),
        (" \n ", "empty", "empty"),
        ("<think>hm</think> ", "empty", "empty"),
        ("I would say 0.9.", "not json", "begins"),
        (GOOD[:30], "truncated", "ends inside"),
        ('{"score": NaN, "facts": []}', "not json", "not JSON"),
        ("[" * 100_000, "truncated", "ends inside"),
        ("0.9", "wrong schema", "must be object, not number"),
        ('{"facts": []}', "wrong schema", "no 'score'"),
        ('{"score": "high", "facts": []}', "wrong schema", "'score' must be number, not string"),
        ('{"score": true, "facts": []}', "wrong schema", "'score' must be number, not boolean"),
        ('{"score": 1.5, "facts": []}', "wrong schema", "at most 1"),
        ('{"score": 0, "facts": ["a", "b", "c", "d"]}', "wrong schema", "maxItems"),
        ('{"score": 0, "facts": [""]}', "wrong schema", "minLength"),
        ('{"score": 0, "facts": [5]}', "wrong schema", "must be string"),
        ('{"score": 0, "facts": [], "domain": "moon"}', "wrong schema", "not one of work, home"),
        ('{"score": 0, "facts": [], "extra": 1}', "wrong schema", "unknown 'extra'"),
    ],
)
def test_what_is_wrong_is_said(text: str, reason: str, words: str) -> None:
    with pytest.raises(ModelReplyError) as caught:
        parse_json_reply(text, SCHEMA)
    assert caught.value.reason == reason
    assert words in str(caught.value)


def test_a_reply_without_end_is_not_read() -> None:
    with pytest.raises(ModelReplyError) as caught:
        parse_json_reply("{" * (MAX_REPLY + 1), SCHEMA)
    assert caught.value.reason == "too long"


def test_a_schema_that_cannot_be_checked_is_a_fault_of_the_program() -> None:
    with pytest.raises(ValueError, match="patternProperties"):
        parse_json_reply("{}", {"type": "object", "patternProperties": {}})


def test_one_of_several_schemas_is_enough() -> None:
    schema = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert parse_json_reply("5", schema) == 5
    with pytest.raises(ModelReplyError, match="must be string"):
        parse_json_reply("[]", schema)


@given(st.one_of(st.text(max_size=60), st.text(alphabet='{}[]",: 0.9scoreft', max_size=60)))
def test_any_text_gives_a_value_of_the_schema_or_the_error(text: str) -> None:
    value: Any = None
    try:
        value = parse_json_reply(text, SCHEMA)
    except ModelReplyError:
        return
    assert 0 <= value["score"] <= 1
