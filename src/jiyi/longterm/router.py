"""Which domains a question is about. When the router fails, all domains are searched."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final

from jiyi.errors import ModelError
from jiyi.longterm.dependencies import MADE_BY_RULES, made_by
from jiyi.longterm.rule_router import route_by_rules
from jiyi.longterm.structured_output import ask_json, shown, wrong
from jiyi.longterm.untrusted import readable
from jiyi.model.domain import DOMAINS, GENERAL_CHAT, SUBSTANTIAL
from jiyi.ports import ChatModel
from jiyi.prompts.longterm import ROUTE_SCHEMA, route_messages

_log = logging.getLogger("jiyi.longterm")
FALLBACK: Final = "fallback"
"""The value of `Route.by` after a failure of the model: everything is searched, and the note says why."""
_MAX_QUERY = 4_000
_REPLY_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Route:
    """Where to look."""

    domains: tuple[str, ...]
    by: str
    """`rules`, `model:NAME`, `caller`, or `fallback`."""
    note: str = ""

    @property
    def skips(self) -> bool:
        """Whether nothing needs to be recalled."""
        return self.domains == (GENERAL_CHAT,)

    @property
    def filter(self) -> tuple[str, ...]:
        """The domains to search in; empty for everything, entries without a domain included.

        What rules think of a question is a hint: a wrong one would hide the answer, and the ranking finds the right
        domain by itself.
        """
        return () if self.by == MADE_BY_RULES or set(SUBSTANTIAL) <= set(self.domains) else self.domains


def route(model: ChatModel | None, query: str) -> Route:
    """The domains of a question, by a model or by rules."""
    if model is None:
        return Route(route_by_rules(query), MADE_BY_RULES)
    try:
        domains = ask_json(
            model,
            route_messages(readable(query)[:_MAX_QUERY]),
            ROUTE_SCHEMA,
            lambda reply: _read(model, reply),
            max_tokens=_REPLY_TOKENS,
        )
    except ModelError as error:
        _log.warning("the router failed (%s): all domains are searched", type(error).__name__)
        note = f"the router failed ({type(error).__name__}: {error}); all domains were searched"
        return Route(DOMAINS, FALLBACK, note)
    return Route(domains, made_by(model))


def _read(model: ChatModel, reply: Any) -> tuple[str, ...]:
    domains = reply.get("domains") if isinstance(reply, dict) else None
    if not isinstance(domains, list) or not domains:
        raise wrong(model, f"domains {shown(domains)}")
    for domain in domains:
        if domain not in DOMAINS:
            raise wrong(model, f"domain {shown(domain)}, which is none of the six")
    found = tuple(dict.fromkeys(domains))
    # Beside other domains small talk is left out: no answer is there.
    return tuple(domain for domain in found if domain != GENERAL_CHAT) or found
