"""Who is quoted in a statement, and whom what they say is about.

What stands in a quotation of somebody else is said of them: their "I" is not the speaker. What is reported without
quotation marks is said of whomever the reported clause names: "My mum says I'm allergic to penicillin" is about the
speaker, and the mother says so.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from jiyi.text.normalize import fold
from jiyi.text.statements.about.subjects import PRONOUN, USER, named_subject, subject_of
from jiyi.text.statements.parts.own_words import quotation_in

__all__ = ["Reported", "quotes_another", "reported_in"]

_REPORTED_ZH: Final = re.compile(
    r"(?P<by>[^，。；！？“”「」\"]{1,8}?)(?:也|都|还|总|老|一直|刚刚?|昨天|今天)*(?:说|讲|(?:告诉|通知|提醒)我|诊断(?:出|说)?|确诊)(?:了|过)?"
    r"[，,]?(?P<what>(?:我|咱)(?!们?(?:这|那)).+)",
    re.DOTALL,
)
_REPORTED_EN: Final = re.compile(
    r"(?P<by>[^,.;!?\"“”]{2,40}?) (?:(?:has|have|just|also|always|once) )?"
    r"(?:says?|said|told (?:me|us)|tells (?:me|us)|reckons?|confirm(?:s|ed)|insists?) (?:that )?"
    r"(?P<what>(?:I|I'm|Im|I've|I'd|we|we're|we've|my|our|i|i'm|im|i've)\b.+)",
    re.DOTALL,
)
_SPEAKER: Final = re.compile(r"^(?:我|咱|俺)(?:们|就|也|常|总|老|都|曾)*(?:说|讲|问|喊|写)|^(?:i|we)\b|^i'(?:m|ve|d)\b")
_THINGS: Final = frozenset({"it", "it's", "its", "它"})
_WHO_SAYS: Final = re.compile(r"^(?:says|said) (?P<by>[^,.!?]+)|^(?P<zh>[^，。！？]{1,6})(?:说|讲)", re.IGNORECASE)


class Reported(NamedTuple):
    """Who says something, and whom it is about."""

    by: str
    subject: str


def quotes_another(text: str) -> bool:
    """Whether the first person of a text, or a part of it, stands in words of somebody else."""
    found = quotation_in(text)
    return found is not None and _SPEAKER.search(fold(text[: found.start()].strip())) is None


def reported_in(text: str) -> Reported | None:
    """Who says what a statement passes on, and whom it is about; `None` where that is not told."""
    quotation = quotation_in(text)
    if quotation is not None:
        before, after = text[: quotation.start()].strip(), text[quotation.end() :].strip(" ,，.。")
        said = None if before else _WHO_SAYS.search(after)
        by = _sayer((said["by"] or said["zh"]) if said is not None else before, text)
        return None if _SPEAKER.search(fold(before)) or not by else Reported(by, by)
    # Traditional characters are folded; English names are told by their capitals.
    found = _REPORTED_ZH.match(fold(text)) or _REPORTED_EN.match(text)
    by = _sayer(found["by"], text) if found is not None else ""
    if found is None or not by:
        return None
    return Reported(by, named_subject(found["what"]) or subject_of(fold(found["what"])))


def _sayer(words: str, text: str) -> str:
    """The person that words name, in the form of a subject; the pronoun where they have no more."""
    folded = fold(words)
    if _SPEAKER.search(folded):
        return ""
    subject = named_subject(text) or subject_of(folded)
    if subject != USER:
        return subject
    pronoun = PRONOUN.search(folded)
    return "" if pronoun is None or pronoun[0] in _THINGS else pronoun[0]
