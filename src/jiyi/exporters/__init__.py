"""Memories in forms that people read and that other programs take in."""

from __future__ import annotations

from jiyi.exporters.run import FORMATS, ExportReport, export_to

__all__ = ["FORMATS", "ExportReport", "export_to"]
