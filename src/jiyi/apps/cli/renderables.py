"""The output of a command as plain data. One renderer draws it for terminals, another for pipes."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Text(NamedTuple):
    """One or more lines: pieces of text, each with the name of a style ("" for none)."""

    spans: tuple[tuple[str, str], ...]
    indent: int = 0

    @property
    def plain(self) -> str:
        """The text without styles."""
        return "".join(text for text, _ in self.spans)


class Column(NamedTuple):
    """A column of a table. A `wide` column takes the remaining width; a `number` is aligned to the right."""

    title: str
    kind: str = "short"


class Table(NamedTuple):
    """Rows of cells under titles."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Text, ...], ...]


class Bars(NamedTuple):
    """Named numbers, drawn against a common scale."""

    values: tuple[tuple[str, float], ...]
    scale: float
    indent: int = 0


Block: TypeAlias = Text | Table | Bars

BAR_CELLS = 24


def text(value: str, style: str = "", *, indent: int = 0) -> Text:
    """A text in one style."""
    return Text(((value, style),), indent)


def bar(value: float, scale: float) -> str:
    """A bar of blocks in eighths of a cell; any value but 0 shows at least one eighth."""
    share = min(abs(value) / scale, 1.0) if scale > 0 else 0.0
    eighths = round(share * BAR_CELLS * 8)
    if value and not eighths:
        eighths = 1
    whole, rest = divmod(eighths, 8)
    return "█" * whole + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[rest]
