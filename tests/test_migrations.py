"""Data directories of other versions, and files that are none: brought up to date, or refused and left alone."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jiyi.backends.records import migrations, versions
from jiyi.backends.records.migrations import Migration
from jiyi.backends.records.sql import Connection
from jiyi.errors import StorageError, StoreDamagedError, StoreTooNewError
from jiyi.sync import AgentMemory
from tests.support import contents_of, database, first_store, keys, present

OpenMemory = Callable[..., AgentMemory]


def _add_moods(connection: Connection) -> None:
    connection.execute("CREATE TABLE moods (memory_id TEXT PRIMARY KEY, mood TEXT NOT NULL)")
    connection.execute("INSERT INTO moods SELECT id, 'calm' FROM memory_records")


def _break_off(connection: Connection) -> None:
    connection.execute("CREATE TABLE half_done (note TEXT)")
    connection.execute("UPDATE memory_records SET content = 'spoilt'")
    connection.execute("SELECT no_such_function()")


@pytest.fixture
def version_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """A jiyi whose stores have one table more."""
    steps = (*migrations.MIGRATIONS, Migration(_next(), "moods of memories", _add_moods))
    monkeypatch.setattr(migrations, "MIGRATIONS", steps)
    monkeypatch.setattr(versions, "NEWEST", migrations.MIGRATIONS[-1].version)


def _next() -> int:
    return migrations.MIGRATIONS[-1].version + 1


def make_store(open_memory: OpenMemory) -> list[dict[str, object]]:
    """A store of today's version with all kinds of contents; returns them."""
    with open_memory() as memory:
        memory.store("city", "lives in Turin", tags=["home"])
        memory.store("city", "lives in Oslo")
        memory.store("gone", "forgotten")
        memory.forget("gone")
        memory.save_conversation_history("s", [{"role": "user", "content": "hello"}])
        return contents_of(memory)


def backups(folder: Path) -> list[Path]:
    """Whole copies beside the database."""
    return sorted(file for file in folder.glob("memory.*.db") if file.name != "memory.db")


def test_an_old_store_is_brought_up_to_date_and_loses_nothing(
    open_memory: OpenMemory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    before = make_store(open_memory)
    old_version = migrations.MIGRATIONS[-1].version
    request.getfixturevalue("version_2")
    with open_memory() as memory:
        assert contents_of(memory) == before
        assert keys(memory.recall("Oslo")) == ["city"]
        assert memory.doctor()["store"]["schema_version"] == old_version + 1
    with database(tmp_path / "data") as connection:
        assert connection.execute("SELECT count(*) FROM moods").fetchone()[0] > 0
        applied = connection.execute("SELECT version, name FROM schema_migrations ORDER BY version").fetchall()
        assert applied[-1] == (old_version + 1, "moods of memories")


def tables_of(folder: Path) -> dict[str, Any]:
    """Columns and indexes of every table, whatever their order."""
    with database(folder) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: (
                {(row[1], row[2], row[3], row[5]) for row in connection.execute(f"PRAGMA table_info('{name}')")},
                {
                    (
                        row[1],
                        row[2],
                        row[4],
                        *(each[2] for each in connection.execute(f"PRAGMA index_info('{row[1]}')")),
                    )
                    for row in connection.execute(f"PRAGMA index_list('{name}')")
                },
                {row[2:7] for row in connection.execute(f"PRAGMA foreign_key_list('{name}')")},
            )
            for name in names
        }


