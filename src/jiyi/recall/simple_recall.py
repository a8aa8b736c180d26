"""Recall in simple mode: there are records and tags, and no index that could be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from jiyi.errors import SimpleModeError
from jiyi.model.entry import IndexCoverage
from jiyi.model.recalled import RecalledEntries
from jiyi.ports import RecordStore
from jiyi.recall.request import Request, check_mode
from jiyi.recall.tags import TagMirror, answer_by_tags

INDEXES: Final = ("text", "vectors")


@dataclass(frozen=True, slots=True)
class SimpleRecall:
    """Answers by tags. `hybrid` is what there is, and its hits say what is off; other modes are refused."""

    store: RecordStore
    tags: TagMirror
    zone: tzinfo
    """The user's, where the caller names none."""
    off: tuple[str, ...] = INDEXES
    """What would have answered as well; hits name it."""

    def answer(self, request: Request) -> RecalledEntries:
        """The entries whose tags stand in the question, most tags first."""
        check_mode(request.mode)
        if request.mode not in {"hybrid", "tags"}:
            raise SimpleModeError.of(f"recall in mode {request.mode!r} is", "use mode 'tags'")
        if request.context:
            raise SimpleModeError.of("the context of hits is", "leave context out")
        off = tuple(
            IndexCoverage(name, answered=False, note="off in simple mode (enable_simple_memory)") for name in self.off
        )
        return RecalledEntries(answer_by_tags(self.store, self.tags, request, self.zone, off).hits)

    def similarities(self, texts: Sequence[str], ids: Sequence[str], scopes: Sequence[str]) -> list[list[float]]:
        """Refused: there are no vectors."""
        del texts, ids, scopes
        raise SimpleModeError.of("comparing meanings is", "leave simple mode")

    def close(self) -> None:
        """Nothing to close."""
