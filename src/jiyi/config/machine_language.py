"""The language of the machine, for texts that are written once, such as the templates of a workspace."""

from __future__ import annotations

import os
from collections.abc import Mapping


def machine_language(environment: Mapping[str, str] | None = None) -> str:
    """`zh` where the variable LANG says Chinese, otherwise `en`."""
    env = os.environ if environment is None else environment
    return "zh" if env.get("LANG", "").lower().startswith("zh") else "en"
