"""Tool: a function that a model may call, with one schema for every model API and one check of its arguments.

The schema that a model is shown is the schema that its arguments are checked against. Scope, user and session are never
arguments: they come from the program that runs the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from jiyi.errors import InvalidInputError
from jiyi.model.json_schema import schema_problem
from jiyi.tools.arguments import coerced

# Keywords that OpenAI's strict mode refuses; the check of the arguments still applies them.
_NOT_IN_STRICT: Final = frozenset({"default", "minLength", "maxLength"})


@dataclass(frozen=True, slots=True)
class Tool:
    """Name, description and parameters of a function, in JSON Schema, and what a call of it may change."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()
    read_only: bool = False
    """Whether a call changes nothing."""
    destructive: bool = False
    """Whether a call replaces or removes something that was there."""
    idempotent: bool = False
    """Whether the same call again changes nothing more."""
    title: str = ""
    """What people are shown in place of the name."""
    aliases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Other names for the same function, each with what it calls the arguments differently: its name -> ours."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """On a tool under an alias: what the alias calls an argument -> what the function calls it."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": {name: dict(schema) for name, schema in self.properties.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }

    @property
    def annotations(self) -> dict[str, Any]:
        """What MCP clients are told about the effects of a call."""
        return {
            "title": self.title or self.name.replace("_", " ").capitalize(),
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent or self.read_only,
            "openWorldHint": False,
        }

    def under(self, name: str) -> Tool:
        """The same tool under its name or one of its aliases; `KeyError` for any other name."""
        if name == self.name:
            return self
        ours = dict(self.aliases[name])
        theirs = {own: other for other, own in ours.items()}
        return replace(
            self,
            name=name,
            properties={theirs.get(own, own): schema for own, schema in self.properties.items()},
            required=tuple(theirs.get(own, own) for own in self.required),
            aliases={},
            renamed=ours,
        )

    # --- the forms of model APIs ------------------------------------------------------------------------------------

    def openai(self) -> dict[str, Any]:
        """For `tools=` of OpenAI-style chat completions."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def openai_responses(self) -> dict[str, Any]:
        """For `tools=` of OpenAI's Responses API, in strict mode.

        Strict mode requires all arguments, so optional ones may be null.
        """
        strict = {
            **self.parameters,
            "properties": {
                name: _strict(schema, optional=name not in self.required) for name, schema in self.properties.items()
            },
            "required": list(self.properties),
        }
        return {
            "type": "function",
            "name": self.name,
            "description": self.description,
            "parameters": strict,
            "strict": True,
        }

    def anthropic(self) -> dict[str, Any]:
        """For `tools=` of Anthropic's Messages API."""
        return {"name": self.name, "description": self.description, "input_schema": self.parameters}

    def mcp(self) -> dict[str, Any]:
        """For the answer to `tools/list` of an MCP server."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.parameters,
            "annotations": self.annotations,
        }

    # --- arguments ----------------------------------------------------------------------------------------------------

    def check(self, arguments: object) -> dict[str, Any]:
        """Returns the arguments of a call, given as a mapping or as JSON text; raises `InvalidInputError`.

        Plain slips are coerced: "3" and 3.0 for 3, a word for a list of one word, `null` for an argument that is left
        out, which models write for optional arguments and strict mode demands. Names are those of the function.
        """
        given = self._read(arguments)
        theirs = {own: other for other, own in self.renamed.items()}
        given = {theirs.get(name, name) if name not in self.properties else name: given[name] for name in given}
        unknown = sorted(str(name) for name in given if name not in self.properties)
        if unknown:
            raise InvalidInputError(
                f"{self.name} has no argument {', '.join(unknown)[:200]!a}; it takes {', '.join(self.properties)}"
            )
        checked = {name: value for name, value in given.items() if value is not None}
        missing = [name for name in self.required if name not in checked]
        if missing:
            raise InvalidInputError(f"{self.name} needs {', '.join(missing)}")
        taken: dict[str, Any] = {}
        for name, value in checked.items():
            meant = coerced(value, self.properties[name])
            problem = schema_problem(meant, self.properties[name], f"{name} of {self.name}")
            if problem is not None:
                raise InvalidInputError(problem)
            taken[self.renamed.get(name, name)] = meant
        return taken

    def _read(self, arguments: object) -> Mapping[str, Any]:
        value = arguments
        if value is None:
            return {}
        if isinstance(value, str):
            try:
                value = json.loads(value) if value.strip() else {}
            except (ValueError, RecursionError) as error:
                raise InvalidInputError(f"the arguments of {self.name} are not JSON: {error}") from None
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"the arguments of {self.name} must be an object, not {type(value).__name__}")
        return value


def _strict(schema: Mapping[str, Any], *, optional: bool) -> dict[str, Any]:
    """A property as strict mode takes it."""
    kept = {keyword: value for keyword, value in schema.items() if keyword not in _NOT_IN_STRICT}
    if "items" in kept:
        kept["items"] = _strict(kept["items"], optional=False)
    if optional:
        kept["type"] = [kept["type"], "null"]
        if "enum" in kept:
            kept["enum"] = [*kept["enum"], None]
    return kept
