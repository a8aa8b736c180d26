"""The long-term room as callers see it: `memory.longterm`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any, Literal, overload

from jiyi.errors import InvalidInputError, ModelError
from jiyi.execution import Run
from jiyi.longterm.compression import compress, compress_by_rules
from jiyi.longterm.context import build_context
from jiyi.longterm.dependencies import LongtermDeps
from jiyi.longterm.forgetting import Forgetter, ForgettingPlan
from jiyi.longterm.ingest import FactIngestor, RecentlyRecalled
from jiyi.longterm.reflection import COOLDOWN_HOURS, REFLECTION_JOB, THRESHOLD, Reflector
from jiyi.longterm.retrieval import Recollections, Retriever
from jiyi.model import clock
from jiyi.model.domain import check_domains
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import words
from jiyi.model.forgetting_curve import DEFAULT_THRESHOLD, EbbinghausForgetting, check_threshold
from jiyi.model.job import Job, JobDraft
from jiyi.model.limits import check_whole
from jiyi.model.message import Message
from jiyi.model.scope import check_scope
from jiyi.model.scoring import DECAY_RATE, final_weights
from jiyi.ports import Amendment

ROUND_JOB = "longterm.round"
MAX_ROUND_BYTES = 8 << 20
CONTEXT_TOKENS = 1_000
_TAKER = "longterm"
_REFLECTION_TYPES = ("reflection",)


class Longterm:
    """Scored extraction, domains, hybrid recall, reflection, compression and forgetting.

    `user_id` is a scope: a user reads their own memories and the public ones, and writes only to their own.
    """

    def __init__(
        self,
        parts: LongtermDeps,
        run: Run,
        *,
        later: Callable[..., None],
        written: Callable[[], None],
        queued: Callable[[], None],
        zone: tzinfo,
    ) -> None:
        self._parts = parts
        self._run = run
        self._later = later
        self._written = written
        self._queued = queued
        self._zone = zone
        recalled = RecentlyRecalled()
        self._keeper = FactIngestor(parts, recalled)
        self._retriever = Retriever(parts, recalled)
        self._reflector = Reflector(parts)
        self._forgetter = Forgetter(parts)
        parts.runner.handle({ROUND_JOB: self._do_round, REFLECTION_JOB: self._do_reflection})

    # --- rounds -------------------------------------------------------------------------------------------------------

    async def extract_and_store_memories_for_round(
        self, user_id: str, conversation_id: str, user_content: str, assistant_content: str
    ) -> list[MemoryEntry]:
        """Keep what is worth keeping of a round; returns what was stored, which may be nothing.

        The round itself is on disk before a model is called. When the model fails, the error is raised, and the work
        stays in the queue: it is tried again in the background, or ends in the dead-letter list with its reason.
        """
        checked = self._round(user_id, conversation_id, user_content, assistant_content)
        return await self._run(self._extract, *checked)

    async def schedule_round(
        self, user_id: str, conversation_id: str, user_content: str, assistant_content: str
    ) -> str:
        """Put the round on disk and do the rest in the background, across restarts; returns the id of the job."""
        scope, session, messages = self._round(user_id, conversation_id, user_content, assistant_content)
        job = JobDraft(ROUND_JOB, scope, {"conversation_id": session})
        await self._run(self._append, scope, session, messages, job)
        self._queued()
        return job.id

    async def get_intent_domains(self, query: str) -> list[str]:
        """The domains a question is about; `general_chat` alone means that nothing needs to be recalled.

        When the model fails, these are all six.
        """
        text = self._parts.limits.check_query(query)
        found = await self._run(self._retriever.route, text)
        return list(found.domains)

    async def take_candidates(
        self, user_id: str, session_id: str | None = None, *, limit: int = 1_000
    ) -> list[MemoryEntry]:
        """Keep what conversations have proposed when they were compacted; returns what was stored.

        A candidate that is worth keeping is taken, also when it was known already; the others stay for whoever else
        wants them. Nothing is stored twice.
        """
        scope = check_scope(user_id)
        session = None if session_id is None else self._parts.limits.check_session_id(session_id, "session_id")
        most = check_whole(limit, "limit", 1, 1_000_000)
        return await self._run(self._take_candidates, scope, session, most)

    # --- recall -------------------------------------------------------------------------------------------------------

    async def retrieve_relevant_memories(
        self,
        user_id: str,
        query: str,
        alpha: float = 0.5,
        beta: float = 0.2,
        gamma: float = 0.3,
        decay_rate: float = DECAY_RATE,
        top_k_semantic: int = 50,
        top_k_final: int = 10,
        *,
        domains: Iterable[str] | None = None,
        as_of: datetime | None = None,
    ) -> Recollections:
        """The memories that answer best, by α·relevance + β·decay + γ·importance, from all conversations of the user.

        Each has `content`, `importance_score`, `final_score` and `score_parts`, and is touched. Without `domains` the
        router says where to look. With `as_of` the answer is what stood at that time, and nothing is touched.
        """
        limits = self._parts.limits
        hits = await self._run(
            self._retriever.retrieve,
            check_scope(user_id),
            limits.check_query(query),
            final_weights((alpha, beta, gamma), decay_rate),
            candidates=check_whole(top_k_semantic, "top_k_semantic", 1, limits.max_results),
            limit=check_whole(top_k_final, "top_k_final", 1, limits.max_results),
            domains=None if domains is None else check_domains(domains if isinstance(domains, str) else list(domains)),
            as_of=None if as_of is None else clock.require_aware(as_of, "as_of"),
        )
        if hits and as_of is None:
            # The answer does not wait for the disk; whatever is asked next does.
            self._later(self._retriever.touch, [hit.id for hit in hits])
        return hits

    async def get_memory_context_for_prompt(
        self, user_id: str, query: str, *, token_budget: int = CONTEXT_TOKENS, top_k_final: int = 10
    ) -> str:
        """The block 【长期记忆】 for a prompt, fenced, attributed, inside the budget; empty when there is nothing."""
        budget = check_whole(token_budget, "token_budget", 1, 1 << 30)
        hits = await self.retrieve_relevant_memories(user_id, query, top_k_final=top_k_final)
        return await self._run(
            build_context,
            hits,
            query,
            budget=budget,
            counter=self._parts.counter,
            compress=self._compress_for_prompt,
            zone=self._zone,
        )

    async def compress_memories(self, memories: Iterable[Any], max_chars: int = 500) -> str:
        """One summary of memories (entries, mappings with `content`, or texts) in at most `max_chars` characters."""
        most = check_whole(max_chars, "max_chars", 1, 1_000_000)
        return await self._run(compress, self._parts.models.compression, memories, most)

    # --- forgetting ---------------------------------------------------------------------------------------------------

    @overload
    async def cleanup_forgotten_memories(
        self,
        user_id: str,
        base_retention: float = ...,
        strengthening_factor: float = ...,
        threshold: float = ...,
        exclude_memory_types: Sequence[str] = ...,
        dry_run: Literal[False] = ...,
    ) -> int: ...

    @overload
    async def cleanup_forgotten_memories(
        self,
        user_id: str,
        base_retention: float = ...,
        strengthening_factor: float = ...,
        threshold: float = ...,
        exclude_memory_types: Sequence[str] = ...,
        *,
        dry_run: Literal[True],
    ) -> ForgettingPlan: ...

    async def cleanup_forgotten_memories(
        self,
        user_id: str,
        base_retention: float = 0.9,
        strengthening_factor: float = 1.5,
        threshold: float = DEFAULT_THRESHOLD,
        exclude_memory_types: Sequence[str] = _REFLECTION_TYPES,
        dry_run: bool = False,  # noqa: FBT001, FBT002 - the design's parameter
    ) -> int | ForgettingPlan:
        """Take out of recall what has fallen below the threshold; returns how many. `restore` brings them back.

        Only the user's own long-term memories: what has a domain, is not pinned and not of an excluded type. Memories
        that were stored by key without a domain, and what was said in conversations, stay. A dry run changes nothing
        and returns the plan: what would go, and when each memory falls below the threshold.
        """
        scope = check_scope(user_id)
        curve = EbbinghausForgetting(base_retention, strengthening_factor)
        least = check_threshold(threshold)
        excluded = words(list(exclude_memory_types), "exclude_memory_types") if exclude_memory_types else ()
        if dry_run:
            return await self._run(self._forgetter.plan, scope, curve, least, excluded)
        forgotten = await self._run(self._forgetter.cleanup, scope, curve, least, excluded)
        self._written()
        return forgotten

    async def restore(
        self, user_id: str, memories: str | MemoryEntry | Iterable[Any] | None = None
    ) -> list[MemoryEntry]:
        """Bring back memories that were forgotten or corrected, by id, key or entry; returns those brought back.

        Without names: all that the curve has taken.
        """
        names = None if memories is None else _names(memories)
        restored = await self._run(self._forgetter.restore, check_scope(user_id), names)
        self._written()
        return restored

    async def pin(self, user_id: str, memory: Any, pinned: bool = True) -> bool:  # noqa: FBT001, FBT002
        """Keep a memory from being forgotten, corrected or summarised (or let go of it); `False` if there is none."""
        done = await self._run(self._pin, check_scope(user_id), _names([memory])[0], pinned=bool(pinned))
        self._written()
        return done

    # --- reflection ---------------------------------------------------------------------------------------------------

    async def try_generate_reflection(
        self,
        user_id: str,
        conversation_id: str | None = None,
        importance_threshold: float = THRESHOLD,
        cooldown_hours: float = COOLDOWN_HOURS,
    ) -> MemoryEntry | None:
        """Reflect on the facts that no reflection speaks for yet, if they matter enough; `None` if not."""
        scope = check_scope(user_id)
        session = None
        if conversation_id is not None:
            session = self._parts.limits.check_session_id(conversation_id, "conversation_id")
        for name, value in (("importance_threshold", importance_threshold), ("cooldown_hours", cooldown_hours)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
                raise InvalidInputError(f"{name} {value!r} must be a number from 0 on")
        made = await self._run(
            self._reflector.reflect, scope, session, threshold=importance_threshold, cooldown_hours=cooldown_hours
        )
        self._written()
        return made

    async def explain(self, user_id: str, memory: Any) -> dict[str, Any] | None:
        """Where a memory came from and how it stands: the messages behind it, corrections, reflection, retention.

        `None` when the user has no such memory.
        """
        return await self._run(self._explain, check_scope(user_id), _names([memory])[0])

    # --- inside -------------------------------------------------------------------------------------------------------

    def _round(
        self, user_id: str, conversation_id: str, user_content: str, assistant_content: str
    ) -> tuple[str, str, list[Message]]:
        scope = check_scope(user_id)
        session = self._parts.limits.check_session_id(conversation_id, "conversation_id")
        texts = {"user": user_content, "assistant": assistant_content}
        for role, text in texts.items():
            if not isinstance(text, str):
                raise InvalidInputError(f"{role}_content must be text, not {type(text).__name__}")
            size = len(text.encode("utf-8", "surrogatepass"))
            if size > MAX_ROUND_BYTES:
                raise InvalidInputError(f"{role}_content has {size:,} bytes and the limit is {MAX_ROUND_BYTES:,}")
        messages = [Message(role, text) for role, text in texts.items() if text.strip()]
        if not messages:
            raise InvalidInputError("user_content and assistant_content are both empty; pass what was said")
        return scope, session, messages

    def _append(self, scope: str, session: str, messages: Sequence[Message], job: JobDraft) -> list[str]:
        ids = self._parts.store.append_messages(
            scope, session, messages, actor=self._parts.actor, recallable=self._parts.recallable, job=job
        )
        self._written()
        return ids

    def _extract(self, scope: str, session: str, messages: Sequence[Message]) -> list[MemoryEntry]:
        runner = self._parts.runner
        now = runner.now()
        draft = JobDraft(
            ROUND_JOB, scope, {"conversation_id": session}, lease_by=runner.worker, lease_until=now + runner.lease
        )
        ids = self._append(scope, session, messages, draft)
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

    def _keep(self, job: Job) -> list[MemoryEntry] | None:
        session = str(job.payload["conversation_id"])
        messages = self._parts.store.messages(job.scope, job.payload["messages"])
        stored = self._keeper.keep_round(job.scope, session, messages, job)
        if stored:
            self._written()
            if self._reflector.announce(job.scope, session):
                self._queued()
        return stored

    def _take_candidates(self, scope: str, session: str | None, limit: int) -> list[MemoryEntry]:
        chats = self._parts.chats
        stored: list[MemoryEntry] = []
        for candidate in chats.candidates(scope, session_id=session, state="new", limit=limit):
            kept = self._keeper.keep_candidate(candidate)
            if kept is None:
                continue
            chats.settle_candidate(scope, candidate.id, state="taken", by=_TAKER)
            stored += kept
        if stored:
            self._written()
            if self._reflector.announce(scope, session):
                self._queued()
        return stored

    def _do_round(self, job: Job) -> bool:
        self._keep(job)
        return True

    def _do_reflection(self, job: Job) -> bool:
        made = self._reflector.reflect(job.scope, job.payload.get("conversation_id"), job=job)
        if made is not None:
            self._written()
        return made is not None

    def _compress_for_prompt(self, texts: Sequence[str], most: int) -> tuple[str, str]:
        """A prompt is needed now: where the model fails, rules do it and the block says so."""
        try:
            return compress(self._parts.models.compression, texts, most), ""
        except ModelError as error:
            return compress_by_rules(list(texts), most), f"rules, because of {type(error).__name__}"

    def _find(self, scope: str, name: str) -> MemoryEntry | None:
        found = self._parts.store.by_ids(scope, [name]) or list(self._parts.store.by_keys(scope, [name]).values())
        return found[0] if found else None

    def _pin(self, scope: str, name: str, *, pinned: bool) -> bool:
        entry = self._find(scope, name)
        if entry is None:
            return False
        return bool(self._parts.store.amend(scope, [Amendment(entry.id, {"pinned": pinned})], actor=self._parts.actor))

    def _explain(self, scope: str, name: str) -> dict[str, Any] | None:
        entry = self._find(scope, name)
        if entry is None:
            return None
        store = self._parts.store
        said = [
            {"id": message_id, "role": message.role, "content": message.text, "said_at": clock.to_text(moment)}
            for message_id, message, moment in store.messages(scope, entry.source.references)
        ]
        curve = EbbinghausForgetting()
        fading = self._forgetter.on_curve(entry, curve, DEFAULT_THRESHOLD, self._parts.now())
        exempt = entry.pinned or entry.memory_type in _REFLECTION_TYPES or entry.domain is None
        versions = self._parts.records.versions(scope, entry.key) if entry.key is not None else []

        def linked(ids: Iterable[str | None]) -> list[dict[str, Any]]:
            wanted = [entry_id for entry_id in ids if entry_id is not None]
            return [replace(each).to_dict() for each in store.by_ids(scope, wanted)]

        return {
            "entry": entry.to_dict(),
            "made_by": entry.source.kind,
            "said": said,
            "facts": linked(entry.source.references) if entry.memory_type == "reflection" else [],
            "superseded_by": linked([entry.superseded_by]),
            "summarized_by": linked([entry.summarized_by]),
            "retention": fading.retention,
            "falls_below_at": None if exempt or fading.falls_below_at is None else clock.to_text(fading.falls_below_at),
            "forgettable": not exempt,
            "versions": [version.to_dict() for version in versions],
        }


def _names(memories: str | MemoryEntry | Iterable[Any]) -> list[str]:
    """Ids or keys of memories that were given as such or as entries."""
    given = [memories] if isinstance(memories, str | MemoryEntry) else memories
    if not isinstance(given, Iterable):
        raise InvalidInputError(f"memories must be ids, keys or entries, not {type(memories).__name__}")
    found = [memory.id if isinstance(memory, MemoryEntry) else memory for memory in given]
    for name in found:
        if not isinstance(name, str) or not name:
            raise InvalidInputError(f"a memory is named by its id or key, not by {name!r}")
    return found
