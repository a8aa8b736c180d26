"""Commits to a tantivy index, and waits in the background for the merges that follow some of them.

About every eighth commit tantivy merges segments, which takes half a second in an index of ten thousand texts. Callers
need not wait for that: the commit is on disk and can be read. The writer stays open until the merge is over and takes
further commits meanwhile. Then it is closed, because no other process can write while it is open.
"""

from __future__ import annotations

import errno
import json
import logging
import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import inf, log2
from pathlib import Path
from typing import Final

import tantivy

from jiyi.backends.embedded.text.files import META, Segment, SegmentFiles, read_segments
from jiyi.backends.shared.derived_file import FILE_ERRORS, index_failure, means_damage
from jiyi.contexts import on_error
from jiyi.errors import IndexDamagedError, IndexingError, StoreBusyError
from jiyi.resource_limits import resource_limit

_log = logging.getLogger("jiyi.index")

_HEAP_BYTES: Final = 64_000_000
_POLL_SECONDS: Final = 0.02
_MAX_MERGE_SECONDS: Final = 2.0
"""After that, commits wait for the end of the merge, and then other processes can write again.

tantivy abandons a merge if a commit deletes every document of one of its segments, and does not report it.
"""
_NO_ENTRY: Final = ""
"""No entry has this id."""
_BUSY_PAUSE: Final = 0.005
# The parameters of tantivy's LogMergePolicy, which its Python package does not show: eight segments of about the same
# size become one.
_MIN_NUM_SEGMENTS: Final = 8
_MIN_LAYER_SIZE: Final = 10_000
_LEVEL_LOG_SIZE: Final = 0.75
_MAX_DOCS_BEFORE_MERGE: Final = 10_000_000
_MAX_DEATHS: Final = 3


class IndexWriter:
    """Commits to one index, one after the other. Safe for several threads."""

    def __init__(self, index: tantivy.Index, folder: Path, files: SegmentFiles | None = None) -> None:
        self._index = index
        self._files = files or SegmentFiles(folder)
        self._marker = WritingMarker(folder)
        self._meta = folder / META
        self._guard = threading.Lock()
        self._open: tantivy.IndexWriter | None = None
        """The writer, while a merge goes on."""
        self._merge_thread: threading.Thread | None = None
        self._closing = threading.Event()

    @contextmanager
    def commit(self, deadline: float = inf) -> Iterator[tantivy.IndexWriter]:
        """Commit what the block adds and deletes, or nothing of it if the block fails.

        `StoreBusyError` if a merge of another process does not end before the deadline. `IndexDamagedError` if a file
        that tantivy would read is damaged: its threads would end the process.
        """
        with self._guard:
            self._check_files()
            writer, self._open = self._open or self._opened(deadline), None
            try:
                yield writer
                writer.commit()
                if not self._closing.is_set() and merge_is_due(self._meta):
                    self._open = writer
            finally:
                if self._open is None:
                    # Releases tantivy's lock, also when something failed before the commit.
                    self._close_writer(writer)
            if self._open is not None and self._merge_thread is None:
                self._begin_to_wait()

    def _begin_to_wait(self) -> None:
        thread = threading.Thread(target=self._wait_for_merge, name="jiyi-merging")
        try:
            thread.start()
        except RuntimeError:
            # No thread is left: this commit waits for the merge.
            writer, self._open = self._open, None
            if writer is not None:
                self._close_writer(writer)
        else:
            self._merge_thread = thread

    def finish_merges(self, deadline: float = inf) -> None:
        """Wait until no process merges: then the segments stay as they are until the next commit."""
        with self._guard:
            self._check_files()
            writer, self._open = self._open or self._opened(deadline), None
            self._close_writer(writer)

    def close(self, *, wait: bool = True) -> None:
        """Close the writer when the current merge is done; with `wait`, return only then."""
        self._closing.set()
        merge_thread = self._merge_thread
        if wait and merge_thread is not None:
            merge_thread.join()

    def _check_files(self) -> None:
        """What tantivy is going to read: every segment for deletions, and whole the ones that it is going to merge."""
        if self._marker.exists():
            # Either another process is merging, or one has died while it was writing.
            self._files.check_at_opening(everything=True)
        self._files.check_unchanged(at_once=True)
        # One more comes with this commit.
        self._files.check_segments(segments_to_merge(read_segments(self._meta), _MIN_NUM_SEGMENTS - 1))

    def _close_writer(self, writer: tantivy.IndexWriter) -> None:
        writer.wait_merging_threads()
        self._marker.remove()

    def _opened(self, deadline: float) -> tantivy.IndexWriter:
        writer = self._locked(deadline)
        with on_error(lambda: self._close_writer(writer)):
            self._marker.write()
            # A process that was killed during a commit has left files under the names that the repeated commit uses,
            # and tantivy does not overwrite files.
            writer.garbage_collect_files()
            # tantivy gives the first operation of a writer the number of the last commit. If an interrupted merge is
            # started again, it takes operations with that number for applied, and the first deletion may be lost.
            # So the first deletion is one that matches nothing.
            writer.delete_documents_by_term("id", _NO_ENTRY)
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

    def _wait_for_merge(self) -> None:
        """Close the writer as soon as its merge is over."""
        deadline = time.monotonic() + _MAX_MERGE_SECONDS
        while True:
            self._closing.wait(_POLL_SECONDS)
            with self._guard:
                late = self._closing.is_set() or time.monotonic() >= deadline
                if self._open is not None and (late or not merge_is_due(self._meta)):
                    writer, self._open = self._open, None
                    try:
                        with guarded("merge"):
                            self._close_writer(writer)
                    except IndexingError as error:
                        # The commit is not affected. If a file is damaged, the next reader reports it.
                        _log.info("files of the text index were not merged: %s", error)
                if self._open is None:
                    self._merge_thread = None
                    return


