"""What the benchmark programs share: measuring in turn, tables with verdicts, arguments, baselines."""

from bench.support.measuring import (
    Action,
    Times,
    console,
    interleaved,
    mean,
    milliseconds,
    progress,
    rate,
    resident_bytes,
    timed,
)
from bench.support.programs import RESULTS, parser, work_directory
from bench.support.report import Report, Row, verdict

__all__ = [
    "RESULTS",
    "Action",
    "Report",
    "Row",
    "Times",
    "console",
    "interleaved",
    "mean",
    "milliseconds",
    "parser",
    "progress",
    "rate",
    "resident_bytes",
    "timed",
    "verdict",
    "work_directory",
]
