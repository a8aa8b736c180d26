"""Whom a memory is about, in words for a prompt."""

import pytest

from jiyi.text import fold
from jiyi.text.statements.about.subjects import SUBJECT_WORDS, USER, relation_in, subject_of


@pytest.mark.parametrize(
    ("said", "zh", "en"),
    [
        ("我表妹吃素", "表亲或堂亲", "cousin"),
        ("我孙女三岁了", "孙辈", "grandchild"),
        ("my brother is a vegetarian", "兄弟", "brother"),
        ("我老婆是医生", "妻子", "wife"),
        ("my hamster is called Bo", "宠物", "pet"),
    ],
)
def test_a_relation_is_called_by_a_word_that_fits_everybody_it_can_mean(said: str, zh: str, en: str) -> None:
    subject = subject_of(fold(said))
    assert (relation_in(subject, "zh"), relation_in(subject, "en")) == (zh, en)


def test_a_name_is_called_as_it_is() -> None:
    assert [relation_in("ines", language) for language in ("zh", "en")] == ["ines", "ines"]


def test_every_relation_has_a_word_in_both_languages() -> None:
    subjects = {subject_of(fold(f"my {word} is" if word.isascii() else f"我{word}在")) for word in SUBJECT_WORDS} - {
        USER
    }
    assert len(subjects) > 40
    for subject in subjects:
        assert not relation_in(subject, "zh").isascii(), subject
        assert relation_in(subject, "en").isascii(), subject
