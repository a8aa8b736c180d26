"""Code in messages: blocks are left out, inline code is a word of its sentence."""

import pytest

from jiyi.text import sentences
from jiyi.text.code_spans import only_code, without_code_blocks
from jiyi.text.statements.keeping.cues import find_statements
from jiyi.text.statements.parts.claims import pieces_of
from jiyi.text.statements.parts.clauses import split_clauses
from jiyi.text.statements.parts.own_words import own_words, without_requested_text


@pytest.mark.parametrize(
    "text",
    [
        "Before.\n```python\nx = 1\n```\nAfter.",
        "Before. ```\nx = 1\n``` After.",
        "Before. After.\n````\nx = 1\n```\n````",
        "Before. After.\n~~~\nx = 1\n~~~",
        "Before. After.\n```\nx = 1\nnever closed",
    ],
)
def test_a_block_of_code_is_left_out(text: str) -> None:
    left = without_code_blocks(text)
    assert "x = 1" not in left
    assert "Before." in left
    assert "After." in left
    assert "x = 1" not in own_words(text)


@pytest.mark.parametrize(
    "text",
    [
        "Always run `make lint` before committing.",
        "I prefer ``a `b` c`` over ```d```.",
        "我们用 `pnpm dev` 启动前端。",
    ],
)
def test_inline_code_stays(text: str) -> None:
    assert without_code_blocks(text) == text
    assert own_words(text) == text
    assert without_requested_text(text) == text


def test_no_sentence_and_no_clause_ends_inside_of_inline_code() -> None:
    assert sentences("Run `a. b! c`. Then stop.") == ["Run `a. b! c`.", "Then stop."]
    assert sentences("先跑 `甲。乙`。再停。") == ["先跑 `甲。乙`。", "再停。"]
    assert split_clauses("We call `f(a, b)`, I know") == ["We call `f(a, b)`, ", "I know"]
    assert pieces_of("We call `f(a, b)` and `g and h`") == ["We call `f(a, b)` and ", "`g and h`"]


def test_what_is_nothing_but_code_states_nothing() -> None:
    assert only_code("`I prefer tabs`")
    assert not only_code("`tabs` it is")
    assert find_statements("`I prefer tabs`") == []


@pytest.mark.parametrize(
    "text",
    [
        "I prefer `tabs` over `spaces`.",
        "The deploy command is `./deploy.sh --prod`, remember that.",
        "我喜欢用 `vim`。",
    ],
)
def test_a_candidate_has_the_code_that_was_said(text: str) -> None:
    assert [found.content for found in find_statements(text)] == [text]
