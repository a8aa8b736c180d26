"""What operators see of a server: log lines, metrics and spans; never a text, a path or a secret."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from jiyi import AgentMemory
from jiyi.apps.server.access import Access
from jiyi.apps.server.app import build_app
from jiyi.apps.server.gate import GateRules
from jiyi.apps.server.log_lines import log_to
from jiyi.apps.server.tracing import Tracing
from tests.server.served import Served, run
from tests.support import present

SECRET = "the secret text"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is logged, with the loggers as they were afterwards."""
    names = ("jiyi", "jiyi.requests", "uvicorn")
    before = {name: (list(logging.getLogger(name).handlers), logging.getLogger(name).level) for name in names}
    stream = io.StringIO()
    yield stream
    for name, (handlers, level) in before.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = handlers, True
        logger.setLevel(level)


def test_a_request_is_one_line_of_json_without_texts(tmp_path: Path, log: io.StringIO) -> None:
    async def scenario(it: Served) -> None:
        handler = log_to(log, form="json")
        made = await it.client.post("/v1/entries", json={"content": SECRET}, headers={"X-Request-ID": "trace-1"})
        assert made.headers["x-request-id"] == "trace-1"
        other = await it.client.get(f"/v1/entries/{made.json()['id']}", headers={"X-Request-ID": 'bad "id"\n'.strip()})
        assert len(other.headers["x-request-id"]) == 32
        handler.flush()

    run(tmp_path, scenario)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    asked = [line for line in lines if line["logger"] == "jiyi.requests"]
    assert [(line["method"], line["route"], line["status"]) for line in asked] == [
        ("POST", "/v1/entries", 201),
        ("GET", "/v1/entries/{entry_id}", 200),
    ]
    assert asked[0]["request_id"] == "trace-1"
    assert all(line["ms"] >= 0 and line["time"].endswith("Z") and line["level"] == "info" for line in asked)
    assert SECRET not in log.getvalue()


def test_an_error_in_the_log_says_where_and_not_what(log: io.StringIO) -> None:
    log_to(log, form="json")
    try:
        raise ValueError(SECRET)  # noqa: TRY301
    except ValueError:
        logging.getLogger("jiyi.server").exception("it failed")
    [line] = [json.loads(each) for each in log.getvalue().splitlines()]
    assert (line["error"], line["message"]) == ("ValueError", "it failed")
    assert line["at"].partition(":")[2].isdecimal()
    assert SECRET not in log.getvalue()


def test_text_lines_have_the_same_facts_and_no_control_characters(log: io.StringIO) -> None:
    log_to(log, form="text")
    facts = {"request_id": "r1", "key_id": "k1"}
    logging.getLogger("jiyi.requests").info("GET %s", "/v1/\x1b[31mx", extra={"facts": facts})
    assert "key_id=k1 request_id=r1" in log.getvalue()
    assert "\x1b" not in log.getvalue()


def test_the_metrics_tell_of_requests_indexes_jobs_and_sizes(tmp_path: Path) -> None:
    async def scenario(it: Served) -> None:
        await it.post("/v1/entries", {"content": SECRET}, status=201)
        await it.post("/v1/longterm/rounds", {"conversation_id": "c", "user": "My sister lives in Oslo"}, status=202)
        await it.client.request("BREW", "/v1/entries")
        text = (await it.client.get("/metrics")).text
        values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        assert values['jiyi_http_requests_total{method="POST",route="/v1/entries",status="201"}'] == "1"
        assert values['jiyi_http_request_seconds_count{method="POST",route="/v1/entries"}'] == "1"
        assert values['jiyi_http_request_seconds_bucket{method="POST",route="/v1/entries",le="+Inf"}'] == "1"
        assert values['jiyi_jobs{state="queued"}'] == "1"
        assert int(values['jiyi_store_bytes{part="records"}']) > 0
        assert {name.split("{")[0] for name in values} >= {"jiyi_index_behind_changes", "jiyi_info", "jiyi_jobs"}
        assert values["jiyi_http_requests_active"] == "1"
        assert "BREW" not in text
        assert SECRET not in text
        families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
        assert len(families) == len(set(families))

    run(tmp_path, scenario)


def test_every_request_is_a_span_that_goes_on_with_the_trace_of_the_caller(tmp_path: Path) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))

    async def scenario() -> None:
        async with AgentMemory.open(tmp_path, background_jobs=False) as memory:
            app = build_app(memory, rules=GateRules(anonymous=Access("alice")), tracing=Tracing(provider))
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                parent = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
                await client.post("/v1/entries", json={"content": SECRET}, headers=parent)

    asyncio.run(scenario())
    [span] = kept.get_finished_spans()
    assert span.name == "POST /v1/entries"
    assert f"{span.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert present(span.attributes)["http.response.status_code"] == 201
    assert present(span.attributes)["http.request.method"] == "POST"
    assert SECRET not in span.to_json()
    provider.shutdown()


def test_nothing_of_opentelemetry_is_imported_unless_it_is_asked_for() -> None:
    program = (
        "import sys, jiyi.apps.server.serving; "
        "print(sorted(name for name in sys.modules if name.startswith('opentelemetry.sdk')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
