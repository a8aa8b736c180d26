"""Memories of other programs: what they have exported becomes entries and conversations here.

    report = await import_from(memory, "chatgpt", "export.zip", dry_run=True)

Each format reads its files piece by piece, so that a file of any size needs little memory. Running an import again adds
nothing: what was imported before is left as it is, also what was changed or forgotten here since.
"""

from __future__ import annotations

from jiyi.importers.formats import FORMATS
from jiyi.importers.run import ImportReport, import_from

__all__ = ["FORMATS", "ImportReport", "import_from"]
