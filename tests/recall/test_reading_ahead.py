"""Reading what the words propose before the vectors answer changes when things are read, and nothing else."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from jiyi.components import Components
from jiyi.model.category import MemoryCategory
from jiyi.model.filters import Filters, make_filters
from jiyi.recall import RecallEngine, Request
from jiyi.testing.conformance.examples import NOON, draft
from jiyi.testing.fakes import HashEmbedder
from jiyi.wiring import build

SCOPES = ("main", "public")
QUESTIONS = ("garden gate", "花园的门", "who waters the garden", "zebra", "last week")
FILTERS = {
    "scopes alone": make_filters(SCOPES),
    "a category": make_filters(SCOPES, category="core"),
    "types": Filters(SCOPES, without_types=("message",)),
}

_TEXTS = [
    ("the garden gate is green", "core"),
    ("花园的门是绿色的", "core"),
    ("Ben waters the garden on Mondays", "daily"),
    ("the kitchen has a new lamp", "core"),
    ("gate 7 at the airport", "daily"),
    ("garden, garden, garden", "core"),
]
_SAID = ("who waters the garden", "Ben does", "and who shuts the gate of the garden?")


class AtOnce(Executor):
    """The words are asked before the vectors: everything that they propose is read ahead."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(call(*args, **kwargs))
        return done


class AtLast(AtOnce):
    """The vectors have answered before the words are read: nothing is read ahead."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        answered = Event()
        answered.set()
        return super().submit(call, *(answered if isinstance(each, Event) else each for each in args), **kwargs)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Components]:
    parts = build(
        tmp_path_factory.mktemp("ahead"),
        embedder=HashEmbedder(),
        background_indexing=False,
        background_jobs=False,
        time_zone="UTC",
    )
    drafts = [draft(f"note {n}", text, category=MemoryCategory(word)) for n, (text, word) in enumerate(_TEXTS)]
    for place, text in enumerate(_SAID):
        in_line: dict[str, Any] = {
            "memory_type": "message",
            "conversation_id": "c",
            "position": place,
            "minutes": place,
        }
        drafts.append(draft(f"said {place}", text, category=MemoryCategory("conversation"), **in_line))
    parts.store.put(drafts, actor="test")
    for index in parts.indexes:
        parts.drainer.drain(index)
    yield parts
    parts.engine.close()
    for index in parts.indexes:
        index.close()
    parts.store.close()


@pytest.mark.parametrize("filters", FILTERS.values(), ids=list(FILTERS))
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_is_the_same_whether_the_vectors_come_first_or_last(
    question: str, filters: Filters, parts: Components
) -> None:
    alone = parts.engine
    assert isinstance(alone, RecallEngine)
    engine = replace(alone, settings=replace(alone.settings, parallel_from=0))
    request = Request(question, filters, limit=5, now=NOON + timedelta(days=7))
    late = replace(engine, helpers=AtOnce()).answer(request)
    early = replace(engine, helpers=AtLast()).answer(request)
    assert late == early == alone.answer(request)
    assert early or question == "zebra"
