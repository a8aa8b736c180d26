"""Confirmation: the person is asked before something is forgotten, in both eras of the protocol."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from jiyi.model.entry import MemoryEntry

Context: TypeAlias = ServerRequestContext[Any, Any]

_CONFIRM: Final = "confirm"
_SHOWN: Final = 500
_SCHEMA: Final = {
    "type": "object",
    "properties": {_CONFIRM: {"type": "boolean", "title": "Forget 忘掉", "default": False}},
    "required": [_CONFIRM],
}


def can_ask(context: Context) -> bool:
    """Whether the client can show a form to its user. One that cannot has asked by the call itself."""
    capabilities = context.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    if elicitation is None:
        return False
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS and not context.session.can_send_request:
        # With several workers there are no sessions, and so no way back to the client.
        return False
    # Neither named means forms: that was the only kind at first.
    return elicitation.form is not None or elicitation.url is None


async def ask(
    context: Context, params: types.CallToolRequestParams, entry: MemoryEntry
) -> bool | types.InputRequiredResult:
    """Whether the person agrees to forget this entry; without an answer yet, the question to send."""
    question = f"Forget this memory? 忘掉这条记忆吗？\n\n{entry.content[:_SHOWN]}"
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        try:
            answer = await context.session.elicit_form(question, _SCHEMA, related_request_id=context.request_id)
        except MCPError:
            # The client could not show it, so nobody has agreed.
            return False
        return _agreed(answer)
    responses = params.input_responses or {}
    # The answer counts for what was shown: the call may name another entry now, or the entry may have been changed.
    shown = _fingerprint(entry)
    if _CONFIRM in responses and params.request_state == shown:
        return _agreed(responses[_CONFIRM])
    form = types.ElicitRequestFormParams(message=question, requested_schema=_SCHEMA)
    return types.InputRequiredResult(input_requests={_CONFIRM: types.ElicitRequest(params=form)}, request_state=shown)


def _fingerprint(entry: MemoryEntry) -> str:
    """What the person was shown. It needs no seal: any other value only leads to the question being asked again."""
    return hashlib.sha256(f"{entry.id}\0{entry.version}\0{entry.content}".encode()).hexdigest()


def _agreed(answer: object) -> bool:
    """Whether a form came back with the box ticked."""
    if not isinstance(answer, types.ElicitResult) or answer.action != "accept":
        return False
    return (answer.content or {}).get(_CONFIRM) is True
