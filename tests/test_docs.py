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
from dataclasses import fields
from html import unescape
from inspect import signature
from pathlib import Path

import pytest
from rich.text import Text
from typer.testing import CliRunner

from jiyi import MemoryEntry
from jiyi.apps.cli.app import app
from jiyi.apps.cli.demo import NEXT_ARGUMENTS
from jiyi.apps.cli.demo.scenario import MEMORIES, QUESTIONS
from jiyi.apps.cli.exit_codes import MEANINGS
from jiyi.backends.records import schema
from jiyi.config import DEFAULT_HOME, HOME_VARIABLE, PREFIX, Settings, load_memory_config
from jiyi.memory import AgentMemory
from jiyi.recall.request import MODES
from jiyi.recall.settings import ScoringWeights
from jiyi.runtime import DecayRules, MemoryRuntime
from tests.documents import ROOT, Block, alike, blocks, environment, headings, prose, read
from tests.picture import draw


def pair(name: str) -> tuple[str, str]:
    """A document in English and in Chinese."""
    return f"{name}.md", f"{name}.zh-CN.md"


README = pair("README")
REFERENCE = pair("docs/reference")
SETTINGS = pair("docs/settings")
RECALL_GUIDE = pair("docs/guides/recall")
OPERATIONS_GUIDE = pair("docs/guides/operations")
RUNTIME_GUIDE = pair("docs/guides/runtime")
PAIRS = [
    README,
    REFERENCE,
    SETTINGS,
    RECALL_GUIDE,
    OPERATIONS_GUIDE,
    pair("docs/guides/chat"),
    pair("docs/guides/notes"),
    pair("docs/guides/deployment"),
    pair("docs/guides/longterm"),
    pair("docs/guides/entries"),
    pair("docs/guides/frameworks"),
    pair("docs/guides/migrating"),
    RUNTIME_GUIDE,
]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix() for pattern in ("*.md", "docs/**/*.md") for path in ROOT.glob(pattern)
)
ENGLISH, CHINESE = 0, 1

_GROUPS = {
    str(group.typer_instance.info.name): {str(info.name) for info in group.typer_instance.registered_commands}
    for group in app.registered_groups
    if group.typer_instance is not None
}
_COMMANDS = {info.name for info in app.registered_commands if info.name is not None} | set(_GROUPS)


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


@pytest.mark.parametrize("document", README)
def test_the_readme_is_a_front_page(document: str) -> None:
    text = read(document)
    assert len(text.splitlines()) <= 150
    (start,) = (block.body for block in blocks(document) if block.language == "sh")
    commands = [line.partition("#")[0].strip() for line in start.splitlines()]
    assert commands == ["make demo", "pip install .", "make test"]


@pytest.mark.parametrize("document", README)
def test_every_attribute_of_a_hit_that_the_readme_names_exists(document: str) -> None:
    named = re.findall(r"`(\w+)`", rows_after(read(document), "`content`"))
    assert {"content", "key", "relevance_score"} <= set(named)
    assert [name for name in named if not hasattr(MemoryEntry, name)] == []


@pytest.mark.parametrize("document", REFERENCE)
def test_every_attribute_of_an_entry_is_in_the_reference(document: str) -> None:
    named = re.findall(r"`(\w+)`", rows_after(read(document), "`id`"))
    assert [field.name for field in fields(MemoryEntry) if field.name not in named] == []


def rows_after(text: str, first: str) -> str:
    """The rows of the table whose first row begins with this cell."""
    match = re.search(rf"^\| {re.escape(first)}.*?\n(?!\|)", text, re.MULTILINE | re.DOTALL)
    assert match is not None, f"there is no table with {first}"
    return match[0]


@pytest.mark.parametrize("document", REFERENCE)
def test_the_reference_names_every_command_and_mode(document: str) -> None:
    text = read(document)
    assert [name for name in sorted(_COMMANDS) if not re.search(rf"`?jiyi {name}\b|`{name}`", text)] == []
    assert [mode for mode in MODES if f"`{mode}`" not in text] == []


@pytest.mark.parametrize("document", RUNTIME_GUIDE)
def test_the_guide_of_the_runtime_names_every_method_command_and_number(document: str) -> None:
    text = read(document)
    methods = [name for name in dir(MemoryRuntime) if not name.startswith("_") and name != "name"]
    assert [name for name in methods if f"`{name}" not in text] == []
    assert [name for name in sorted(_GROUPS["runtime"]) if f"jiyi runtime {name}" not in text] == []
    for rule in fields(DecayRules):
        assert f"| `{rule.name}` | {rule.default} |" in text


