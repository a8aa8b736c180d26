"""What was put into prompts lately, so that a reply that repeats it is not taken for news."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence

_MAX_ENTRIES = 200
_MAX_SCOPES = 1_000


class RecentlyRecalled:
    """Texts that were put into prompts lately, by scope: what a reply repeats of them is nothing new."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._texts: OrderedDict[str, deque[str]] = OrderedDict()

    def note(self, scope: str, texts: Sequence[str]) -> None:
        """These were recalled for the scope."""
        with self._guard:
            kept = self._texts.setdefault(scope, deque(maxlen=_MAX_ENTRIES))
            kept.extend(text for text in texts if text not in kept)
            self._texts.move_to_end(scope)
            while len(self._texts) > _MAX_SCOPES:
                self._texts.popitem(last=False)

    def of(self, scope: str) -> list[str]:
        """What was recalled for the scope."""
        with self._guard:
            return list(self._texts.get(scope, ()))
