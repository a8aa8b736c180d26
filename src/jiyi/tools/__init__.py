"""The tools that models call: schema, check of the arguments, call, result. Every tool is defined here, once."""

from jiyi.tools.notes import notes_tools
from jiyi.tools.runtime import runtime_tools
from jiyi.tools.tool import Tool
from jiyi.tools.toolbox import Arguments, Toolbox

__all__ = ["Arguments", "Tool", "Toolbox", "notes_tools", "runtime_tools"]
