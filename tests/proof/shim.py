"""Builds `shim.c`, runs a program of this package under it, and tells it what to trace or to fail."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

WRITE: Final = 1
SYNC: Final = 2
OPEN: Final = 4
NAME: Final = 8
_SOURCE = Path(__file__).with_name("shim.c")
ROOT = Path(__file__).parents[2]


def available() -> bool:
    """Whether the shim can be used here: on Linux, with a C compiler."""
    return sys.platform.startswith("linux") and shutil.which("cc") is not None


def build(folder: Path) -> Path:
    library = folder / "shim.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def run_under(module: str, *arguments: str) -> int:
    """Run a program of this package with the shim loaded; returns its exit code."""
    if not available():
        raise SystemExit(f"{module} needs Linux and a C compiler (cc)")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LD_PRELOAD": str(build(Path(folder))), "PROOF_SHIM": "loaded"}
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def is_loaded() -> bool:
    return os.environ.get("PROOF_SHIM") == "loaded"


class Shim:
    """The shim that is loaded in this process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.jiyi_count.restype = ctypes.c_long
        self._library.jiyi_fault.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_int, ctypes.c_int]

    def begin(self, folder: Path, trace: Path | None = None) -> None:
        """Look at what happens below this folder from now on."""
        self._library.jiyi_begin(str(folder).encode(), str(trace or "").encode())

    def fail(self, at: int, number: int, error: int, kinds: int) -> None:
        """Fail so many operations of these kinds, from this one on."""
        self._library.jiyi_fault(at, number, error, kinds)

    def count(self, kinds: int) -> None:
        """Count operations of these kinds from now on, and fail none."""
        self._library.jiyi_fault(0, 0, 0, kinds)

    @property
    def counted(self) -> int:
        return int(self._library.jiyi_count())