@pytest.mark.parametrize("document", REFERENCE)
def test_the_reference_lists_every_method_with_parameters_that_exist(document: str) -> None:
    listed = dict(re.findall(r"^\| `(\w+)(\([^`]*\))?` \|", read(document), re.MULTILINE))
    methods = [name for name in dir(AgentMemory) if not name.startswith("_")]
    assert [name for name in methods if name not in listed] == []
    for name in methods:
        method = getattr(AgentMemory, name)
        known = set(signature(method).parameters) if callable(method) else set()
        assert set(re.findall(r"\w+", listed[name])) <= known, name


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
    if isinstance(default, tuple):
        return f"`{','.join(default)}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_every_setting_is_listed_with_its_variable_and_default(language: int) -> None:
    rows = [line for line in read(SETTINGS[language]).splitlines() if line.startswith("| `")]
    for setting in fields(Settings):
        name = setting.name
        variable = HOME_VARIABLE if name == "path" else PREFIX + name.upper()
        default = shown_default(name, setting.default, ("not set", "未设置")[language])
        begins = f"| `{name}` | `{variable}` | {default} | "
        matching = [row for row in rows if row.startswith(begins)]
        assert len(matching) == 1, begins
        if language == ENGLISH:
            assert matching[0] == f"{begins}{setting.metadata['about']} |"


@pytest.mark.parametrize("document", RECALL_GUIDE)
def test_every_weight_of_the_formula_is_in_the_guide(document: str) -> None:
    text = read(document)
    for weight in fields(ScoringWeights):
        value = weight.default
        shown = ", ".join(f"{each:g}" for each in value) if isinstance(value, tuple) else f"{value:g}"
        assert f"| `{weight.name}` | {shown} |" in text


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_every_exit_code_is_in_the_guide(language: int) -> None:
    text = read(OPERATIONS_GUIDE[language])
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


def modules_of_the_layout() -> set[str]:
    """The modules of the package that begin a line of the layout, each with its folder."""
    layout = read("docs/ARCHITECTURE.md").partition("\nsrc/jiyi/\n")[2].partition("\nbench/")[0]
    modules: set[str] = set()
    folders: list[tuple[int, str]] = []
    for line in layout.splitlines():
        indent, names = len(line) - len(line.lstrip()), re.split(" {2,}", line.strip())[0]
        folders = [folder for folder in folders if folder[0] < indent]
        if names.endswith("/"):
            folders.append((indent, names))
        else:
            above = "".join(folder for _, folder in folders)
            modules |= {above + name.removesuffix(".py") for name in names.split(", ")}
    return modules


def test_every_module_has_its_line_in_the_layout_under_its_folder() -> None:
    whole_folders = {"interfaces", "texts"}
    modules = {
        path.relative_to(ROOT / "src/jiyi").with_suffix("").as_posix()
        for path in (ROOT / "src/jiyi").rglob("*.py")
        if whole_folders.isdisjoint(path.parts) and (path.stem != "__init__" or path.parent.name == "jiyi")
    }
    assert sorted(modules ^ modules_of_the_layout()) == ["apps/cli/__main__", "py.typed"]


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


# --- the picture ------------------------------------------------------------------------------------------------------


def test_the_picture_shows_what_the_demo_prints() -> None:
    shown = unescape("".join(re.findall(r">([^<]*)</text>", read("docs/images/demo.svg")))).replace("\xa0", " ")
    assert "$ make demo" in shown
    for question, key in QUESTIONS:
        assert question in shown
        assert dict(MEMORIES)[key] in shown
    assert [arguments for arguments in NEXT_ARGUMENTS if arguments not in shown] == []


def test_the_picture_loads_nothing_and_runs_nothing() -> None:
    picture = read("docs/images/demo.svg")
    assert re.findall(r"https?:", picture.replace('xmlns="http://www.w3.org/2000/svg"', "")) == []
    assert not re.search(r"@import|@font-face|<script|<image|href=|url\((?!#)", picture)


def test_a_chinese_character_of_the_picture_is_two_cells_wide() -> None:
    picture = draw([Text("早报 abc"), Text("a<b")])
    assert re.findall(r'textLength="([\d.]+)"', picture) == [f"{cells * 12.2:g}" for cells in (8, 3)]
