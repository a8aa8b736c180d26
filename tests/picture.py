"""Draw what `jiyi demo` prints as docs/images/demo.svg: `python -m tests.picture` (`make picture` runs it).

The picture is shortened to the chapters that say most. Its fonts are those of the reader's system; nothing is loaded.
"""

import io
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/images/demo.svg"
CHAPTERS = (2, 5, 6)
COLUMNS = 88
# Rich's own template loads a font from the network.
TEMPLATE = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC",
    "PingFang SC", "Microsoft YaHei", monospace;
  font-size: {char_height}px;
}}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
_CELL = 20 * 0.61
_LINE_END = re.compile(r"<text [^>]*>\n</text>")
_TEXT = re.compile(r'textLength="[\d.]+"(?P<more>[^>]*)>(?P<text>[^<]*)</text>')


def demo_output() -> str:
    """What the demo prints on a terminal of this width, with its colours."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "PYTHONUTF8": "1"}
    program = Path(sys.executable).with_name("jiyi").relative_to(ROOT)
    done = subprocess.run([program, "demo"], cwd=ROOT, env=environment, capture_output=True, check=True)
    return done.stdout.decode()


def shorten(output: str) -> list[Text]:
    """The lines of the chosen chapters and of the end; an ellipsis stands for what is left out."""
    frames: list[list[Text]] = []
    for line in map(Text.from_ansi, output.splitlines()):
        if line.plain.startswith("╭"):
            frames.append([])
        frames[-1].append(line)
    *chapters, end = frames
    lines = [Text.assemble(("$ ", "dim"), ("make demo", "bold"))]
    for number, chapter in enumerate(chapters, 1):
        if number in CHAPTERS:
            lines += chapter
        elif lines[-1].plain != "⋮":
            lines.append(Text("⋮", "dim"))
    return lines + end


def draw(lines: list[Text]) -> str:
    """The lines as an SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False)
    for line in lines:
        console.print(line, soft_wrap=True)
    svg = console.export_svg(title="jiyi", theme=MONOKAI, code_format=TEMPLATE, unique_id="demo")

    def measured(match: re.Match[str]) -> str:
        # Rich counts characters here; a Chinese one is two cells wide.
        length = _CELL * cell_len(unescape(match["text"]))
        return f'textLength="{length:g}"{match["more"]}>{match["text"]}</text>'

    svg = _TEXT.sub(measured, _LINE_END.sub("", svg)).replace("</text><text", "</text>\n<text")
    return "\n".join(line.strip() for line in svg.splitlines() if line.strip()) + "\n"


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(shorten(demo_output())), "utf-8")
