"""Comparing the tables of two runs: reading rows, their values, and the ratios between them."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TypeAlias

from bench.support.report import Report, Row

_VALUE = re.compile(r"(?P<number>\d[\d,]*(?:\.\d+)?) ?(?P<unit>ms|MB|s|/s|×)(?![\w])")
_SCALE = {"ms": 1e-3, "s": 1.0, "MB": 1.0, "/s": 1.0, "×": 1.0}

Key: TypeAlias = tuple[str, str]
"""The name of a report, and the label of a row in it."""


@dataclass(frozen=True)
class Value:
    """A number with its unit, as a table shows it."""

    number: float
    unit: str

    @classmethod
    def parse(cls, text: str) -> Value | None:
        """The first number with a known unit, or None."""
        match = _VALUE.search(text)
        if match is None:
            return None
        return cls(float(match["number"].replace(",", "")), match["unit"])

    def __str__(self) -> str:
        shown = f"{self.number:,.2f}" if self.number < 100 else f"{self.number:,.0f}"
        return f"{shown}{'' if self.unit in {'/s', '×'} else ' '}{self.unit}"


def slowdown(before: Value, now: Value) -> float | None:
    """How many times worse `now` is than `before`: above 1 is worse. None if the two cannot be compared."""
    rates = (before.unit == "/s", now.unit == "/s")
    first, second = before.number * _SCALE[before.unit], now.number * _SCALE[now.unit]
    times = {"ms", "s"}
    if not first or not second or (before.unit != now.unit and not {before.unit, now.unit} <= times):
        return None
    return first / second if all(rates) else second / first


@dataclass
class Results:
    """The values of all rows of one checkout, one for each round."""

    measured: dict[Key, list[Value]] = field(default_factory=lambda: defaultdict(list))
    """The column `measured`."""
    relative: dict[Key, list[Value]] = field(default_factory=lambda: defaultdict(list))
    """The column `result`, where it is a ratio to the baseline of the same run."""

    def add(self, name: str, rows: Iterable[Row]) -> None:
        """Add the rows of one report."""
        seen: Counter[str] = Counter()
        for row in rows:
            label = row.what.strip()
            seen[label] += 1
            key = (name, label if seen[label] == 1 else f"{label} ({seen[label]})")
            if value := Value.parse(row.measured):
                self.measured[key].append(value)
            if (ratio := Value.parse(row.result)) and ratio.unit == "×":
                self.relative[key].append(ratio)

    def read(self, directory: Path) -> None:
        """Add every report in a directory: JSON where there is some, otherwise the Markdown table."""
        for table in sorted(directory.glob("*.md")):
            rows = table.with_suffix(".json")
            if rows.exists():
                self.add(table.stem, (Row(**row) for row in json.loads(rows.read_text("utf-8"))["rows"]))
            else:
                self.add(table.stem, markdown_rows(table.read_text("utf-8")))


def markdown_rows(text: str) -> list[Row]:
    """The rows of a table that `Report.markdown` wrote."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split(" | ")]
        is_row = line.startswith("| ") and len(cells) == len(Report.HEADINGS)
        if is_row and tuple(cells) != Report.HEADINGS:
            found.append(Row(*cells))
    return found


@dataclass(frozen=True)
class Comparison:
    """One metric in both checkouts: medians of all rounds."""

    report: str
    label: str
    before: Value
    now: Value
    ratio: float
    """Above 1 is worse. The median of the ratios of the rounds."""
    relative: tuple[Value, Value] | None
    """The ratios to the baseline of the same run, before and now."""


def compare(before: Results, now: Results) -> list[Comparison]:
    """One comparison for each row that both checkouts report, in the order of `now`."""
    partners = _partners(before.measured, now.measured)
    found = []
    for key, values in now.measured.items():
        partner = partners.get(key)
        if partner is None:
            continue
        pairs = zip(before.measured[partner], values, strict=False)
        ratios = [ratio for pair in pairs if (ratio := slowdown(*pair)) is not None]
        if ratios:
            relative = None
            if before.relative.get(partner) and now.relative.get(key):
                relative = (_middle(before.relative[partner]), _middle(now.relative[key]))
            found.append(Comparison(*key, _middle(before.measured[partner]), _middle(values), median(ratios), relative))
    return found


def _partners(before: Mapping[Key, object], now: Mapping[Key, object]) -> dict[Key, Key]:
    """The same row in the other checkout: by report and label, or by a label that only one report has."""
    by_label: dict[str, list[Key]] = defaultdict(list)
    for key in before:
        by_label[key[1]].append(key)
    found = {}
    for key in now:
        if key in before:
            found[key] = key
        elif len(by_label[key[1]]) == 1:
            found[key] = by_label[key[1]][0]
    return found


def _middle(values: list[Value]) -> Value:
    return Value(median(value.number for value in values), values[-1].unit)
