"""From proposals to entries: what is known is not stored twice, what corrects an older fact takes its place.

A model proposes, the code here decides: corrections reach only facts of the same user that are about the same thing.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from jiyi.errors import ModelError
from jiyi.longterm.dependencies import LongtermDeps, made_by
from jiyi.longterm.duplicates import Gist, fact_key, gist, is_known, related, support
from jiyi.longterm.extraction import Proposal, Round, propose
from jiyi.longterm.rule_router import route_by_rules
from jiyi.longterm.untrusted import is_steering
from jiyi.model.category import MemoryCategory
from jiyi.model.domain import SUBSTANTIAL
from jiyi.model.entry import MemoryEntry, Source
from jiyi.model.filters import Filters
from jiyi.model.identity import new_id
from jiyi.model.message import Message
from jiyi.ports import Amendment
from jiyi.recall.request import Request
from jiyi.text import fold
from jiyi.text.attributes import read_attribute

if TYPE_CHECKING:
    from jiyi.longterm.prototypes import Prototypes
    from jiyi.model.chat import Candidate
    from jiyi.model.job import Job

_log = logging.getLogger("jiyi.longterm")
_CANDIDATES = 12
_DOMAIN = SUBSTANTIAL[0]
_SHOWN_TO_MODEL = 8
_QUERY_CHARACTERS = 2_000
_LATE = timedelta(minutes=1)
_RECENT_ENTRIES = 200
_RECENT_SCOPES = 1_000
# Shares of the words of a fact: from when on the user said it, and from when on a reply only repeats a memory.
_SAID = 0.75
_REPEATED = 0.4
_NOTHING_NEW = 0.6
_PROBED = 50
# Words that stand in most statements of an attribute.
_PROBES = {
    "name": "我叫 名字 my name is called",
    "age": "今年 岁 years old",
    "city": "住在 搬到 live in moved to",
    "job": "工作 职业 是 work as",
    "employer": "工作 上班 入职 work at joined",
    "phone": "手机 电话 号码 phone number",
    "email": "邮箱 email address",
    "birthday": "生日 birthday",
    "favourite": "最喜欢 最爱 favourite favorite",
}
_IN_THE_FIRST_PERSON = (
    (re.compile(r"用户"), "我"),
    (re.compile(r"\b[Tt]he user's\b"), "my"),
    (re.compile(r"\b[Tt]he user is\b"), "I am"),
    (re.compile(r"\b[Tt]he user has\b"), "I have"),
    (re.compile(r"\b[Tt]he user (\w+?)s\b"), r"I \1"),
    (re.compile(r"\b[Tt]he user\b"), "I"),
)


class RecentlyRecalled:
    """Texts that were put into prompts lately, by scope: what a reply repeats of them is nothing new."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._texts: OrderedDict[str, deque[str]] = OrderedDict()

    def note(self, scope: str, texts: Sequence[str]) -> None:
        """These were recalled for the scope."""
        with self._guard:
            kept = self._texts.setdefault(scope, deque(maxlen=_RECENT_ENTRIES))
            kept.extend(text for text in texts if text not in kept)
            self._texts.move_to_end(scope)
            while len(self._texts) > _RECENT_SCOPES:
                self._texts.popitem(last=False)

    def of(self, scope: str) -> list[str]:
        """What was recalled for the scope."""
        with self._guard:
            return list(self._texts.get(scope, ()))


@dataclass(slots=True)
class _Decision:
    """What is to be stored and changed for one round."""

    entries: list[MemoryEntry] = field(default_factory=list)
    amendments: list[Amendment] = field(default_factory=list)


