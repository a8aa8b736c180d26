"""How src/jiyi/providers/data/question_mean.npy was made: the mean vector of general questions in two languages.

    python -m bench.make_question_mean --out question_mean.npy

The questions in bench/sets/questions are about everyday things, half of them of the asker and half of others. They
belong to no set that recall is measured on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from jiyi.providers.bundled import BundledEmbedder

QUESTIONS = Path(__file__).parent / "sets" / "questions"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    texts = [
        line for language in ("en", "zh") for line in (QUESTIONS / f"{language}.txt").read_text("utf-8").splitlines()
    ]
    np.save(out, BundledEmbedder().embed(texts).mean(axis=0).astype(np.float16))


if __name__ == "__main__":
    main()
