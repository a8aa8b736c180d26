"""Renders output for terminals, with rich."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text as RichText

from jiyi.apps.cli.renderables import BAR_CELLS, Bars, Block, Table, Text, bar

_MIN_CELLS = 16

STYLES = {
    "": "",
    "title": "bold",
    "key": "bold cyan",
    "number": "green",
    "dim": "dim",
    "hit": "bold black on yellow",
    "good": "green",
    "warn": "yellow",
    "bad": "bold red",
}


def make_console(stream: TextIO) -> Console:
    """A console without markup: brackets and colons in a memory are shown as they are."""
    return Console(file=stream, highlight=False, markup=False, emoji=False)


def draw(blocks: Iterable[Block], stream: TextIO) -> None:
    """Print the blocks, folded to the width of the terminal."""
    console = make_console(stream)
    for block in blocks:
        if isinstance(block, Table):
            console.print(_table(block) if _room_needed(block) <= console.width else _stacked(block))
        elif isinstance(block, Bars):
            console.print(_indented(_bars(block), block.indent))
        else:
            console.print(_indented(rich_text(block), block.indent))


def rich_text(block: Text) -> RichText:
    """The same text for rich."""
    drawn = RichText(overflow="fold")
    for piece, style in block.spans:
        drawn.append(piece, STYLES[style])
    return drawn


def _indented(content: RenderableType, indent: int) -> Padding:
    return Padding(content, (0, 0, 0, indent), expand=False)


def _table(block: Table) -> RichTable:
    several = any("\n" in cell.plain or len(cell.plain) > 60 for row in block.rows for cell in row)
    table = RichTable(box=box.ROUNDED, show_lines=several, header_style="bold", border_style="dim")
    for column in block.columns:
        table.add_column(column.title, justify="right" if column.kind == "number" else "left", overflow="fold")
    for row in block.rows:
        table.add_row(*(rich_text(cell) for cell in row))
    return table


def _room_needed(block: Table) -> int:
    """How wide a terminal has to be for the table to be readable: rich would fold every column to a few letters."""
    needed = 1
    for place, column in enumerate(block.columns):
        cells = (row[place].plain for row in block.rows)
        longest = max(cell_len(line) for cell in (column.title, *cells) for line in cell.split("\n"))
        needed += 3 + (longest if column.kind == "number" else min(longest, _MIN_CELLS))
    return needed


def _stacked(block: Table) -> Group:
    """One row below the other, for narrow terminals."""
    drawn: list[RenderableType] = []
    for row in block.rows:
        pairs = RichTable.grid(padding=(0, 2, 0, 0))
        pairs.add_column(style="dim")
        pairs.add_column(overflow="fold")
        for column, cell in zip(block.columns, row, strict=True):
            if cell.plain:
                pairs.add_row(column.title, rich_text(cell))
        drawn += [pairs, ""]
    return Group(*drawn[:-1])


def _bars(block: Bars) -> RichTable:
    table = RichTable.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(width=BAR_CELLS, no_wrap=True)
    table.add_column(justify="right")
    for name, value in block.values:
        colour = "red" if value < 0 else "cyan"
        table.add_row(name, RichText(bar(value, block.scale), colour), f"{value:.3f}")
    return table
