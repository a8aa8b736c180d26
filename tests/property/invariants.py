"""What must hold of a memory whatever was done to it, as comparisons with a plain model of what was asked for."""

from dataclasses import dataclass, field
from typing import Any

from jiyi.sync import AgentMemory

SCOPES = ("main", "other", "public")
KEYS = ("a", "b", "钥匙")
SESSIONS = ("today", "昨天")


@dataclass
class Stored:
    """One version of an entry, as it was asked for."""

    content: str
    tags: tuple[str, ...]
    token: str
    """A word that stands in this version of this entry and nowhere else."""


@dataclass
class Model:
    """What the memory was told, in dictionaries."""

    entries: dict[tuple[str, str], Stored] = field(default_factory=dict)
    versions: dict[tuple[str, str], list[str | None]] = field(default_factory=dict)
    """The text of each version of a key, `None` where it was forgotten or erased."""
    sessions: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    """Every token that was ever stored."""

    def new_token(self) -> str:
        """A word that was never used before."""
        self.tokens.append(f"token{len(self.tokens):04}")
        return self.tokens[-1]

    def visible(self, scope: str) -> dict[tuple[str, str], Stored]:
        """What a scope sees: its own and what is public."""
        return {place: stored for place, stored in self.entries.items() if place[0] in {scope, "public"}}


def entries_are_those_of_the_model(memory: AgentMemory, model: Model) -> None:
    """Listing, counting and getting agree with the model in every scope."""
    for scope in SCOPES:
        visible = model.visible(scope)
        listed = {
            (entry.scope, entry.key): (entry.content, entry.tags) for entry in memory.list(scope=scope, limit=1000)
        }
        assert listed == {place: (stored.content, stored.tags) for place, stored in visible.items()}
        assert memory.count(scope=scope) == len(visible)


def every_key_answers_for_itself(memory: AgentMemory, model: Model) -> None:
    """Each key gives its entry, its own before the public one, and the texts of all its versions."""
    for scope in SCOPES:
        for key in KEYS:
            expected = model.entries.get((scope, key)) or model.entries.get(("public", key))
            found = memory.get(key, scope=scope)
            assert (found and found.content) == (expected and expected.content)
            texts = model.versions.get((scope, key)) or model.versions.get(("public", key)) or []
            assert [v.entry.content if v.entry is not None else None for v in memory.history(key, scope=scope)] == texts


def conversations_are_those_of_the_model(memory: AgentMemory, model: Model) -> None:
    """Every session is what was last saved under its name in its scope."""
    for scope in SCOPES:
        for session in SESSIONS:
            saved = [message.to_dict() for message in memory.load_conversation_history(session, scope=scope)]
            assert saved == model.sessions.get((scope, session), [])
        written = {name for (where, name), messages in model.sessions.items() if where == scope and messages}
        assert set(memory.list_sessions(scope=scope)) == written


def words_find_exactly_what_is_there(memory: AgentMemory, model: Model) -> None:
    """Each word of a live entry finds that entry and no other; words of what is gone find nothing."""
    for scope in SCOPES:
        visible = {stored.token: place for place, stored in model.visible(scope).items()}
        for token, place in visible.items():
            hits = memory.recall(token, scope=scope, mode="keyword")
            assert [(hit.scope, hit.key) for hit in hits] == [place]
        gone = [token for token in model.tokens if token not in visible]
        if gone:
            assert memory.recall(" ".join(gone), 1000, scope=scope, mode="keyword") == []


def meaning_finds_the_same_text(memory: AgentMemory, model: Model) -> None:
    """The text of an entry, asked as a question, finds that entry first in every mode that knows meaning."""
    for scope in SCOPES:
        for place, stored in model.visible(scope).items():
            for mode in ("hybrid", "semantic"):
                hits = memory.recall(stored.content, 3, scope=scope, mode=mode)
                assert place in [(hit.scope, hit.key) for hit in hits]


def indexes_hold_what_the_records_say(memory: AgentMemory) -> None:
    """After a drain nothing is missing, stale, surplus or damaged in any index."""
    memory.drain()
    assert [report.to_dict() for report in memory.verify() if not report.sound] == []
