"""The tools that models call: schema, check of the arguments, call, result. Every tool is defined here, once."""

from jiyi.tools.answer import ToolAnswer
from jiyi.tools.entries import EntryTools
from jiyi.tools.notes import note_tools
from jiyi.tools.tool import Tool
from jiyi.tools.toolbox import Arguments, BoundTools, Toolbox

__all__ = ["Arguments", "BoundTools", "EntryTools", "Tool", "ToolAnswer", "Toolbox", "note_tools"]
