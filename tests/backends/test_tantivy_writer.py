"""Commits to the text index while its files are merged."""

import json
import shutil
import threading
import time
from pathlib import Path

import pytest
import tantivy

from jiyi.backends.embedded.text import writer as tantivy_writer
from jiyi.backends.embedded.text.writer import IndexWriter, merge_is_due
from jiyi.errors import StoreBusyError

_MERGED_TOGETHER = 8


def made(folder: Path) -> tantivy.Index:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    return tantivy.Index(builder.build(), path=str(folder))


def add(writer: IndexWriter, *names: str, deadline: float = float("inf")) -> None:
    with writer.commit(deadline) as documents:
        for name in names:
            document = tantivy.Document()
            document.add_text("id", name)
            documents.add_document(document)


def removed(writer: IndexWriter, name: str, *, and_add: str) -> None:
    with writer.commit() as documents:
        documents.delete_documents_by_term("id", name)
        document = tantivy.Document()
        document.add_text("id", and_add)
        documents.add_document(document)


def ids(index: tantivy.Index) -> list[str]:
    index.reload()
    searcher = index.searcher()
    found = searcher.search(tantivy.Query.all_query(), 1_000).hits
    return sorted(str(searcher.doc(address).get_first("id")) for _, address in found)


def count(index: tantivy.Index) -> int:
    index.reload()
    return int(index.searcher().num_docs)


def segments(folder: Path) -> int:
    return len(json.loads((folder / "meta.json").read_text("utf-8"))["segments"])


