"""Reflection: several facts become one thought on a higher level, which speaks for them from then on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from jiyi.longterm.compression import fitted
from jiyi.longterm.dependencies import LongtermDeps, made_by
from jiyi.longterm.structured_output import ask_json, wrong
from jiyi.longterm.untrusted import readable
from jiyi.model.category import MemoryCategory
from jiyi.model.domain import GENERAL_CHAT
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.identity import new_id, text_hash
from jiyi.model.job import JobDraft
from jiyi.ports import Amendment
from jiyi.prompts.longterm import LONGEST_REFLECTION, REFLECT_SCHEMA, reflect_messages
from jiyi.text.extractive import summarize

if TYPE_CHECKING:
    from jiyi.model.job import Job

REFLECTION_JOB: Final = "longterm.reflection"
IMPORTANCE: Final = 0.9
THRESHOLD: Final = 4.0
COOLDOWN_HOURS: Final = 1.0
MIN_FACTS: Final = 2
MAX_FACTS: Final = 50
_ASKED_CHARACTERS: Final = 600
_RULES_TOKENS: Final = 400


class Reflector:
    """Checks the design's conditions and makes reflections."""

    def __init__(self, deps: LongtermDeps) -> None:
        self._deps = deps

    def due(
        self, scope: str, threshold: float = THRESHOLD, cooldown_hours: float = COOLDOWN_HOURS
    ) -> list[MemoryEntry]:
        """The facts to reflect on, oldest first; none while the conditions are not met."""
        facts = self._deps.store.unsummarized(scope, limit=MAX_FACTS)[::-1]
        if len(facts) < MIN_FACTS or sum(fact.importance_score for fact in facts) < threshold:
            return []
        last = self._deps.store.last_reflection(scope)
        if last is not None and self._deps.now() - last < timedelta(hours=cooldown_hours):
            return []
        return facts

    def announce(self, scope: str, conversation_id: str | None) -> bool:
        """Queue a reflection if one is due; whether one was queued."""
        if not self.due(scope):
            return False
        payload = {"conversation_id": conversation_id}
        return self._deps.jobs.add(JobDraft(REFLECTION_JOB, scope, payload, dedupe_key=f"{REFLECTION_JOB}/{scope}"))

    def reflect(
        self,
        scope: str,
        conversation_id: str | None,
        *,
        threshold: float = THRESHOLD,
        cooldown_hours: float = COOLDOWN_HOURS,
        job: Job | None = None,
    ) -> MemoryEntry | None:
        """Make a reflection if one is due; `None` when it is not, or when somebody else has just made it."""
        facts = self.due(scope, threshold, cooldown_hours)
        if not facts:
            return None
        text = self._text([fact.content for fact in facts])
        entry = self._entry(scope, conversation_id, text, facts)
        amendments = [
            Amendment(fact.id, {"summarized_by": entry.id}, version=fact.version, because=entry.id) for fact in facts
        ]
        stored = self._deps.store.commit(scope, [entry], amendments, actor=self._deps.actor, finished=job)
        return stored[0] if stored else None

    def _text(self, facts: Sequence[str]) -> str:
        model = self._deps.models.reflection
        if model is None:
            return summarize(facts, max_tokens=_RULES_TOKENS, counter=self._deps.counter) or "\n".join(facts)

        def read(reply: Any) -> str:
            text = reply.get("reflection") if isinstance(reply, dict) else None
            if not isinstance(text, str) or not readable(text):
                raise wrong(model, "no reflection")
            return fitted(readable(text), LONGEST_REFLECTION)

        messages = reflect_messages(facts, _ASKED_CHARACTERS)
        return ask_json(model, messages, REFLECT_SCHEMA, read, max_tokens=2 * LONGEST_REFLECTION)

    def _entry(self, scope: str, conversation_id: str | None, text: str, facts: Sequence[MemoryEntry]) -> MemoryEntry:
        domains = _domains(facts)
        now = self._deps.now()
        ids = tuple(fact.id for fact in facts)
        return MemoryEntry(
            id=new_id(),
            scope=scope,
            # Of the same facts there is one reflection, whoever makes it.
            key=f"ltr{text_hash(*sorted(ids))[:20]}",
            content=text,
            category=MemoryCategory.CORE,
            memory_type="reflection",
            domain=domains[0],
            more_domains=tuple(domains[1:]),
            importance_score=IMPORTANCE,
            conversation_id=conversation_id,
            source=Source(made_by(self._deps.models.reflection), "agent", ids),
            created_at=now,
            updated_at=now,
            last_accessed_at=now,
        )


def _domains(facts: Sequence[MemoryEntry]) -> list[str]:
    """The domains of the facts, the one with most first; small talk only if there is nothing else."""
    counts = Counter(domain for fact in facts for domain in fact.domains)
    ordered = [domain for domain, _ in counts.most_common() if domain != GENERAL_CHAT]
    return ordered or [GENERAL_CHAT]
