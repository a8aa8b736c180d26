"""The synchronous core of the long-term room: rounds, candidates, reflections, explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

from jiyi.errors import InvalidInputError, ModelError
from jiyi.execution import Lazy
from jiyi.longterm.compression import compress, compress_by_rules
from jiyi.longterm.conflicts import Conflicts
from jiyi.longterm.dependencies import LongtermDeps
from jiyi.longterm.forgetting import UPCOMING, Forgetter
from jiyi.longterm.prompt_memories import current_facts, memories_for_prompt
from jiyi.longterm.recently_recalled import RecentlyRecalled
from jiyi.longterm.reflection import Reflector
from jiyi.longterm.retrieval import RelevantMemories, Retriever
from jiyi.model import clock
from jiyi.model.entry import REFLECTION_TYPE, MemoryEntry
from jiyi.model.forgetting_curve import DEFAULT_THRESHOLD, EbbinghausForgetting
from jiyi.model.identity import text_hash
from jiyi.model.job import REFLECTION_JOB, ROUND_JOB, Job, JobDraft
from jiyi.model.message import Message
from jiyi.ports import Amendment, TokenCounter
from jiyi.ports.longterm import MessagesDeletedError
from jiyi.text.statements.keeping.upcoming import is_upcoming

if TYPE_CHECKING:
    from jiyi.longterm.ingest import FactIngestor

_CANDIDATE_TAKER = "longterm"
_DELETED = "forgotten"
REFLECTION_TYPES = (REFLECTION_TYPE,)
_MAX_LINKED = 1_000
_MAX_WAITING = 1_000_000


class LongtermService:
    """Every method blocks; the arguments are checked. `written` and `queued` tell that there is new work for others."""

    def __init__(self, deps: LongtermDeps, *, written: Callable[[], None], queued: Callable[[], None]) -> None:
        self._deps = deps
        self._written = written
        self._queued = queued
        self._recalled = RecentlyRecalled()
        self._ingestor: Lazy[FactIngestor] = Lazy(self._new_ingestor)
        self.retriever = Retriever(deps, self._recalled)
        self.reflector = Reflector(deps)
        self.forgetter = Forgetter(deps)
        self.conflicts = Conflicts(deps)
        deps.runner.handle({ROUND_JOB: self._do_round, REFLECTION_JOB: self._do_reflection})

    @property
    def counter(self) -> TokenCounter:
        """Counts the tokens of prompt blocks."""
        return self._deps.counter

    # --- rounds -------------------------------------------------------------------------------------------------------

    def append(
        self, scope: str, session: str, messages: Sequence[Message], job: JobDraft, said_at: datetime | None = None
    ) -> list[str]:
        """Put messages and the job that is about them on disk; returns the message ids."""
        ids = self._deps.store.append_messages(
            scope,
            session,
            messages,
            actor=self._deps.actor,
            recallable=self._deps.recallable,
            job=job,
            said_at=said_at,
        )
        self._written()
        return ids

    def schedule_conversation(self, scope: str, session: str, messages: Sequence[Message]) -> list[str]:
        """Put messages on disk with a job for each of their rounds; returns the ids of the jobs."""
        jobs = [(JobDraft(ROUND_JOB, scope, {"conversation_id": session}), places) for places in _rounds(messages)]
        self._deps.store.append_messages(
            scope, session, messages, actor=self._deps.actor, recallable=self._deps.recallable, rounds=jobs
        )
        self._written()
        return [job.id for job, _ in jobs]

    def schedule_messages(self, scope: str, session: str, ids: Sequence[str]) -> str:
        """Queue a round of messages that are stored already."""
        there = {found[0] for found in self._deps.store.messages(scope, ids)}
        missing = next((each for each in ids if each not in there), None)
        if missing is not None:
            raise InvalidInputError(f"message id {ascii(missing)[:80]} is not that of a message of the scope")
        payload = {"conversation_id": session, "messages": list(ids)}
        job = JobDraft(ROUND_JOB, scope, payload, dedupe_key=f"{ROUND_JOB}/{text_hash(session, *ids)}")
        while not self._deps.jobs.add(job):
            waiting = self._deps.jobs.list(states=("queued",), scopes=(scope,), limit=_MAX_WAITING)
            same = next((each for each in waiting if (each.kind, each.payload) == (ROUND_JOB, payload)), None)
            if same is not None:
                return same.id
        return job.id

    def extract(
        self, scope: str, session: str, messages: Sequence[Message], said_at: datetime | None = None
    ) -> list[MemoryEntry]:
        """Put the round on disk and keep what is worth keeping; after an error the job stays in the queue."""
        runner = self._deps.runner
        now = runner.now()
        draft = JobDraft(
            ROUND_JOB, scope, {"conversation_id": session}, lease_by=runner.worker, lease_until=now + runner.lease
        )
        ids = self.append(scope, session, messages, draft, said_at)
        payload = {**draft.payload, "messages": ids}
        job = Job(
            draft.id, ROUND_JOB, scope, payload, "running", 1, now, draft.lease_until, runner.worker, "", now, None
        )
        try:
            return self._keep(job) or []
        except BaseException as error:
            again = runner.settle(job, error)
            what = "it is tried again in the background" if again else "see the dead-letter list"
            error.add_note(f"the round is stored; what is worth keeping of it is job {job.id}: {what}")
            self._queued()
            raise

    def _new_ingestor(self) -> FactIngestor:
        # Its patterns take a fifth of a second to load, and a room is opened on the event loop of the caller.
        from jiyi.longterm.ingest import FactIngestor

        return FactIngestor(self._deps, self._recalled)

    def _keep(self, job: Job) -> list[MemoryEntry] | None:
        from jiyi.longterm.named_forgetting import forget_named

        session = str(job.payload["conversation_id"])
        while True:
            messages = self._undeleted(job.scope, job.payload["messages"])
            if forget_named(self._deps, job.scope, messages):
                self._written()
            try:
                stored = self._ingestor().keep_round(job.scope, session, messages, job)
            except MessagesDeletedError:
                continue
            break
        if stored:
            self._written()
            if self.reflector.enqueue_if_due(job.scope, session):
                self._queued()
        return stored

    def _undeleted(self, scope: str, ids: Sequence[str]) -> list[tuple[str, Message, datetime]]:
        """The messages that were not deleted since. A reply to one that was is left out: it may repeat it."""
        store = self._deps.store
        there = {found[0]: found for found in store.undeleted_messages(scope, ids)}
        if len(there) == len(ids):
            return list(there.values())
        roles = {message_id: message.role for message_id, message, _ in store.messages(scope, ids)}
        left: list[tuple[str, Message, datetime]] = []
        answers_deleted = False
        for each in ids:
            # The role of an erased message is unknown: it is taken for the user's, so that its reply is left out.
            role = roles.get(each, "user")
            if role == "user":
                answers_deleted = each not in there
            if each in there and not answers_deleted:
                left.append(there[each])
        return left

    def take_candidates(self, scope: str, session: str | None, limit: int) -> list[MemoryEntry]:
        """Store the candidates of conversations that are worth keeping; returns what was stored."""
        chats = self._deps.chats
        stored: list[MemoryEntry] = []
        for candidate in chats.candidates(scope, session_id=session, state="new", limit=limit):
            try:
                kept = self._ingestor().keep_candidate(candidate)
            except MessagesDeletedError:
                chats.settle_candidate(scope, candidate.id, state="rejected", by=_DELETED)
                continue
            if kept is None:
                continue
            chats.settle_candidate(scope, candidate.id, state="taken", by=_CANDIDATE_TAKER)
            stored += kept
        if stored:
            self._written()
            if self.reflector.enqueue_if_due(scope, session):
                self._queued()
        return stored

    def _do_round(self, job: Job) -> bool:
        self._keep(job)
        return True

    def _do_reflection(self, job: Job) -> bool:
        made = self.reflector.reflect(job.scope, job.payload.get("conversation_id"), job=job)
        if made is not None:
            self._written()
        return made is not None

    def memories_for_prompt(
        self, scope: str, query: str, *, limit: int, zone: tzinfo | None, beside_facts: bool
    ) -> RelevantMemories:
        """The memories that a prompt shows for a message."""
        return memories_for_prompt(
            self.retriever,
            lambda reflection: current_facts(self._deps.store, reflection, self._deps.now()),
            scope,
            query,
            limit=limit,
            zone=zone,
            beside_facts=beside_facts,
        )

    def compress(self, memories: object, max_chars: int) -> str:
        """One summary of memories; a model that fails is an error."""
        return compress(self._deps.models.compression, memories, max_chars)

    def compress_for_prompt(self, texts: Sequence[str], max_chars: int) -> tuple[str, str]:
        """A summary for a prompt block, and a note when rules had to make it because the model failed."""
        try:
            return compress(self._deps.models.compression, texts, max_chars), ""
        except ModelError as error:
            return compress_by_rules(list(texts), max_chars), f"rules, because of {type(error).__name__}"

    def _find(self, scope: str, name: str) -> MemoryEntry | None:
        found = self._deps.store.by_ids(scope, [name]) or list(self._deps.store.by_keys(scope, [name]).values())
        return found[0] if found else None

    def settle_conflict(self, scope: str, newer: str, older: str, keep: str) -> bool:
        """Settle a conflict between two entries named by id or key; whether there was one."""
        first, second = self._find(scope, newer), self._find(scope, older)
        if first is None or second is None:
            return False
        return bool(self.conflicts.settle(scope, first, second, keep))

    def pin(self, scope: str, name: str, *, pinned: bool) -> bool:
        """Pin or unpin an entry; `False` when the scope has none by this id or key."""
        entry = self._find(scope, name)
        if entry is None:
            return False
        return bool(self._deps.store.amend(scope, [Amendment(entry.id, {"pinned": pinned})], actor=self._deps.actor))

    def explain(self, scope: str, name: str) -> dict[str, Any] | None:
        """Origin and state of one entry, JSON-ready; `None` when the scope has none by this id or key."""
        entry = self._find(scope, name)
        if entry is None:
            return None
        store = self._deps.store
        said = [
            {"id": message_id, "role": message.role, "content": message.text, "said_at": clock.to_text(moment)}
            for message_id, message, moment in store.messages(scope, entry.source.references)
        ]
        curve = EbbinghausForgetting()
        fading = self.forgetter.on_curve(entry, curve, DEFAULT_THRESHOLD, self._deps.now())
        claim = entry.source.claim
        kind = "" if claim is None else self.forgetter.exempt(claim.attribute, entry.content, claim.lasting)
        if not kind and is_upcoming(entry.content, entry.event_time, self._deps.now()):
            kind = UPCOMING
        exempt = bool(kind) or entry.pinned or entry.memory_type in REFLECTION_TYPES or entry.domain is None
        versions = self._deps.records.versions(scope, entry.key) if entry.key is not None else []

        def linked(ids: Iterable[str | None]) -> list[dict[str, Any]]:
            wanted = [entry_id for entry_id in ids if entry_id is not None]
            return [each.to_dict() for each in store.by_ids(scope, wanted)]

        return {
            "entry": entry.to_dict(),
            "made_by": entry.source.kind,
            "claim": None if claim is None else claim.to_dict(),
            "conflicts_with": [] if claim is None else linked(claim.conflicts_with),
            "replaces": [each.to_dict() for each in store.replaced_by(scope, entry.id, limit=_MAX_LINKED)],
            "exempt": kind or ("pinned" if entry.pinned else None),
            "said": said,
            "facts": linked(entry.source.references) if entry.memory_type == REFLECTION_TYPE else [],
            "superseded_by": linked([entry.superseded_by]),
            "summarized_by": linked([entry.summarized_by]),
            "retention": fading.retention,
            "falls_below_at": None if exempt or fading.falls_below_at is None else clock.to_text(fading.falls_below_at),
            "forgettable": not exempt,
            "versions": [version.to_dict() for version in versions],
        }


def _rounds(messages: Sequence[Message]) -> Iterator[range]:
    """The places of what the user said and what was answered, round by round."""
    first, answered = 0, False
    for place, message in enumerate(messages):
        if message.role == "user" and answered:
            yield range(first, place)
            first, answered = place, False
        answered = answered or message.role == "assistant"
    if messages:
        yield range(first, len(messages))
