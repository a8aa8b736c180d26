"""Which older facts a message replaces, and which part of them. Code decides; a model may only propose.

The law: a message replaces a claim only if it says that something changed or ended (or corrects a mistake), speaks of
the same subject, and of the same attribute. It replaces that claim alone: what else the older fact says stays, as a fact
of its own. What adds, or is only for now, replaces nothing. Where subject and attribute are near but not certain, both
stay and are linked as a possible conflict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jiyi.longterm.duplicates import Gist, gist
from jiyi.model.entry import MemoryEntry
from jiyi.text.change_words import adds, changes, ends, ends_life, ends_love, is_mistake, is_temporary
from jiyi.text.claims import topic_of
from jiyi.text.normalize import fold
from jiyi.text.subjects import PRONOUN, SUBJECT_WORDS, USER, names_in, starts_with_subject, subject_of
from jiyi.text.topics import TOPICS, topics_of

if TYPE_CHECKING:
    from jiyi.text import Analyzer

REPLACES: Final = "replaces"
CONFLICTS: Final = "conflicts"

CERTAIN: Final = 1.0
"""From this agreement on a change replaces the claim."""
POSSIBLE: Final = 0.6
"""From this agreement on both stay and are linked."""
_SINGLE: Final = {topic.name: topic.single for topic in TOPICS}
_WEAK: Final = frozenset({"family", "friends and colleagues", "plan", "travel", "like and dislike", "skill", "origin", "belief and identity"})
_PARTNERS: Final = frozenset({"girlfriend", "boyfriend", "partner", "wife", "husband"})
_KIN: Final = (
    frozenset({"child", "son", "daughter", "first child", "second child", "kids"}),
    _PARTNERS,
    frozenset({"sister", "elder sister", "younger sister"}),
    frozenset({"brother", "elder brother", "younger brother"}),
    frozenset({"dog", "cat", "pet"}),
    frozenset({"boss", "teacher", "colleague"}),
)
_PIECES: Final = re.compile(r"[，,；;、]\s*|\s+(?:and|&)\s+|(?<=[\u3400-\u9fff])和(?=[\u3400-\u9fff])|[:：]\s*")
_SHORT_PIECE: Final = {True: 7, False: 28}
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_STRONG: Final = re.compile(
    r"换|改|搬|跳槽|转(?:岗|园|到)|推到|延到|变成|不再|\b(?:switch\w*|swap\w*|replac\w*|moved (?:to|out)|instead|changed|no longer|deferred|used to)\b"
)


@dataclass(frozen=True, slots=True)
class Known:
    """An older fact and what of it is compared."""

    entry: MemoryEntry
    gist: Gist
    likeness: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a message means for one older fact."""

    known: Known
    verdict: str
    """`replaces` or `conflicts`."""
    agreement: float
    residue: str = ""
    """What the older fact says besides; empty when nothing is left of it."""
    reason: str = ""


def judge(message: str, olds: Sequence[Known], analyzer: Analyzer) -> list[Finding]:
    """What a message of the user replaces among the older facts, or may contradict."""
    folded = fold(message)
    ending = ends(folded) or ends_life(folded) or ends_love(folded)
    mistaken = is_mistake(folded)
    if not (changes(folded) or ending or mistaken) or is_temporary(folded):
        return []
    if adds(folded) and not mistaken and not _STRONG.search(folded) and not ending:
        return []
    if ends_life(folded):
        return _ended(message, folded, olds)
    if ends_love(folded):
        return [
            Finding(old, REPLACES, 2.0, reason="they have parted")
            for old in olds
            if _subject(old) in _PARTNERS or "relationship" in topics_of(fold(old.entry.content))
        ]
    new = gist(message, analyzer)
    scored: list[tuple[float, int, Known, list[str], int]] = []
    for place, old in enumerate(olds):
        if not _same_subject(message, folded, old, newest=place == 0):
            continue
        pieces = _pieces(old.entry.content)
        values = [_agreement(folded, new, old, piece, analyzer, ending=ending, mistaken=mistaken) for piece in pieces]
        best = max(range(len(pieces)), key=lambda number: values[number])
        scored.append((values[best], -place, old, pieces, best))
    if not scored:
        return []
    value, _, old, pieces, best = max(scored, key=lambda each: each[:2])
    if value >= CERTAIN:
        residue = _without(pieces, best)
        return [Finding(old, REPLACES, value, residue, "the same subject and attribute have changed")]
    if value >= POSSIBLE:
        return [Finding(old, CONFLICTS, value, reason="this may contradict it")]
    return []


def supports(message: str, old: Known, analyzer: Analyzer) -> Finding | None:
    """What becomes of a correction that a model proposes: the same law, for one older fact."""
    folded = fold(message)
    if is_temporary(folded) or (adds(folded) and not _STRONG.search(folded) and not is_mistake(folded)):
        return None
    if not _same_subject(message, folded, old, newest=False):
        return None
    new = gist(message, analyzer)
    ending = ends(folded) or ends_life(folded)
    pieces = _pieces(old.entry.content)
    values = [_agreement(folded, new, old, piece, analyzer, ending=ending, mistaken=is_mistake(folded)) for piece in pieces]
    best = max(range(len(pieces)), key=lambda number: values[number])
    marked = changes(folded) or ending or is_mistake(folded)
    single = any(_SINGLE[name] for name in topics_of(folded) if name in topics_of(fold(pieces[best])))
    if values[best] >= CERTAIN and (marked or single):
        return Finding(old, REPLACES, values[best], _without(pieces, best), "proposed, and subject and attribute agree")
    return Finding(old, CONFLICTS, values[best], reason="proposed, but subject and attribute are not certain")


