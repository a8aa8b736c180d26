"""Our server with the fixtures of the MCP conformance suite: `python -m tests.server.conformance_server`.

The suite calls tools, resources and prompts by fixed names (`test_simple_text`, `test://static-text`, ...). They are
added to our own endpoint, beside our own tools. Transport, gate, lists, subscriptions, logging, progress,
completion and errors are those of the product. It prints its address and serves until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.subscriptions import PromptsListChanged, ToolsListChanged

from jiyi import AgentMemory
from jiyi.apps.server.access import RIGHTS, Access
from jiyi.apps.server.app import build_app
from jiyi.apps.server.gate import GateRules
from jiyi.apps.server.mcp.endpoint import Context, McpEndpoint
from jiyi.apps.server.serving import _Server as Announced

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
Answer = types.CallToolResult | types.InputRequiredResult
Tool = Callable[["ConformanceEndpoint", Context, types.CallToolRequestParams], Awaitable[Answer]]
TOOLS: dict[str, tuple[Tool, dict[str, Any]]] = {}
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def tool(schema: dict[str, Any] = _NOTHING) -> Callable[[Tool], Tool]:
    """A tool of the suite, under the name of the function."""

    def added(function: Tool) -> Tool:
        TOOLS[function.__name__] = (function, schema)
        return function

    return added


def texts(*content: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=each) for each in content])


def strings(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


def embedded(uri: str, text: str, media: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=media, text=text))


def form(message: str, **properties: dict[str, Any]) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(question: str, max_tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=question))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def asks(state: str | None = None, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


# --- content ----------------------------------------------------------------------------------------------------------


@tool()
async def test_simple_text(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    return texts("This is a simple text response for testing.")


@tool()
async def test_image_content(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    return types.CallToolResult(content=[types.ImageContent(data=PIXEL, mime_type="image/png")])


@tool()
async def test_audio_content(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    return types.CallToolResult(content=[types.AudioContent(data=SOUND, mime_type="audio/wav")])


@tool()
async def test_embedded_resource(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    return types.CallToolResult(content=[embedded("test://embedded-resource", "This is an embedded resource content.")])


@tool()
async def test_multiple_content_types(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    data = json.dumps({"test": "data", "value": 123})
    return types.CallToolResult(
        content=[
            types.TextContent(text="Multiple content types test:"),
            types.ImageContent(data=PIXEL, mime_type="image/png"),
            embedded("test://mixed-content-resource", data, "application/json"),
        ]
    )


@tool()
async def test_error_handling(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    # The error of our own tools: a call that they refuse.
    return await McpEndpoint._call_tool(endpoint, context, types.CallToolRequestParams(name="forget", arguments={}))


@tool(
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }
)
async def json_schema_2020_12_tool(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    return texts("done")


@tool({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
async def test_header_argument(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    return texts(f"region {(params.arguments or {}).get('region')}")


# --- what is told while a call goes on --------------------------------------------------------------------------------


@tool()
async def test_tool_with_logging(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await endpoint._log.tell(context, "info", text)
    return texts("done")


TOOLS["test_logging_tool"] = (test_tool_with_logging, _NOTHING)


@tool()
async def test_tool_with_progress(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
    return texts("done")


@tool()
async def test_trigger_tool_change(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    await (await endpoint.changes._feed(endpoint._access_of(context))).bus.publish(ToolsListChanged())
    return texts("done")


@tool()
async def test_trigger_prompt_change(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    await (await endpoint.changes._feed(endpoint._access_of(context))).bus.publish(PromptsListChanged())
    return texts("done")


# --- requests to the client, in the protocol with sessions ------------------------------------------------------------


@tool(strings("prompt"))
async def test_sampling(endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams) -> Answer:
    request = sampling((params.arguments or {})["prompt"], 100)
    metadata = ServerMessageMetadata(related_request_id=context.request_id)
    result = await context.session.send_request(request, types.CreateMessageResult, metadata=metadata)
    return texts(f"LLM response: {result.content}")


async def elicited(context: Context, message: str, schema: dict[str, Any]) -> Answer:
    result = await context.session.elicit_form(message, schema, related_request_id=context.request_id)
    return texts(f"Elicitation completed: action={result.action}, content={json.dumps(result.content)}")


@tool(strings("message"))
async def test_elicitation(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    schema = {
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    }
    return await elicited(context, (params.arguments or {})["message"], schema)


@tool()
async def test_elicitation_sep1034_defaults(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicited(context, "Who are you?", {"type": "object", "properties": properties})


@tool()
async def test_elicitation_sep1330_enums(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    properties = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await elicited(context, "Choose", {"type": "object", "properties": properties})


# --- input that is asked for in a result, in the protocol without sessions --------------------------------------------


def name_form(message: str = "What is your name?") -> types.ElicitRequest:
    return form(message, name={"type": "string"})


@tool()
async def test_input_required_result_elicitation(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    given = (params.input_responses or {}).get("user_name")
    if isinstance(given, types.ElicitResult) and isinstance((given.content or {}).get("name"), str):
        return texts(f"Hello, {(given.content or {})['name']}!")
    return asks(user_name=name_form())


TOOLS["test_streaming_elicitation"] = (test_input_required_result_elicitation, _NOTHING)


@tool()
async def test_input_required_result_sampling(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    given = (params.input_responses or {}).get("capital_question")
    return texts(str(given)) if given else asks(capital_question=sampling("What is the capital of France?", 100))


@tool()
async def test_input_required_result_list_roots(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    given = (params.input_responses or {}).get("client_roots")
    return texts(str(given)) if given else asks(client_roots=types.ListRootsRequest())


@tool()
async def test_input_required_result_request_state(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    if params.request_state == "first" and params.input_responses:
        return texts("state-ok")
    return asks("first", confirm=form("Please confirm", ok={"type": "boolean"}))


TOOLS["test_input_required_result_tampered_state"] = (test_input_required_result_request_state, _NOTHING)


@tool()
async def test_input_required_result_multiple_inputs(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    wanted: dict[str, Any] = {
        "user_name": name_form(),
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": types.ListRootsRequest(),
    }
    if params.request_state and set(wanted) <= set(params.input_responses or {}):
        return texts("done")
    return asks("several", **wanted)


@tool()
async def test_input_required_result_multi_round(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    given = params.input_responses or {}
    if params.request_state == "second" and "step2" in given:
        return texts("done")
    if params.request_state == "first" and "step1" in given:
        return asks("second", step2=form("Step 2: What is your favorite color?", color={"type": "string"}))
    return asks("first", step1=name_form("Step 1: What is your name?"))


@tool()
async def test_input_required_result_capabilities(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    can = context.session.client_capabilities or types.ClientCapabilities()
    requests: dict[str, Any] = {}
    if can.sampling is not None:
        requests["capital_question"] = sampling("What is the capital of France?", 100)
    if can.elicitation is not None:
        requests["user_name"] = name_form()
    return asks(**requests) if requests and not params.input_responses else texts("done")


@tool()
async def test_missing_capability(
    endpoint: ConformanceEndpoint, context: Context, params: types.CallToolRequestParams
) -> Answer:
    can = context.session.client_capabilities
    if can is None or can.sampling is None:
        data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool needs sampling", data)
    return texts("done")


# --- the endpoint -----------------------------------------------------------------------------------------------------

PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}
TEMPLATE = re.compile(r"test://template/([^/]+)/data")


def said(*contents: Any) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=each) for each in contents])


class ConformanceEndpoint(McpEndpoint):
    """Our endpoint, with the fixtures beside our own tools, resources and prompts."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.server.middleware.append(
            RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=self.server.name)
        )

    def _header_schema(self, name: str) -> dict[str, Any] | None:
        return TOOLS[name][1] if name in TOOLS else super()._header_schema(name)

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        own = await super()._list_tools(context, params)
        added = [
            types.Tool(name=name, description=f"The fixture {name}", input_schema=schema)
            for name, (_, schema) in TOOLS.items()
        ]
        return types.ListToolsResult(tools=[*own.tools, *added])

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> Answer:
        if params.name in TOOLS:
            return await TOOLS[params.name][0](self, context, params)
        return await super()._call_tool(context, params)

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        own = await super()._list_resources(context, params)
        added = [types.Resource(uri=f"test://static-{kind}", name=kind) for kind in ("text", "binary")]
        return own.model_copy(update={"resources": [*own.resources, *added]})

    async def _list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        own = await super()._list_templates(context, params)
        added = types.ResourceTemplate(uri_template="test://template/{id}/data", name="data")
        return own.model_copy(update={"resource_templates": [*own.resource_templates, added]})

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        found = TEMPLATE.fullmatch(params.uri)
        if params.uri == "test://static-binary":
            blob = types.BlobResourceContents(uri=params.uri, mime_type="image/png", blob=PIXEL)
            return types.ReadResourceResult(contents=[blob])
        if params.uri == "test://static-text":
            media, text = "text/plain", "This is the content of the static text resource."
        elif found is not None:
            data = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
            media, text = "application/json", json.dumps(data)
        else:
            return await super()._read_resource(context, params)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=media, text=text)]
        )

    async def _list_prompts(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        own = await super()._list_prompts(context, params)
        added = [
            types.Prompt(
                name=name,
                description=f"The fixture {name}",
                arguments=[types.PromptArgument(name=each, required=True) for each in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]
        return types.ListPromptsResult(prompts=[*own.prompts, *added])

    async def _get_prompt(  # type: ignore[override] # noqa: PLR0911
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        given = params.arguments or {}
        text = types.TextContent
        match params.name:
            case "test_simple_prompt":
                return said(text(text="This is a simple prompt for testing."))
            case "test_prompt_with_arguments":
                return said(text(text=f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"))
            case "test_prompt_with_embedded_resource":
                resource = embedded(given["resourceUri"], "Embedded resource content for testing.")
                return said(resource, text(text="Please process the embedded resource above."))
            case "test_prompt_with_image":
                image = types.ImageContent(data=PIXEL, mime_type="image/png")
                return said(image, text(text="Please analyze the image above."))
            case "test_input_required_result_prompt":
                answer = (params.input_responses or {}).get("user_context")
                if isinstance(answer, types.ElicitResult):
                    return said(text(text=f"Context: {(answer.content or {}).get('context')}"))
                return asks(user_context=form("What context should the prompt use?", context={"type": "string"}))
            case _:
                return await super()._get_prompt(context, params)


async def serve(folder: Path) -> None:
    async with AgentMemory.open(folder / "data", workspace=folder / "notes") as memory:
        await memory.notes.init_workspace()
        await memory.store("tea", "She drinks green tea")
        anonymous = Access(memory.settings.scope, frozenset(RIGHTS))
        rules = GateRules(anonymous=anonymous, per_second=10_000, burst=10_000)
        app = build_app(memory, rules=rules, new_endpoint=ConformanceEndpoint)
        config = uvicorn.Config(app, port=0, log_config=None, lifespan="on")
        server = Announced(config, lambda address: print(address, flush=True))
        running = asyncio.ensure_future(server.serve())
        await asyncio.to_thread(sys.stdin.read)
        server.should_exit = True
        await running


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(serve(Path(directory)))
