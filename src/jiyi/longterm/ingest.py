"""From proposals to entries: what is known is not stored twice, and a correction replaces one claim and nothing else.

A model proposes, the code here decides: corrections reach only facts of the same user, subject and attribute.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from jiyi.errors import ModelError
from jiyi.longterm.antecedent import with_antecedent
from jiyi.longterm.claim_reading import in_first_person, may_be_told, probe_of, read_claim
from jiyi.longterm.classifier import StatementClassifier
from jiyi.longterm.conflicts import inherited
from jiyi.longterm.corrections import CONFLICTS, REPLACES, Finding, KnownFact, judge, supports
from jiyi.longterm.dependencies import MADE_BY_RULES, LongtermDeps, made_by
from jiyi.longterm.duplicates import LexicalFeatures, is_known, lexical_features, support
from jiyi.longterm.extraction import Round, propose
from jiyi.longterm.extraction_reply import Proposal
from jiyi.longterm.late_facts import sets_the_same, told_since, with_conflict
from jiyi.longterm.replacement import ReplacementModel
from jiyi.longterm.residue import relative_named_in
from jiyi.longterm.rests import free_key, rest_of
from jiyi.longterm.rule_router import route_by_rules
from jiyi.longterm.set_attributes import attributes_set_by
from jiyi.longterm.superseding import superseded_by
from jiyi.longterm.told_changes import changed_fact
from jiyi.model.category import MemoryCategory
from jiyi.model.claim import Claim
from jiyi.model.domain import SUBSTANTIAL
from jiyi.model.entry import FACT_TYPE, MAX_NAME, MemoryEntry, Source
from jiyi.model.filters import Filters
from jiyi.model.identity import new_id
from jiyi.model.message import Message, imported_from
from jiyi.model.storable import storable
from jiyi.ports import Amendment
from jiyi.ports.longterm import MessagesDeletedError
from jiyi.recall.request import Request
from jiyi.text import fold
from jiyi.text.statements.keeping.others_matters import without_matters_of_others
from jiyi.text.statements.keeping.steering import is_steering
from jiyi.text.statements.parts.claims import only_asks
from jiyi.text.statements.replacing.change_words import is_temporary

if TYPE_CHECKING:
    from jiyi.longterm.recently_recalled import RecentlyRecalled
    from jiyi.model.chat import Candidate
    from jiyi.model.job import Job

_log = logging.getLogger("jiyi.longterm")
_CANDIDATES = 12
_DEFAULT_DOMAIN = SUBSTANTIAL[0]
_SHOWN_TO_MODEL = 8
_QUERY_CHARACTERS = 2_000
_LATE = timedelta(minutes=1)
# Facts that a message may be about without sharing a word with them: so many of the newest are compared.
_NEWEST_COMPARED = 60
_ANTECEDENTS = 5
# From these shares of a fact's words on: the user said it; a reply only repeats a memory.
_SAID = 0.75
_REPEATED = 0.4
_NOTHING_NEW = 0.6
_PROBED = 50


@dataclass(slots=True)
class _Decision:
    """What is to be stored and changed for one round."""

    entries: list[MemoryEntry] = field(default_factory=list)
    amendments: list[Amendment] = field(default_factory=list)
    replaced: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Work:
    """One round that is being decided about."""

    scope: str
    conversation_id: str
    said: Round
    messages: Sequence[tuple[str, Message, datetime]]
    made_by: str

    @property
    def speaker(self) -> str | None:
        """The name of whoever spoke, where the messages have one; of several people nobody's."""
        said = (message.name or "" for _, message, _ in self.messages if message.role == "user")
        names = {storable(str(name)).strip()[:MAX_NAME] for name in said}
        return (names.pop() or None) if len(names) == 1 else None


