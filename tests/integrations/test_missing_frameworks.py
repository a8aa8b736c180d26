"""A framework that is not installed is named, with the extra that brings it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib

from tests.documents import ROOT

EXTRAS = {
    "langgraph": ("langgraph", "langgraph"),
    "langchain": ("langchain_core", "langchain"),
    "openai_agents": ("agents", "openai-agents"),
    "anthropic": ("anthropic", "anthropic"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "llama_index": ("llama_index", "llamaindex"),
    "autogen": ("autogen_core", "autogen"),
    "ag2": ("ag2", "ag2"),
}
"""Each integration with the package that it needs and the extra that brings it."""
PROGRAM = """
import importlib, json, sys
from jiyi.errors import MissingDependencyError
said = {}
for module, package in json.loads(sys.argv[1]).items():
    sys.modules[package] = None
    try:
        importlib.import_module(f"jiyi.integrations.{module}")
    except MissingDependencyError as error:
        said[module] = str(error)
print(json.dumps(said))
"""


def test_each_integration_says_what_to_install() -> None:
    needed = json.dumps({module: package for module, (package, _) in EXTRAS.items()})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, needed], capture_output=True, encoding="utf-8", check=True, cwd=ROOT / "src"
    )
    said = json.loads(done.stdout)
    assert set(said) == set(EXTRAS)
    for module, (_, extra) in EXTRAS.items():
        assert f"pip install 'jiyi[{extra}]'" in said[module]


def test_every_integration_is_listed_and_has_its_extra() -> None:
    folders = {path.parent.name for path in (ROOT / "src/jiyi/integrations").glob("*/__init__.py")}
    assert folders == set(EXTRAS)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {extra for _, extra in EXTRAS.values()} <= set(extras)
