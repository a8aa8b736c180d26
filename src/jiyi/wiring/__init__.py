"""From settings to objects. Only this package imports backends and providers."""

from jiyi.wiring.assembly import assemble, build
from jiyi.wiring.models import chat_model

__all__ = ["assemble", "build", "chat_model"]
