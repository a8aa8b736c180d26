"""What `make dist` builds: the files of the archives, and the wheel at work in an empty environment."""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.documents import ROOT, alike, blocks

# The wheel stands alone: neither this checkout nor the environment of the tests may lend it a module.
_ALONE = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {"PYTHONUTF8": "1"}


def run(command: Sequence[str | Path], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT], folder, _ALONE)
    return folder


@pytest.fixture(scope="module")
def wheel(archives: Path) -> Path:
    (found,) = archives.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The programs of a new environment in which nothing but the wheel was installed."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    # Without HOME, which the tests have replaced, pip finds the settings and the cache of the user all the same.
    environment = {name: value for name, value in _ALONE.items() if name != "HOME"}
    install: list[str | Path] = ["install", "--quiet", "--no-compile", "--disable-pip-version-check", wheel]
    run([sys.executable, "-m", "pip", "--python", folder / "bin" / "python", *install], folder, environment)
    yield folder / "bin"
    shutil.rmtree(folder)  # 200 MB, of which pytest would keep several


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = {path for path in (ROOT / "src/jiyi").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {path.relative_to(ROOT / "src").as_posix() for path in package}
    assert "jiyi/py.typed" in names
    assert {Path(name).suffix for name in names} > {".py", ".npy", ".json", ".bin"}, "data files are missing"


def test_the_source_archive_has_what_its_documents_and_make_need(archives: Path) -> None:
    (path,) = archives.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "Makefile", "README.md", "README.zh-CN.md", "docs/images/demo.svg", "tests/conftest.py"} <= names
    assert not [name for name in names if name.startswith((".venv/", ".ci/", "bench/results/"))]


def test_the_demo_passes_where_only_the_wheel_is_installed(programs: Path, tmp_path: Path) -> None:
    printed = run([programs / "jiyi", "demo"], tmp_path, _ALONE)
    assert printed.splitlines()[-1].strip() == f"{programs / 'jiyi'} doctor"


def test_the_first_example_of_the_readme_runs_where_only_the_wheel_is_installed(programs: Path, tmp_path: Path) -> None:
    example = next(block for block in blocks("README.md") if (block.marker, block.language) == ("run", "python"))
    (tmp_path / "example.py").write_text(example.body, "utf-8")
    assert example.output is not None
    assert alike(run([programs / "python", "example.py"], tmp_path, _ALONE), example.output)
    imported = run([programs / "python", "-c", "import jiyi; print(jiyi.__file__)"], tmp_path, _ALONE)
    assert Path(imported.strip()).is_relative_to(programs.parent)
