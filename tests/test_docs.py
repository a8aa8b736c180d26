"""Documents cannot rot: examples run, commands and settings exist, links lead somewhere, both languages say the same.

A block is run when the line before it is `<!-- run -->`, or `<!-- run: embedder=none -->` with settings for it. What a
Python block prints is compared with the block after it if that stands under `<!-- output -->`; a console block has
commands (`$ jiyi ...`) and what they say. Times may differ, and numbers with decimals a little.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jiyi.apps.cli.app import app
from jiyi.apps.cli.exit_codes import MEANINGS
from jiyi.backends.records import schema
from jiyi.config import DEFAULT_HOME, HOME_VARIABLE, PREFIX, Settings, load_memory_config
from jiyi.memory import AgentMemory
from jiyi.recall.engine import MODES
from jiyi.recall.settings import ScoringWeights
from jiyi.runtime import FadingRules, MemoryRuntime

ROOT = Path(__file__).parents[1]
RUNTIME_GUIDES = ("docs/guides/runtime.md", "docs/guides/runtime.zh-CN.md")
PAIRS = [
    ("README.md", "README.zh-CN.md"),
    ("docs/guides/recall.md", "docs/guides/recall.zh-CN.md"),
    ("docs/guides/operations.md", "docs/guides/operations.zh-CN.md"),
    ("docs/guides/chat.md", "docs/guides/chat.zh-CN.md"),
    ("docs/guides/notes.md", "docs/guides/notes.zh-CN.md"),
    ("docs/guides/deployment.md", "docs/guides/deployment.zh-CN.md"),
    ("docs/guides/longterm.md", "docs/guides/longterm.zh-CN.md"),
    RUNTIME_GUIDES,
]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix() for pattern in ("*.md", "docs/**/*.md") for path in ROOT.glob(pattern)
)
ENGLISH, CHINESE = 0, 1

_BLOCK = re.compile(
    r"(?:^<!-- (?P<marker>run|output)(?:: (?P<words>[^\n]*?))? -->\n+)?^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
_DAY = re.compile(r"(?<=memory/)\d{4}-\d\d-\d\d(?=\.md)")
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_BAR = re.compile(r"[█▉▊▋▌▍▎▏]+")
_TOLERANCE = 0.05
_GROUPS = {
    str(group.typer_instance.info.name): {str(info.name) for info in group.typer_instance.registered_commands}
    for group in app.registered_groups
    if group.typer_instance is not None
}
_COMMANDS = {info.name for info in app.registered_commands if info.name is not None} | set(_GROUPS)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    document: str
    line: int
    language: str
    body: str
    marker: str | None
    settings: tuple[tuple[str, str], ...]
    output: str | None

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def read(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


def blocks(document: str) -> list[Block]:
    text = read(document)
    found: list[Block] = []
    matches = list(_BLOCK.finditer(text))
    for match, following in zip_longest(matches, matches[1:]):
        prints = following is not None and following["marker"] == "output"
        found.append(
            Block(
                document,
                text.count("\n", 0, match.start("body")),
                match["language"],
                match["body"],
                match["marker"],
                tuple((name, value) for name, _, value in (word.partition("=") for word in _words(match))),
                following["body"] if prints and following is not None else None,
            )
        )
    return found


def _words(match: re.Match[str]) -> list[str]:
    return (match["words"] or "").split()


def prose(document: str) -> str:
    """The text without its blocks."""
    return _BLOCK.sub("", read(document))


def headings(document: str) -> list[str]:
    return re.findall(r"^(#+ .+)$", prose(document), re.MULTILINE)


# --- examples ---------------------------------------------------------------------------------------------------------

RUNNABLE = [block for document in DOCUMENTS for block in blocks(document) if block.marker == "run"]
# What a Chinese document has in common with the English one is run once.
ONCE = list({(block.language, block.body): block for block in reversed(RUNNABLE)}.values())


# Runs a program that must not reach the network; whatever asks Python for a connection fails.
OFFLINE = """
import runpy, sys

