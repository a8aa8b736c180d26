"""Reflection: several facts together, one level higher. It adds a way to find them and takes none away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from jiyi.longterm.compression import fitted
from jiyi.longterm.dependencies import MADE_BY_RULES, LongtermDeps, made_by
from jiyi.longterm.structured_output import ask_json, wrong
from jiyi.longterm.untrusted import readable
from jiyi.model.category import MemoryCategory
from jiyi.model.domain import GENERAL_CHAT
from jiyi.model.entry import REFLECTION_TYPE, MemoryEntry, Source
from jiyi.model.identity import new_id, text_hash
from jiyi.model.job import REFLECTION_JOB, JobDraft
from jiyi.model.reflection import REFLECTION_COOLDOWN_HOURS, REFLECTION_THRESHOLD
from jiyi.model.relevance import fitting
from jiyi.ports import Amendment
from jiyi.prompts.longterm import MAX_REFLECTION_CHARS, REFLECT_SCHEMA, reflect_messages
from jiyi.recall.reflections import in_free_places
from jiyi.text import detect_language, fold

if TYPE_CHECKING:
    from jiyi.model.job import Job

IMPORTANCE: Final = 0.9
MIN_FACTS: Final = 2
MAX_FACTS: Final = 50
_ASKED_CHARACTERS: Final = 600
_ENDS: Final = ":：;；.。!！?？"
_HEADINGS: Final = {
    "zh": {
        "user_preferences": "偏好",
        "professional_and_academic": "工作与学习",
        "lifestyle_and_interests": "生活与兴趣",
        "social_and_relationships": "家人与朋友",
        "tasks_and_schedules": "安排",
        GENERAL_CHAT: "其他",
    },
    "en": {
        "user_preferences": "Preferences",
        "professional_and_academic": "Work and study",
        "lifestyle_and_interests": "Life and interests",
        "social_and_relationships": "Family and friends",
        "tasks_and_schedules": "Schedule",
        GENERAL_CHAT: "Other",
    },
}


class Reflector:
    """Makes reflections, when there are enough new facts that matter and the last one is long enough ago."""

    def __init__(self, deps: LongtermDeps) -> None:
        self._deps = deps

    def due(
        self,
        scope: str,
        threshold: float = REFLECTION_THRESHOLD,
        cooldown_hours: float = REFLECTION_COOLDOWN_HOURS,
    ) -> list[MemoryEntry]:
        """The facts to reflect on, oldest first; none while the conditions are not met."""
        facts = self._deps.store.unsummarized(scope, limit=MAX_FACTS)[::-1]
        if len(facts) < MIN_FACTS or sum(fact.importance_score for fact in facts) < threshold:
            return []
        last = self._deps.store.last_reflection(scope)
        if last is not None and self._deps.now() - last < timedelta(hours=cooldown_hours):
            return []
        return facts

    def enqueue_if_due(self, scope: str, conversation_id: str | None) -> bool:
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
        threshold: float = REFLECTION_THRESHOLD,
        cooldown_hours: float = REFLECTION_COOLDOWN_HOURS,
        job: Job | None = None,
    ) -> MemoryEntry | None:
        """Make a reflection if one is due; `None` when it is not, or when its facts have changed meanwhile."""
        facts = self.due(scope, threshold, cooldown_hours)
        if not facts:
            return None
        text = self._text(facts)
        entry = self._entry(scope, conversation_id, text, facts)
        amendments = [
            Amendment(fact.id, {"summarized_by": entry.id}, version=fact.version, because=entry.id) for fact in facts
        ]
        # What was forgotten or corrected while the model wrote must not live on in the reflection.
        stored = self._deps.store.commit(
            scope, [entry], amendments, actor=self._deps.actor, finished=job, all_or_nothing=True
        )
        return stored[0] if stored else None

    def _text(self, facts: Sequence[MemoryEntry]) -> str:
        model = self._deps.models.reflection
        if model is None:
            return profile(facts)

        def read(reply: Any) -> str:
            text = reply.get("reflection") if isinstance(reply, dict) else None
            if not isinstance(text, str) or not readable(text):
                raise wrong(model, "no reflection")
            return fitted(readable(text), MAX_REFLECTION_CHARS)

        messages = reflect_messages([fact.content for fact in facts], _ASKED_CHARACTERS)
        return ask_json(model, messages, REFLECT_SCHEMA, read, max_tokens=2 * MAX_REFLECTION_CHARS)

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
            memory_type=REFLECTION_TYPE,
            domain=domains[0],
            more_domains=tuple(domains[1:]),
            importance_score=IMPORTANCE,
            conversation_id=conversation_id,
            source=Source(made_by(self._deps.models.reflection), "agent", ids),
            created_at=now,
            updated_at=now,
            last_accessed_at=now,
        )


def profile(facts: Sequence[MemoryEntry]) -> str:
    """The facts word for word, by domain and in their order: all that can be said honestly without a model."""
    language = detect_language("\n".join(fact.content for fact in facts))
    by_domain: dict[str, list[str]] = {}
    for fact in facts:
        by_domain.setdefault(fact.domain or GENERAL_CHAT, []).append(fact.content)
    colon, joiner = ("：", "；") if language == "zh" else (": ", "; ")
    headings = _HEADINGS[language]
    return "\n".join(f"{headings.get(domain, domain)}{colon}{joiner.join(said)}" for domain, said in by_domain.items())


def without_repetition(
    facts: Sequence[MemoryEntry],
    reflections: Sequence[MemoryEntry],
    limit: int,
    may_be_hidden: Callable[[Sequence[MemoryEntry]], bool] = lambda _: True,
) -> list[MemoryEntry]:
    """The facts, at most `limit` of them, with reflections among them that take the place of none.

    A reflection by a model stands in for its facts (they are then its `context`) only where it says all of them word
    for word, a prompt would show each of them, and `may_be_hidden` agrees. One of which no fact is among the hits fills
    a free place.
    """
    chosen = list(facts[:limit])
    for reflection in reflections:
        of_it = set(reflection.source.references)
        shown = [hit for hit in chosen if hit.id in of_it]
        if not shown:
            chosen = in_free_places(chosen, [reflection], limit)
        elif (
            reflection.source.kind != MADE_BY_RULES
            and len(shown) == len(of_it) == len(fitting(shown))
            and all(says(reflection.content, hit.content) for hit in shown)
            and may_be_hidden(shown)
        ):
            # What a caller shows from some relevance on, it shows of the facts as well.
            relevance = max(hit.relevance_score or 0.0 for hit in (reflection, *shown))
            whole = replace(reflection, relevance_score=relevance, context=tuple(shown))
            chosen = in_free_places([hit for hit in chosen if hit.id not in of_it], [whole], limit)
    return chosen


def says(text: str, fact: str) -> bool:
    """Whether a text has a fact word for word, as a clause of its own: not "nobody thinks that I like tea"."""
    words = re.escape(fold(fact).strip().rstrip(_ENDS))
    return bool(words) and re.search(rf"(?:^|[{_ENDS}\n])\s*{words}\s*(?:$|[{_ENDS}\n])", fold(text)) is not None


def _domains(facts: Sequence[MemoryEntry]) -> list[str]:
    """The domains of the facts, the one with most first; small talk only if there is nothing else."""
    counts = Counter(domain for fact in facts for domain in fact.domains)
    ordered = [domain for domain, _ in counts.most_common() if domain != GENERAL_CHAT]
    return ordered or [GENERAL_CHAT]
