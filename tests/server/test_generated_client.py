"""A client that a generator makes of the description of the API stores, recalls and is refused as it should be."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integrations import own_environment
from tests.server.socket_server import SocketServer, socket_server

PACKAGE = "generated_jiyi_client"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SocketServer]:
    with socket_server(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture(scope="module")
def description(server: SocketServer) -> dict[str, Any]:
    key = {"Authorization": f"Bearer {server.token('alice')}"}
    found: dict[str, Any] = httpx.get(f"{server.address}/v1/openapi.json", headers=key).json()
    return found


@pytest.fixture(scope="module")
def generated(description: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package that the generator has written, importable."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(json.dumps(description), "utf-8")
    # The code is not to be formatted: nobody reads it.
    (folder / "config.yaml").write_text("post_hooks: []\n", "utf-8")
    words = ["generate", "--path", "openapi.json", "--config", "config.yaml", "--meta", "none"]
    python = str(own_environment.python("openapi_python_client"))
    command = [python, "-m", "openapi_python_client", *words, "--output-path", PACKAGE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    # Lines of JSON are no form that it knows; everything else is understood.
    warned = {line.split()[3] for line in done.stdout.splitlines() if line.startswith("WARNING parsing")}
    assert warned <= {"/v1/export", "/v1/import"}, done.stdout
    sys.path.insert(0, str(folder))
    yield folder / PACKAGE
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


def part(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{name}")


def test_every_operation_of_the_description_is_a_function_of_the_client(
    generated: Path, description: dict[str, Any]
) -> None:
    operations = [each for path in description["paths"].values() for each in path.values()]
    modules = [path for path in (generated / "api").rglob("*.py") if path.name != "__init__.py"]
    assert len(modules) == len(operations)
    for path in modules:
        assert callable(part(f"api.{path.parent.name}.{path.stem}").sync_detailed)


@pytest.mark.usefixtures("generated")
def test_a_generated_client_stores_recalls_changes_and_forgets(server: SocketServer) -> None:
    models = part("models")
    with part("client").AuthenticatedClient(server.address, server.token("carol")) as client:
        body = models.NewEntry(content="She drinks green tea", key="tea", tags=["drinks"])
        made = part("api.entries.store_entry").sync(client=client, body=body, idempotency_key="once")
        assert (made.scope, made.tags, made.version) == ("carol", ["drinks"], 1)
        again = part("api.entries.store_entry").sync(client=client, body=body, idempotency_key="once")
        assert again.id == made.id
        found = part("api.entries.recall").sync(client=client, body=models.Question(query="What does she drink?"))
        assert [(hit.key, hit.content) for hit in found.hits] == [("tea", "She drinks green tea")]
        changed = part("api.entries.update_entry").sync(
            made.id, client=client, body=models.ChangedEntry(content="She drinks black tea"), if_match='"1"'
        )
        assert (changed.content, changed.version) == ("She drinks black tea", 2)
        listed = part("api.entries.list_entries").sync(client=client, tag=["drinks"], limit=1)
        assert [entry.id for entry in listed.entries] == [made.id]
        assert part("api.entries.forget_entry").sync(made.id, client=client).forgotten is True
        assert part("api.entries.count_entries").sync(client=client).count == 0


@pytest.mark.usefixtures("generated")
def test_a_generated_client_reads_refusals_as_problems(server: SocketServer) -> None:
    problem = part("models").Problem
    with part("client").AuthenticatedClient(server.address, server.token("carol")) as client:
        missing = part("api.entries.get_entry").sync_detailed("unknown", client=client)
        assert (int(missing.status_code), missing.parsed.code) == (404, "no_entry")
        wrong = part("api.entries.recall").sync(client=client, body=part("models").Question(query="tea", limit=0))
        assert isinstance(wrong, problem)
        assert wrong.code == "wrong_form"
    with part("client").AuthenticatedClient(server.address, "jy_wrong") as client:
        refused = part("api.entries.count_entries").sync(client=client)
        assert isinstance(refused, problem)
        assert refused.code == "key_needed"
