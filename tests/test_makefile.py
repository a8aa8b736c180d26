"""What make installs, and when: read from a dry run, which prints the commands and executes none."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.documents import ROOT

PRODUCT = "pip install --quiet --quiet --editable .\n"
TESTS = "pip install --quiet --quiet --editable '.[dev]'\n"


def dry_run(tree: Path, target: str) -> str:
    # The variables of a make that runs the tests are not for this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command: list[str | Path] = ["make", "--dry-run", "--no-print-directory", "-C", tree, target]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A new checkout, as far as make looks at it."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def install(tree: Path, *, tests: bool) -> None:
    """Leave the stamps of a complete installation, a second newer than what they depend on."""
    (tree / ".venv").mkdir(exist_ok=True)
    stamps = [".product", ".ready"] if tests else [".product"]
    newest = (tree / "pyproject.toml").stat().st_mtime
    for number, name in enumerate(stamps, 1):
        stamp = tree / ".venv" / name
        stamp.write_text(f"{tree}\n" if name == ".product" else "")
        os.utime(stamp, (newest + number, newest + number))


def test_the_demo_installs_the_product_and_nothing_more(tree: Path) -> None:
    commands = dry_run(tree, "demo")
    assert PRODUCT in commands
    assert commands.count("pip install") == 1
    assert "tests.servers" not in commands


def test_the_checks_install_the_product_first_and_then_what_they_need(tree: Path) -> None:
    commands = dry_run(tree, "check")
    assert 0 < commands.index(PRODUCT) < commands.index(TESTS)


def test_after_the_demo_the_checks_install_only_the_rest(tree: Path) -> None:
    install(tree, tests=False)
    commands = dry_run(tree, "check")
    assert PRODUCT not in commands
    assert TESTS in commands


@pytest.mark.parametrize("target", ["demo", "check"])
def test_what_is_installed_is_not_installed_again(tree: Path, target: str) -> None:
    install(tree, tests=True)
    assert "pip install" not in dry_run(tree, target)


def test_changed_dependencies_are_installed_again(tree: Path) -> None:
    install(tree, tests=True)
    later = (tree / ".venv/.ready").stat().st_mtime + 1
    os.utime(tree / "pyproject.toml", (later, later))
    assert dry_run(tree, "demo").count("pip install") == 1
    assert dry_run(tree, "check").count("pip install") == 3


def test_a_checkout_that_was_moved_is_installed_again(tree: Path) -> None:
    install(tree, tests=True)
    moved = tree.rename(tree.with_name("moved"))
    commands = dry_run(moved, "check")
    assert commands.count("pip install") == 3
    assert "venv --clear" in commands
