"""Imports a file with extraction and dies at a chosen write to SQLite: python -m tests.crash.import_steps

A line in is an order, `[folder, file, step]`; a line out says whether the process that carried it out was killed.
"""

from pathlib import Path

from tests.crash.chat_steps import Steps, open_counted, serve
from tests.importers.samples import take_in


class WriteSteps(Steps):
    """Counts the statements that change something; what an import reads before is no step."""

    def trace(self, statement: str) -> None:
        if not statement.startswith("SELECT"):
            super().trace(statement)


def carry_out(folder: str, file: str, step: int) -> None:
    steps = WriteSteps()
    memory = open_counted(folder, steps)
    steps.fatal = step
    take_in(memory, "chatgpt", Path(file), extract=True)
    steps.fatal = 0
    memory.close()


if __name__ == "__main__":
    serve(carry_out)
