"""Shows the demo on a terminal: one panel for each step, in both languages."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from jiyi.apps.cli import interrupts
from jiyi.apps.cli.demo.scenario import DemoStep
from jiyi.apps.cli.render_terminal import make_console


class Screen:
    """Draws each step as soon as it has passed; a quiet screen draws nothing."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._console = make_console(sys.stdout)

    def show(self, number: int, step: DemoStep) -> None:
        """Draw one step."""
        interrupts.check()
        if self._quiet:
            return
        rows = Table.grid(padding=(0, 2))
        rows.add_column(style="cyan", overflow="fold")
        rows.add_column(overflow="fold")
        for row in step.rows:
            rows.add_row(*(Text(cell) for cell in row))
        facts = Table.grid(padding=(0, 1))
        facts.add_column(style="bold green")
        facts.add_column(overflow="fold")
        for chinese, english in step.facts:
            facts.add_row("✓", Text.assemble(chinese, "\n", (english, "dim")))
        title = Text.assemble((f"{number} · {step.chinese}", "bold"), f"  {step.english}")
        self._console.print(Panel(Group(rows, facts), title=title, title_align="left", border_style="blue"))

    def end(self, seconds: float, commands: Sequence[str]) -> None:
        """Draw how long it took, then what to try next, below the frame so that whole lines can be copied."""
        took = Text.assemble(
            (f"以上每一步都真实执行并检查过，用时 {seconds:.1f} 秒。\n", ""),
            (f"Every step above was really done and checked, in {seconds:.1f} s.", "dim"),
        )
        self._console.print(Panel(took, border_style="green"))
        self._console.print(Text("接下来试试 / Try next:", "bold"))
        for command in commands:
            self._console.print(Text(f"  {command}", "bold cyan"), soft_wrap=True)
