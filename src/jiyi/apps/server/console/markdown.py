"""Markdown to HTML: the only text of the console that becomes markup.

Raw HTML is off, images are off, and links lead to http, https and mailto only. The renderer writes elements of one list
only, whatever the parser finds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

ELEMENTS: Final = frozenset(
    {"p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "em", "strong", "s", "code", "pre", "blockquote"}
    | {"ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"}
)
"""Every element that can come out."""
ATTRIBUTES: Final = frozenset({"href", "rel", "start", "dir"})
MAX_CHARACTERS: Final = 200_000
"""A longer text is shown as it is."""
_LINK: Final = re.compile(r"(?:https?://|mailto:)[^\s<>\"']+", re.IGNORECASE)


def to_html(text: str) -> Markup:
    """A text as HTML. This is the one place where markup is made of stored text."""
    if len(text) > MAX_CHARACTERS:
        return Markup("<pre dir=auto>{}</pre>").format(text)
    return Markup(_parser().render(text))  # noqa: S704 - made by the parser below, which escapes


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline"])
    parser.validateLink = lambda url: _LINK.fullmatch(url) is not None  # type: ignore[method-assign] # the documented way
    return parser


class _Renderer(RendererHTML):
    """Writes elements and attributes of the lists only."""

    def renderToken(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: N802 - the name in the base class
        token = tokens[idx]
        if token.tag and token.tag not in ELEMENTS:
            return str(escape(token.content))
        token.attrs = {name: value for name, value in token.attrs.items() if name in ATTRIBUTES}
        if token.nesting == 1 and token.tag == "a":
            token.attrs["rel"] = "noreferrer noopener nofollow"
        if token.nesting == 1 and token.block and token.level == 0:
            token.attrs["dir"] = "auto"
        return super().renderToken(tokens, idx, options, env)

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """A block of code, without the word behind the fence: it would become a class."""
        del options, env
        return f'<pre dir="auto"><code>{escape(tokens[idx].content)}</code></pre>\n'

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """A block of code."""
        return self.fence(tokens, idx, options, env)

    def code_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Code inside a line."""
        del options, env
        return f"<code>{escape(tokens[idx].content)}</code>"

    def text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Words."""
        del options, env
        return str(escape(tokens[idx].content))
