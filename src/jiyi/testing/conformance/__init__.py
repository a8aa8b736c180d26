"""Conformance suites: every backend passes them, and a backend of your own runs them in a few lines.

from jiyi.testing.conformance import RecordStoreConformance

class TestMyStore(RecordStoreConformance):
    def make_store(self, folder):
        return MyStore(folder / "data")

| suite | what you define |
|---|---|
| `RecordStoreConformance` | `make_store(folder)` |
| `ChatStoreConformance` | `make_store(folder)`, `make_chats(store)` |
| `JobStoreConformance` | `make_store(folder)`, `make_jobs(store)` |
| `LongtermStoreConformance` | `make_store(folder)`, `make_longterm(store)`, `make_jobs(store)` |
| `TextIndexConformance` | `make_index(folder, store)` |
| `VectorIndexConformance` | `make_vectors(folder, store, embedder)` |
| `MemoryRuntimeConformance` | `make_runtime(folder)`, `close_runtime()` |
| `ProfileConformance` | `open(folder, **settings)`: a whole memory of `jiyi.sync` |

Each `make_…` is called again with the same folder for a second handle on the same data; for a new folder the data is
empty. The suites are pytest tests, so pytest has to be installed.
"""

import pytest

# Before the imports: failed assertions then show their values, as in a test file.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in (
            *("changes", "chats", "conversations", "indexes", "jobs", "listing", "longterm", "notes", "records"),
            *("runtime", "runtime_consolidation", "runtime_feedback", "profile", "profile_entries", "text", "vectors"),
        )
    )
)

from jiyi.testing.conformance.changes import ChangeLogConformance
from jiyi.testing.conformance.chats import ChatStoreConformance
from jiyi.testing.conformance.conversations import (
    ConversationConformance,
    TransferConformance,
    UpkeepConformance,
)
from jiyi.testing.conformance.jobs import JobStoreConformance
from jiyi.testing.conformance.listing import ListingConformance
from jiyi.testing.conformance.longterm import LongtermStoreConformance
from jiyi.testing.conformance.notes import NoteConformance
from jiyi.testing.conformance.profile import ProfileConformance
from jiyi.testing.conformance.records import EntryConformance
from jiyi.testing.conformance.runtime import MemoryRuntimeConformance
from jiyi.testing.conformance.text import TextIndexConformance
from jiyi.testing.conformance.vectors import VectorIndexConformance

__all__ = [
    "ChatStoreConformance",
    "JobStoreConformance",
    "LongtermStoreConformance",
    "MemoryRuntimeConformance",
    "ProfileConformance",
    "RecordStoreConformance",
    "TextIndexConformance",
    "VectorIndexConformance",
]


class RecordStoreConformance(
    EntryConformance,
    ListingConformance,
    ChangeLogConformance,
    ConversationConformance,
    NoteConformance,
    TransferConformance,
    UpkeepConformance,
):
    """Everything that jiyi relies on in a record store. Define `make_store(folder)` and run it."""