def residue_without_attribute(text: str, attribute: Callable[[str], object]) -> str:
    """What a fact says besides the piece that sets an attribute; empty when that is all of it."""
    pieces = _pieces(text)
    setting = [number for number, piece in enumerate(pieces) if attribute(piece) is not None]
    return _without(pieces, setting[0]) if len(pieces) > 1 and len(setting) == 1 else ""


def _ended(message: str, folded: str, olds: Sequence[Known]) -> list[Finding]:
    """A death ends what was said about the one who died."""
    found = []
    for old in olds:
        names = names_in(old.entry.content)
        text = fold(old.entry.content)
        named = any(_mentions(folded, name) for name in names)
        first = re.match(r"[\u3400-\u9fff]{2,3}(?=上|昨|今|前|没|走|去|已)|[a-z][\w'-]+(?= (?:died|passed|didn|is|was))", folded)
        if named or (first is not None and _mentions(text, first[0])):
            found.append(Finding(old, REPLACES, 2.0, reason="it has died"))
    return found


def _agreement(
    folded: str, new: Gist, old: Known, piece: str, analyzer: Analyzer, *, ending: bool, mistaken: bool
) -> float:
    """How surely a message speaks of the attribute that a piece of an older fact is about."""
    part = fold(piece)
    topics, others = topics_of(folded), topics_of(part)
    value = 0.0
    shared = [name for name in topics if name in others]
    if shared:
        value += max(1.2 if _SINGLE[name] else 0.2 if name in _WEAK else 0.8 for name in shared)
    of_piece = gist(piece, analyzer)
    who = {fold(name) for name in names_in(old.entry.content)} | SUBJECT_WORDS
    words = {word for word in new.terms & of_piece.terms if word not in who}
    value += min(1.6, (1.0 if ending else 0.8) * len(words))
    if (new.numbers or new.times) and (of_piece.numbers or of_piece.times):
        value += 0.5 if mistaken or words or shared else 0.3
    if old.likeness is not None:
        value += max(0.0, old.likeness - 0.25)
    return value


def _subject(old: Known) -> str:
    claim = old.entry.source.claim
    return claim.subject if claim is not None else subject_of(fold(old.entry.content))


def _same_subject(message: str, folded: str, old: Known, *, newest: bool) -> bool:
    theirs = _subject(old)
    text = fold(old.entry.content)
    if any(_mentions(folded, name) for name in names_in(old.entry.content)):
        return True
    if any(_mentions(text, name) for name in names_in(message)) and theirs != USER:
        return True
    ours = subject_of(folded)
    if ours == theirs or any(ours in kin and theirs in kin for kin in _KIN):
        return True
    if PRONOUN.search(folded) or re.search(r"[他她佢]|\b(?:he|she|her|him|they)\b", folded):
        return theirs != USER or newest
    if not starts_with_subject(folded) and theirs != USER and re.search(rf"\b{re.escape(theirs)}", folded):
        return True
    return ours == USER and theirs != USER and newest and not starts_with_subject(folded)


def _mentions(folded: str, name: str) -> bool:
    if name.isascii():
        return re.search(rf"\b{re.escape(fold(name))}\b", folded) is not None
    return fold(name) in folded


def _pieces(text: str) -> list[str]:
    """The parts of a fact that can be replaced by themselves: those with a topic of their own, or the items of a list."""
    ends_at = [match.end() for match in _PIECES.finditer(text)]
    parts = [text[a:b] for a, b in zip([0, *ends_at], [*ends_at, len(text)], strict=True) if text[a:b].strip()]
    if len(parts) < 2:
        return [text]
    han = _HAN.search(text) is not None
    listed = len(parts) > 2 and sum(len(part) <= _SHORT_PIECE[han] for part in parts) >= len(parts) - 1
    if listed:
        return parts
    found = [parts[0]]
    for part in parts[1:]:
        topic = topic_of(fold(part))
        if topic and topic != topic_of(fold(found[-1])):
            found.append(part)
        else:
            found[-1] += part
    return found


def _without(pieces: Sequence[str], gone: int) -> str:
    """What is left of a fact; empty when nothing is left that could stand by itself."""
    left = [piece for number, piece in enumerate(pieces) if number != gone]
    text = "".join(left).strip(" ,，；;、:：&").removesuffix(" and").strip()
    if not text or (len(left) == 1 and re.search(r"[:：]\s*$", pieces[0]) and gone != 0):
        return ""
    if gone == 0 and not starts_with_subject(fold(text)) and not re.search(r"[:：]\s*$", pieces[0]):
        text = f"我：{text}" if _HAN.search(text) else f"About me: {text}"
    return text