@pytest.mark.parametrize("version", [1, 6])
def test_a_store_of_a_version_before_becomes_what_a_new_one_is_and_every_room_works(
    open_memory: OpenMemory, tmp_path: Path, version: int
) -> None:
    first_store(tmp_path / "data", version)
    with open_memory() as memory:
        assert memory.doctor()["store"]["schema_version"] == migrations.MIGRATIONS[-1].version
        assert [entry.content for entry in memory.recall("猫", mode="tags", scope="alice")] == ["我家的猫叫年糕"]
        assert {("home", 1), ("猫", 1)} <= set(memory.runtime.list_tags(memory_scope="alice"))
        assert [version.version for version in memory.history("city")] == [1, 2]
        assert memory.runtime.recall(
            present(memory.runtime.get(memory.runtime.remember("fact", "x y", "", ["zz"]))).judgment
        )
        assert memory.longterm.extract_and_store_memories_for_round("main", "c", "I am allergic to penicillin", "ok")
        assert len(memory.load_conversation_history("s")) == 5
    open_memory("new").close()
    assert tables_of(tmp_path / "data") == tables_of(tmp_path / "new")
    assert len(backups(tmp_path / "data")) == 1


DAMAGE = {
    "a column": (
        "DROP INDEX ix_memory_records_summarized",
        "DROP INDEX ix_memory_records_kinds",
        "ALTER TABLE memory_records DROP COLUMN summarized_by",
    ),
    "a table": ("DROP TABLE jobs",),
    "an index": ("DROP INDEX ix_memory_records_conversation",),
    "the condition of an index": (
        "DROP INDEX ix_memory_changes_key",
        "CREATE INDEX ix_memory_changes_key ON memory_changes (scope, key)",
    ),
    "a column of an index": (
        "DROP INDEX ix_memory_tag_rel_tag",
        "CREATE INDEX ix_memory_tag_rel_tag ON memory_tag_rel (tag_id, memory_id)",
    ),
}


@pytest.mark.parametrize("missing", DAMAGE)
def test_the_upgrade_adds_whatever_a_store_of_a_development_version_lacks(
    open_memory: OpenMemory, tmp_path: Path, missing: str
) -> None:
    before = make_store(open_memory)
    whole = tables_of(tmp_path / "data")
    with database(tmp_path / "data") as connection:
        for statement in DAMAGE[missing]:
            connection.execute(statement)
        connection.execute("UPDATE schema_migrations SET version = 6")
    assert tables_of(tmp_path / "data") != whole
    with open_memory() as memory:
        assert contents_of(memory) == before
        assert memory.longterm.extract_and_store_memories_for_round("main", "c", "I am allergic to nuts", "ok")
    assert tables_of(tmp_path / "data") == whole


