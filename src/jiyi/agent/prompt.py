"""One prompt from all rooms, inside one budget of tokens, with nothing said twice.

The shares: instructions and tools are as long as they are; of what is left beside the reply, the notes get a quarter at
most, the profile of the user, long-term memories and recalled passages a tenth each at most, and the conversation the
rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from jiyi.agent.dependencies import AgentDeps, AgentOptions
from jiyi.agent.follow_ups import follow_ups
from jiyi.agent.outdated_passages import outdated_passages
from jiyi.agent.passages import passage_line, shown_memory
from jiyi.agent.progress import BROKEN_OFF, own_last, turn_of
from jiyi.agent.prompt_texts import MAX_WHOLE, PromptTexts
from jiyi.chat.window import ChatWindow
from jiyi.errors import InvalidInputError, NotesError
from jiyi.longterm.compression import compress_by_rules
from jiyi.longterm.conflicts import OpenConflicts, open_conflicts
from jiyi.longterm.context import build_context, one_line
from jiyi.longterm.profile import MAX_FACTS, build_profile
from jiyi.longterm.prompt_memories import current_facts, retrieve_for_prompt, speaks_for
from jiyi.longterm.router import FALLBACK
from jiyi.model.chat import SYSTEM_ROLES
from jiyi.model.entry import MESSAGE_TYPE, REFLECTION_TYPE, MemoryEntry
from jiyi.model.message import Message
from jiyi.model.relevance import MIN_RELEVANCE
from jiyi.model.scope import visible_scopes
from jiyi.model.storable import storable
from jiyi.model.turn import BudgetPart, ShownMemory
from jiyi.prompts.agent import INSTRUCTIONS, passages_block, today
from jiyi.text import detect_language
from jiyi.text.language import Language
from jiyi.text.questions import asks_about_requests, asks_about_texts
from jiyi.text.statements.keeping.fact_kinds import states_nothing
from jiyi.text.statements.keeping.smalltalk import says_nothing
from jiyi.text.token_count import MESSAGE_TOKENS, count_message

if TYPE_CHECKING:
    from jiyi.ports import TokenCounter

_NOTES_SHARE: Final = 4
_MEMORY_SHARE: Final = 10
_MAX_LONGTERM: Final = 1_000
_MAX_RECALLED: Final = 1_500
_MAX_PASSAGE: Final = 300
_PASSAGES: Final = 8
_LOOKED_AT: Final = 100
"""So many of what is found for a question, however irrelevant, tell which facts fill the profile."""
_BLANK_LINES: Final = 8
"""Tokens of the blank lines between the parts: one or two each."""
_QUERY_CHARACTERS: Final = 2_000
_LONG_DAY: Final = datetime(2026, 9, 30)  # noqa: DTZ001
"""A Wednesday: the longest name."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How many tokens each part may have."""

    instructions: int
    tools: int
    notes: int
    profile: int
    longterm: int
    recalled: int
    conversation: int


