"""Text that every database can store."""

from __future__ import annotations


def storable(text: str) -> str:
    """The text with NUL characters replaced by spaces and lone surrogates by `?`: no database takes them as text."""
    if "\x00" in text:
        text = text.replace("\x00", " ")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
