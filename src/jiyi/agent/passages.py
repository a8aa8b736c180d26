"""The lines of recalled passages: where each comes from, who said it, and what corrects it."""

from __future__ import annotations

from typing import Final

from jiyi.agent.dependencies import AgentDeps
from jiyi.longterm.context import drawn_from_several, may_be_outdated
from jiyi.model.entry import MESSAGE_TYPE, NOTE_TYPE, REFLECTION_TYPE, MemoryEntry
from jiyi.model.scope import PUBLIC
from jiyi.model.turn import ShownMemory
from jiyi.prompts.agent import corrected, said_in
from jiyi.prompts.data import label
from jiyi.text.language import Language
from jiyi.text.token_count import cut_to_tokens

_MAX_PASSAGE: Final = 300


def passage_line(deps: AgentDeps, hit: MemoryEntry, language: Language, *, outdated: bool = False) -> str:
    """One recalled passage: when and by whom it was said, whether it may be outdated, and what corrects it."""
    day = hit.event_time.astimezone(deps.zone).date().isoformat()
    whole = " ".join(_with_name(hit).split())
    text = " ".join(cut_to_tokens(whole, _MAX_PASSAGE, deps.counter).split())
    cut = " […]" if len(text) < len(whole) else ""
    doubt = f" · {may_be_outdated(language)}" if outdated else ""
    line = f"- [{day} · {_source(hit, deps.scope, language)}{doubt}] {text}{cut}"
    for fact in hit.corrected_by:
        line += corrected(" ".join(cut_to_tokens(_with_name(fact), _MAX_PASSAGE, deps.counter).split()), language)
    return line


def _with_name(hit: MemoryEntry) -> str:
    """The text behind the name of who said it: in a group "I'll cook" means nothing without one."""
    if hit.name is None or not hit.source.said_by_user or hit.content.startswith(f"{hit.name}: "):
        return hit.content
    return f"{label(hit.name)}: {hit.content}"


def _source(hit: MemoryEntry, scope: str, language: Language = "en") -> str:
    """Where it comes from. What is public is not said by the user, whoever reads it."""
    is_public = hit.scope == PUBLIC != scope
    if hit.memory_type == NOTE_TYPE and hit.source.references:
        return hit.source.references[0]
    if hit.memory_type == MESSAGE_TYPE:
        who = "user" if hit.role == "user" else "assistant"
        return said_in(
            _who(who, is_public=is_public), hit.conversation_id, language, imported=hit.source.trust == "import"
        )
    if hit.source.claim is not None and hit.source.trust in {"user", "agent", "import"}:
        # A fact out of a conversation: its key was made by a program and tells nobody anything.
        who = "user" if hit.source.said_by_user else "assistant"
        return said_in(
            _who(who, is_public=is_public), hit.conversation_id, language, imported=hit.source.trust == "import"
        )
    if hit.memory_type == REFLECTION_TYPE:
        return drawn_from_several(language)
    name = hit.key or hit.memory_type
    return f"{said_in(PUBLIC, None, language)} · {name}" if is_public else name


def _who(who: str, *, is_public: bool) -> str:
    return PUBLIC if is_public and who == "user" else who


def shown_memory(hit: MemoryEntry, part: str, scope: str) -> ShownMemory:
    """What the turn tells about a memory in its prompt."""
    newer = tuple(fact.content for fact in hit.corrected_by)
    return ShownMemory(hit.id, hit.content, part, hit.relevance_score, _source(hit, scope), newer)
