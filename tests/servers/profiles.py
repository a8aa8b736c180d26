"""The tests of the rooms on another profile. `tests/conftest.py` has this as a plugin.

Whatever such a test opens in a data directory is then kept in a PostgreSQL database of its own; the test itself is the
same. The default run does this for a part of them; `pytest --profile postgres` (make test-postgres) for all.
"""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any, TypeAlias

import pytest

from jiyi.config import Settings
from jiyi.wiring import assembly
from tests.servers.fixtures import NewDatabase

CopyStore: TypeAlias = Callable[[Path, Path], None]
ON_BOTH = (
    "tests/test_conversation_history.py",
    "tests/isolation/test_longterm_isolation.py",
    "tests/longterm/test_claims.py",
    "tests/longterm/test_full_story.py",
    "tests/longterm/test_forgetting.py",
    "tests/notes/test_acceptance.py",
    "tests/runtime/test_tools.py",
)
"""Tests that the default run does twice: a part of each room."""
ROOMS = (
    *ON_BOTH,
    "tests/test_bad_input.py",
    "tests/test_chinese.py",
    "tests/test_export_import.py",
    "tests/test_keyed_memory.py",
    "tests/compat/test_mem0.py",
    "tests/importers/test_import.py",
    "tests/chat/test_chat.py",
    "tests/chat/test_compaction.py",
    "tests/chat/test_input.py",
    "tests/chat/test_machine.py",
    "tests/chat/test_models.py",
    "tests/chat/test_races.py",
    "tests/chat/test_transfer.py",
    "tests/isolation/test_isolation.py",
    "tests/isolation/test_runtime_isolation.py",
    "tests/jobs/test_jobs.py",
    "tests/longterm/test_background.py",
    "tests/longterm/test_deleted_messages.py",
    "tests/longterm/test_duplicates.py",
    "tests/longterm/test_forgotten_sessions.py",
    "tests/longterm/test_model_failures.py",
    "tests/longterm/test_off_record_messages.py",
    "tests/longterm/test_recall.py",
    "tests/longterm/test_reflection.py",
    "tests/longterm/test_rounds.py",
    "tests/longterm/test_simple_mode.py",
    "tests/notes/test_append.py",
    "tests/notes/test_attribution.py",
    "tests/notes/test_bad_input.py",
    "tests/notes/test_candidates.py",
    "tests/notes/test_context.py",
    "tests/notes/test_curation.py",
    "tests/notes/test_search.py",
    "tests/notes/test_tools.py",
    "tests/notes/test_workspace.py",
    "tests/recall/test_dated_questions.py",
    "tests/recall/test_knowing.py",
    "tests/recall/test_messages.py",
    "tests/recall/test_modes.py",
    "tests/recall/test_neighbours.py",
    "tests/recall/test_recall_order.py",
    "tests/recall/test_time_zones.py",
    "tests/recall/test_user_dictionary.py",
    "tests/runtime/test_design.py",
    "tests/runtime/test_feedback_laws.py",
    "tests/runtime/test_promises.py",
    "tests/runtime/test_ranking.py",
    "tests/runtime/test_rules.py",
)
"""Tests that can be done on any profile, but for those marked `embedded`."""
_FILES = {"database", "first_store", "flip_byte", "index_files", "SqliteDatabase"}
"""Helpers of the tests that look at the files of the embedded profile; who uses one need not be marked."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--profile postgres`."""
    parser.addoption(
        "--profile", choices=["postgres"], help="run the tests of the rooms on this profile, and no others"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Name the profiles on which a test runs, where it is more than the embedded one."""
    module = metafunc.definition.path.relative_to(metafunc.config.rootpath).as_posix()
    only_embedded = metafunc.definition.get_closest_marker("embedded") is not None or _looks_at_files(metafunc)
    if metafunc.config.getoption("profile") is not None:
        if module in ROOMS and not only_embedded:
            metafunc.parametrize("profile", ["postgres"], indirect=True)
    elif module in ON_BOTH and not only_embedded:
        marked = pytest.param("postgres", marks=pytest.mark.server)
        metafunc.parametrize("profile", ["embedded", marked], indirect=True)


def _looks_at_files(metafunc: pytest.Metafunc) -> bool:
    """Whether a test goes behind the back of jiyi to the files of the embedded profile."""
    code = getattr(inspect.unwrap(metafunc.function), "__code__", None)
    return code is not None and not _FILES.isdisjoint(_names_in(code))


def _names_in(code: CodeType) -> set[str]:
    inner = [_names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--profile` leave out what cannot be done on it."""
    chosen = config.getoption("profile")
    if chosen is not None:
        kept = [item for item in items if _profile_of(item) == chosen]
        config.hook.pytest_deselected(items=[item for item in items if _profile_of(item) != chosen])
        items[:] = kept


def _profile_of(item: pytest.Item) -> str | None:
    found: str | None = getattr(item, "callspec", None) and item.callspec.params.get("profile")  # type: ignore[attr-defined]
    return found


@pytest.fixture
def addresses() -> dict[Path, str]:
    """The databases of a test's data directories."""
    return {}


@pytest.fixture
def copy_store(profile: str, addresses: dict[Path, str], request: pytest.FixtureRequest) -> CopyStore:
    """Copies a store that is closed from one data directory to another, as an administrator would."""

    def copy(source: Path, target: Path) -> None:
        if profile == "postgres":
            new_postgres: NewDatabase = request.getfixturevalue("new_postgres")
            addresses[target.resolve()] = new_postgres(copy_of=addresses[source.resolve()])
        else:
            shutil.copytree(source, target)

    return copy


@pytest.fixture(autouse=True)
def profile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, addresses: dict[Path, str]) -> str:
    """The profile that memories of this test are opened on."""
    chosen: str = getattr(request, "param", "embedded")
    if chosen == "postgres":
        new_postgres: NewDatabase = request.getfixturevalue("new_postgres")
        assemble = assembly.assemble

        def assemble_there(settings: Settings, **given: Any) -> Any:
            folder = settings.path.resolve()
            if folder not in addresses:
                addresses[folder] = new_postgres()
            return assemble(replace(settings, storage=addresses[folder]), **given)

        monkeypatch.setattr(assembly, "assemble", assemble_there)
    return chosen
