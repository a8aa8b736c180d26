"""The short cut for small scopes that are read whole, in one round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jiyi.errors import IndexDamagedError, IndexingError, ModelError
from jiyi.model.entry import IndexCoverage
from jiyi.recall.freshness import not_answered
from jiyi.recall.proposers import fields_needed

if TYPE_CHECKING:
    from jiyi.ports import ScopeReader, VectorComparison, Vectors
    from jiyi.recall.search import FilteredScan
    from jiyi.recall.sources import BegunRecall, RecallSources, TextAnswer


class ReadScopes(NamedTuple):
    """What was read of small scopes."""

    vector: Vectors | ModelError | None = None
    """Of the question as it stands, if it was embedded: that may have taken longer than everything else."""
    text: TextAnswer | None = None
    """`None` when the indexes have to be asked one by one."""
    vector_coverage: tuple[IndexCoverage, ...] = ()
    may_be_corrected: bool = True
    """Whether a fact of a conversation may have been corrected in these scopes."""


def read_small_scopes(reader: ScopeReader, sources: RecallSources, begun: BegunRecall) -> ReadScopes:
    """The proposals of the text source and the similarities, out of scopes that are read whole."""
    search, request = begun.search, begun.search.request
    vector_coverage = list(begun.vector_coverage)
    # As a rule these are the texts that will be read, and tell how to word the question.
    last = reader.last_read(request.filters)
    text = sources.count_words(search, last, [])
    wording = sources.wording(text)
    asked: Vectors | ModelError | None = None
    if begun.asks_vectors and sources.vectors is not None:
        asked = sources.embedded(request, wording)
        vector_coverage.append(IndexCoverage(sources.vectors.name, answered=True))
    not_read = ReadScopes(asked if wording == request.query else None)
    if isinstance(asked, ModelError):
        vector_coverage[-1], asked = not_answered(vector_coverage[-1], asked), None
    reading = reader.read(request.filters, asked, fields=fields_needed(sources.proposers, search.question))
    if reading is None or (reading.compared is None and request.mode == "semantic"):
        return not_read
    coverage, compared = [IndexCoverage(sources.text.name, answered=True, note=reading.mode)], reading.compared
    if reading.text is last:
        text = text._replace(coverage=coverage)
    else:
        expected, text = wording, sources.count_words(search, reading.text, coverage)
        wording = sources.wording(text)
        if compared is not None and wording != expected:
            # Only the counted words say how to word the question, so that the similarities are read once more.
            reworded = sources.embedded(request, wording)
            if reworded is None or isinstance(reworded, ModelError):
                return not_read
            asked, compared = reworded, reader.compare(request.filters, reworded)
            if compared is None:
                return not_read
    filtered = None
    if compared is not None and asked is not None:
        filtered = _filtered(sources, begun, compared, asked, wording)
        if filtered is None:
            return not_read
    text = sources.ask_proposers(text._replace(search=text.search._replace(reflections=reading.reflections)))
    text = text._replace(search=text.search.with_vectors(filtered))
    return ReadScopes(None, text, tuple(vector_coverage), reading.corrected)


def _filtered(
    sources: RecallSources, begun: BegunRecall, compared: VectorComparison, vector: Vectors, wording: str
) -> FilteredScan | None:
    """The similarities, together with later changes; `None` where the index has to be asked by itself."""
    request, scan = begun.search.request, compared.scan
    if compared.scanned_at is not None and sources.vectors is not None:
        later = sources.freshness.overlay_since(
            sources.vectors, scan, vector, request.filters.scopes, compared.scanned_at
        )
        if later is None:
            return None
        scan = later
    try:
        return sources.filtered(scan, vector, request, wording)
    except IndexDamagedError:
        raise
    except (ModelError, IndexingError):
        # The same error is met when the index is asked by itself, and is told to the caller there.
        return None
