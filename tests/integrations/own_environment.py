"""Environments for frameworks and tools that cannot share the one of the tests (the Makefile makes them).

    python -m tests.integrations.own_environment

AutoGen needs a protobuf that is older than the one of Milvus, and the generator of clients an older typer than jiyi.
Their environments have them and what they need; all other packages, jiyi among them, are those of the environment of
the tests, which stands behind them on the path.
"""

import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FRAMEWORKS: Final[Mapping[str, str]] = {"autogen": "autogen-core>=0.7,<0.8"}
"""Each framework with what is installed for it."""
TOOLS: Final[Mapping[str, str]] = {"openapi_python_client": "openapi-python-client>=0.29,<0.30"}
"""The same for tools of the tests."""
_REQUIREMENTS: Final = {**FRAMEWORKS, **TOOLS}


def home() -> Path:
    """Where the environments are: in the virtual environment, so that it can be thrown away as a whole."""
    return Path(sys.prefix) / "frameworks"


def python(framework: str) -> Path:
    """The interpreter of an environment that was made."""
    if not _is_ready(framework):
        raise RuntimeError(
            f"there is no environment for {framework}; make it: python -m tests.integrations.own_environment"
        )
    return home() / framework / "bin" / "python"


def make(framework: str) -> None:
    """Make an environment, once for each requirement."""
    if _is_ready(framework):
        return
    folder = home() / framework
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--quiet", _REQUIREMENTS[framework]], check=True)
    (own,) = folder.glob("lib/python*/site-packages")
    borrowed = sysconfig.get_path("purelib")
    # `addsitedir` reads the .pth files there as well, such as that of an editable installation.
    (own / "borrowed.pth").write_text(f"import site; site.addsitedir({borrowed!r})\n", "utf-8")
    _stamp(framework).write_text(_REQUIREMENTS[framework], "utf-8")


def _is_ready(framework: str) -> bool:
    stamp = _stamp(framework)
    return stamp.exists() and stamp.read_text("utf-8") == _REQUIREMENTS[framework]


def _stamp(framework: str) -> Path:
    return home() / framework / "requirement"


if __name__ == "__main__":
    for name in _REQUIREMENTS:
        make(name)
