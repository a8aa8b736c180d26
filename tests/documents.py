"""The documents as tests read them: their blocks, their text, and whether an output is the one shown."""

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pytest

from jiyi.config import PREFIX

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(
    r"(?:^<!-- (?P<marker>run|output)(?:: (?P<words>[^\n]*?))? -->\n+)?^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
_DAY = re.compile(r"(?<=memory/)\d{4}-\d\d-\d\d(?=\.md)")
_ID = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b01[0-9a-f]{6}-[0-9a-f]{4}\b|\b1[0-9a-hjkmnp-tv-z]{15}\b"
)
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_BAR = re.compile(r"[█▉▊▋▌▍▎▏]+")
_TOLERANCE = 0.05


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    document: str
    line: int
    language: str
    body: str
    marker: str | None
    settings: tuple[tuple[str, str], ...]
    output: str | None

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def read(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


def blocks(document: str) -> list[Block]:
    text = read(document)
    found: list[Block] = []
    matches = list(_BLOCK.finditer(text))
    for match, following in zip_longest(matches, matches[1:]):
        prints = following is not None and following["marker"] == "output"
        found.append(
            Block(
                document,
                text.count("\n", 0, match.start("body")),
                match["language"],
                match["body"],
                match["marker"],
                tuple((name, value) for name, _, value in (word.partition("=") for word in _words(match))),
                following["body"] if prints and following is not None else None,
            )
        )
    return found


def _words(match: re.Match[str]) -> list[str]:
    return (match["words"] or "").split()


def prose(document: str) -> str:
    """The text without its blocks."""
    return _BLOCK.sub("", read(document))


def headings(document: str) -> list[str]:
    return re.findall(r"^(#+ .+)$", prose(document), re.MULTILINE)


def environment(block: Block) -> dict[str, str]:
    return {"JIYI_TIME_ZONE": "UTC", **{PREFIX + name.upper(): value for name, value in block.settings}}


def alike(said: str, printed: str) -> bool:
    """Whether the document shows what was said, but for times, ids, the lengths of bars and the last decimals."""

    def shape(text: str) -> list[str]:
        plain = _NUMBER.sub("#", _BAR.sub(" ", _ID.sub("ID", _DAY.sub("DAY", _TIME.sub("TIME", text)))))
        return [" ".join(line.split()) for line in plain.strip().splitlines()]

    numbers = [[float(number) for number in _NUMBER.findall(_TIME.sub("", text))] for text in (said, printed)]
    return shape(said) == shape(printed) and numbers[0] == pytest.approx(numbers[1], abs=_TOLERANCE)
