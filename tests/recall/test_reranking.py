"""A reranker orders the best hits once more; when it fails the order stays, and the answer says so."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from jiyi.compat.mem0 import Memory
from jiyi.errors import ConfigError, MissingDependencyError, ModelReplyError, ModelTimeoutError, ModelUnavailableError
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import Filters
from jiyi.providers.rerankers import HttpReranker, SentenceTransformersReranker
from jiyi.recall import RecallEngine, Request
from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder, WordReranker
from jiyi.testing.model_server import ModelServer

OpenMemory = Callable[..., AgentMemory]
Connect = Callable[..., HttpReranker]
TEXTS = {"a": "the lamp in the hall", "b": "a lamp", "c": "the lamp of the kitchen is green"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def connect(server: ModelServer) -> Iterator[Connect]:
    """Rerankers of the server, closed in the end."""
    with ExitStack() as stack:

        def make(**settings: Any) -> HttpReranker:
            reranker = HttpReranker(server.base_url, "ranker", **settings)
            stack.callback(reranker.close)
            return reranker

        yield make


@pytest.fixture
def engine(open_memory: OpenMemory) -> RecallEngine:
    memory = open_memory(embedder=HashEmbedder())
    memory.store_many({"key": key, "content": text} for key, text in TEXTS.items())
    memory.drain()
    engine = memory._target._components.engine
    assert isinstance(engine, RecallEngine)
    return engine


class Answering(WordReranker):
    """A reranker whose answer a test writes."""

    def __init__(self, answer: Callable[[Sequence[str]], Any]) -> None:
        super().__init__()
        self._answer = answer

    def rerank(self, query: str, texts: Sequence[str]) -> Any:
        return self._answer(texts)


class Reversing(Answering):
    """The last is the best."""

    def __init__(self) -> None:
        super().__init__(lambda texts: np.arange(len(texts), dtype=np.float32))


def raising(error: Exception) -> Callable[[Sequence[str]], Any]:
    def answer(texts: Sequence[str]) -> Any:
        raise error

    return answer


def scored(server: ModelServer, *scores: float) -> None:
    rows = [{"index": place, "relevance_score": score} for place, score in enumerate(scores)]
    server.send(json.dumps({"results": rows[::-1]}).encode())


def ask(engine: RecallEngine, query: str = "lamp", limit: int = 10) -> list[MemoryEntry]:
    return engine.answer(Request(query, Filters(("main",)), limit=limit))


def said(hit: MemoryEntry) -> dict[str, tuple[bool, str]]:
    assert hit.explanation is not None
    return {part.index: (part.answered, part.note) for part in hit.explanation.coverage}


def test_a_server_decides_the_order_of_the_best_hits(
    engine: RecallEngine, server: ModelServer, connect: Connect
) -> None:
    before = ask(engine)
    scored(server, 0.1, 0.2, 0.9)
    reranker = connect(api_key="sk-1")
    after = ask(replace(engine, reranker=reranker))
    assert [hit.key for hit in after] == [hit.key for hit in reversed(before)]
    assert [hit.score_parts["reranker"] for hit in after] == [0.9, 0.2, 0.1]
    assert said(after[0])["reranker"] == (True, "ranker")
    [request] = server.requests
    assert request["query"] == "lamp"
    assert request["documents"] == [hit.content for hit in before]
    assert server.headers[0]["authorization"] == "Bearer sk-1"
    usage = reranker.usage.to_dict()
    assert (usage["calls"], usage["texts"], usage["failures"]) == (1, 3, 0)


def test_more_hits_are_reranked_than_are_returned(engine: RecallEngine) -> None:
    reranked = replace(engine, reranker=WordReranker())
    assert [hit.key for hit in ask(reranked, "the lamp of the kitchen is what", 1)] == ["c"]
    assert reranked.reranker is not None
    assert reranked.reranker.usage.texts == 3


def test_each_hit_keeps_its_own_relevance(engine: RecallEngine) -> None:
    before = {hit.key: (hit.relevance_score, hit.confident) for hit in ask(engine, "a lamp")}
    after = ask(replace(engine, reranker=Reversing()), "a lamp")
    assert [hit.key for hit in after] == list(before)[::-1]
    assert {hit.key: (hit.relevance_score, hit.confident) for hit in after} == before


def test_a_drop_in_for_mem0_keeps_the_order_of_the_reranker(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    mem0 = Memory(memory)
    for text in TEXTS.values():
        mem0.add(text, user_id="ann", infer=False)
    before = mem0.search("a lamp", user_id="ann")["results"]
    object.__setattr__(memory._target._components.engine, "reranker", Reversing())
    after = mem0.search("a lamp", user_id="ann")["results"]
    assert [hit["memory"] for hit in after] == [hit["memory"] for hit in before][::-1]


@pytest.mark.parametrize("failure", ["500", "429"])
def test_when_the_server_fails_the_order_stays_and_every_hit_says_why(
    engine: RecallEngine, server: ModelServer, connect: Connect, failure: str
) -> None:
    server.fail(failure)
    reranker = connect()
    after = ask(replace(engine, reranker=reranker))
    assert [hit.key for hit in after] == [hit.key for hit in ask(engine)]
    assert all(said(hit)["reranker"][0] is False for hit in after)
    assert "ModelUnavailableError" in said(after[0])["reranker"][1]
    assert reranker.usage.failures == 1


def test_a_failure_stands_in_the_notes_of_the_answer(
    engine: RecallEngine, server: ModelServer, connect: Connect
) -> None:
    server.fail("500")
    answer = replace(engine, reranker=connect()).answer(Request("lamp", Filters(("main",))))
    [note] = answer.notes
    assert note.startswith("reranker did not answer: ModelUnavailableError")
    assert replace(engine, reranker=WordReranker()).answer(Request("lamp", Filters(("main",)))).notes == ()


@pytest.mark.parametrize("how", ["recall", "chained_recall", "comprehensive_recall"])
@pytest.mark.parametrize("answers", [True, False])
def test_one_recall_of_the_runtime_asks_the_reranker_once(open_memory: OpenMemory, how: str, *, answers: bool) -> None:
    memory = open_memory(embedder=HashEmbedder())
    for number, kind in enumerate(("fact", "judgment", "plan", "fact", "judgment")):
        memory.runtime.remember(kind, f"Luna the cat {number}", "", ["cat"])
    reranker = WordReranker() if answers else Answering(raising(ModelTimeoutError("late")))
    object.__setattr__(memory._target._components.engine, "reranker", reranker)
    found = getattr(memory.runtime, how)("Luna")
    assert len(found) == 5
    assert reranker.usage.calls == 1
    assert ("reranker did not answer" in " ".join(found.notes)) is not answers


def test_a_recall_that_looks_again_beyond_what_has_expired_asks_the_reranker_once(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory(embedder=HashEmbedder())
    memory.store_many({"key": key, "content": text} for key, text in TEXTS.items())
    engine = memory._target._components.engine
    reranker = WordReranker()
    asked: list[Request] = []

    def short(request: Request, *others: Any) -> bool:
        asked.append(request)
        return True

    monkeypatch.setattr("jiyi.recall.engine.short_because_of_expiry", short)
    assert len(replace(engine, reranker=reranker).answer(Request("lamp", Filters(("main",))))) == 3
    assert asked
    assert reranker.usage.calls == 1


def test_what_a_new_fact_is_compared_with_is_not_reranked(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashEmbedder())
    reranker = WordReranker()
    object.__setattr__(memory._target._components.engine, "reranker", reranker)
    for text in ("I live in Graz", "I moved to Vienna"):
        memory.longterm.extract_and_store_memories_for_round("main", "c", text, "ok")
    assert reranker.usage.calls == 0


def test_a_server_that_does_not_answer_is_waited_for_no_longer_than_told(server: ModelServer, connect: Connect) -> None:
    server.fail("timeout")
    with pytest.raises((ModelTimeoutError, ModelUnavailableError)):
        connect(timeout=0.05).rerank("a", ["b"])


@pytest.mark.parametrize(
    "body",
    [
        {"results": []},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 2}]},
        {"results": [{"index": 0, "relevance_score": "high"}, {"index": 1, "relevance_score": 1}]},
        {"results": [{"index": 5, "relevance_score": 1}, {"index": 1, "relevance_score": 1}]},
        {"scores": [1, 2]},
    ],
)
def test_a_reply_that_does_not_score_every_text_is_refused(server: ModelServer, connect: Connect, body: object) -> None:
    server.send(json.dumps(body).encode())
    with pytest.raises(ModelReplyError):
        connect().rerank("a", ["b", "c"])


def test_settings_name_the_reranker(open_memory: OpenMemory, server: ModelServer, tmp_path: Path) -> None:
    scored(server, 0.0, 1.0)
    memory = open_memory(reranker="cohere-style", reranker_base_url=server.base_url, reranker_model="rerank-v3.5")
    memory.store("first", "a lamp, a lamp")
    memory.store("second", "the other lamp")
    order = [hit.key for hit in memory.recall("lamp")]
    assert len(server.requests) == 1
    assert server.requests[0]["model"] == "rerank-v3.5"
    assert [hit.key for hit in memory.recall("lamp", weights=(1, 0, 0))] == order[::-1], "the formula is not reranked"
    with pytest.raises(ConfigError, match="reranker_base_url and reranker_model"):
        AgentMemory.open(tmp_path / "other", reranker="openai-compatible")


@pytest.mark.parametrize("name", ["fastembed", "sentence-transformers"])
def test_a_local_reranker_says_which_package_it_needs(open_memory: OpenMemory, name: str) -> None:
    module = name.replace("-", "_")
    if find_spec(module) is not None:
        pytest.skip(f"{name} is installed")
    with pytest.raises(MissingDependencyError, match=rf"jiyi\[{name}\]"):
        open_memory(reranker=name, reranker_model="any")


# --- what a reranker may answer ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (raising(RuntimeError("the model file is broken")), "RuntimeError: the model file is broken"),
        (raising(OSError("no space left")), "OSError: no space left"),
        (lambda texts: [1.0] * (len(texts) - 1), "gave 2 scores for 3 texts"),
        (lambda texts: [1.0] * (len(texts) + 1), "gave 4 scores for 3 texts"),
        (lambda texts: [float("nan")] * len(texts), "score nan"),
        (lambda texts: [float("inf")] * len(texts), "score inf"),
        (lambda texts: ["good"] * len(texts), "score 'good'"),
    ],
)
def test_what_is_wrong_with_a_model_leaves_the_order_and_is_told(
    engine: RecallEngine, answer: Callable[[Sequence[str]], Any], reason: str
) -> None:
    before = ask(engine)
    reranker = Answering(answer)
    after = ask(replace(engine, reranker=reranker))
    assert [hit.key for hit in after] == [hit.key for hit in before]
    assert not any("reranker" in hit.score_parts for hit in after)
    for hit in after:
        answered, note = said(hit)["reranker"]
        assert not answered
        assert reason in note
    assert (reranker.usage.calls, reranker.usage.failures) == (1, 1)


def test_an_error_of_the_program_is_not_taken_for_one_of_the_model(engine: RecallEngine) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        ask(replace(engine, reranker=Answering(raising(TypeError("unsupported operand")))))


def test_a_recall_waits_for_no_reranker_longer_than_told(engine: RecallEngine) -> None:
    end = Event()
    reranker = Answering(lambda texts: [1.0] * len(texts) if end.wait(60) else [])
    after = ask(replace(engine, reranker=reranker, settings=replace(engine.settings, rerank_seconds=0.01)))
    end.set()
    assert [hit.key for hit in after] == [hit.key for hit in ask(engine)]
    answered, note = said(after[0])["reranker"]
    assert not answered
    assert "within 0.01 s; raise reranker_timeout" in note
    assert reranker.usage.failures == 1


# --- models in this process -------------------------------------------------------------------------------------------


class CrossEncoder:
    """What both packages offer: the more of the question's words a text has, the better it answers."""

    asked: Sequence[tuple[str, str]] = ()
    error: Exception | None = None
    classes = 1

    def __init__(self, model: str) -> None:
        if model == "unknown":
            raise OSError("unknown is no folder and no model of the hub")
        self.model = model

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Any:
        type(self).asked = pairs
        if self.error is not None:
            raise self.error
        shares = [len(set(query.split()) & set(text.split())) for query, text in pairs]
        return np.array(shares if self.classes == 1 else [[share] * self.classes for share in shares], np.float32)

    def rerank(self, query: str, texts: Sequence[str]) -> Iterator[float]:
        yield from self.predict([(query, text) for text in texts])


