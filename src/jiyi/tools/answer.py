"""What a tool gives back: a value for programs, and a text for the model that never exceeds its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jiyi.text.token_count import cut_to_tokens

if TYPE_CHECKING:
    from jiyi.ports import TokenCounter

MIN_TOKENS: Final = 100
_LEFT_OUT: Final = "({count} more left out: too long for one answer; ask for fewer, or more narrowly)"
_CUT: Final = " […]"
_WORTH_CUTTING: Final = 60
"""A piece of fewer tokens than this says too little."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer to a call of a model."""

    text: str
    """For the model: bounded in tokens. It is data for the model to read, not instructions."""
    data: dict[str, Any] = field(default_factory=dict)
    """The whole answer, ready for JSON."""
    is_error: bool = False
    """Whether the call was refused; the text says why and what would be right."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Result:
    """What a handler has done or found."""

    data: dict[str, Any]
    head: str
    items: Sequence[str] = ()
    lines: Sequence[str] = ()
    """The lines of a file, shown as they are."""


def bounded_text(result: Result, counter: TokenCounter, max_tokens: int) -> str:
    """The head and as many whole items as fit, best first; the last one may be cut, and what is missing is counted."""
    items = [*result.lines, *(_item(text) for text in result.items)]
    whole = "\n".join([result.head, *items])
    if counter.count(whole) <= max_tokens:
        return whole
    shown = [cut_to_tokens(result.head, max_tokens, counter)]
    for number, item in enumerate(items):
        rest = len(items) - number - 1
        if counter.count("\n".join([*shown, item, *_left_out(rest)])) <= max_tokens:
            shown.append(item)
            continue
        used = counter.count("\n".join([*shown, _CUT, *_left_out(rest)])) + 1
        cut = cut_to_tokens(item, max_tokens - used, counter) if max_tokens - used >= _WORTH_CUTTING else ""
        shown += [cut + _CUT, *_left_out(rest)] if cut else _left_out(rest + 1)
        break
    text = "\n".join(shown)
    return text if counter.count(text) <= max_tokens else cut_to_tokens(text, max_tokens, counter)


def _left_out(count: int) -> list[str]:
    return [_LEFT_OUT.format(count=count)] if count else []


def _item(text: str) -> str:
    """Its further lines are indented, so that no text inside an item looks like another item."""
    return "- " + "\n  ".join(text.splitlines())
