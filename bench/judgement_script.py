"""A scripted model for bench.judgement: it proposes the labelled facts, and wrong corrections wherever it can.

It shows what the code makes of a model's proposals: every fact that it is given is one it could have found, and of the
corrections that it proposes only those may be carried out that concern the same subject and attribute.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bench.judgement_sets import domains_of
from jiyi.prompts.longterm import EXTRACT_SCHEMA
from jiyi.testing.models import ModelCall, ScriptedModel
from jiyi.text import fold, sentences


class ScriptedJudge(ScriptedModel):
    """Knows the labels of the item that is being judged."""

    def __init__(self) -> None:
        super().__init__(self._reply_to, name="scripted")
        self._item: Mapping[str, Any] = {}

    def expect(self, item: Mapping[str, Any]) -> None:
        """The next rounds belong to this item."""
        self._item = item

    def _reply_to(self, call: ModelCall) -> str:
        if call.schema != EXTRACT_SCHEMA:
            return json.dumps({"domains": ["user_preferences"], "reflection": "…", "summary": "…"})
        data = json.loads(call.messages[-1].text)
        user, known = data["user"], [each["memory"] for each in data["known"]]
        wanted = self._item.get("keep")
        texts = _statements(user) if wanted is None else [_stating(user, fact["must"]) for fact in wanted]
        domains = [domains_of(fact)[0] for fact in wanted or ()]
        memories = [
            {
                "importance_score": 0.9,
                "extracted_fact": text,
                "domain": domains[place] if place < len(domains) else "lifestyle_and_interests",
                # A careless model: whatever was shown first is corrected by whatever comes.
                "corrects": self._corrected(known) if place == 0 else None,
            }
            for place, text in enumerate(texts)
        ]
        if memories:
            # One item of the reply is broken, as replies of small models are: it must cost nothing but itself.
            memories.append({"importance_score": 0.9, "extracted_fact": None, "domain": "nonsense", "corrects": None})
        return json.dumps({"memories": memories}, ensure_ascii=False)

    def _corrected(self, known: Sequence[str]) -> int | None:
        gone = self._item.get("gone") or ()
        for number, text in enumerate(known, start=1):
            if any(_holds(fact["must"], text) for fact in gone):
                return number
        return 1 if known else None


def _statements(user: str) -> list[str]:
    return sentences(user)[:10]


def _stating(user: str, must: Sequence[Any]) -> str:
    """The shortest stretch of sentences that has every part."""
    parts = sentences(user) or [user]
    for size in range(1, len(parts) + 1):
        for start in range(len(parts) - size + 1):
            text = " ".join(parts[start : start + size])
            if _holds(must, text):
                return text
    return user


def _holds(must: Sequence[Any], text: str) -> bool:
    folded = fold(text)
    return all(any(fold(part) in folded for part in ([each] if isinstance(each, str) else each)) for each in must)
