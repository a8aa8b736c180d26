"""The long-term room as callers see it: `memory.longterm`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Any, Literal, overload

from jiyi.errors import InvalidInputError
from jiyi.execution import Run
from jiyi.longterm.conflicts import Conflict, Replaced, Winner
from jiyi.longterm.context import build_context
from jiyi.longterm.dependencies import LongtermDeps
from jiyi.longterm.forgetting import ForgettingPlan
from jiyi.longterm.retrieval import RelevantMemories
from jiyi.longterm.service import REFLECTION_TYPES, LongtermService
from jiyi.model import clock
from jiyi.model.domain import check_domains
from jiyi.model.entry import MemoryEntry
from jiyi.model.filters import words
from jiyi.model.forgetting_curve import (
    BASE_RETENTION,
    DEFAULT_THRESHOLD,
    STRENGTHENING_FACTOR,
    EbbinghausForgetting,
    check_threshold,
)
from jiyi.model.job import ROUND_JOB, JobDraft
from jiyi.model.limits import Limits, check_whole
from jiyi.model.message import Message, MessageLike, check_messages
from jiyi.model.reflection import REFLECTION_COOLDOWN_HOURS, REFLECTION_THRESHOLD
from jiyi.model.scope import check_scope, visible_scopes
from jiyi.model.scoring import ALPHA, BETA, DECAY_RATE, GAMMA, FinalWeights, final_weights

MAX_ROUND_BYTES = 8 << 20
CONTEXT_TOKENS = 1_000


class Longterm:
    """Scored extraction, domains, hybrid recall, reflection, compression and forgetting.

    `user_id` is a scope: a user reads their own memories and the public ones, and writes only to their own.
    """

    def __init__(
        self,
        deps: LongtermDeps,
        run: Run,
        write: Run,
        *,
        later: Callable[..., None],
        written: Callable[[], None],
        queued: Callable[[], None],
        zone: tzinfo,
    ) -> None:
        self._limits = deps.limits
        self._service = LongtermService(deps, written=written, queued=queued)
        self._run = run
        self._write = write
        self._later = later
        self._written = written
        self._queued = queued
        self._zone = zone

    # --- rounds -------------------------------------------------------------------------------------------------------

    async def extract_and_store_memories_for_round(
        self,
        user_id: str,
        conversation_id: str,
        user_content: str,
        assistant_content: str,
        *,
        created_at: datetime | None = None,
    ) -> list[MemoryEntry]:
        """Keep what is worth keeping of a round that was said at `created_at`, or now; returns what was stored.

        The round itself is on disk before a model is called. When the model fails, the error is raised, and the work
        stays in the queue: it is tried again in the background, or ends in the dead-letter list with its reason.
        """
        checked = _check_round(self._limits, user_id, conversation_id, user_content, assistant_content)
        return await self._run(self._service.extract, *checked, _check_time(created_at))

    async def schedule_round(
        self,
        user_id: str,
        conversation_id: str,
        user_content: str,
        assistant_content: str,
        *,
        created_at: datetime | None = None,
    ) -> str:
        """Put the round on disk and do the rest in the background, across restarts; returns the id of the job."""
        scope, session, messages = _check_round(self._limits, user_id, conversation_id, user_content, assistant_content)
        job = JobDraft(ROUND_JOB, scope, {"conversation_id": session})
        await self._write(self._service.append, scope, session, messages, job, _check_time(created_at))
        self._queued()
        return job.id

    async def schedule_conversation(
        self, user_id: str, conversation_id: str, messages: Sequence[MessageLike]
    ) -> list[str]:
        """Add messages to a conversation and look through their rounds in the background; returns the ids of the jobs.

        Messages and jobs are one transaction: whatever happens, none is there without the other.
        """
        scope = check_scope(user_id)
        session = self._limits.check_id(conversation_id, "conversation_id")
        checked = check_messages(messages)
        jobs: list[str] = await self._write(self._service.schedule_conversation, scope, session, checked)
        self._queued()
        return jobs

    async def schedule_messages(self, user_id: str, conversation_id: str, message_ids: Sequence[str]) -> str:
        """Look for facts in messages that are stored already, one round, in the background; returns the id of the job.

        `message_ids` are those that `chat.put_many` returns. Scheduled again while it waits, it is done once.
        """
        scope = check_scope(user_id)
        session = self._limits.check_id(conversation_id, "conversation_id")
        if isinstance(message_ids, str) or not message_ids:
            raise InvalidInputError("message_ids must be a list of ids that is not empty")
        ids = [self._limits.check_id(each, "message id") for each in message_ids]
        job_id: str = await self._run(self._service.schedule_messages, scope, session, ids)
        self._queued()
        return job_id

    async def get_intent_domains(self, query: str) -> list[str]:
        """The domains a question is about; `general_chat` alone means that nothing needs to be recalled.

        When the model fails, these are all six.
        """
        text = self._limits.check_query(query)
        found = await self._run(self._service.retriever.route, text)
        return list(found.domains)

    async def take_candidates(
        self, user_id: str, session_id: str | None = None, *, limit: int = 1_000
    ) -> list[MemoryEntry]:
        """Keep what conversations have proposed when they were compacted; returns what was stored.

        A candidate that is worth keeping is taken, also when it was known already; the others stay for whoever else
        wants them. Nothing is stored twice.
        """
        scope = check_scope(user_id)
        session = None if session_id is None else self._limits.check_id(session_id, "session_id")
        max_results = check_whole(limit, "limit", 1, 1_000_000)
        return await self._run(self._service.take_candidates, scope, session, max_results)

    # --- recall -------------------------------------------------------------------------------------------------------

    async def retrieve_relevant_memories(
        self,
        user_id: str,
        query: str,
        alpha: float = ALPHA,
        beta: float = BETA,
        gamma: float = GAMMA,
        decay_rate: float = DECAY_RATE,
        top_k_semantic: int = 50,
        top_k_final: int = 10,
        *,
        domains: Iterable[str] | None = None,
        as_of: datetime | None = None,
        fused: bool = False,
        touch: bool = True,
        time_zone: str | tzinfo | None = None,
    ) -> RelevantMemories:
        """The memories that answer best, by α·relevance + β·decay + γ·importance, from all conversations of the user.

        Relevance is the cosine of question and memory in [0, 1], and `top_k_semantic` is how many the vector search
        returns; with `fused` it is the relevance of `recall`, by words, meaning and neighbours. Each memory has
        `content`, `importance_score`, `similarity`, `final_score` and `score_parts`. Without `domains` the router says
        where to look. The time of access of those that the question is about is noted; what was really used is told
        with `feedback`. With `as_of` the answer is what stood at that time. Then, and without `touch`, nothing is
        noted. Days in the question are those of `time_zone`, or of the settings.
        """
        return await self._retrieve(
            user_id,
            query,
            final_weights((alpha, beta, gamma), decay_rate),
            candidates=top_k_semantic,
            limit=top_k_final,
            domains=None if domains is None else check_domains(domains if isinstance(domains, str) else list(domains)),
            as_of=None if as_of is None else clock.require_aware(as_of, "as_of"),
            fused=bool(fused),
            touch=touch,
            zone=clock.check_zone(time_zone),
        )

    async def _retrieve(
        self,
        user_id: str,
        query: str,
        weights: FinalWeights,
        *,
        limit: int,
        candidates: int = 50,
        domains: tuple[str, ...] | None = None,
        as_of: datetime | None = None,
        fused: bool = False,
        touch: bool = True,
        zone: tzinfo | None = None,
    ) -> RelevantMemories:
        limits = self._limits
        hits = await self._run(
            self._service.retriever.retrieve,
            check_scope(user_id),
            limits.check_query(query),
            weights,
            candidates=check_whole(candidates, "top_k_semantic", 1, limits.max_results),
            limit=check_whole(limit, "top_k_final", 1, limits.max_results),
            domains=domains,
            as_of=as_of,
            fused=fused,
            zone=zone,
        )
        if hits and as_of is None and touch:
            # The answer does not wait for the disk; whatever is asked next does.
            self._later(self._service.retriever.note_shown, check_scope(user_id), list(hits))
        return hits

    async def _retrieve_for_prompt(
        self, user_id: str, query: str, *, limit: int = 10, zone: tzinfo | None = None, beside_facts: bool = False
    ) -> RelevantMemories:
        scope, limits = check_scope(user_id), self._limits
        found: RelevantMemories = await self._run(
            self._service.memories_for_prompt,
            scope,
            limits.check_query(query),
            limit=check_whole(limit, "top_k_final", 1, limits.max_results),
            zone=zone,
            beside_facts=beside_facts,
        )
        if found:
            self._later(self._service.retriever.note_shown, scope, list(found))
        return found

    async def feedback(self, user_id: str, useful: str | MemoryEntry | Iterable[Any]) -> list[str]:
        """Count memories as used: cited in an answer, or confirmed; by id, key or entry. Returns the ids counted.

        Each use makes the curve of forgetting flatter. A public one counts for this user alone.
        """
        return await self._write(self._service.retriever.note_used, check_scope(user_id), _names(useful))

    async def get_memory_context_for_prompt(
        self,
        user_id: str,
        query: str,
        *,
        token_budget: int = CONTEXT_TOKENS,
        top_k_final: int = 10,
        time_zone: str | tzinfo | None = None,
    ) -> str:
        """The block 【长期记忆】 for a prompt, fenced, attributed, inside the budget; empty when there is nothing.

        Days in the question and in the block are those of `time_zone`, or of the settings.
        """
        budget = check_whole(token_budget, "token_budget", 1, 1 << 30)
        zone = clock.check_zone(time_zone)
        hits = await self._retrieve_for_prompt(user_id, query, limit=top_k_final, zone=zone)
        scope = check_scope(user_id)
        known = await self._run(self._service.conflicts.of_scopes, visible_scopes(scope))
        conflicts = known.with_reflections(hits)
        return await self._run(
            build_context,
            conflicts.newer_first(hits),
            query,
            scope=scope,
            budget=budget,
            counter=self._service.counter,
            compress=self._service.compress_for_prompt,
            zone=zone or self._zone,
            outdated=conflicts,
        )

    async def compress_memories(self, memories: Iterable[Any], max_chars: int = 500) -> str:
        """One summary of memories (entries, mappings with `content`, or texts) in at most `max_chars` characters."""
        max_chars = check_whole(max_chars, "max_chars", 1, 1_000_000)
        return await self._run(self._service.compress, memories, max_chars)

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
        base_retention: float = BASE_RETENTION,
        strengthening_factor: float = STRENGTHENING_FACTOR,
        threshold: float = DEFAULT_THRESHOLD,
        exclude_memory_types: Sequence[str] = REFLECTION_TYPES,
        dry_run: bool = False,  # noqa: FBT001, FBT002 - positional, like the parameters before it
    ) -> int | ForgettingPlan:
        """Take out of recall what has fallen below the threshold; returns how many. `restore` brings them back.

        Only the user's own long-term memories: what has a domain, is not pinned and not of an excluded type. Memories
        that were stored by key without a domain, and what was said in conversations, stay. A dry run changes nothing
        and returns the plan: what would go, and when each memory falls below the threshold.
        """
        scope = check_scope(user_id)
        curve = EbbinghausForgetting(base_retention, strengthening_factor)
        threshold = check_threshold(threshold)
        excluded = words(list(exclude_memory_types), "exclude_memory_types") if exclude_memory_types else ()
        if dry_run:
            return await self._run(self._service.forgetter.plan, scope, curve, threshold, excluded)
        forgotten = await self._run(self._service.forgetter.cleanup, scope, curve, threshold, excluded)
        self._written()
        return forgotten

    async def restore(
        self, user_id: str, memories: str | MemoryEntry | Iterable[Any] | None = None
    ) -> list[MemoryEntry]:
        """Bring back memories that were forgotten or corrected, by id, key or entry; returns those brought back.

        Without names: all that the curve has taken.
        """
        names = None if memories is None else _names(memories)
        restored = await self._run(self._service.forgetter.restore, check_scope(user_id), names)
        self._written()
        return restored

    async def pin(self, user_id: str, memory: Any, pinned: bool = True) -> bool:  # noqa: FBT001, FBT002
        """Keep a memory from being forgotten, corrected or summarised (or unpin it); `False` if there is none."""
        done = await self._write(self._service.pin, check_scope(user_id), _names([memory])[0], pinned=bool(pinned))
        self._written()
        return done

    # --- corrections --------------------------------------------------------------------------------------------------

    async def conflicts(self, user_id: str, *, limit: int = 100) -> list[Conflict]:
        """Pairs of current facts that may contradict each other, the newest first."""
        max_results = check_whole(limit, "limit", 1, 1_000_000)
        return await self._run(self._service.conflicts.open_ones, check_scope(user_id), max_results)

    async def settle_conflict(self, user_id: str, newer: Any, older: Any, *, keep: Winner = "newer") -> bool:
        """Say which of two facts holds: `newer`, `older`, or `both`; `False` when there is no such conflict.

        The other one is superseded: `superseded` lists it and `restore` brings it back.
        """
        first, second = _names([newer, older])
        done = await self._write(self._service.settle_conflict, check_scope(user_id), first, second, keep)
        self._written()
        return done

    async def superseded(self, user_id: str, *, limit: int = 100, reflections: bool = False) -> list[Replaced]:
        """Facts that were replaced, the last first, each with the one that took its place.

        With `reflections` also the summaries that went because one of their facts was replaced.
        """
        max_results = check_whole(limit, "limit", 1, 1_000_000)
        return await self._run(
            self._service.conflicts.replaced, check_scope(user_id), max_results, reflections=bool(reflections)
        )

    # --- reflection ---------------------------------------------------------------------------------------------------

    async def try_generate_reflection(
        self,
        user_id: str,
        conversation_id: str | None = None,
        importance_threshold: float = REFLECTION_THRESHOLD,
        cooldown_hours: float = REFLECTION_COOLDOWN_HOURS,
    ) -> MemoryEntry | None:
        """Reflect on the facts that no reflection covers yet, if they matter enough; `None` if not."""
        scope = check_scope(user_id)
        session = None
        if conversation_id is not None:
            session = self._limits.check_id(conversation_id, "conversation_id")
        for name, value in (("importance_threshold", importance_threshold), ("cooldown_hours", cooldown_hours)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
                raise InvalidInputError(f"{name} {value!r} must be a number from 0 on")
        made = await self._run(
            self._service.reflector.reflect,
            scope,
            session,
            threshold=importance_threshold,
            cooldown_hours=cooldown_hours,
        )
        self._written()
        return made

    async def explain(self, user_id: str, memory: Any) -> dict[str, Any] | None:
        """Where a memory came from and how it stands: the messages behind it, corrections, reflection, retention.

        `None` when the user has no such memory.
        """
        return await self._run(self._service.explain, check_scope(user_id), _names([memory])[0])


def _check_round(
    limits: Limits, user_id: str, conversation_id: str, user_content: str, assistant_content: str
) -> tuple[str, str, list[Message]]:
    scope = check_scope(user_id)
    session = limits.check_id(conversation_id, "conversation_id")
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


def _check_time(created_at: datetime | None) -> datetime | None:
    return None if created_at is None else clock.require_aware(created_at, "created_at")


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