class Merge:
    """A merge that is over when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.going_on = True
        monkeypatch.setattr(tantivy_writer, "merge_is_due", lambda _: self.going_on)


def test_the_eighth_commit_begins_a_merge_and_the_others_none(tmp_path: Path) -> None:
    writer = IndexWriter(made(tmp_path), tmp_path)
    seen = []
    for number in range(8):
        seen.append(segments(tmp_path) if number else 0)
        add(writer, f"{number}")
    writer.close()
    assert seen == list(range(8))
    # What is expected of the engine is what it does.
    assert segments(tmp_path) == 1
    assert not merge_is_due(tmp_path / "meta.json")


def listed(folder: Path, *sizes: int) -> Path:
    meta = folder / "meta.json"
    known = [{"max_doc": size + 1, "deletes": {"num_deleted_docs": 1}} for size in sizes]
    meta.write_text(json.dumps({"segments": known}), "utf-8")
    return meta


@pytest.mark.parametrize(
    ("sizes", "due"),
    [
        ((5,) * 7, False),
        ((5,) * 8, True),
        ((12_000, *(5,) * 7), True),
        ((40_000, *(5,) * 7), False),
        ((40_000, *(5,) * 8), True),
        ((640_000, 160_000, 80_000, 40_000, 5, 5, 5, 5, 5), False),
        ((20_000_000, *(5,) * 7), False),
    ],
)
def test_eight_files_of_about_the_same_size_are_merged(tmp_path: Path, sizes: tuple[int, ...], *, due: bool) -> None:
    assert merge_is_due(listed(tmp_path, *sizes)) == due


def test_an_index_that_is_gone_merges_nothing(tmp_path: Path) -> None:
    assert not merge_is_due(tmp_path / "meta.json")


def test_commits_go_on_and_can_be_read_while_files_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = made(tmp_path)
    writer = IndexWriter(index, tmp_path)
    merge = Merge(monkeypatch)
    add(writer, "a")
    assert count(index) == 1
    add(writer, "b", "c")
    assert count(index) == 3
    merge.going_on = False
    add(writer, "d")
    writer.close()
    assert count(index) == 4


def test_another_process_waits_for_the_end_of_a_merge_and_no_longer_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = made(tmp_path)
    ours, theirs = IndexWriter(index, tmp_path), IndexWriter(tantivy.Index.open(str(tmp_path)), tmp_path)
    merge = Merge(monkeypatch)
    add(ours, "a")
    with pytest.raises(StoreBusyError, match="another process is merging"):
        add(theirs, "b", deadline=time.monotonic())
    merge.going_on = False
    # Nobody commits here any more: the end of the merge alone lets the others in.
    add(theirs, "b")
    ours.close()
    theirs.close()
    assert count(index) == 2


def test_closing_ends_what_is_merged_and_leaves_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = IndexWriter(made(tmp_path), tmp_path)
    Merge(monkeypatch)
    add(writer, "a")
    writer.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "jiyi-merging"]
    again = IndexWriter(tantivy.Index.open(str(tmp_path)), tmp_path)
    add(again, "b", deadline=time.monotonic())
    again.close()


@pytest.mark.parametrize("merging", [False, True])
def test_what_fails_before_the_commit_leaves_nothing_and_lets_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, merging: bool
) -> None:
    index = made(tmp_path)
    writer = IndexWriter(index, tmp_path)
    Merge(monkeypatch).going_on = merging
    add(writer, "a")

    def failing() -> None:
        with writer.commit() as documents:
            documents.delete_documents_by_term("id", "a")
            raise KeyError("the terms")

    with pytest.raises(KeyError):
        failing()
    other = IndexWriter(tantivy.Index.open(str(tmp_path)), tmp_path)
    add(other, "b", deadline=time.monotonic())
    assert count(index) == 2
    writer.close()
    other.close()


def test_an_index_that_is_deleted_while_it_is_merged_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "index"
    folder.mkdir()
    writer = IndexWriter(made(folder), folder)
    for number in range(7):
        add(writer, f"{number}")
    Merge(monkeypatch)
    add(writer, "7")
    # At one blow: the merge goes on writing while files are deleted one by one.
    folder.rename(tmp_path / "gone")
    writer.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "jiyi-merging"]


def test_the_first_deletion_after_a_merge_that_was_broken_off_is_kept(tmp_path: Path) -> None:
    parts = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        writer = IndexWriter(made(folder), folder)
        add(writer, *(f"{name} large {number}" for number in range(9)))
        add(writer, f"{name} gone", f"{name} goes", f"{name} stays")
        for number in range(4):
            add(writer, f"{name}{number}")
        writer.close()
        parts.append(folder)
    here, there = parts
    writer = IndexWriter(tantivy.Index.open(str(here)), here)
    removed(writer, "a gone", and_add="a last")
    writer.close()
    # As a process leaves it that is killed while it merges: more files than there should be.
    meta, other = (json.loads((folder / "meta.json").read_text("utf-8")) for folder in parts)
    meta["segments"] += other["segments"]
    (here / "meta.json").write_text(json.dumps(meta), "utf-8")
    for segment in other["segments"]:
        for file in there.glob(f"{segment['segment_id'].replace('-', '')}.*"):
            shutil.copy(file, here)
    index = tantivy.Index.open(str(here))
    before = ids(index)
    writer = IndexWriter(index, here)
    removed(writer, "a goes", and_add="a new")
    writer.close()
    assert segments(here) < _MERGED_TOGETHER
    assert ids(index) == sorted({*before, "a new"} - {"a goes"})


def test_a_commit_that_was_broken_off_can_be_made_again(tmp_path: Path) -> None:
    writer = IndexWriter(made(tmp_path), tmp_path)
    add(writer, "a", "b")
    before = (tmp_path / "meta.json").read_bytes()
    removed(writer, "a", and_add="c")
    writer.close()
    # As a process leaves it that is killed after all was written but the list of what there is.
    (tmp_path / "meta.json").write_bytes(before)
    index = tantivy.Index.open(str(tmp_path))
    assert ids(index) == ["a", "b"]
    writer = IndexWriter(index, tmp_path)
    removed(writer, "a", and_add="c")
    writer.close()
    assert ids(index) == ["b", "c"]