@pytest.fixture(params=["fastembed", "sentence-transformers"])
def local(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, type[CrossEncoder]]:
    """The setting of a local reranker, and the class that stands for its package."""

    class Stub(CrossEncoder):
        pass

    def put(name: str, **names: object) -> None:
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None, is_package=True)
        module.__dict__.update(names)
        monkeypatch.setitem(sys.modules, name, module)

    put("fastembed")
    put("fastembed.rerank")
    put("fastembed.rerank.cross_encoder", TextCrossEncoder=Stub)
    put("sentence_transformers", CrossEncoder=Stub)
    put("onnxruntime.capi.onnxruntime_pybind11_state", NoSuchFile=NoSuchFile)
    return request.param, Stub


class NoSuchFile(Exception):  # noqa: N818 - as onnxruntime calls it
    """An error of onnxruntime is of no builtin kind."""


@pytest.fixture
def with_local(open_memory: OpenMemory, local: tuple[str, type[CrossEncoder]]) -> AgentMemory:
    memory = open_memory(reranker=local[0], reranker_model="tiny")
    memory.store_many({"key": key, "content": text} for key, text in TEXTS.items())
    return memory


def test_a_model_in_this_process_decides_the_order(
    with_local: AgentMemory, local: tuple[str, type[CrossEncoder]]
) -> None:
    hits = with_local.recall("the lamp of the kitchen")
    assert [(hit.key, hit.score_parts["reranker"]) for hit in hits] == [("c", 4.0), ("a", 2.0), ("b", 1.0)]
    assert said(hits[0])["reranker"] == (True, "tiny")
    assert {query for query, _ in local[1].asked} == {"the lamp of the kitchen"}
    assert sorted(text for _, text in local[1].asked) == sorted(TEXTS.values())
    usage = with_local.doctor()["model_usage"]["reranker"]
    assert (usage["calls"], usage["texts"], usage["failures"]) == (1, 3, 0)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("out of memory"),
        ValueError("the input is too long"),
        MemoryError("no memory"),
        NoSuchFile("x.onnx"),
    ],
)
def test_a_model_in_this_process_that_fails_leaves_the_order(
    with_local: AgentMemory, local: tuple[str, type[CrossEncoder]], error: Exception
) -> None:
    local[1].error = error
    hits = with_local.recall("lamp")
    answered, note = said(hits[0])["reranker"]
    assert not answered
    assert f"{type(error).__name__}: {error}" in note
    local[1].error = None
    assert said(with_local.recall("lamp")[0])["reranker"] == (True, "tiny"), "the next question asks it again"