def merge_is_due(meta: Path) -> bool:
    """Whether tantivy is merging segments of the last commit: it lists them until the merge is done."""
    try:
        return bool(segments_to_merge(json.loads(meta.read_text("utf-8"))["segments"], _MIN_NUM_SEGMENTS))
    except (OSError, ValueError):
        # It was deleted; readers of the index report that.
        return False


def segments_to_merge(segments: Iterable[Segment], min_segments: int) -> list[Segment]:
    """The segments of every level that has at least `least` of them, by the rules of tantivy's `LogMergePolicy`."""
    found: list[Segment] = []
    level, group = inf, list[Segment]()
    for segment in sorted(segments, key=lambda segment: int(segment["max_doc"]), reverse=True):
        deletes = segment["deletes"]
        documents = segment["max_doc"] - (deletes["num_deleted_docs"] if deletes else 0)
        if documents > _MAX_DOCS_BEFORE_MERGE:
            continue
        size = log2(max(documents, _MIN_LAYER_SIZE))
        if size < level - _LEVEL_LOG_SIZE:
            found += group if len(group) >= min_segments else ()
            level, group = size, []
        group.append(segment)
    return found + (group if len(group) >= min_segments else [])


class WritingMarker:
    """A file that is there while a process writes the index. One that was left tells that its process has died.

    A process can be killed at any moment, so one death says little. Several in a row, without a commit between them,
    mean that the index ends the processes that write it: it is rebuilt.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "jiyi-writing.json"

    def exists(self) -> bool:
        """Whether a process writes, or has died writing."""
        return self._path.exists()

    def write(self) -> None:
        """Begin to write, as the holder of tantivy's lock. `IndexDamagedError` if too many have died before."""
        deaths = 0
        try:
            deaths = int(json.loads(self._path.read_bytes())["deaths"]) + 1
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError):
            deaths = 1
        if deaths >= _MAX_DEATHS:
            raise IndexDamagedError(f"the last {deaths} processes that wrote the text index died in the middle of it")
        self._path.write_text(json.dumps({"deaths": deaths}), "utf-8")

    def remove(self) -> None:
        """The writing is over."""
        self._path.unlink(missing_ok=True)


@contextmanager
def guarded(action: str) -> Iterator[None]:
    """Translate errors and panics of tantivy: they mean damaged files, and the index is rebuilt from the records."""
    try:
        yield
    except IndexingError:
        raise
    except FILE_ERRORS as error:
        if means_damage(error):
            raise IndexDamagedError(f"the text index failed to {action}: {error}") from error
        raise index_failure("the text index", action, error) from error
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise _meaning(action, error) from error
    except BaseException as error:
        # A panic in tantivy arrives as a BaseException of a type that cannot be imported.
        if type(error).__name__ == "PanicException":
            raise _meaning(action, error) from None
        raise


# Errors of the system that say nothing about the files: no room, no permission, read-only, interrupted, no resources.
_NOT_DAMAGE: Final = frozenset({1, 4, 11, 12, 13, 23, 24, 27, 28, 30, 122})
_OS_ERROR: Final = re.compile(r"\(os error (\d+)\)|Os \{ code: (\d+)")


def _meaning(action: str, error: BaseException) -> IndexingError:
    """Damage, unless the error comes from the system and would be the same with intact files."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (said := _OS_ERROR.search(str(error))):
        number = int(said[1] or said[2])
    # A file that cannot be read is lost. That one cannot be written says nothing about those that are there.
    is_write_error = number == errno.EIO and action not in ("read", "open")
    if number in _NOT_DAMAGE or is_write_error or resource_limit(error) is not None:
        return index_failure("the text index", action, error)
    return IndexDamagedError(f"the text index failed to {action}: {error}")
