"""The description of the API, and a status and a code for every error."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from jiyi import AgentMemory, errors
from jiyi.apps.server.problems import TITLES, status_of
from tests.server.served import served

STATUS = {
    "JiyiError": 500,
    "InvalidInputError": 400,
    "InvalidScopeError": 400,
    "VersionConflictError": 412,
    "RequestReusedError": 409,
    "ConfigError": 500,
    "MissingDependencyError": 500,
    "RuntimeUnavailableError": 500,
    "SimpleModeError": 409,
    "MemoryClosedError": 503,
    "StorageError": 500,
    "StoreBusyError": 503,
    "StoreUnavailableError": 503,
    "ResourceLimitError": 503,
    "CommitUnknownError": 500,
    "StoreTooNewError": 500,
    "StoreIncompleteError": 500,
    "StoreDamagedError": 500,
    "HistoryUnreadableError": 500,
    "IndexingError": 500,
    "IndexDamagedError": 500,
    "IndexUnavailableError": 503,
    "NotesError": 409,
    "NoteConflictError": 409,
    "ImportFormatError": 400,
    "ModelError": 502,
    "ModelTimeoutError": 504,
    "ModelUnavailableError": 502,
    "ModelReplyError": 502,
    "ContextOverflowError": 502,
    "ModelRejectedError": 502,
}
MORE: dict[str, dict[str, Any]] = {
    "HistoryUnreadableError": {"readable": (), "unreadable": ()},
    "ModelReplyError": {"reason": "empty"},
}


def test_the_table_of_statuses_has_every_error_of_the_tree() -> None:
    tree = {
        name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.JiyiError)
    }
    assert tree == set(STATUS)


def test_every_error_is_answered_with_its_status_and_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with served(tmp_path) as it:
            for name, status in STATUS.items():
                error = getattr(errors, name)("what happened", **MORE.get(name, {}))
                monkeypatch.setattr(AgentMemory, "count", failing(error))
                answer = await it.client.get("/v1/entries/count")
                assert (answer.status_code, status_of(error)) == (status, status), name
                assert answer.headers["content-type"] == "application/problem+json"
                told = answer.json()
                assert (told["code"], told["status"], told["detail"]) == (name, status, "what happened")
                assert told["title"] == TITLES[status]
                assert ("retry-after" in answer.headers) == (status == 503)

    asyncio.run(scenario())


def failing(error: errors.JiyiError) -> Any:
    async def method(*_args: object, **_options: object) -> None:
        raise error

    return method


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    async def described() -> dict[str, Any]:
        async with served(tmp_path_factory.mktemp("described")) as it:
            found: dict[str, Any] = await it.get("/v1/openapi.json")
            return found

    return asyncio.run(described())


def operations(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def contents(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The bodies that an operation takes and gives, by type, those of errors left out."""
    yield from operation.get("requestBody", {}).get("content", {}).items()
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            yield from answer.get("content", {}).items()


def test_every_body_and_answer_has_a_schema_and_an_example_that_fits_it(description: dict[str, Any]) -> None:
    seen = 0
    for path, method, operation in operations(description):
        for kind, content in contents(operation):
            if kind == "text/event-stream":
                continue
            schema = content["schema"]
            if "$ref" in schema:
                schema = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            examples = schema.get("examples") or [content["example"]]
            whole = {**schema, "components": description["components"]}
            for example in examples:
                problems = [error.message for error in jsonschema.Draft202012Validator(whole).iter_errors(example)]
                assert problems == [], (path, method)
                seen += 1
            lines = kind in {"application/x-ndjson", "application/octet-stream"}
            assert schema.get("properties") or lines or "problems" in examples[0], (path, method)
    assert seen > 80


def schemas_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every part of the description that says what a value looks like."""
    if isinstance(value, dict):
        if "type" in value:
            yield value
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from schemas_in(each)


def test_bounds_of_numbers_are_written_in_the_words_of_json_schema(description: dict[str, Any]) -> None:
    """A generated client, and whoever reads the description, has to know them."""
    found = [schema for schema in schemas_in(description) if {"ge", "le", "gt", "lt", "strict"} & set(schema)]
    assert found == []
    question = description["components"]["schemas"]["Question"]["properties"]["limit"]
    assert (question["type"], question["minimum"], question["maximum"]) == ("integer", 1, 1000)


def test_every_operation_has_a_stable_id_a_description_and_its_errors(description: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(description)]
    assert len(ids) == len(set(ids)) >= 65
    assert set(ids) >= {"storeEntry", "recall", "beginTurn", "reply", "importScope", "settleConflict", "retryJob"}
    for _, _, operation in operations(description):
        assert operation["description"]
        assert {"400", "401", "403", "404", "422", "429", "503"} <= set(operation["responses"])
    creating = {
        operation["operationId"]
        for _, method, operation in operations(description)
        if method == "post" and "201" in operation["responses"]
    }
    with_keys = {
        operation["operationId"]
        for _, _, operation in operations(description)
        if any(each["name"].lower() == "idempotency-key" for each in operation.get("parameters", []))
    }
    assert creating - with_keys == {"proposeNotes"}, "what is proposed twice is the same file"
    assert {"scheduleRound", "giveFeedback", "reply", "callTools"} <= with_keys
