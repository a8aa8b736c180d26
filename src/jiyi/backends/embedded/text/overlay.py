"""The text index as one recall sees it, and `TextOverlay`: together with a few texts that it has not taken in yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from jiyi.backends.embedded.text.pending import PendingTerms
from jiyi.backends.shared.counted_terms import CountedTerms
from jiyi.backends.shared.term_rows import Analysed, features_of
from jiyi.model.filters import Filters
from jiyi.ports import TermRow, TermStatistics

if TYPE_CHECKING:
    from jiyi.backends.embedded.text.index import TantivyIndex


class RecallTextView:
    """A `TextSource` that reads from an index which has just been asked for its log position.

    One recall reads several times. Whether the files are in place and unchanged is not looked at again each time.
    """

    def __init__(self, index: TantivyIndex) -> None:
        self._index = index
        self._counted = CountedTerms()
        self.windows = partial(index.windows, skip_check=True)
        self.conversations = partial(index.conversations, skip_check=True)

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches, filters applied inside the index."""
        counted = self._counted.of(field, filters.scopes, terms)
        return self._index.propose(field, terms, filters, limit=limit, labels=labels, skip_check=True, counted=counted)

    def statistics(
        self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str], pending: PendingTerms | None = None
    ) -> TermStatistics:
        """Numbers of these scopes together, with `pending` as if it were in the index."""
        found = self._index.statistics(scopes, words, bigrams, pending, skip_check=True)
        return self._counted.put(scopes, words, bigrams, found) if pending is None else found


class TextOverlay:
    """A `TextSource` that answers as the index will when it has taken the texts in.

    The numbers for the scorer are those of the later index, to the last digit: they are kept by differences, and the
    same differences are computed here. The index may take the texts in at any moment meanwhile: what it has already
    makes no difference.
    """

    def __init__(self, index: TantivyIndex, analysed: Sequence[Analysed], removed: Sequence[str]) -> None:
        # numpy is loaded with it, and its threads spin for a while: a short command loads it as late as it can.
        from jiyi.backends.shared.in_memory_text import COLUMNS, FILTER_COLUMNS, InMemoryTextIndex

        features = [features_of(each) for each in analysed]
        names = COLUMNS[: FILTER_COLUMNS.start]
        self._index = RecallTextView(index)
        self._pending = PendingTerms(features, removed)
        self._texts = InMemoryTextIndex(
            (*(getattr(row, name) for name in names), *_filtered(each))
            for row, each in zip(features, analysed, strict=True)
        )

    def propose(
        self, field: str, terms: Sequence[str], filters: Filters, *, limit: int, labels: bool = False
    ) -> list[str]:
        """Ids of the best matches of the index and of the pending texts, in turn."""
        hidden = self._pending.ids
        found = self._index.propose(field, terms, filters, limit=limit + len(hidden), labels=labels)
        indexed = [entry_id for entry_id in found if entry_id not in hidden][:limit]
        pending = self._texts.propose(field, terms, filters, limit=limit, labels=labels)
        return [entry_id for pair in zip_longest(pending, indexed) for entry_id in pair if entry_id is not None]

    def statistics(self, scopes: Sequence[str], words: Sequence[str], bigrams: Sequence[str]) -> TermStatistics:
        """Numbers of these scopes together."""
        return self._index.statistics(scopes, words, bigrams, pending=self._pending)

    def windows(self, ids: Sequence[str], *, reach: int, scopes: Sequence[str] = ()) -> list[TermRow]:
        """Texts by id with up to `reach` others before and after each in its conversation, in order."""
        return self._index.windows(ids, reach=reach, scopes=scopes, pending=self._pending)

    def conversations(
        self, threads: Iterable[tuple[str, str]], words: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """For each (scope, conversation) its length and how often each word occurs in it."""
        return self._index.conversations(threads, words, pending=self._pending)


def _filtered(analysed: Analysed) -> tuple[Any, ...]:
    """What filters ask of an entry, in the order of the columns."""
    entry = analysed.entry
    return str(entry.category), entry.memory_type, entry.domains, entry.tags