class FactIngestor:
    """Decides about the proposals of a round and stores the result in one transaction."""

    def __init__(self, deps: LongtermDeps, recalled: RecentlyRecalled) -> None:
        self._deps = deps
        self._recalled = recalled
        self._prototypes: Prototypes | None = None

    def keep_round(
        self, scope: str, conversation_id: str, messages: Sequence[tuple[str, Message, datetime]], job: Job
    ) -> list[MemoryEntry] | None:
        """Find, decide, store, and finish the job. `None` when somebody else has done the job meanwhile."""
        said = Round.of(_of(messages, "user"), _of(messages, "assistant"))
        model = self._deps.models.scorer
        shown = self._similar(scope, said.user or said.assistant, _SHOWN_TO_MODEL) if model is not None else []
        prototypes = self._judge() if model is None else None
        proposals = propose(model, said, [entry.content for entry in shown], prototypes)
        decision = self._decide(scope, conversation_id, said, messages, proposals, shown, made_by(model))
        return self._deps.store.commit(
            scope, decision.entries, decision.amendments, actor=self._deps.actor, finished=job
        )

    def keep_candidate(self, candidate: Candidate) -> list[MemoryEntry] | None:
        """Store what a conversation has proposed, unless it is known; `None` when it is not worth keeping.

        It is stored first and marked after: a crash in between means that it is known when it comes again.
        """
        scope = candidate.scope
        domain = candidate.domain or next((d for d in route_by_rules(candidate.content) if d in SUBSTANTIAL), _DOMAIN)
        importance = candidate.confidence if candidate.importance is None else candidate.importance
        proposal = Proposal(candidate.content, importance, domain)
        if not proposal.worth_keeping or is_steering(proposal.text):
            return None
        ends = dict.fromkeys((candidate.first_message_id, candidate.last_message_id))
        messages = self._deps.store.messages(scope, list(ends))
        said = Round.of(_of(messages, "user"), _of(messages, "assistant"))
        decision = self._decide(scope, candidate.session_id, said, messages, [proposal], (), candidate.made_by)
        return self._deps.store.commit(scope, decision.entries, decision.amendments, actor=self._deps.actor)

    def _judge(self) -> Prototypes | None:
        """Judges what no rule knows, where there is an embedder; made when the first round is looked at."""
        if self._prototypes is None and self._deps.embedder is not None:
            from jiyi.longterm.prototypes import Prototypes

            self._prototypes = Prototypes(self._deps.embedder)
        return self._prototypes

    # --- deciding ---------------------------------------------------------------------------------------------------

    def _decide(
        self,
        scope: str,
        conversation_id: str,
        said: Round,
        messages: Sequence[tuple[str, Message, datetime]],
        proposals: Sequence[Proposal],
        shown: Sequence[MemoryEntry],
        maker: str,
    ) -> _Decision:
        decision = _Decision()
        analyzer = self._deps.analyzer
        user_terms, reply_terms = (frozenset(analyzer.analyze(fold(t)).words) for t in (said.user, said.assistant))
        repeated = [gist(text, analyzer) for text in self._recalled.of(scope)] if said.assistant else []
        for proposal in proposals:
            new = gist(proposal.text, analyzer)
            # What the user did not say comes from the reply, and so perhaps from memory.
            by_user = support(new, user_terms) >= min(_SAID, support(new, reply_terms))
            if not by_user and any(_repeats(new, old, user_terms) for old in repeated):
                continue
            if any(is_known(new, gist(entry.content, analyzer)) for entry in decision.entries):
                continue
            old = self._similar(scope, proposal.text, _CANDIDATES)
            likeness = self._likeness(proposal.text, [entry.content for entry in old])
            gists = [gist(entry.content, analyzer) for entry in old]
            pairs = list(zip(old, gists, likeness, strict=True))
            if any(is_known(new, one, like) for _, one, like in pairs):
                continue
            if not by_user and any(_repeats(new, one, user_terms) for one in [*gists, *self._gone(scope)]):
                continue
            entry = self._entry(scope, conversation_id, proposal, messages, maker, by_user=by_user)
            if entry is None:
                continue
            decision.entries.append(entry)
            proposed = shown[proposal.corrects] if proposal.corrects is not None else None
            for target in self._corrected(entry, new, pairs, proposed):
                decision.amendments += self._supersede(target, entry)
        return decision

    def _corrected(
        self,
        entry: MemoryEntry,
        new: Gist,
        pairs: Sequence[tuple[MemoryEntry, Gist, float | None]],
        proposed: MemoryEntry | None,
    ) -> list[MemoryEntry]:
        """The facts that this one takes the place of: by the same attribute, or proposed by a model and about it."""
        found: list[MemoryEntry] = []
        attribute = _attribute(entry.content)
        if attribute is not None:
            near = {old.id: old for old, _, _ in pairs}
            near.update((old.id, old) for old in self._by_attribute(entry.scope, *attribute))
            found = [old for old in near.values() if _attribute(old.content) == attribute]
        if proposed is not None and proposed.id not in {old.id for old in found}:
            like = self._likeness(entry.content, [proposed.content])[0]
            if related(new, gist(proposed.content, self._deps.analyzer), like):
                found.append(proposed)
        return [
            old
            for old in found
            if old.scope == entry.scope
            and old.memory_type == "fact"
            and old.domain is not None
            and not old.pinned
            and old.event_time <= entry.event_time
        ]

    def _supersede(self, old: MemoryEntry, new: MemoryEntry) -> list[Amendment]:
        changes = [
            Amendment(old.id, {"is_active": False, "superseded_by": new.id}, version=old.version, because=new.id)
        ]
        if old.summarized_by is not None:
            # The reflection repeats what is no longer true: it goes, and its other facts speak for themselves again.
            reflection = self._deps.store.by_ids(old.scope, [old.summarized_by])
            for each in reflection:
                changes.append(Amendment(each.id, {"is_active": False, "superseded_by": new.id}, because=new.id))
                others = [fact_id for fact_id in each.source.references if fact_id != old.id]
                changes += [Amendment(fact_id, {"summarized_by": None}, because=new.id) for fact_id in others]
        return changes

    def _entry(
        self,
        scope: str,
        conversation_id: str,
        proposal: Proposal,
        messages: Sequence[tuple[str, Message, datetime]],
        maker: str,
        *,
        by_user: bool,
    ) -> MemoryEntry | None:
        key = fact_key(proposal.text)
        taken = self._deps.store.by_keys(scope, [key, *(f"{key}x{number}" for number in range(2, 50))])
        if any(entry.is_active for entry in taken.values()):
            return None
        if taken:
            # It was known, corrected or forgotten, and is said again: a new memory, the old one stays history.
            key = f"{key}x{len(taken) + 1}"
        now = self._deps.now()
        said_at = max((moment for _, _, moment in messages), default=now)
        return MemoryEntry(
            id=new_id(),
            scope=scope,
            key=key,
            content=proposal.text,
            category=MemoryCategory.CORE,
            memory_type="fact",
            domain=proposal.domain,
            importance_score=proposal.importance,
            conversation_id=conversation_id,
            source=Source(
                maker,
                "user" if by_user else "agent",
                tuple(message_id for message_id, _, _ in messages),
            ),
            # Work that was done late is still about when it was said.
            occurred_at=said_at if now - said_at > _LATE else None,
            created_at=now,
            updated_at=now,
            last_accessed_at=now,
        )

    # --- looking ----------------------------------------------------------------------------------------------------

    def _similar(self, scope: str, text: str, limit: int) -> list[MemoryEntry]:
        """The user's own memories that are most like a text. There are none in an empty store."""
        query = text[:_QUERY_CHARACTERS].strip()
        if not query:
            return []
        filters = Filters((scope,), memory_types=("fact",))
        return self._deps.similar.recall(Request(query, filters, limit=limit))

    def _by_attribute(self, scope: str, subject: str, attribute: str) -> list[MemoryEntry]:
        """Memories that may be about an attribute, whatever its value is."""
        probe = f"{_PROBES.get(attribute.split(maxsplit=1)[0], '')} {attribute} {'' if subject == 'user' else subject}"
        filters = Filters((scope,), memory_types=("fact",))
        return self._deps.similar.recall(Request(probe, filters, limit=_PROBED, mode="keyword"))

    def _likeness(self, text: str, others: Sequence[str]) -> list[float | None]:
        """How similar the meanings are; unknown without an embedder."""
        if self._deps.embedder is None or not others:
            return [None] * len(others)
        try:
            vectors = self._deps.embedder.embed([text, *others])
        except ModelError as error:
            # Words decide then. What cannot be compared by meaning is rather kept twice than lost.
            _log.warning("facts are compared without the embedder: %s", type(error).__name__)
            return [None] * len(others)
        return [float(vectors[0] @ vector) for vector in vectors[1:]]

    def _gone(self, scope: str) -> list[Gist]:
        """Facts that were corrected or forgotten: a reply that repeats one does not bring it back."""
        analyzer = self._deps.analyzer
        return [gist(entry.content, analyzer) for entry in self._deps.store.inactive(scope, limit=200)]


def _repeats(new: Gist, old: Gist, asked: frozenset[str]) -> bool:
    """Whether what a reply says is made of a memory and the question, and little else."""
    return is_known(new, old) or (
        (new.numbers, new.negated) == (old.numbers, old.negated)
        and support(new, old.terms) >= _REPEATED
        and support(new, old.terms | asked) >= _NOTHING_NEW
    )


def _attribute(text: str) -> tuple[str, str] | None:
    """(subject, attribute) that a fact surely sets; models write of the user where the user says I."""
    spoken = text
    for pattern, words in _IN_THE_FIRST_PERSON:
        spoken = pattern.sub(words, spoken)
    found = read_attribute(spoken)
    return None if found is None else found[:2]


def _of(messages: Sequence[tuple[str, Message, datetime]], role: str) -> str:
    return "\n".join(message.text for _, message, _ in messages if message.role == role)