def share_out(options: AgentOptions, tools: Sequence[Any], counter: TokenCounter, *, with_notes: bool) -> Shares:
    """Share out the limit; refused when instructions and tools leave too little for anything else."""
    texts = [options.instructions] if options.instructions is not None else list(INSTRUCTIONS.values())
    dated = max(counter.count(today(_LONG_DAY, "en")), counter.count(today(_LONG_DAY, "zh")))
    instructions = max(counter.count(text) for text in texts) + dated + MESSAGE_TOKENS
    defined = counter.count(json.dumps(tools, ensure_ascii=False)) if tools else 0
    room = options.token_limit - options.reply - instructions - defined
    if room < options.token_limit // 4:
        raise InvalidInputError(
            f"of {options.token_limit:,} tokens the instructions need {instructions:,}, the tools {defined:,} and the "
            f"reply {options.reply:,}: too little is left for the conversation. Raise token_limit, or pass fewer tools"
        )
    notes = room // _NOTES_SHARE if with_notes else 0
    profile = min(options.profile_tokens, room // _MEMORY_SHARE)
    longterm = min(_MAX_LONGTERM, room // _MEMORY_SHARE)
    recalled = min(_MAX_RECALLED, room // _MEMORY_SHARE)
    conversation = room - notes - profile - longterm - recalled - _BLANK_LINES
    return Shares(instructions, defined, notes, profile, longterm, recalled, conversation)


@dataclass(slots=True)
class Blocks:
    """What goes before the conversation."""

    instructions: str
    notes: str = ""
    profile: str = ""
    longterm: str = ""
    recalled: str = ""
    today: str = ""
    passages: list[str] = field(default_factory=list)
    """The lines of what is recalled."""
    relevant: list[MemoryEntry] = field(default_factory=list)
    """The memories and passages that stand in it for this question."""
    details: dict[str, str] = field(default_factory=dict)
    shown: list[ShownMemory] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    conflicts: OpenConflicts = field(default_factory=OpenConflicts)
    nearness: dict[str, int] = field(default_factory=dict)
    """Id of what is found for the question, however irrelevant -> its place."""

    def near(self, fact: MemoryEntry) -> int | None:
        """The place of a fact, or of a message that it was made of, among what is found for the question."""
        places = (self.nearness.get(each) for each in (fact.id, *fact.source.references))
        return min((place for place in places if place is not None), default=None)

    @property
    def texts(self) -> list[str]:
        """In the order of the prompt: what changes least stands first, so that servers can cache it."""
        ordered = (self.instructions, self.notes, self.profile, self.longterm, self.recalled, self.today)
        return [text for text in ordered if text]


async def gather_blocks(
    deps: AgentDeps, options: AgentOptions, shares: Shares, question: str, window: ChatWindow
) -> Blocks:
    """What the rooms know for this question."""
    language = detect_language(question)
    blocks = Blocks(options.instructions or INSTRUCTIONS[language])
    blocks.today = today(deps.stores.now().astimezone(deps.zone), language)
    query = _query(question)
    blocks.conflicts = await deps.run(open_conflicts, deps.stores, visible_scopes(deps.scope))
    await _add_notes(deps, shares, blocks)
    # "Am I allergic to penicillin?" has the words of the fact that it asks for.
    said = PromptTexts(window.message_ids)
    said.add(blocks.notes)
    for message in window:
        if message.text != question:
            said.add(message.text, name=message.name)
    skipped = False
    if query and not deps.simple:
        skipped = await _add_longterm(deps, shares, blocks, query, said)
    said.add(question)
    if query and not skipped:
        await _add_recalled(deps, shares, blocks, query, said)
        await _add_follow_ups(deps, shares, blocks, language, said)
        await _mark_outdated(deps, shares, blocks, language)
    elif skipped:
        blocks.details |= dict.fromkeys(("long-term", "recalled"), "small talk: nothing was searched")
    if shares.profile:
        # After the others: what stands there because it is relevant is not said again.
        await _add_profile(deps, shares, blocks, language, said)
    return blocks


def _query(question: str) -> str:
    """The question, or the beginning and the end of a very long one."""
    text = storable(question).strip()
    half = _QUERY_CHARACTERS // 2
    return text if len(text) <= _QUERY_CHARACTERS else f"{text[:half]} {text[-half:]}"


async def _add_notes(deps: AgentDeps, shares: Shares, blocks: Blocks) -> None:
    if deps.notes is None:
        return
    try:
        context = await deps.notes.build_context(deps.kind, max_tokens=shares.notes)
    except NotesError as error:
        blocks.problems.append(f"notes: {error}")
        return
    blocks.notes = context.text
    blocks.details["notes"] = ", ".join(
        f"{layer.path}{f' (without {layer.cut} lines)' if layer.cut else ''}" for layer in context.layers
    )


async def _add_longterm(deps: AgentDeps, shares: Shares, blocks: Blocks, query: str, said: PromptTexts) -> bool:
    """The block of long-term memories; whether the question is small talk for which nothing is searched."""
    found = await retrieve_for_prompt(
        deps.longterm, deps.scope, query, zone=deps.zone, beside_facts=bool(shares.profile)
    )
    if found.routed_by == FALLBACK:
        blocks.problems += found.notes
    if found.skipped:
        return True
    states = _states_something(query)
    relevant = [hit for hit in found if (hit.relevance_score or 0.0) >= MIN_RELEVANCE and states(hit)]
    blocks.conflicts = blocks.conflicts.with_reflections(found)
    hits = [hit for hit in blocks.conflicts.newer_first(relevant) if not said.already(hit)]
    repeated = await deps.run(_reflections_of_shown, deps, hits, said)
    hits = [hit for hit in hits if hit.id not in repeated]
    blocks.longterm = await deps.run(
        build_context,
        hits,
        query,
        scope=deps.scope,
        budget=shares.longterm,
        counter=deps.counter,
        compress=lambda texts, max_chars: (compress_by_rules(list(texts), max_chars), ""),
        zone=deps.zone,
        outdated=blocks.conflicts,
    )
    if blocks.longterm:
        blocks.shown += [shown_memory(hit, "long-term", deps.scope) for hit in hits]
        blocks.relevant += hits
        deps.noted(deps.scope, hits)
        said.add(blocks.longterm)
        for hit in hits:
            # What was shortened or left out may stand in the profile or among what is recalled.
            if said.holds(one_line(hit.content)):
                said.show(hit)
        blocks.details["long-term"] = f"{len(hits)} memories"
    return False


async def _add_profile(deps: AgentDeps, shares: Shares, blocks: Blocks, language: Language, said: PromptTexts) -> None:
    """The block of what an answer has to respect whatever is asked; being shown in it is no use of a memory."""
    facts = await deps.run(deps.stores.store.profile_facts, deps.scope, deps.stores.now(), limit=MAX_FACTS)
    blocks.profile, shown = await deps.run(
        build_profile,
        facts,
        language,
        scope=deps.scope,
        budget=shares.profile,
        counter=deps.counter,
        zone=deps.zone,
        said=said.already,
        conflicts=blocks.conflicts,
        nearness=blocks.near,
        now=deps.stores.now(),
    )
    if shown:
        blocks.shown += [shown_memory(fact, "profile", deps.scope) for fact in shown]
        blocks.details["profile"] = f"{len(shown)} of {len(facts)} facts"


async def _add_recalled(deps: AgentDeps, shares: Shares, blocks: Blocks, query: str, said: PromptTexts) -> None:
    found = await deps.recall(
        query,
        _LOOKED_AT,
        scope=deps.scope,
        kind=deps.kind,
        duplicates=True,
        time_zone=deps.zone,
        now=deps.stores.given_now,
    )
    minimum = 0.0 if deps.simple else MIN_RELEVANCE
    # Most hits are left out below: facts whose message is shown, what is shown already, and bare requests.
    hits = [hit for hit in found if (hit.relevance_score or 0.0) >= minimum][: 4 * _PASSAGES]
    for place, hit in enumerate(found):
        blocks.nearness.setdefault(hit.id, place)
    language = detect_language(query)
    states = _states_something(query)
    shown: list[MemoryEntry] = []
    passages = _whole_messages([hit for hit in hits if states(hit)])
    # A reflection uses up no line of what it was made of.
    for passage in sorted(passages, key=lambda hit: hit.memory_type == REFLECTION_TYPE):
        each = [passage]
        if passage.memory_type == REFLECTION_TYPE and not said.already(passage):
            each = await deps.run(_in_place_of, deps, passage, said, beside_facts=bool(shares.profile))
        for hit in each:
            if len(blocks.passages) == _PASSAGES or said.already(hit):
                continue
            if _add_passage(deps, shares, blocks, hit, language):
                said.show(hit)
                shown.append(hit)
    deps.noted(deps.scope, shown)


def _whole_messages(hits: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """The hits, a message in the place of the facts that were made of it: it says all that they do.

    "It's cashews!" means nothing without the sentence before it. A fact refers to the reply as well, which does not
    say it.
    """
    messages = {
        (hit.id, hit.role): hit for hit in hits if hit.memory_type == MESSAGE_TYPE and len(hit.content) <= MAX_WHOLE
    }
    order: dict[str, MemoryEntry] = {}
    for hit in hits:
        found = hit
        if hit.source.claim is not None:
            said_by = "user" if hit.source.said_by_user else "assistant"
            whole = (messages.get((each, said_by)) for each in hit.source.references)
            found = next((message for message in whole if message is not None), hit)
        order.setdefault(found.id, found)
    return list(order.values())


async def _add_follow_ups(
    deps: AgentDeps, shares: Shares, blocks: Blocks, language: Language, said: PromptTexts
) -> None:
    """What the user said right after what is shown, where it may have changed it."""
    for message in await deps.run(follow_ups, deps, list(blocks.relevant)):
        if not said.already(message) and _add_passage(deps, shares, blocks, message, language):
            said.show(message)


async def _mark_outdated(deps: AgentDeps, shares: Shares, blocks: Blocks, language: Language) -> None:
    """Mark the passages that something later has changed; as many lines as fit with their marks."""
    shown = {shown.id for shown in blocks.shown if shown.part == "recalled"}
    passages = [hit for hit in blocks.relevant if hit.id in shown]
    others = [hit for hit in blocks.relevant if hit.id not in shown]
    found = await deps.run(outdated_passages, deps, passages, others, blocks.conflicts)
    if not found:
        return
    lines = [passage_line(deps, hit, language, outdated=hit.id in found) for hit in passages]
    block = passages_block(lines, language)
    if deps.counter.count(block) <= shares.recalled:
        blocks.passages, blocks.recalled = lines, block


def _add_passage(deps: AgentDeps, shares: Shares, blocks: Blocks, hit: MemoryEntry, language: Language) -> bool:
    """One more line of what is recalled; whether there was room for it."""
    lines = [*blocks.passages, passage_line(deps, hit, language)]
    block = passages_block(lines, language)
    if deps.counter.count(block) > shares.recalled:
        return False
    blocks.passages, blocks.recalled = lines, block
    blocks.relevant.append(hit)
    blocks.shown.append(shown_memory(hit, "recalled", deps.scope))
    blocks.details["recalled"] = f"{len(lines)} passages"
    return True


def _in_place_of(
    deps: AgentDeps, reflection: MemoryEntry, said: PromptTexts, *, beside_facts: bool
) -> list[MemoryEntry]:
    """A reflection or its facts, if they still hold and none is shown: what is shown is not said twice."""
    facts = current_facts(deps.stores.store, reflection, deps.stores.now())
    if any(said.already(fact) for fact in facts):
        return []
    return [reflection] if speaks_for(reflection, facts, beside_facts=beside_facts) else facts


def _reflections_of_shown(deps: AgentDeps, hits: Sequence[MemoryEntry], said: PromptTexts) -> set[str]:
    """The ids of the reflections of which a fact is shown already."""
    reflections = [hit for hit in hits if hit.memory_type == REFLECTION_TYPE]
    return {each.id for each in reflections if not _in_place_of(deps, each, said, beside_facts=False)}


def _states_something(query: str) -> Callable[[MemoryEntry], bool]:
    """Whether a memory is worth a line: a message or fact of "OK", or of an earlier request, answers nothing.

    A question about what was asked before is answered by requests.
    """
    about_requests = asks_about_requests(query) or asks_about_texts(query)

    def states(hit: MemoryEntry) -> bool:
        if hit.memory_type != MESSAGE_TYPE and hit.source.claim is None:
            return True
        if hit.memory_type == MESSAGE_TYPE and says_nothing(hit.content):
            return False
        # What the assistant said answers, also where it asks.
        return about_requests or hit.role == "assistant" or hit.pinned or not states_nothing(hit.content)

    return states


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of a prompt, with how many tokens each part has."""

    messages: list[Message]
    parts: tuple[BudgetPart, ...]
    dropped: int
    """How many older messages did not fit beside this turn."""


def compose(
    blocks: Blocks,
    window: Sequence[Message],
    turn_id: str,
    question: Message,
    *,
    shares: Shares,
    options: AgentOptions,
    counter: TokenCounter,
) -> Prompt:
    """The prompt: one system message, then the conversation with this turn at its end, never above the limit."""
    said = [one for one in window if not (one.extra.get(BROKEN_OFF) and not one.text.strip())]
    ordered = own_last(said, turn_id, question)
    leading: list[str] = []
    while ordered and ordered[0].role in SYSTEM_ROLES:
        leading.append(ordered.pop(0).text)
    system = Message("system", "\n\n".join([*blocks.texts, *leading]))
    sizes = [count_message(message, counter) for message in ordered]
    room = options.token_limit - options.reply - shares.tools - count_message(system, counter)
    dropped = 0
    while sum(sizes[dropped:]) > room and dropped < len(ordered) and turn_of(ordered[dropped]) != turn_id:
        dropped += 1
    messages = [system, *ordered[dropped:]]
    return Prompt(messages, _parts(blocks, messages, shares, counter), dropped)


def _parts(
    blocks: Blocks, messages: Sequence[Message], shares: Shares, counter: TokenCounter
) -> tuple[BudgetPart, ...]:
    total = sum(count_message(message, counter) for message in messages)
    always = [text for text in (blocks.instructions, blocks.today) if text]
    fixed = [
        BudgetPart("instructions", sum(map(counter.count, always)) + MESSAGE_TOKENS, shares.instructions),
        BudgetPart("notes", counter.count(blocks.notes), shares.notes, blocks.details.get("notes", "")),
        BudgetPart("profile", counter.count(blocks.profile), shares.profile, blocks.details.get("profile", "")),
        BudgetPart("long-term", counter.count(blocks.longterm), shares.longterm, blocks.details.get("long-term", "")),
        BudgetPart("recalled", counter.count(blocks.recalled), shares.recalled, blocks.details.get("recalled", "")),
    ]
    rest = max(total - sum(part.tokens for part in fixed), 0)
    said = BudgetPart("conversation", rest, shares.conversation + _BLANK_LINES, f"{len(messages) - 1} messages")
    return (*fixed[:1], BudgetPart("tools", shares.tools, shares.tools), *fixed[1:], said)
