"""Tools that models call: a name, a description, a JSON Schema, and a strict check of what a model passes in.

The schema is the contract: what the model is shown is what is checked. Who asks, whose memory it is and which session
it comes from are no arguments: they come from the program that runs the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jiyi.errors import InvalidInputError

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": {name: dict(schema) for name, schema in self.properties.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }

    def definition(self) -> dict[str, Any]:
        """For `tools=` of an OpenAI-style chat request."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def check(self, arguments: object) -> dict[str, Any]:
        """The arguments of a call, as a mapping or as the JSON text that models send; wrong ones are named."""
        given = self._read(arguments)
        unknown = sorted(str(name) for name in given if name not in self.properties)
        if unknown:
            raise InvalidInputError(
                f"{self.name} has no argument {', '.join(unknown)[:200]!a}; it takes {', '.join(self.properties)}"
            )
        # Models write null for what they leave out.
        checked = {name: value for name, value in given.items() if value is not None}
        missing = [name for name in self.required if name not in checked]
        if missing:
            raise InvalidInputError(f"{self.name} needs {', '.join(missing)}")
        for name, value in checked.items():
            self._check_one(name, value)
        return checked

    def _read(self, arguments: object) -> Mapping[str, Any]:
        value = arguments
        if isinstance(value, str):
            try:
                value = json.loads(value) if value.strip() else {}
            except (ValueError, RecursionError) as error:
                raise InvalidInputError(f"the arguments of {self.name} are not JSON: {error}") from None
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"the arguments of {self.name} must be an object, not {type(value).__name__}")
        return value

    def _check_one(self, name: str, value: object) -> None:
        schema = self.properties[name]
        kind = schema["type"]
        if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
            raise InvalidInputError(f"{name} of {self.name} must be of type {kind}, not {ascii(value)[:80]}")
        if "enum" in schema and value not in schema["enum"]:
            known = ", ".join(map(str, schema["enum"]))
            raise InvalidInputError(f"{name} of {self.name} is {ascii(value)[:80]}; use one of {known}")
        if isinstance(value, int | float):
            least, most = schema.get("minimum"), schema.get("maximum")
            if (least is not None and value < least) or (most is not None and value > most):
                raise InvalidInputError(f"{name} of {self.name} is {value}, and must be from {least} to {most}")
