"""The shipped fakes keep the contracts of what they stand for."""

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jiyi.ports import Embedder
from jiyi.testing.fakes import HashEmbedder

TEXTS = st.lists(st.text(st.characters(codec=None, exclude_categories=[]), max_size=20), max_size=4)


def test_the_hash_embedder_is_an_embedder() -> None:
    assert isinstance(HashEmbedder(), Embedder)
    assert str(HashEmbedder(48).identity) == "hash-ngrams@1/48"


@given(TEXTS)
def test_every_text_gets_a_unit_vector_or_zeros(texts: list[str]) -> None:
    vectors = HashEmbedder().embed(texts)
    assert vectors.shape == (len(texts), 64)
    assert vectors.dtype == np.float32
    for text, length in zip(texts, np.linalg.norm(vectors, axis=1), strict=True):
        assert np.isclose(length, 1.0 if text.split() else 0.0, atol=1e-6)


@given(TEXTS)
def test_a_vector_does_not_depend_on_the_texts_beside_it(texts: list[str]) -> None:
    embedder = HashEmbedder()
    together = embedder.embed(texts)
    for row, text in zip(together, texts, strict=True):
        assert np.array_equal(row, embedder.embed([text])[0])


def test_every_process_gets_the_same_vectors() -> None:
    program = "from jiyi.testing.fakes import HashEmbedder; print(HashEmbedder().embed(['红茶 tea']).tobytes().hex())"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert bytes.fromhex(result.stdout.strip()) == HashEmbedder().embed(["红茶 tea"]).tobytes()


def test_texts_that_share_letters_are_nearer() -> None:
    question, near, far = HashEmbedder(256).embed(["green tea", "likes green tea", "下雨天出门"])
    assert question @ near > question @ far