def refuse(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        raise PermissionError(f"an example wants the network: {event} {arguments}")

sys.addaudithook(refuse)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def environment(block: Block) -> dict[str, str]:
    return {"JIYI_TIME_ZONE": "UTC", **{PREFIX + name.upper(): value for name, value in block.settings}}


def alike(said: str, printed: str) -> bool:
    """Whether the document shows what was said, but for times, ids, the lengths of bars and the last decimals."""

    def shape(text: str) -> list[str]:
        plain = _NUMBER.sub("#", _BAR.sub(" ", _ID.sub("ID", _DAY.sub("DAY", _TIME.sub("TIME", text)))))
        return [" ".join(line.split()) for line in plain.strip().splitlines()]

    numbers = [[float(number) for number in _NUMBER.findall(_TIME.sub("", text))] for text in (said, printed)]
    return shape(said) == shape(printed) and numbers[0] == pytest.approx(numbers[1], abs=_TOLERANCE)


@pytest.mark.parametrize("block", [b for b in ONCE if b.language == "python"], ids=str)
def test_a_python_example_runs_and_prints_what_is_shown(block: Block, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(block.body, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", OFFLINE, str(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUTF8": "1", **environment(block)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout
    if block.output is not None:
        assert alike(done.stdout, block.output), done.stdout


@pytest.mark.parametrize("block", [b for b in ONCE if b.language == "console"], ids=str)
def test_a_console_example_says_what_is_shown(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]
    assert shown
    for each in shown:
        command, _, printed = each.partition("\n")
        program, *words = shlex.split(command)
        assert program == "jiyi", f"{block}: only jiyi is run here, not {program}"
        settings = {HOME_VARIABLE: str(tmp_path / "data"), **environment(block)}
        said = CliRunner().invoke(app, words, env=settings, catch_exceptions=False).output
        assert alike(said, printed), f"$ {command}\n{said}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_settings_file_that_is_shown_is_valid(document: str, tmp_path: Path) -> None:
    for block in blocks(document):
        if block.language == "yaml":
            file = tmp_path / "memory.yaml"
            file.write_text(block.body, "utf-8")
            assert load_memory_config(file)


def test_every_runnable_block_is_python_or_console() -> None:
    assert RUNNABLE
    assert {block.language for block in RUNNABLE} <= {"python", "console"}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_python_block_is_at_least_python(document: str) -> None:
    for block in blocks(document):
        if block.language == "python":
            compile(block.body, str(block), "exec")


# --- what they name exists --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_that_is_named_exists(document: str) -> None:
    text = read(document)
    code = re.findall(r"`([^`\n]+)`", text) + [line for block in blocks(document) for line in block.body.splitlines()]
    named = {match[1] for part in code for match in re.finditer(r"(?:^|\$ )jiyi ([a-z][\w-]*)", part)}
    assert named <= _COMMANDS
    for group, commands in _GROUPS.items():
        below = {match[1] for part in code for match in re.finditer(rf"(?:^|\$ )jiyi {group} ([a-z][\w-]*)", part)}
        assert below <= commands


@pytest.mark.parametrize("document", PAIRS[0])
def test_the_readme_names_every_command_and_mode(document: str) -> None:
    text = read(document)
    assert [name for name in sorted(_COMMANDS) if not re.search(rf"`?jiyi {name}\b|`{name}`", text)] == []
    assert [mode for mode in MODES if f"`{mode}`" not in text] == []


@pytest.mark.parametrize("document", RUNTIME_GUIDES)
def test_the_guide_of_the_runtime_names_every_method_command_and_number(document: str) -> None:
    text = read(document)
    methods = [name for name in dir(MemoryRuntime) if not name.startswith("_") and name != "name"]
    assert [name for name in methods if f"`{name}" not in text] == []
    assert [name for name in sorted(_GROUPS["runtime"]) if f"jiyi runtime {name}" not in text] == []
    for rule in fields(FadingRules):
        assert f"| `{rule.name}` | {rule.default} |" in text


@pytest.mark.parametrize("document", PAIRS[0])
def test_the_readme_names_every_method(document: str) -> None:
    text = read(document)
    methods = [name for name in dir(AgentMemory) if not name.startswith("_")]
    assert [name for name in methods if f"`{name}`" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_that_is_named_exists(document: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", read(document))) <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_of_the_source_that_is_named_exists(document: str) -> None:
    named = set(re.findall(r"`((?:src|tests|bench|docs)/[\w./-]+\.\w+)", read(document)))
    # Results are named by pattern or not there before the benchmark has run.
    missing = [name for name in sorted(named) if not (ROOT / name).exists() and not name.startswith("bench/results/")]
    assert missing == []


def shown_default(name: str, default: object, unset: str) -> str:
    if name == "path":
        return f"`{DEFAULT_HOME}`"
    if default is None:
        return unset
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_every_setting_is_in_the_readme_with_its_variable_and_default(language: int) -> None:
    rows = [line for line in read(PAIRS[0][language]).splitlines() if line.startswith("| `")]
    for setting in fields(Settings):
        name = setting.name
        variable = HOME_VARIABLE if name == "path" else PREFIX + name.upper()
        default = shown_default(name, setting.default, ("not set", "未设置")[language])
        begins = f"| `{name}` | `{variable}` | {default} | "
        matching = [row for row in rows if row.startswith(begins)]
        assert len(matching) == 1, begins
        if language == ENGLISH:
            assert matching[0] == f"{begins}{setting.metadata['about']} |"


@pytest.mark.parametrize("document", PAIRS[1])
def test_every_weight_of_the_formula_is_in_the_guide(document: str) -> None:
    text = read(document)
    for weight in fields(ScoringWeights):
        value = weight.default
        shown = ", ".join(f"{each:g}" for each in value) if isinstance(value, tuple) else f"{value:g}"
        assert f"| `{weight.name}` | {shown} |" in text


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_every_exit_code_is_in_the_guide(language: int) -> None:
    text = read(PAIRS[2][language])
    for code, meaning in MEANINGS.items():
        assert f"| {int(code)} | {meaning if language == ENGLISH else ''}" in text


def test_every_table_is_in_the_domain() -> None:
    text = read("docs/DOMAIN.md")
    assert [table.name for table in schema.TABLES if f"`{table.name}`" not in text] == []


def test_every_part_of_the_package_is_in_the_layout() -> None:
    text = read("docs/ARCHITECTURE.md")
    parts = [path.name for path in (ROOT / "src/jiyi").iterdir() if path.suffix == ".py" or path.is_dir()]
    parts = [f"{name}/" if "." not in name else name for name in parts if name != "__pycache__"]
    assert [name for name in sorted(parts) if not re.search(rf"^ *{re.escape(name)}\s", text, re.MULTILINE)] == []


# --- both languages, and the links ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_both_languages_have_the_same_parts(english: str, chinese: str) -> None:
    levels = [[heading.partition(" ")[0] for heading in headings(document)] for document in (english, chinese)]
    assert levels[0] == levels[1]
    rows = [len(re.findall(r"^\|", prose(document), re.MULTILINE)) for document in (english, chinese)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_both_languages_show_the_same_code(english: str, chinese: str) -> None:
    shown = [[(b.marker, b.language, b.settings, b.body) for b in blocks(document)] for document in (english, chinese)]
    assert shown[0] == shown[1]


def anchors(document: str) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    titles = (heading.lstrip("#").strip().lower() for heading in headings(document))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_somewhere(document: str) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / document).parent / path if path else ROOT / document
        if not file.exists() or (anchor and anchor not in anchors(file.resolve().relative_to(ROOT).as_posix())):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_names_no_machine(document: str) -> None:
    text = read(document)
    assert re.findall(r"(?<![\w.~])/(?:work|tmp|home|root|Users)/[\w.-]+", text) == []
