"""Scopes: who may see a memory. They are compared exactly: no case folding, no normalization."""

from __future__ import annotations

import logging
import unicodedata
from typing import Protocol

from jiyi.errors import InvalidScopeError
from jiyi.model.logs import escape_controls

DEFAULT_SCOPE = "main"
"""The scope of a memory that was opened without one."""
PUBLIC = "public"
ERASED_SCOPE = "erased"
"""Under which the change log keeps ids and times of scopes that were erased. Nobody may be called so."""
MAX_SCOPE_CHARACTERS = 256
GROUP_PREFIX = "group:"
"""The prefix of the scopes of group conversations: a group shares no memories with a private scope."""

_log = logging.getLogger("jiyi.scope")
# Here, because every program that opens a memory imports this module.
escape_controls()


def check_scope(scope: object) -> str:
    """Returns `scope` unchanged. Logs and raises `InvalidScopeError` if it is invalid."""
    problem = scope_problem(scope)
    if problem is not None or not isinstance(scope, str):
        _log.error("refused a scope: %s", problem)
        raise InvalidScopeError(f"scope {_shown(scope)} {problem}; pass a non-empty name such as 'main' or a user id")
    return scope


class ScopeSettings(Protocol):
    """The settings that say which scope is meant when a call names none."""

    @property
    def scope(self) -> str:
        """The scope that the memory was opened with."""
        ...

    @property
    def strict_scope(self) -> bool:
        """Whether the default scope has to be named."""
        ...


def named_scope(scope: str | None, settings: ScopeSettings, argument: str = "scope") -> str:
    """The scope of a call: the one it names, else the configured one. Strict mode refuses the default one."""
    if scope is not None:
        return check_scope(scope)
    # A scope that was configured is named; only the default is not.
    if settings.strict_scope and settings.scope == DEFAULT_SCOPE:
        raise missing_scope(argument)
    return settings.scope


def missing_scope(argument: str) -> InvalidScopeError:
    """The error of a call without a scope in strict mode."""
    _log.error("refused a call without %s: strict_scope is on", argument)
    return InvalidScopeError(
        f"{argument} is missing, and strict_scope is on: name the scope of the chat, or open the memory with a scope"
    )


def visible_scopes(scope: str) -> tuple[str, ...]:
    """The scopes whose memories `scope` may read: itself and `public`."""
    checked = check_scope(scope)
    return (PUBLIC,) if checked == PUBLIC else (checked, PUBLIC)


def group_scope(session_id: str, scope: str | None = None) -> str:
    """The scope of a group conversation: the one given, if it is a group's, or one made from the id of the session."""
    if scope is None:
        name = f"{GROUP_PREFIX}{session_id}"
        if scope_problem(name) is None:
            return name
        # Too long, or with invisible characters.
        from jiyi.model.identity import text_hash

        return f"{GROUP_PREFIX}{text_hash(session_id)[:32]}"
    checked = check_scope(scope)
    if not checked.startswith(GROUP_PREFIX):
        raise InvalidScopeError(
            f"scope {_shown(scope)} is not a group's: in a group everybody would see what is in it; leave it out, or "
            f"pass a name that begins with {GROUP_PREFIX!r}"
        )
    return checked


def may_be_seen_by_group(scope: str) -> bool:
    """Whether a group conversation may work in this scope: its own kind, or the public one."""
    return scope == PUBLIC or scope.startswith(GROUP_PREFIX)


def scope_problem(scope: object) -> str | None:
    """Returns what is wrong with a scope, or `None`."""
    if not isinstance(scope, str) or not scope:
        return "is empty" if scope == "" else f"is a {type(scope).__name__}, not text"
    if scope == ERASED_SCOPE:
        return "is kept for what is left of erased scopes"
    if len(scope) > MAX_SCOPE_CHARACTERS:
        return f"has {len(scope)} characters (at most {MAX_SCOPE_CHARACTERS})"
    if scope != scope.strip():
        return "begins or ends with white space"
    for character in scope:
        # Control, format (zero width, bidi) and surrogate characters are invisible: two scopes would look the same.
        if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            return f"contains the invisible character U+{ord(character):04X}"
    return None


def _shown(scope: object) -> str:
    shown = ascii(scope)
    return shown if len(shown) <= 80 else shown[:77] + "..."
