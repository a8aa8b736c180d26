"""The most similar of a scope in memory: the same as by comparing all of them one by one."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jiyi.backends.shared import vector_matrix
from jiyi.backends.shared.vector_matrix import MatrixScan, ScopeMatrix

_DIMENSION = 4


def _scan(values: list[float]) -> MatrixScan:
    """A scope in which the similarity of entry n to the question is the value at n."""
    rows = np.zeros((len(values), _DIMENSION), dtype=np.float32)
    rows[:, 0] = values
    matrix = ScopeMatrix(_DIMENSION)
    matrix.load([f"{n:06}" for n in range(len(values))], [0] * len(values), [1] * len(values), rows, 1)
    question = np.eye(_DIMENSION, dtype=np.float32)[0]
    return MatrixScan([(matrix, matrix.similarities(question))], question)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 2_000),
    limit=st.integers(1, 12),
    kinds=st.integers(1, 5_000),
)
def test_the_most_similar_are_those_of_a_sorted_list(seed: int, count: int, limit: int, kinds: int) -> None:
    # Few kinds: many are equally similar.
    values = np.random.default_rng(seed).integers(-kinds, kinds, count) / np.float32(kinds)
    best = _scan(values.tolist()).best(limit)
    assert len(best) == len(set(best)) == min(limit, count)
    found = [values[int(entry_id)] for entry_id in best]
    assert found == sorted(values.tolist(), reverse=True)[:limit]


def test_equally_similar_ones_are_few_and_in_the_order_of_their_ids() -> None:
    assert _scan([0.5] * 1_000).best(3) == ["000000", "000001", "000002"]


@pytest.mark.parametrize("count", [10, 1_000])
def test_an_entry_that_is_gone_is_not_among_the_most_similar(count: int) -> None:
    rows = np.zeros((count, _DIMENSION), dtype=np.float32)
    rows[:, 0] = np.linspace(0.1, 0.9, count)
    matrix = ScopeMatrix(_DIMENSION)
    ids = [f"{n:06}" for n in range(count)]
    matrix.load(ids, [0] * count, [1] * count, rows, 1)
    matrix.update([(ids[-1], 2, 0, None)])
    question = np.eye(_DIMENSION, dtype=np.float32)[0]
    scan = MatrixScan([(matrix, matrix.similarities(question))], question)
    assert scan.best(2) == [ids[-2], ids[-3]]
    assert scan.count == count - 1
    similarities = scan.of([ids[0], ids[-1], "unknown"])
    assert similarities[0] == pytest.approx(0.1)
    assert np.isnan(similarities[1:]).all()


@pytest.mark.parametrize(("rows", "dimension"), [(1, 256), (128, 256), (129, 256), (300, 256), (300, 3), (3, 40_000)])
def test_similarities_are_those_of_one_product_whatever_the_number_of_rows(rows: int, dimension: int) -> None:
    chance = np.random.default_rng(rows)
    vectors = chance.normal(size=(rows, dimension)).astype(np.float32)
    query = chance.normal(size=dimension).astype(np.float32)
    matrix = ScopeMatrix(dimension)
    matrix.load([f"e{n}" for n in range(rows)], [0] * rows, [1] * rows, vectors, 1)
    expected = vectors.astype(np.float64) @ query.astype(np.float64)
    np.testing.assert_allclose(matrix.similarities(query), expected, atol=1e-3)


@pytest.mark.parametrize("starts", [True, False], ids=["two threads", "no second thread"])
def test_a_large_scope_has_the_similarities_of_a_small_one(*, starts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(5)
    vectors = chance.normal(size=(1_000, 64)).astype(np.float32)
    query = chance.normal(size=64).astype(np.float32)
    matrix = ScopeMatrix(64)
    matrix.load([f"e{n}" for n in range(1_000)], [0] * 1_000, [1] * 1_000, vectors, 1)
    expected = matrix.similarities(query)
    monkeypatch.setattr(vector_matrix, "_MAX_ALONE", 100)
    monkeypatch.setattr(vector_matrix, "_PART", 64)
    if not starts:
        monkeypatch.setattr(threading.Thread, "start", _no_thread)
    np.testing.assert_allclose(matrix.similarities(query), expected, rtol=1e-5, atol=1e-5)


def _no_thread(_thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_an_error_in_the_second_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = threading.current_thread()

    def multiply(_matrix: object, _query: object, _out: object) -> None:
        if threading.current_thread() is not caller:
            failed.set()
            raise MemoryError("no memory for the product")
        assert failed.wait(60)

    failed = threading.Event()
    monkeypatch.setattr(vector_matrix, "_MAX_ALONE", 100)
    monkeypatch.setattr(vector_matrix, "_PART", 64)
    monkeypatch.setattr(vector_matrix, "_multiply", multiply)
    with pytest.raises(MemoryError):
        _scan([0.5] * 1_000)
