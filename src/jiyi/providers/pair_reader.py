"""PairReader: reads messages and facts for the network that tells which fact a message makes outdated."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from jiyi.providers.bundled import one_thread
from jiyi.providers.encoder import Encoder

if TYPE_CHECKING:
    from jiyi.ports import TextReading

__all__ = ["PairReader"]

_KEPT_TEXTS: Final = 256
"""The facts of a scope are read again for each message; a reading takes about 10 KB."""


class PairReader:
    """The bundled model, trained for pairs of texts (`bench/make_pair_network.py`). Safe for several threads."""

    def __init__(self) -> None:
        self._encoder = Encoder("replacement")
        self._known: OrderedDict[str, TextReading] = OrderedDict()
        self._guard = threading.Lock()

    def read(self, texts: Sequence[str]) -> list[TextReading]:
        """A reading of each text, in order."""
        with self._guard:
            missing = [text for text in dict.fromkeys(texts) if text not in self._known]
            if missing:
                with one_thread():
                    self._known.update(zip(missing, self._encoder.read(missing), strict=True))
            found = [self._known[text] for text in texts]
            for text in texts:
                self._known.move_to_end(text)
            while len(self._known) > _KEPT_TEXTS:
                self._known.popitem(last=False)
        return found
