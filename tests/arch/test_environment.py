"""`config` reads the environment; ARCHITECTURE.md names the few other modules that look at it, and why."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/jiyi"
ARCHITECTURE = Path(__file__).parents[2] / "docs/ARCHITECTURE.md"
OTHERS = {
    "text/tokenizers.py": "where Hugging Face keeps its files: HF_HOME and HF_HUB_CACHE",
    "apps/cli/output.py": "what the terminal shows: TERM and FORCE_COLOR",
    "apps/cli/demo/scenario.py": "what a child process is given",
    "backends/milvus/client.py": "what pymilvus must not read",
}


def test_only_config_and_the_named_modules_look_at_the_environment() -> None:
    readers = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if re.search(r"\bos\.(environ|getenv)\b", file.read_text("utf-8"))
    }
    assert {name for name in readers if not name.startswith("config/")} == set(OTHERS)


def test_the_architecture_names_them() -> None:
    text = ARCHITECTURE.read_text("utf-8")
    assert [name for name in OTHERS if f"`{name.removesuffix('.py')}`" not in text] == []
