"""What is left of a fact of which one part was replaced: whole clauses with their values, each with its subject.

Nothing is cut out of a clause. A clause goes whole, or its old figure or day is replaced by the new one where it says
more than that: "my meds are ramipril 5mg" after "10mg now". No subject is made up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from jiyi.longterm.claim_reading import attribute_of
from jiyi.text.normalize import fold
from jiyi.text.statements.claims import pieces_of
from jiyi.text.statements.phrase import SPEAKER
from jiyi.text.statements.phrases_en import predicate_en
from jiyi.text.statements.phrases_zh import predicate_zh
from jiyi.text.statements.subject_phrases import names_its_subject, phrases_of
from jiyi.text.statements.subjects import PRONOUN, starts_with_subject, subject_words

__all__ = ["HEADING", "residue_without_attribute", "says_something", "without_pieces"]

HEADING: Final = re.compile(r"[:：]\s*$")
_ONLY_SUBJECT: Final = re.compile(r"^(?:我们?|家里|and|my|our|i|i'm|we)\b\s*")
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_COORDINATED: Final = re.compile(r"\b(?:and|but|&)\s*$", re.IGNORECASE)
_ONE_MORE: Final = re.compile(r"^(?:an?|the|my|our|some|one|two|three|four|five|\d+|[A-Z])\b")
_NEGATED: Final = re.compile(r"\b(?:not|never|no)\b|n't\b|不|没")
_HE_OR_SHE: Final = re.compile(r"^(?:he|she|they|he's|she's|they're)\b|^[他她]")
_OWNED: Final = re.compile(
    r"(?:'s|’s) [a-z][\w -]*?(?= (?:is|are|was|has|will|starts)\b)|的[^，是在有定]{1,8}(?=是|在|有|定)"
)
_LISTED: Final = re.compile(r"(?:、|和|还有)\s*$")
_FIRST_PERSON: Final = frozenset(
    ["i", "i'm", "im", "i've", "ive", "we", "we've", "we're", "我", "我们", "咱", "咱们", "俺"]
)


def residue_without_attribute(text: str) -> str:
    """What a fact says besides the piece that sets an attribute; empty when that is all of it."""
    pieces = pieces_of(text)
    setting = [number for number, piece in enumerate(pieces) if attribute_of(piece) is not None]
    return without_pieces(pieces, {setting[0]}) if len(pieces) > 1 and len(setting) == 1 else ""


def without_pieces(pieces: Sequence[str], gone: AbstractSet[int]) -> str:
    """What is left of a fact: all its other parts, with its subject; empty when they say nothing."""
    heading = HEADING.search(pieces[0]) is not None
    left = [piece for number, piece in enumerate(pieces) if number not in gone]
    text = "".join(left).strip(" ,，；;、:：&").removesuffix(" and").removeprefix("and ").strip()
    if (
        not left
        or (len(left) == 1 and heading and 0 not in gone)
        or not any(says_something(fold(piece)) for piece in left)
    ):
        return ""
    return text if left[0] is pieces[0] else _readable(text, pieces[0])


def _readable(text: str, first: str) -> str:
    """The rest of a fact without its first part, with what it needs of that part to be read alone."""
    folded = fold(text)
    han = _HAN.search(text) is not None
    pronoun = PRONOUN.search(folded) is not None
    begins = (predicate_zh if han else predicate_en)(text)
    named = names_its_subject(text)
    if not pronoun and ((han and named) or (begins is not None and (named or starts_with_subject(folded)))):
        return text
    who = _subject_in(first, subject_words(first)) if not _HE_OR_SHE.search(folded) else subject_words(first)
    if who and who.lower() not in _FIRST_PERSON:
        return f"{who}：{text}" if han else f"{who}: {text}"
    verb = (predicate_zh if han else predicate_en)(first)
    if not who:
        # What begins with a verb goes on about what is gone (改成下周四), unless that was told of the speaker.
        return text if begins != "" or phrases_of(first) == (SPEAKER,) else ""
    if begins == "" and not pronoun and (han or _COORDINATED.search(first)):
        # It begins with a verb: (I hate mushrooms and) cook on gas. Not so (I have the Pro plan,) billed yearly.
        return f"{who}{text}" if han else f"{'We' if who.lower().startswith('we') else 'I'} {text}"
    one_more = _LISTED.search(first) if han else _ONE_MORE.search(text)
    if verb and begins is None and not pronoun and one_more and not _NEGATED.search(fold(first)):
        # One more of a list: (I've got a cat,) a dog and a parrot.
        return f"{verb}{text}" if han else f"{verb} {text}"
    return f"{who}{text}" if han and not pronoun else text


def _subject_in(first: str, who: str) -> str:
    """The words that name what a part is about: not the niece in "My niece's wedding is in July"."""
    owned = _OWNED.match(first, len(who)) if who and first.startswith(who) else None
    return who if owned is None else who + owned[0]


def says_something(piece: str) -> bool:
    """Whether a part of a fact is more than a filler or a bare name of its subject."""
    bare = _ONLY_SUBJECT.sub("", piece.strip(" ,，；;、:：&"))
    return len(bare) >= (2 if _HAN.search(bare) else 4)
