"""Renders output for pipes and files: no colours, no frames, no folding, columns aligned also in Chinese."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jiyi.apps.cli.renderables import BAR_CELLS, Bars, Block, Table, Text, bar
from jiyi.apps.cli.sanitize import cells

_GAP = "  "


def lines(blocks: Iterable[Block]) -> Iterator[str]:
    """The lines to print, without line ends."""
    for block in blocks:
        if isinstance(block, Table):
            yield from _table(block)
        elif isinstance(block, Bars):
            yield from _bars(block)
        else:
            yield from (" " * block.indent + line for line in block.plain.split("\n"))


def _table(table: Table) -> Iterator[str]:
    titles = tuple(Text(((column.title, ""),)) for column in table.columns)
    rows = [[cell.plain.split("\n") for cell in row] for row in (titles, *table.rows)]
    widths = [max(cells(line) for row in rows for line in row[place]) for place in range(len(table.columns))]
    for row in rows:
        for number in range(max(len(cell) for cell in row)):
            parts = (
                _padded(cell[number] if number < len(cell) else "", width, right=column.kind == "number")
                for cell, width, column in zip(row, widths, table.columns, strict=True)
            )
            yield _GAP.join(parts).rstrip()


def _bars(bars: Bars) -> Iterator[str]:
    width = max((cells(name) for name, _ in bars.values), default=0)
    for name, value in bars.values:
        drawn = bar(value, bars.scale)
        yield " " * bars.indent + f"{_padded(name, width)}{_GAP}{_padded(drawn, BAR_CELLS)}{_GAP}{value:7.3f}"


def _padded(value: str, width: int, *, right: bool = False) -> str:
    room = " " * max(0, width - cells(value))
    return room + value if right else value + room
