"""When a reflection is due, unless a caller says otherwise."""

from typing import Final

REFLECTION_THRESHOLD: Final = 4.0
"""What the importance of the facts without a reflection must add up to."""
REFLECTION_COOLDOWN_HOURS: Final = 1.0
"""How long ago the last reflection must be."""
