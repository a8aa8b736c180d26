"""Whatever happens to the files of an index costs nothing but a rebuild: not a record, and not an answer."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jiyi.sync import AgentMemory
from jiyi.testing.fakes import HashEmbedder
from tests.support import contents_of, flip_byte, keys

# (question, key of the answer): by a word, by a pair of characters, by tag, and by likeness alone.
QUESTIONS = (
    ("walrus7", "animal-7", "keyword"),
    ("第11只", "animal-11", "keyword"),
    ("chosen", "animal-5", "keyword"),
    ("第3只 walrus3 在海边晒太阳", "animal-3", "semantic"),
    ("第19只 walrus19 在海边晒太阳", "animal-19", "hybrid"),
)
COUNT = 24


def _open(folder: Path, **settings: Any) -> AgentMemory:
    return AgentMemory.open(folder, **{"embedder": HashEmbedder(), "background_indexing": False, **settings})


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with indexes of every kind of file: several segments, deleted documents, logs of SQLite."""
    folder = tmp_path_factory.mktemp("healthy") / "data"
    memory = _open(folder)
    for start in range(0, COUNT, 8):
        memory.store_many(
            [
                {
                    "key": f"animal-{i}",
                    "content": f"第{i}只 walrus{i} 在海边晒太阳",
                    "tags": ["chosen"] if i == 5 else [],
                }
                for i in range(start, start + 8)
            ]
        )
        memory.drain()
    memory.store("gone", "zebra crossing")
    memory.drain()
    memory.forget("gone")
    memory.save_conversation_history("talk", [{"role": "user", "content": "你好 hello"}])
    memory.drain()
    # Copied while it is open, as a backup or a crash finds it.
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    memory.close()
    return copy


@pytest.fixture
def folder(healthy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(healthy, tmp_path / "data"))


@pytest.fixture(scope="module")
def records(healthy: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    copy = shutil.copytree(healthy, tmp_path_factory.mktemp("records") / "data")
    with _open(Path(copy)) as memory:
        return contents_of(memory)


def _check_answers(memory: AgentMemory) -> None:
    for question, key, mode in QUESTIONS:
        assert keys(memory.recall(question, 1, mode=mode)) == [key], (question, mode)
    assert memory.recall("zebra", 5, mode="keyword") == []


def _check_sound(memory: AgentMemory) -> None:
    reports = memory.verify()
    assert [(report.index, report.sound) for report in reports] == [("text", True), ("vectors", True)], reports
    assert {report.held for report in reports} == {reports[0].records}


# --- deleted ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", ["search_index", "search_index/text-*", "search_index/vectors-*", "search_index/*.current"]
)
@pytest.mark.parametrize("while_open", [False, True], ids=["while closed", "while open"])
def test_an_index_that_was_deleted_comes_back(
    folder: Path, records: list[dict[str, Any]], what: str, while_open: bool
) -> None:
    memory = _open(folder)
    _check_answers(memory)
    if not while_open:
        memory.close()
    for found in folder.glob(what):
        shutil.rmtree(found) if found.is_dir() else found.unlink()
    if not while_open:
        memory = _open(folder)
    reports = memory.verify()
    assert any(not report.sound for report in reports)
    # Without its pointer an index is not there, which is allowed; with it, its files are missed.
    assert any(report.problems for report in reports) == all(report.built for report in reports)
    assert not (folder / "search_index").exists() or what != "search_index", "verify changes nothing"
    memory.store("new", "zebra")
    assert keys(memory.recall("zebra", 5, mode="keyword")) == ["new"]
    memory.forget("new")
    _check_answers(memory)
    memory.drain()
    _check_sound(memory)
    assert [row for row in contents_of(memory) if row in records] == records
    memory.close()


def test_an_index_deleted_again_and_again_under_the_background_thread_comes_back(folder: Path) -> None:
    with _open(folder, background_indexing=True) as memory:
        for i in range(8):
            shutil.rmtree(folder / "search_index", ignore_errors=True)
            memory.store(f"new-{i}", f"zebra{i}")
            if i % 2:
                shutil.rmtree(folder / "search_index", ignore_errors=True)
            assert keys(memory.recall(f"zebra{i}", 1)) == [f"new-{i}"]
        _check_answers_of_animals(memory)
        memory.repair()
        _check_sound(memory)


def _check_answers_of_animals(memory: AgentMemory) -> None:
    for question, key, mode in QUESTIONS:
        assert keys(memory.recall(question, 1, mode=mode)) == [key], (question, mode)


# --- damaged ------------------------------------------------------------------------------------------------------


def _hold(file: Path, data: bytes) -> None:
    file.write_bytes(data)