class FactIngestor:
    """Decides about the proposals of a round and stores the result in one transaction."""

    def __init__(self, deps: LongtermDeps, recalled: RecentlyRecalled) -> None:
        self._deps = deps
        self._recalled = recalled
        self._classifier = StatementClassifier(deps.judging)
        self._replacement = ReplacementModel(deps.analyzer, deps.judging, deps.pairs)

    def keep_round(
        self, scope: str, conversation_id: str, messages: Sequence[tuple[str, Message, datetime]], job: Job
    ) -> list[MemoryEntry] | None:
        """Find, decide, store, and finish the job. `None` when somebody else has done the job meanwhile.

        `MessagesDeletedError` when one of the messages was deleted meanwhile: nothing is kept then.
        """
        if not messages:
            return self._deps.store.commit(scope, (), actor=self._deps.actor, finished=job)
        said = Round.of_messages(message for _, message, _ in messages)
        model = self._deps.models.scorer
        if model is None:
            # Rules cannot tell whose job it is that somebody quits in a film.
            said = replace(said, user=without_matters_of_others(said.user))
        work = _Work(scope, conversation_id, said, messages, made_by(model))
        shown = self._similar(scope, said.user or said.assistant, _SHOWN_TO_MODEL) if model is not None else []
        shown = [entry for entry in shown if may_be_told(entry, work.speaker)]
        proposals = propose(model, said, [entry.content for entry in shown], self._classifier)
        if any(proposal.claim is not None and proposal.claim.pronoun for proposal in proposals):
            last = self._deps.store.facts(scope, limit=_ANTECEDENTS)
            proposals = [with_antecedent(proposal, said.user, conversation_id, last) for proposal in proposals]
        decision = self._decide(work, proposals, shown)
        if model is None and said.user:
            self._apply_changes(work, decision, said.user)
        return self._deps.store.commit(
            scope,
            decision.entries,
            decision.amendments,
            actor=self._deps.actor,
            finished=job,
            made_of=[message_id for message_id, _, _ in messages],
        )

    def keep_candidate(self, candidate: Candidate) -> list[MemoryEntry] | None:
        """Store what a conversation has proposed, unless it is known; `None` when it is not worth keeping.

        `MessagesDeletedError` when what was said was deleted. The candidate is marked as taken after it was stored:
        if a crash comes in between, it is a known fact when it is proposed again.
        """
        scope = candidate.scope
        domain = candidate.domain or next(
            (d for d in route_by_rules(candidate.content) if d in SUBSTANTIAL), _DEFAULT_DOMAIN
        )
        importance = candidate.confidence if candidate.importance is None else candidate.importance
        proposal = Proposal(candidate.content, importance, domain)
        if not proposal.worth_keeping or is_steering(proposal.text):
            return None
        ends = dict.fromkeys((candidate.first_message_id, candidate.last_message_id))
        messages = self._deps.store.undeleted_messages(scope, list(ends))
        if len(messages) < len(ends):
            raise MessagesDeletedError
        said = Round.of_messages(message for _, message, _ in messages)
        work = _Work(scope, candidate.session_id, said, messages, candidate.made_by)
        decision = self._decide(work, [proposal], ())
        if candidate.made_by == MADE_BY_RULES and decision.entries:
            self._apply_changes(work, decision, proposal.text)
        return self._deps.store.commit(
            scope, decision.entries, decision.amendments, actor=self._deps.actor, made_of=list(ends)
        )

    # --- deciding ---------------------------------------------------------------------------------------------------

    def _decide(self, work: _Work, proposals: Sequence[Proposal], shown: Sequence[MemoryEntry]) -> _Decision:
        decision = _Decision()
        analyzer = self._deps.analyzer
        said = work.said
        user_terms, reply_terms = (frozenset(analyzer.analyze(fold(t)).words) for t in (said.user, said.assistant))
        recent = [lexical_features(text, analyzer) for text in self._recalled.of(work.scope)] if said.assistant else []
        for proposal in proposals:
            new = lexical_features(proposal.text, analyzer)
            # What the user did not say comes from the reply, and so perhaps from memory.
            by_user = support(new, user_terms) >= min(_SAID, support(new, reply_terms))
            if not by_user and any(_repeats(new, old, user_terms) for old in recent):
                continue
            if any(is_known(new, lexical_features(entry.content, analyzer)) for entry in decision.entries):
                continue
            old = self._similar(work.scope, proposal.text, _CANDIDATES)
            # Facts of other speakers are left out: the same words of theirs are about somebody else.
            old = [entry for entry in old if entry.source.name == work.speaker]
            likeness = self._likeness(proposal.text, [entry.content for entry in old])
            pairs = [
                KnownFact(entry, lexical_features(entry.content, analyzer), like)
                for entry, like in zip(old, likeness, strict=True)
            ]
            if any(is_known(new, each.lexical, each.likeness) for each in pairs):
                continue
            known = [each.lexical for each in pairs]
            if not by_user and any(_repeats(new, one, user_terms) for one in [*known, *self._gone(work.scope)]):
                continue
            entry = self._entry(work, proposal, by_user=by_user)
            if entry is None:
                continue
            decision.entries.append(entry)
            if entry.occurred_at is not None and self._is_history(decision, entry, pairs):
                continue
            findings = self._same_attribute(entry, pairs)
            if proposal.corrects is not None:
                findings += self._proposed(shown[proposal.corrects], entry)
            for finding in findings:
                # What is only so for now replaces nothing.
                passes = is_temporary(fold(said.user or proposal.text))
                self._apply(decision, replace(finding, verdict=CONFLICTS) if passes else finding, entry)
        return decision

    def _is_history(self, decision: _Decision, entry: MemoryEntry, pairs: Sequence[KnownFact]) -> bool:
        """Whether a fact that is told late has been replaced by a newer one since."""
        near = {each.entry.id: each.entry for each in pairs}
        for attribute in attributes_set_by(entry.content):
            near |= {fact.id: fact for fact in self._by_attribute(entry.scope, *attribute)}
        newer = [fact for fact in near.values() if may_be_told(entry, fact.source.name, fact.content)]
        late = KnownFact(entry, lexical_features(entry.content, self._deps.analyzer))
        for fact, finding in told_since(late, newer, self._replacement):
            if finding.verdict != REPLACES:
                decision.amendments.append(with_conflict(fact, entry))
                continue
            decision.replaced.add(entry.id)
            decision.amendments += self._supersede(entry, fact)
            store, left = self._deps.store, finding.residue
            rest = rest_of(store, entry, left, fact.updated_at) if left else None
            decision.entries += [] if rest is None else [rest]
        return entry.id in decision.replaced

    def _proposed(self, proposed: MemoryEntry, entry: MemoryEntry) -> list[Finding]:
        """What becomes of a correction by a model: it is carried out only if subject and attribute agree."""
        known = KnownFact(proposed, lexical_features(proposed.content, self._deps.analyzer))
        finding = supports(in_first_person(entry.content), known, self._replacement)
        return [] if finding is None else [finding]

    def _apply_changes(self, work: _Work, decision: _Decision, message: str) -> None:
        """What a message of the user, or a part of one, replaces of older facts, by the words for change in it."""
        analyzer = self._deps.analyzer
        own = {entry.id for entry in decision.entries}
        facts = [fact for fact in self._deps.store.facts(work.scope, limit=_NEWEST_COMPARED) if fact.id not in own]
        found = {fact.id for fact in facts}
        facts += [fact for fact in self._similar(work.scope, message, _CANDIDATES) if fact.id not in found]
        # Only facts of this room can be replaced; a message is not kept for what it says of other entries.
        facts = [fact for fact in facts if _may_be_replaced(fact, work.scope) and may_be_told(fact, work.speaker)]
        # Nor can what the same message says: a conversation proposes its claims one by one.
        own = {message_id for message_id, _, _ in work.messages}
        facts = [fact for fact in facts if own.isdisjoint(fact.source.references)]
        if not facts:
            return
        olds = [KnownFact(fact, lexical_features(fact.content, analyzer)) for fact in facts]
        findings = judge(message[:_QUERY_CHARACTERS], olds, self._replacement)
        if not decision.entries and all(finding.verdict != REPLACES for finding in findings):
            self._keep_change(work, decision, facts)
        for finding in findings:
            if finding.known.entry.id in decision.replaced:
                continue
            entry = self._nearest(decision.entries, finding)
            if entry is None and finding.verdict == REPLACES:
                # A message that only might contradict a fact is not kept for that.
                entry = self._stating_the_change(work, decision, finding.known.entry)
            if entry is not None:
                self._apply(decision, finding, entry)

    def _nearest(self, entries: Sequence[MemoryEntry], finding: Finding) -> MemoryEntry | None:
        """The new fact that is most like the one that it replaces."""
        if not entries:
            return None
        likeness = self._likeness(finding.known.entry.content, [entry.content for entry in entries])
        best = max(range(len(entries)), key=lambda place: likeness[place] or 0.0)
        return entries[best]

    def _keep_change(self, work: _Work, decision: _Decision, facts: Sequence[MemoryEntry]) -> None:
        """Keep a message that says of something known that it has changed, as a possible conflict."""
        old = changed_fact(work.said.user, facts)
        entry = self._stating_the_change(work, decision, old) if old is not None else None
        if entry is not None and old is not None:
            self._link(decision, entry, old.id)

    def _stating_the_change(self, work: _Work, decision: _Decision, old: MemoryEntry) -> MemoryEntry | None:
        """The message itself as a fact, where nothing else was kept of it: an end must not be forgotten either."""
        text = " ".join(work.said.user.split())[:500]
        entry = self._entry(work, Proposal(text, old.importance_score, old.domain or _DEFAULT_DOMAIN), by_user=True)
        if entry is not None:
            decision.entries.append(entry)
        return entry

    def _same_attribute(self, entry: MemoryEntry, pairs: Sequence[KnownFact]) -> list[Finding]:
        """The facts that set the same attribute of the same subject, in forms that leave no doubt."""
        near = {old.entry.id: old for old in pairs}
        attributes = attributes_set_by(entry.content)
        for fact in (fact for each in attributes for fact in self._by_attribute(entry.scope, *each)):
            near.setdefault(fact.id, KnownFact(fact, lexical_features(fact.content, self._deps.analyzer)))
        found = (sets_the_same(entry, old) for old in near.values()) if attributes else ()
        return [finding for finding in found if finding is not None]

    def _apply(self, decision: _Decision, finding: Finding, entry: MemoryEntry) -> None:
        old = finding.known.entry
        replaceable = (
            not only_asks(entry.content)
            and _may_be_replaced(old, entry.scope)
            and may_be_told(old, entry.source.name, entry.content)
            and old.event_time <= entry.event_time
            and old.id != entry.id
            and old.id not in decision.replaced
        )
        if not replaceable:
            return
        if finding.verdict != REPLACES or old.pinned:
            self._link(decision, entry, old.id)
            return
        decision.replaced.add(old.id)
        self._unlink(decision, entry, old.id)
        decision.amendments += self._supersede(old, entry)
        for other in inherited(self._deps.store, old):
            self._link(decision, entry, other)
        left = finding.residue or self._name_left(old, entry)
        if left and left != old.content:
            rest = rest_of(self._deps.store, old, left, entry.updated_at)
            if rest is not None:
                decision.entries.append(rest)

    @staticmethod
    def _link(decision: _Decision, entry: MemoryEntry, old: str) -> None:
        """Both stay; the newer one, in its form in the decision, names the older one as a possible conflict."""
        place = next(number for number, each in enumerate(decision.entries) if each.id == entry.id)
        source = decision.entries[place].source
        claim = source.claim or Claim()
        if old not in claim.conflicts_with:
            linked = replace(claim, conflicts_with=(*claim.conflicts_with, old))
            decision.entries[place] = replace(decision.entries[place], source=replace(source, claim=linked))

    @staticmethod
    def _unlink(decision: _Decision, entry: MemoryEntry, old: str) -> None:
        """What was linked as a possible conflict is replaced after all."""
        for place, each in enumerate(decision.entries):
            claim = each.source.claim
            if each.id == entry.id and claim is not None and old in claim.conflicts_with:
                left = tuple(other for other in claim.conflicts_with if other != old)
                source = replace(each.source, claim=replace(claim, conflicts_with=left))
                decision.entries[place] = replace(each, source=source)

    def _supersede(self, old: MemoryEntry, new: MemoryEntry) -> list[Amendment]:
        return [replace(change, because=new.id) for change in superseded_by(self._deps.store, old, new.id)]

    def _name_left(self, old: MemoryEntry, new: MemoryEntry) -> str:
        """Who a relative is, if a fact that goes is the only one that says it."""
        name, left = relative_named_in(old.content, new.content)
        others = self._similar(old.scope, left, _SHOWN_TO_MODEL) if left else []
        return "" if any(name in each.content for each in others if each.id != old.id) else left

    def _entry(self, work: _Work, proposal: Proposal, *, by_user: bool) -> MemoryEntry | None:
        speaker = work.speaker if by_user else None
        key = free_key(self._deps.store, work.scope, proposal.text, speaker)
        if key is None:
            return None
        now = self._deps.now()
        said_at = _said_at(work.messages, by_user=by_user) or now
        imported = any(imported_from(message) for _, message, _ in work.messages)
        trust = "import" if imported else "user" if by_user else "agent"
        return MemoryEntry(
            id=new_id(),
            scope=work.scope,
            key=key,
            content=proposal.text,
            category=MemoryCategory.CORE,
            memory_type=FACT_TYPE,
            domain=proposal.domain,
            importance_score=proposal.importance,
            conversation_id=work.conversation_id,
            source=Source(
                work.made_by,
                trust,
                tuple(message_id for message_id, _, _ in work.messages),
                read_claim(proposal.text, by_user=by_user, message=work.said.user),
                name=speaker,
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
        filters = Filters((scope,), memory_types=(FACT_TYPE,))
        return self._deps.similar.answer(Request(query, filters, limit=limit, rerank=False))

    def _by_attribute(self, scope: str, subject: str, attribute: str) -> list[MemoryEntry]:
        """Memories that may be about an attribute, whatever its value is."""
        probe = probe_of(subject, attribute)
        filters = Filters((scope,), memory_types=(FACT_TYPE,))
        return self._deps.similar.answer(Request(probe, filters, limit=_PROBED, mode="keyword", rerank=False))

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

    def _gone(self, scope: str) -> list[LexicalFeatures]:
        """Facts that were corrected or forgotten: a reply that repeats one does not bring it back."""
        analyzer = self._deps.analyzer
        return [lexical_features(entry.content, analyzer) for entry in self._deps.store.inactive(scope, limit=200)]


def _repeats(new: LexicalFeatures, old: LexicalFeatures, asked: frozenset[str]) -> bool:
    """Whether what a reply says is made of a memory and the question, and little else."""
    return is_known(new, old) or (
        (new.numbers, new.negated) == (old.numbers, old.negated)
        and support(new, old.terms) >= _REPEATED
        and support(new, old.terms | asked) >= _NOTHING_NEW
    )


def _may_be_replaced(entry: MemoryEntry, scope: str) -> bool:
    return entry.scope == scope and entry.memory_type == FACT_TYPE and entry.domain is not None


def _said_at(messages: Sequence[tuple[str, Message, datetime]], *, by_user: bool) -> datetime | None:
    """When a fact was said: the reply to what the user said may have come much later."""
    role = "user" if by_user else "assistant"
    own = [moment for _, message, moment in messages if message.role == role]
    return max(own or [moment for _, _, moment in messages], default=None)