def test_a_model_that_cannot_be_loaded_is_told(open_memory: OpenMemory, local: tuple[str, type[CrossEncoder]]) -> None:
    memory = open_memory(reranker=local[0], reranker_model="unknown")
    memory.store("a", "a lamp")
    assert "unknown failed: OSError" in said(memory.recall("lamp")[0])["reranker"][1]


def test_a_model_with_several_numbers_for_a_text_is_told(
    with_local: AgentMemory, local: tuple[str, type[CrossEncoder]]
) -> None:
    local[1].classes = 2
    assert (
        "6 scores for 3 texts; use a model with one score a text" in said(with_local.recall("lamp")[0])["reranker"][1]
    )


def test_a_question_waits_no_longer_than_told_for_an_earlier_one(
    monkeypatch: pytest.MonkeyPatch, local: tuple[str, type[CrossEncoder]]
) -> None:
    reranker = SentenceTransformersReranker("tiny", timeout=0.01)
    refused: list[Exception] = []

    def while_busy(pairs: Sequence[tuple[str, str]]) -> list[float]:
        thread = Thread(target=ask_again)
        thread.start()
        thread.join()
        return [1.0] * len(pairs)

    def ask_again() -> None:
        try:
            reranker.rerank("a", ["b"])
        except ModelTimeoutError as error:
            refused.append(error)

    monkeypatch.setattr(local[1], "predict", staticmethod(while_busy))
    assert reranker.rerank("a", ["b"]) == [1.0]
    assert "busy with an earlier question" in str(refused[0])
