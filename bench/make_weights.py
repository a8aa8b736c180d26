"""Write the weights of the classifier that needs no embedder, as they are learned from the prototypes.

python -m bench.make_weights
"""

from __future__ import annotations

import json
from pathlib import Path

import jiyi.longterm
from jiyi.longterm.classifier import feature_weights
from jiyi.longterm.feature_classifier import WEIGHTS


def main() -> None:
    target = Path(jiyi.longterm.__file__).parent / WEIGHTS
    target.write_text(json.dumps(feature_weights(), separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