def _cut_in_half(file: Path) -> None:
    _hold(file, file.read_bytes()[: file.stat().st_size // 2])


DAMAGES: dict[str, Callable[[Path], None]] = {
    "the first byte is flipped": lambda file: flip_byte(file, 0),
    "a byte in the middle is flipped": lambda file: flip_byte(file, 0.5),
    "the last byte is flipped": lambda file: flip_byte(file, 1),
    "half of it is missing": _cut_in_half,
    "it is empty": lambda file: _hold(file, b""),
    "it holds something else": lambda file: _hold(file, b"\xff\x00 something else\n" * 40),
    "it is missing": Path.unlink,
}
ASKED_FIRST = {"a byte in the middle is flipped", "the last byte is flipped", "it is empty", "it is missing"}
"""After these `verify` is asked before anything else; after the others nobody knows, and a recall has to notice."""
TEXT_FILES = ("*.fast", "*.fieldnorm", "*.idx", "*.pos", "*.store", "*.term", "*.del", "meta.json")


@pytest.mark.parametrize(
    ("pattern", "damage"),
    [
        (pattern, damage)
        for pattern in TEXT_FILES
        for damage in DAMAGES
        if pattern == "meta.json"
        or damage in {"a byte in the middle is flipped", "half of it is missing", "it is missing"}
    ],
)
def test_a_damaged_file_of_the_text_index_is_noticed_and_costs_a_rebuild(
    folder: Path, records: list[dict[str, Any]], pattern: str, damage: str
) -> None:
    _check_recovery(folder, records, "text", f"text-*/tantivy/{pattern}", damage)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("pattern", ["text.current", "vectors.current"])
def test_a_damaged_pointer_is_noticed_and_costs_a_rebuild(
    folder: Path, records: list[dict[str, Any]], pattern: str, damage: str
) -> None:
    _check_recovery(folder, records, pattern.partition(".")[0], pattern, damage)


@pytest.mark.parametrize("damage", [name for name in DAMAGES if "last" not in name and "middle" not in name])
@pytest.mark.parametrize("pattern", ["text-*/terms.db", "vectors-*/vectors.db"])
def test_a_damaged_database_of_an_index_is_noticed_and_costs_a_rebuild(
    folder: Path, records: list[dict[str, Any]], pattern: str, damage: str
) -> None:
    _fold_logs(folder)
    _check_recovery(folder, records, pattern.partition("-")[0], pattern, damage)


def _fold_logs(folder: Path) -> None:
    """Close the databases cleanly: as long as their logs are there, SQLite mends what the file has lost."""
    with _open(folder) as memory:
        _check_answers(memory)
    assert not list((folder / "search_index").glob("*/*-wal"))


def _check_recovery(folder: Path, records: list[dict[str, Any]], index: str, pattern: str, damage: str) -> None:
    victims = sorted((folder / "search_index").glob(pattern))
    assert victims, pattern
    DAMAGES[damage](victims[0])
    with _open(folder) as memory:
        if damage in ASKED_FIRST:
            reports = {report.index: report for report in memory.verify()}
            assert not reports[index].sound
            assert reports[index].problems or not victims[0].exists()
            assert all(report.sound for name, report in reports.items() if name != index)
            assert all(report.sound for report in memory.repair())
        _check_answers(memory)
        assert contents_of(memory) == records
        memory.drain()
        _check_sound(memory)


@pytest.mark.parametrize("pattern", ["text-*/terms.db", "vectors-*/vectors.db"])
def test_a_flipped_byte_anywhere_in_a_database_is_noticed_or_does_not_matter(
    folder: Path, tmp_path: Path, pattern: str
) -> None:
    """SQLite has no checksums of its own: what it reads without complaint, `verify` compares with ours."""
    _fold_logs(folder)
    [original] = (folder / "search_index").glob(pattern)
    size = original.stat().st_size
    noticed = 0
    for place in range(0, size, size // 20):
        damaged = Path(shutil.copytree(folder, tmp_path / f"flipped {place}"))
        flip_byte(damaged / original.relative_to(folder), place / (size - 1))
        with _open(damaged) as memory:
            if not all(report.sound for report in memory.verify()):
                noticed += 1
                assert all(report.sound for report in memory.repair())
            _check_answers(memory)
    assert noticed > 3


def test_a_byte_flipped_under_an_open_index_is_mended_on_request(folder: Path, records: list[dict[str, Any]]) -> None:
    with _open(folder) as memory:
        _check_answers(memory)
        for pattern in (*TEXT_FILES[:-1], "*.store"):
            for file in sorted((folder / "search_index").glob(f"text-*/tantivy/{pattern}"))[:1]:
                with file.open("r+b") as opened:
                    opened.seek(file.stat().st_size // 2)
                    byte = opened.read(1)
                    opened.seek(-1, 1)
                    opened.write(bytes([byte[0] ^ 0xFF]))
                assert any(file.name in problem for report in memory.verify() for problem in report.problems)
                assert all(report.sound for report in memory.repair())
                _check_answers(memory)
        assert contents_of(memory) == records


# --- foreign ------------------------------------------------------------------------------------------------------


def test_older_records_beside_a_newer_index_are_noticed(folder: Path, tmp_path: Path) -> None:
    older = Path(shutil.copytree(folder, tmp_path / "older"))
    with _open(folder) as memory:
        memory.store("animal-7", "a hedgehog took its place")
        memory.store("later", "zebra")
        assert keys(memory.recall("hedgehog", 1)) == ["animal-7"]
    with _open(older) as memory:
        pass
    shutil.copy(older / "memory.db", folder / "memory.db")
    with _open(folder) as memory:
        assert any(report.problems for report in memory.verify())
        assert memory.recall("hedgehog", 5, mode="keyword") == []
        _check_answers(memory)
        memory.drain()
        _check_sound(memory)


def test_a_restored_backup_that_went_on_differently_is_noticed(folder: Path, tmp_path: Path) -> None:
    """The same number of changes to the same entries, and yet another history."""
    older = Path(shutil.copytree(folder, tmp_path / "older"))
    with _open(folder) as memory:
        memory.store("animal-7", "a hedgehog took its place")
        memory.drain()
    with _open(older, embedder="none") as memory:
        memory.store("animal-7", "a kingfisher took its place")
    shutil.copy(older / "memory.db", folder / "memory.db")
    with _open(folder) as memory:
        for mode in ("keyword", "hybrid"):
            assert keys(memory.recall("kingfisher", 1, mode=mode)) == ["animal-7"]
        assert memory.recall("hedgehog", 5, mode="keyword") == []
        memory.drain()
        _check_sound(memory)


def test_an_index_copied_from_another_store_is_not_trusted(folder: Path, tmp_path: Path) -> None:
    with _open(tmp_path / "other") as memory:
        memory.store_many([{"key": f"x{i}", "content": f"zebra number{i}"} for i in range(COUNT + 10)])
        memory.drain()
    shutil.rmtree(folder / "search_index")
    shutil.copytree(tmp_path / "other" / "search_index", folder / "search_index")
    with _open(folder) as memory:
        assert all(report.problems for report in memory.verify())
        _check_answers(memory)
        memory.drain()
        _check_sound(memory)


def test_one_half_of_the_text_index_from_an_older_backup_is_noticed(folder: Path) -> None:
    _fold_logs(folder)
    [terms] = (folder / "search_index").glob("text-*/terms.db")
    older = terms.read_bytes()
    with _open(folder) as memory:
        memory.store("new", "zebra")
        assert keys(memory.recall("zebra", 1, mode="keyword")) == ["new"]
    terms.write_bytes(older)
    with _open(folder) as memory:
        assert keys(memory.recall("zebra", 1, mode="keyword")) == ["new"]
        memory.forget("new")
        _check_answers(memory)
        _check_sound(memory)


def test_a_changed_user_dictionary_means_other_terms_and_a_new_text_index(folder: Path, tmp_path: Path) -> None:
    dictionary = tmp_path / "words.txt"
    dictionary.write_text("边晒\n", "utf-8")
    with _open(folder) as memory:
        before = memory.doctor()["indexes"][0]["analyzer"]
    with _open(folder, user_dictionary=dictionary) as memory:
        assert memory.doctor()["indexes"][0]["analyzer"] != before
        text, vectors = memory.verify()
        assert (text.sound, vectors.sound) == (False, True)
        _check_answers(memory)
        _check_sound(memory)
    with _open(folder) as memory:
        _check_answers(memory)
        _check_sound(memory)


class _Counting(HashEmbedder):
    """Remembers how many texts it was given."""

    texts = 0

    def embed(self, texts: Any) -> Any:
        self.texts += len(texts)
        return super().embed(texts)


def test_a_rebuild_embeds_nothing_that_has_a_sound_vector(folder: Path) -> None:
    embedder = _Counting()
    with _open(folder, embedder=embedder) as memory:
        memory.rebuild()
        assert embedder.texts == 0
        shutil.rmtree(next((folder / "search_index").glob("vectors-*")))
        memory.rebuild()
        assert embedder.texts == memory.verify()[1].records


def test_another_model_means_new_vectors(folder: Path) -> None:
    with _open(folder, embedder=HashEmbedder(dimension=32)) as memory:
        text, vectors = memory.verify()
        assert (text.sound, vectors.sound) == (True, False)
        _check_answers_of_animals(memory)
        _check_sound(memory)
    with _open(folder) as memory:
        _check_answers(memory)
        _check_sound(memory)


@pytest.fixture(autouse=True)
def _quiet_panics(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """The engine reports a panic on standard error as well; it is expected here."""
    yield
    capfd.readouterr()