def test_a_copy_of_the_old_store_is_kept(
    open_memory: OpenMemory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    before = make_store(open_memory)
    assert backups(tmp_path / "data") == []
    request.getfixturevalue("version_2")
    open_memory().store("city", "lives in Lima")
    (copy,) = backups(tmp_path / "data")
    request.getfixturevalue("monkeypatch").undo()
    (tmp_path / "restored").mkdir()
    copy.rename(tmp_path / "restored/memory.db")
    assert contents_of(open_memory("restored")) == before


def test_a_migration_happens_once(open_memory: OpenMemory, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    make_store(open_memory)
    request.getfixturevalue("version_2")
    for _ in range(3):
        open_memory().close()
    assert len(backups(tmp_path / "data")) == 1


@pytest.mark.usefixtures("version_2")
def test_a_new_store_is_made_in_the_newest_state_without_a_copy(open_memory: OpenMemory, tmp_path: Path) -> None:
    version = migrations.MIGRATIONS[-1].version
    with open_memory() as memory:
        assert memory.doctor()["store"]["schema_version"] == version
    assert backups(tmp_path / "data") == []


def test_a_migration_that_fails_changes_nothing(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = make_store(open_memory)
    with monkeypatch.context() as patch:
        steps = (*migrations.MIGRATIONS, Migration(_next(), "a step with a mistake", _break_off))
        patch.setattr(migrations, "MIGRATIONS", steps)
        patch.setattr(versions, "NEWEST", steps[-1].version)
        with pytest.raises(StorageError, match="no_such_function"):
            open_memory()
    with database(tmp_path / "data") as connection:
        assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'half_done'").fetchone() is None
    assert contents_of(open_memory()) == before


def test_a_newer_store_is_refused_and_left_as_it_is(open_memory: OpenMemory, tmp_path: Path) -> None:
    make_store(open_memory)
    newer = _next() + 40
    with database(tmp_path / "data") as connection:
        connection.execute(
            "INSERT INTO schema_migrations VALUES (?, 'from the future', '2099-01-01T00:00:00.000000Z', '99')", (newer,)
        )
    file = tmp_path / "data/memory.db"
    before = file.read_bytes()
    with pytest.raises(StoreTooNewError) as caught:
        open_memory()
    for word in (str(file), f"version {newer}", f"up to {newer - 41}", "upgrade jiyi"):
        assert word in str(caught.value)
    assert file.read_bytes() == before
    assert backups(tmp_path / "data") == []


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_of_another_program_is_refused_and_left_as_it_is(
    open_memory: OpenMemory, tmp_path: Path, journal: str
) -> None:
    file = tmp_path / "data/memory.db"
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        connection.commit()
    before = file.read_bytes()
    with pytest.raises(StoreDamagedError, match=r"bookmarks.*not a jiyi store") as caught:
        open_memory()
    assert str(file) in str(caught.value)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"this is a letter, not a database\n" * 100, b"\x00" * 5_000, b"SQLite format 3\x00" + b"\xff" * 5_000]
)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(
    open_memory: OpenMemory, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "data/memory.db"
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(StoreDamagedError, match="restore it from a backup or an export") as caught:
        open_memory()
    assert str(file) in str(caught.value)
    assert file.read_bytes() == content


def test_an_empty_file_becomes_a_store(open_memory: OpenMemory, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/memory.db").touch()
    open_memory().store("k", "text")
    assert keys(open_memory().list()) == ["k"]


def test_a_place_where_no_directory_can_be_is_named(open_memory: OpenMemory, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="file/data"):
        open_memory("file/data")
    (tmp_path / "data/memory.db").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"memory\.db"):
        open_memory()


def test_nothing_stays_open_after_a_refusal(open_memory: OpenMemory, tmp_path: Path) -> None:
    file = tmp_path / "data/memory.db"
    file.parent.mkdir()
    file.write_bytes(b"not a database at all, only words")
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("open files can be counted only where /proc is")
    for _ in range(2):
        with pytest.raises(StoreDamagedError):
            open_memory()
    open_before = len(list(descriptors.iterdir()))
    for _ in range(5):
        with pytest.raises(StoreDamagedError):
            open_memory()
    assert len(list(descriptors.iterdir())) <= open_before


def test_the_newest_version_is_that_of_the_last_migration() -> None:
    assert migrations.MIGRATIONS[-1].version == versions.NEWEST


def test_a_public_memory_that_a_private_scope_had_merged_away_comes_back(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    with open_memory() as memory:
        runtime = memory.runtime
        public, own = (runtime.remember("fact", f"tea of {s}", "", ["tea"], memory_scope=s) for s in ("public", "eve"))
        [merged] = runtime.feedback(merge_groups=[[public, own]], memory_scope="eve")
    with database(tmp_path / "data") as connection:
        # As versions up to 8 wrote it.
        source = f'{{"kind":"superseded","trust":"agent","references":["{merged.id}"]}}'
        connection.execute(
            "UPDATE memory_records SET is_active = 0, version = 2, source = ? WHERE id = ?", (source, public)
        )
        connection.execute(
            "INSERT INTO memory_changes (entry_id, scope, key, version, operation, changed_at, changed_by, changed, "
            "before) SELECT id, scope, key, 2, 'update', updated_at, 'eve', '[]', NULL FROM memory_records "
            "WHERE id = ?",
            (public,),
        )
        connection.execute("DROP TABLE memory_overlays")
        connection.execute("UPDATE schema_migrations SET version = 8")
    with open_memory() as memory:
        runtime = memory.runtime
        assert [hit.id for hit in runtime.recall("tea", memory_scope="public")] == [public]
        assert [hit.id for hit in runtime.recall("tea", memory_scope="eve")] == [merged.id]
        assert present(runtime.get(public, memory_scope="eve")).superseded_by == merged.id
        assert merged.id not in repr(contents_of(memory, scope="public"))
