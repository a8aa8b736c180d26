"""Checks the files of a tantivy index against the checksums in their footers."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

META = "meta.json"
_SEGMENT_SUFFIXES = ("fast", "fieldnorm", "idx", "pos", "store", "term")
_FOOTER_MAGIC = 1337


def _committed_files(folder: Path) -> list[str]:
    """The files of the last commit. Other files are being written, or were left by a crash."""
    names = []
    for segment in json.loads((folder / META).read_text("utf-8"))["segments"]:
        stem = segment["segment_id"].replace("-", "")
        names += [f"{stem}.{suffix}" for suffix in _SEGMENT_SUFFIXES]
        if segment["deletes"] is not None:
            names.append(f"{stem}.{segment['deletes']['opstamp']}.del")
    return names


def segment_sizes(folder: Path) -> list[int]:
    """How many documents were written into each segment of the last commit, deleted ones included."""
    return [int(segment["max_doc"]) for segment in json.loads((folder / META).read_text("utf-8"))["segments"]]


def checksum_problems(folder: Path) -> list[str]:
    """The committed files that do not match: each ends with a JSON footer that holds the CRC-32 of its content."""
    try:
        found = {name: _file_problem(folder / name) for name in _committed_files(folder)}
        if any(found.values()):
            # If a merge of another process has removed the file since, it is no longer listed.
            listed = set(_committed_files(folder))
            found = {name: problem for name, problem in found.items() if name in listed}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"{META} cannot be read: {error}"]
    return [f"{name} {problem}" for name, problem in found.items() if problem]


def _file_problem(file: Path) -> str:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return "is missing"
    if len(data) < 8:
        return "is cut short"
    length, magic = struct.unpack("<II", data[-8:])
    body_end = len(data) - 8 - length
    if magic != _FOOTER_MAGIC or body_end < 0:
        return "has no readable footer"
    try:
        expected = json.loads(data[body_end:-8])["crc"]
    except (ValueError, KeyError, TypeError):
        return "has a broken footer"
    return "" if zlib.crc32(data[:body_end]) == expected else "does not match its checksum"
