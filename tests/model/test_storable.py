"""Text that a database refuses is made storable, and other text is left as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jiyi.model.storable import is_storable, not_storable, storable


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("", ""),
        ("plain", "plain"),
        ("早报 😀", "早报 😀"),
        ("a\x00b", "a b"),
        ("a\ud800b", "a?b"),
        ("\x00早\udfff", " 早?"),
    ],
)
def test_nul_becomes_a_space_and_a_lone_surrogate_a_question_mark(text: str, stored: str) -> None:
    assert storable(text) == stored


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_becomes_storable_and_keeps_its_length(text: str) -> None:
    stored = storable(text)
    assert stored.encode("utf-8").decode("utf-8") == stored
    assert "\x00" not in stored
    assert len(stored) == len(text)
    assert is_storable(stored)
    assert is_storable(text) == (stored == text) == (not not_storable(text))
    assert storable(stored) == stored
