"""Commits to a tantivy index, and the merging of its files that goes on after some of them.

Every eighth commit or so tantivy merges what the last ones wrote, and in an index of ten thousand texts that is half a
second of work. Nobody has to wait for it: the commit is on disk and can be read. The writer stays open until the merge
is over, takes further commits meanwhile, and is let go then, because as long as it is open no other process can write.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf, log2
from pathlib import Path
from typing import Final

import tantivy

from jiyi.backends.embedded.text.files import META
from jiyi.backends.shared.derived_file import FILE_ERRORS, means_damage
from jiyi.errors import IndexDamagedError, IndexingError, StoreBusyError

_log = logging.getLogger("jiyi.index")

_HEAP_BYTES: Final = 64_000_000
_LOOK_SECONDS: Final = 0.02
_LONGEST_MERGE_SECONDS: Final = 2.0
"""After that commits wait for the end of the merge, and other processes can write again.

A merge is given up when a commit deletes all that one of its files holds, and nothing tells that from one that goes on.
"""
_NOBODY: Final = ""
"""No entry has this id."""
_BUSY_PAUSE: Final = 0.005
# The policy by which tantivy merges, of which Python is not told: eight of about the same size become one.
_MERGED_TOGETHER: Final = 8
_SMALL: Final = 10_000
_LEVEL: Final = 0.75
_NEVER_MERGED: Final = 10_000_000


class IndexWriter:
    """Commits to one index, one after the other. Safe for several threads."""

    def __init__(self, index: tantivy.Index, folder: Path) -> None:
        self._index = index
        self._meta = folder / META
        self._guard = threading.Lock()
        self._open: tantivy.IndexWriter | None = None
        """While something is merged."""
        self._finisher: threading.Thread | None = None
        self._closing = threading.Event()

    @contextmanager
    def commit(self, deadline: float = inf) -> Iterator[tantivy.IndexWriter]:
        """What is added and deleted in the block is committed at its end, or nothing of it when the block fails.

        `StoreBusyError` when another process merges and does not come to an end before the deadline.
        """
        with self._guard:
            writer, self._open = self._open or self._opened(deadline), None
            try:
                yield writer
                writer.commit()
                if not self._closing.is_set() and merge_is_due(self._meta):
                    self._open = writer
            finally:
                if self._open is None:
                    # Gives the lock of the folder back, also when something failed before the commit.
                    writer.wait_merging_threads()
            if self._open is not None and self._finisher is None:
                self._finisher = threading.Thread(target=self._finish, name="jiyi-merging")
                self._finisher.start()

    def close(self, *, wait: bool = True) -> None:
        """Let go of the index when what is merged now is done; with `wait` that is so when this returns."""
        self._closing.set()
        finisher = self._finisher
        if wait and finisher is not None:
            finisher.join()

    def _opened(self, deadline: float) -> tantivy.IndexWriter:
        writer = self._locked(deadline)
        try:
            # A process that was killed in the middle of a commit has left files under the very names that the same
            # commit takes again, and the engine does not overwrite.
            writer.garbage_collect_files()
            # The engine gives the first operation of a writer the number of the last commit. Where a merge was broken
            # off it begins again before this commit, takes what has that number for done, and the first deletion may
            # be lost: let it be one of nothing.
            writer.delete_documents_by_term("id", _NOBODY)
        except BaseException:
            writer.wait_merging_threads()
            raise
        return writer

    def _locked(self, deadline: float) -> tantivy.IndexWriter:
        while True:
            try:
                return self._index.writer(_HEAP_BYTES, 1)
            except ValueError as error:
                if "LockBusy" not in str(error):
                    raise
                if time.monotonic() >= deadline:
                    raise StoreBusyError("another process is merging the text index; try again in a moment") from error
            time.sleep(_BUSY_PAUSE)

    def _finish(self) -> None:
        """Let the writer go as soon as its merge is over."""
        deadline = time.monotonic() + _LONGEST_MERGE_SECONDS
        while True:
            self._closing.wait(_LOOK_SECONDS)
            with self._guard:
                late = self._closing.is_set() or time.monotonic() >= deadline
                if self._open is not None and (late or not merge_is_due(self._meta)):
                    writer, self._open = self._open, None
                    try:
                        with guarded("merge"):
                            writer.wait_merging_threads()
                    except IndexingError as error:
                        # What was committed stands; if a file is broken, who reads it next will find out.
                        _log.info("files of the text index were not merged: %s", error)
                if self._open is None:
                    self._finisher = None
                    return


def merge_is_due(meta: Path) -> bool:
    """Whether tantivy merges some of the segments of the last commit, which it lists until that is done."""
    try:
        segments = json.loads(meta.read_text("utf-8"))["segments"]
    except (OSError, ValueError):
        # It was deleted, and whoever reads the index will say so.
        return False
    if len(segments) < _MERGED_TOGETHER:
        return False
    level, together = inf, 0
    for segment in sorted(segments, key=lambda segment: int(segment["max_doc"]), reverse=True):
        deletes = segment["deletes"]
        documents = segment["max_doc"] - (deletes["num_deleted_docs"] if deletes else 0)
        if documents > _NEVER_MERGED:
            continue
        size = log2(max(documents, _SMALL))
        if size < level - _LEVEL:
            level, together = size, 0
        together += 1
        if together == _MERGED_TOGETHER:
            return True
    return False


@contextmanager
def guarded(action: str) -> Iterator[None]:
    """Errors and panics of the engine mean damaged files: the records are safe and the index is rebuilt."""
    try:
        yield
    except IndexingError:
        raise
    except FILE_ERRORS as error:
        kind = IndexDamagedError if means_damage(error) else IndexingError
        raise kind(f"the text index failed to {action}: {error}") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexDamagedError(f"the text index failed to {action}: {error}") from error
    except BaseException as error:
        # A panic in the engine arrives as a BaseException of a type that cannot be imported.
        if type(error).__name__ == "PanicException":
            raise IndexDamagedError(f"the text index broke off to {action}: {error}") from None
        raise
