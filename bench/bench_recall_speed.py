"""How long a hybrid `recall` takes, against the bare engines it stands on.

    python -m bench.bench_recall_speed                       (loads 1.2 million memories: half an hour or more)
    python -m bench.bench_recall_speed --large 0             (without the million)
    python -m bench.bench_recall_speed --data DIRECTORY      (keeps what it has loaded for the next time)
    python -m bench.bench_recall_speed --quick

Bare are, each by itself and for the same question: one tantivy query for the question's words in the same index with the
same scope filter, its 50 best ids read; one numpy product of the question's vector with all vectors of the scope, in
memory, as float32; one embedding of the question by the bundled model. Recall and the bare parts take turns.

Embedding a million texts takes an hour, and a product costs the same whatever is in the vectors. So the vectors of the
stored texts are made from a hash of the text (same dimension, same length), while every question is embedded by the real
model, inside recall as well.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from itertools import batched, islice
from pathlib import Path
from typing import Any

import numpy as np
import tantivy
from numpy.typing import NDArray
from tantivy import Occur, Query

from bench.support import (
    Report,
    Row,
    Times,
    interleaved,
    mean,
    milliseconds,
    parser,
    progress,
    rate,
    resident_bytes,
    verdict,
    work_directory,
)
from bench.texts import Texts
from jiyi import AgentMemory, create_memory
from jiyi.ports import ModelIdentity
from jiyi.providers.bundled import BundledEmbedder
from jiyi.text import Analyzer
