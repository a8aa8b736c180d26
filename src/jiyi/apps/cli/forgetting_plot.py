"""Plots of forgetting curves as text, SVG and PNG. Only PNG needs another package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from jiyi.errors import InvalidInputError, MissingDependencyError
from jiyi.model.forgetting_curve import EbbinghausForgetting

_MARKS = "●◆▲■✚✖"
_COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2")
_WIDTH, _HEIGHT = 60, 14


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of the picture."""

    name: str
    points: tuple[tuple[float, float], ...]
    """(days, retention)."""
    falls_after: float | None
    """Days until it falls below the threshold; `None` if that is never."""


def make_curves(
    forgetting: EbbinghausForgetting,
    accesses: Sequence[int],
    importance: float,
    days: float,
    threshold: float,
    *,
    points: int = 200,
) -> list[Curve]:
    """A curve for each number of recalls."""
    found = []
    for count in accesses:
        steps = (days * step / (points - 1) for step in range(points))
        values = tuple((day, forgetting.calculate_retention(24 * day, count, importance)) for day in steps)
        hours = forgetting.hours_until(threshold, count, importance)
        name = f"recalled {count} time" + ("" if count == 1 else "s")
        found.append(Curve(name, values, None if hours == float("inf") else hours / 24))
    return found


def as_text(curves: Sequence[Curve], days: float, threshold: float) -> list[str]:
    """The picture in characters, and what each mark means."""
    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    level = _row(threshold)
    grid[level] = ["┄"] * _WIDTH
    for number, curve in enumerate(curves):
        for column in range(_WIDTH):
            place = round(column * (len(curve.points) - 1) / (_WIDTH - 1))
            grid[_row(curve.points[place][1])][column] = _MARKS[number % len(_MARKS)]
    lines = [f"{_level(row):>5} │{''.join(line)}" for row, line in enumerate(grid)]
    lines.append(f"      └{'─' * _WIDTH}")
    lines.append(f"       0{f'{days:g} days':>{_WIDTH - 1}}")
    for number, curve in enumerate(curves):
        falls = "never" if curve.falls_after is None else f"after {curve.falls_after:.1f} days"
        lines.append(f"       {_MARKS[number % len(_MARKS)]} {curve.name}: below {threshold:g} {falls}")
    return lines


def _row(retention: float) -> int:
    return _HEIGHT - 1 - round(max(0.0, min(1.0, retention)) * (_HEIGHT - 1))


def _level(row: int) -> str:
    value = (_HEIGHT - 1 - row) / (_HEIGHT - 1)
    return f"{value:.2f}" if row % 3 == (_HEIGHT - 1) % 3 else ""


def as_svg(curves: Sequence[Curve], days: float, threshold: float) -> str:
    """The picture as SVG."""
    left, top, width, height = 60, 20, 640, 360

    def place(day: float, retention: float) -> str:
        return f"{left + width * day / days:.1f},{top + height * (1 - retention):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 240}" height="{height + 80}">',
        "<style>text { font: 13px sans-serif }</style>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<path d="M{left},{top}V{top + height}H{left + width}" fill="none" stroke="#333"/>',
    ]
    for step in range(6):
        share = step / 5
        y, x = top + height * (1 - share), left + width * share
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.1f}</text>')
        parts.append(f'<text x="{x:.1f}" y="{top + height + 20}" text-anchor="middle">{days * share:g}</text>')
    parts.append(f'<text x="{left + width / 2:.1f}" y="{top + height + 44}" text-anchor="middle">days</text>')
    parts.append(
        f'<path d="M{place(0, threshold)}L{place(days, threshold)}" stroke="#999" stroke-dasharray="4 4" fill="none"/>'
    )
    for number, curve in enumerate(curves):
        colour = _COLOURS[number % len(_COLOURS)]
        line = "L".join(place(day, value) for day, value in curve.points)
        parts.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = top + 16 + 20 * number
        parts.append(f'<path d="M{left + width + 16},{y - 4}h24" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + width + 46}" y="{y}">{escape(curve.name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def save(curves: Sequence[Curve], days: float, threshold: float, file: Path) -> None:
    """Write the picture to an SVG or PNG file, by its name."""
    kind = file.suffix.lower()
    if kind not in {".svg", ".png"}:
        raise InvalidInputError(f"{file} is neither .svg nor .png; name a file that ends so")
    try:
        if kind == ".svg":
            file.write_text(as_svg(curves, days, threshold), "utf-8")
        else:
            _save_png(curves, threshold, file)
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be written: {error.strerror}") from error


def _save_png(curves: Sequence[Curve], threshold: float, file: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "a PNG needs the package matplotlib; install it: pip install 'jiyi[plot]', or name a .svg file"
        ) from None
    figure = Figure(figsize=(8, 4.5), dpi=150)
    axes = figure.add_subplot()
    for number, curve in enumerate(curves):
        days, values = zip(*curve.points, strict=True)
        axes.plot(days, values, label=curve.name, color=_COLOURS[number % len(_COLOURS)])
    axes.axhline(threshold, color="#999", linestyle="--")
    axes.set_xlabel("days")
    axes.set_ylabel("retention")
    axes.set_ylim(0, 1.02)
    axes.legend()
    figure.savefig(file)
