"""The binary formats of pgvector's types, so that the package `pgvector` is not needed.

A `halfvec` is the number of dimensions and an unused number, two bytes each, then one IEEE half for each dimension; a
`vector` has floats of four bytes. All in network byte order.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg.adapt import Dumper
from psycopg.pq import Format

Floats = NDArray[np.float32]

_HEAD = struct.Struct(">HH")
_ARRAY = struct.Struct(">iiIii")
_FLOAT4, _FLOAT4_ARRAY = 700, 1021
_ELEMENT = np.dtype([("size", ">i4"), ("value", ">f4")])


@dataclass(frozen=True, slots=True)
class Reals:
    """A vector as a parameter: `:vector::real[]`, which PostgreSQL casts to any type of pgvector."""

    vector: Floats


class RealsDumper(Dumper):
    """Sends an array of floats in the binary format."""

    oid = _FLOAT4_ARRAY
    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        """The vector of a `Reals`."""
        return real_array(obj.vector)


def real_array(vector: Floats) -> bytes:
    """A vector as a binary parameter of type `real[]`: the array's header, and each float after its size."""
    elements = np.empty(len(vector), dtype=_ELEMENT)
    elements["size"] = 4
    elements["value"] = vector
    return _ARRAY.pack(1, 0, _FLOAT4, len(elements), 1) + elements.tobytes()


def halfvec_bytes(vector: Floats) -> bytes:
    """A vector for a binary COPY."""
    return _HEAD.pack(len(vector), 0) + vector.astype(">f2").tobytes()


def from_halfvec(data: bytes) -> Floats:
    """The value of a `halfvec` in a binary cursor."""
    return np.frombuffer(data, dtype=">f2", offset=_HEAD.size).astype(np.float32)


def from_halfvecs(values: Sequence[bytes], dimension: int) -> Floats:
    """Many values of one dimension as the rows of a matrix."""
    row = np.dtype([("head", ">u4"), ("vector", ">f2", dimension)])
    return np.frombuffer(b"".join(values), dtype=row)["vector"].astype(np.float32)


def from_vector(data: bytes) -> Floats:
    """The value of a `vector` in a binary cursor."""
    return np.frombuffer(data, dtype=">f4", offset=_HEAD.size).astype(np.float32)
