"""Question sets with known answers: LoCoMo's file, or one scope a line as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_LOCOMO_TIME = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True)
class Document:
    id: str
    text: str
    time: datetime | None
    session: str | None
    position: int | None = None


@dataclass(frozen=True)
class Asked:
    text: str
    gold: frozenset[str]
    category: str


@dataclass
class Scope:
    name: str
    documents: list[Document]
    questions: list[Asked]


def load(path: Path) -> dict[str, list[Scope]]:
    """The sets in a file, by name."""
    if path.suffix == ".jsonl":
        lines = path.read_text("utf-8").splitlines()
        return {path.stem: [_jsonl_scope(json.loads(line)) for line in lines if line.strip()]}
    data = json.loads(path.read_text("utf-8"))
    return {
        f"{path.stem} turns": [_locomo_turns(sample) for sample in data],
        f"{path.stem} sessions": [_locomo_sessions(sample) for sample in data],
    }


def _jsonl_scope(data: dict[str, Any]) -> Scope:
    documents = []
    for fields in data["docs"]:
        identifier, text, moment, session = (*fields, None, None)[:4]
        when = datetime.fromisoformat(moment) if moment else None
        documents.append(
            Document(str(identifier), text, when.replace(tzinfo=when.tzinfo or UTC) if when else None, session)
        )
    asked = [Asked(q["q"], frozenset(map(str, q["gold"])), str(q.get("cat", ""))) for q in data["queries"]]
    return _scope(str(data["conv"]), documents, asked)


def _scope(name: str, documents: list[Document], asked: list[Asked]) -> Scope:
    known = {document.id for document in documents}
    kept = [Asked(q.text, q.gold & known, q.category) for q in asked if q.gold & known]
    return Scope(name, documents, kept)


def _locomo_spoken(sample: dict[str, Any]) -> Iterator[tuple[str, datetime, list[dict[str, Any]]]]:
    conversation = sample["conversation"]
    number = 1
    while f"session_{number}_date_time" in conversation:
        turns = conversation.get(f"session_{number}") or []
        moment = datetime.strptime(conversation[f"session_{number}_date_time"], _LOCOMO_TIME).replace(tzinfo=UTC)
        if turns:
            yield f"session_{number}", moment, turns
        number += 1


def _said(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [shares a photo of {caption}]" if caption else "")


def _locomo_asked(sample: dict[str, Any], answer: Callable[[str], str]) -> list[Asked]:
    found = []
    for item in sample["qa"]:
        evidence = re.findall(r"D\d+:\d+", " ".join(map(str, item.get("evidence") or [])))
        found.append(Asked(item["question"], frozenset(map(answer, evidence)), str(item["category"])))
    return found


def _locomo_turns(sample: dict[str, Any]) -> Scope:
    documents = [
        Document(turn["dia_id"], _said(turn), moment, session, position)
        for session, moment, turns in _locomo_spoken(sample)
        for position, turn in enumerate(turns)
    ]
    return _scope(sample["sample_id"], documents, _locomo_asked(sample, lambda evidence: evidence))


def _locomo_sessions(sample: dict[str, Any]) -> Scope:
    documents = [
        Document(session, "\n".join(map(_said, turns)), moment, None)
        for session, moment, turns in _locomo_spoken(sample)
    ]
    asked = _locomo_asked(sample, lambda evidence: f"session_{evidence[1:].split(':')[0]}")
    return _scope(sample["sample_id"], documents, asked)
