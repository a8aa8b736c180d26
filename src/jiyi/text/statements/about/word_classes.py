"""Words of Chinese text with their classes (noun, verb, …), by the dictionary of the segmenter."""

from __future__ import annotations

__all__ = ["tagged"]


def tagged(text: str) -> list[tuple[str, str]]:
    """The words of a text, each with its class: n noun, v verb, t time, m number, r pronoun, p preposition."""
    # The dictionary is read with the first text, not when this module is imported.
    import rjieba

    found: list[tuple[str, str]] = rjieba.tag(text)
    return found
