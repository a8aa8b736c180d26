"""Which older facts a message replaces, and which part of them. Code decides; a model may only propose.

The law: a message replaces a claim only if it says that something changed or ended (or corrects a mistake), speaks of
the same subject, and of the same attribute. It replaces that claim alone: what else the older fact says stays, as a
fact of its own. What adds, or is only for now, replaces nothing. Where subject and attribute are near but not certain,
both stay and are linked as a possible conflict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jiyi.longterm.duplicates import Gist, gist
from jiyi.model.entry import MemoryEntry
from jiyi.text.change_words import adds, changes, ends, ends_life, ends_love, is_mistake, is_temporary
from jiyi.text.normalize import fold
from jiyi.text.subjects import (
    SUBJECT_WORDS,
    USER,
    mentions_subject,
    names_in,
    starts_with_subject,
    subject_of,
    subject_words,
)
from jiyi.text.topics import TOPICS, topics_of

if TYPE_CHECKING:
    from jiyi.text import Analyzer

REPLACES: Final = "replaces"
CONFLICTS: Final = "conflicts"

CERTAIN: Final = 0.75
"""From this agreement on a change replaces the claim."""
POSSIBLE: Final = 0.5
"""From this agreement on both stay and are linked."""
_SINGLE: Final = {topic.name: topic.single for topic in TOPICS}
_WEAK: Final = frozenset({"family", "friends and colleagues", "plan", "travel", "like and dislike", "skill", "origin"})
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
_MIN_ALONE: Final = 5
_ZH_VERB: Final = re.compile(r"[请去做有是在住教用吃养学打买开带管卖种坐骑喝玩]")
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
# What these words change is plain.
_CHANGED_TOPIC: Final = (
    (re.compile(r"搬|退租|安家|\b(?:mov(?:ed?|ing)|relocat\w*)\b"), "home"),
    (re.compile(r"跳槽|转岗|入职|升职|离职|\b(?:promot\w*|new job|start(?:ed|ing)? (?:at|as))\b"), "work"),
    (re.compile(r"改叫|改名|\b(?:call me|go by|renamed)\b"), "name"),
)
_TWO_HAN: Final = re.compile(r"[\u3400-\u9fff]{2}")
_COMMON_HAN: Final = re.compile(
    r"[的了是在我你他她它们这那有和就都也不没一个上下来去到说要会很还又最给把被从对为与以及吗呢吧啊呀年月日天点号今明昨每周时现后前里]"
)
_STRONG: Final = re.compile(
    r"换|改|搬|跳槽|转(?:岗|园|到)|[推延挪]到|变成|不再|\b(?:switch\w*|swap\w*|replac\w*|moved (?:to|out)"
    r"|instead|changed|no longer|deferred|used to)\b"
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
    if ends_life(folded) and (over := _ended(folded, olds)):
        return over
    if ends_love(folded) and (partners := [old for old in olds if _of_partners(old)]):
        return [Finding(old, REPLACES, 2.0, reason="they have parted") for old in partners]
    new = gist(message, analyzer)
    best: dict[str, tuple[float, int, Known, list[str], int]] = {}
    for place, old in enumerate(olds):
        if not _same_subject(message, folded, new, old, newest=place == 0):
            continue
        pieces = _pieces(old.entry.content)
        values = [_agreement(folded, new, old, piece, analyzer, ending=ending, mistaken=mistaken) for piece in pieces]
        piece = _replaced_piece(new, pieces, values, analyzer)
        found = (max(values), -place, old, pieces, piece)
        # One claim for each attribute that the message speaks of.
        attribute = _shared_attribute(folded, pieces[piece])
        if attribute not in best or best[attribute][:2] < found[:2]:
            best[attribute] = found
    ordered = sorted(best.items(), key=lambda item: item[1][:2], reverse=True)
    findings: list[Finding] = []
    for number, (attribute, (value, _, old, pieces, piece)) in enumerate(ordered):
        if value >= CERTAIN and (number == 0 or attribute):
            residue = _without(pieces, piece)
            findings.append(Finding(old, REPLACES, value, residue, "the same subject and attribute have changed"))
        elif value >= POSSIBLE and number == 0:
            findings.append(Finding(old, CONFLICTS, value, reason="this may contradict it"))
    return findings


def _replaced_piece(new: Gist, pieces: Sequence[str], values: Sequence[float], analyzer: Analyzer) -> int:
    """The piece whose value is replaced: of a new time the one with a time, of a new figure the one with a figure.

    What both have in common says which fact is meant, and not which of its values has changed.
    """
    best = max(range(len(pieces)), key=lambda number: values[number])
    gists = [gist(piece, analyzer) for piece in pieces]
    times, numbers = [each.times for each in gists], [each.numbers for each in gists]
    for wanted, theirs in ((new.times, times), (new.numbers, numbers)):
        same = [number for number, values_there in enumerate(theirs) if wanted and values_there]
        if len(same) == 1 or (same and best in same):
            return best if best in same else same[0]
    return best


def _shared_attribute(folded: str, piece: str) -> str:
    """The attribute with one value that both speak of; empty when there is none."""
    theirs = topics_of(fold(piece))
    return next((name for name in topics_of(folded) if name in theirs and _SINGLE[name]), "")


def _of_partners(old: Known) -> bool:
    return _subject(old) in _PARTNERS or "relationship" in topics_of(fold(old.entry.content))


def supports(message: str, old: Known, analyzer: Analyzer) -> Finding | None:
    """What becomes of a correction that a model proposes: the same law, for one older fact."""
    folded = fold(message)
    if is_temporary(folded) or (adds(folded) and not _STRONG.search(folded) and not is_mistake(folded)):
        return None
    new = gist(message, analyzer)
    if not _same_subject(message, folded, new, old, newest=False):
        return None
    ending = ends(folded) or ends_life(folded)
    pieces = _pieces(old.entry.content)
    values = [
        _agreement(folded, new, old, piece, analyzer, ending=ending, mistaken=is_mistake(folded)) for piece in pieces
    ]
    best = _replaced_piece(new, pieces, values, analyzer)
    marked = changes(folded) or ending or is_mistake(folded)
    single = any(_SINGLE[name] for name in topics_of(folded) if name in topics_of(fold(pieces[best])))
    if max(values) >= CERTAIN and (marked or single):
        return Finding(old, REPLACES, max(values), _without(pieces, best), "proposed, and subject and attribute agree")
    return Finding(old, CONFLICTS, max(values), reason="proposed, but subject and attribute are not certain")


def residue_without_attribute(text: str, attribute: Callable[[str], object]) -> str:
    """What a fact says besides the piece that sets an attribute; empty when that is all of it."""
    pieces = _pieces(text)
    setting = [number for number, piece in enumerate(pieces) if attribute(piece) is not None]
    return _without(pieces, setting[0]) if len(pieces) > 1 and len(setting) == 1 else ""


def _ended(folded: str, olds: Sequence[Known]) -> list[Finding]:
    """A death ends what was said about the one who died."""
    found = []
    for old in olds:
        names = names_in(old.entry.content)
        text = fold(old.entry.content)
        named = any(_mentions(folded, name) for name in names)
        first = re.match(
            r"[\u3400-\u9fff]{2,3}(?=上|昨|今|前|没|走|去|已)|[a-z][\w'-]+(?= (?:died|passed|didn|is|was))", folded
        )
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
    words |= {
        pair
        for pair in _pairs(folded) & _pairs(part)
        if not any(pair in word or word in pair for word in (*who, *words))
    }
    value += min(1.6, (1.0 if ending else 0.8) * len(words))
    if (new.numbers or new.times) and (of_piece.numbers or of_piece.times):
        value += 0.5 if mistaken or words or shared else 0.3
    for change, topic in _CHANGED_TOPIC:
        if topic in others and change.search(folded):
            value += 0.5
    if old.likeness is not None:
        value += max(0.0, old.likeness - 0.25)
    return value


def _pairs(folded: str) -> set[str]:
    """Pairs of Chinese characters that may be a word which the segmentation has cut."""
    pairs = {folded[i : i + 2] for i in range(len(folded) - 1)}
    return {pair for pair in pairs if _TWO_HAN.fullmatch(pair) and not _COMMON_HAN.search(pair)}


def _subject(old: Known) -> str:
    claim = old.entry.source.claim
    return claim.subject if claim is not None else subject_of(fold(old.entry.content))


def _same_subject(message: str, folded: str, new: Gist, old: Known, *, newest: bool) -> bool:  # noqa: PLR0911
    theirs = _subject(old)
    text = fold(old.entry.content)
    if any(_mentions(folded, name) for name in names_in(old.entry.content)):
        return True
    if theirs != USER and any(_mentions(text, name) for name in names_in(message)):
        return True
    ours = _subjects(folded)
    if theirs in ours or any(theirs in kin and ours & kin for kin in _KIN):
        return True
    if theirs != USER and mentions_subject(folded, theirs):
        return True
    if ours <= {USER, ""} and theirs != USER and (new.terms & old.gist.terms) - SUBJECT_WORDS:
        # Nobody else is named, and both speak of the same thing: "Elsie's lot have moved to Wednesdays".
        return True
    if re.search(r"[他她佢]|\b(?:he|she|her|him|they)\b", folded):
        return theirs != USER or newest
    return newest and theirs != USER and ours == {""}


def _subjects(folded: str) -> set[str]:
    """Whom the clauses of a message are about; empty text for a clause that does not say."""
    clauses = [part.strip() for part in re.split(r"[，,；;。.!！?？]\s*", folded) if part.strip()]
    found = {
        subject_of(clause) if starts_with_subject(clause) or subject_of(clause) != USER else "" for clause in clauses
    }
    return found | {USER} if "" in found and len(found) > 1 else found if found != {""} else {"", USER}


def _mentions(folded: str, name: str) -> bool:
    if name.isascii():
        return re.search(rf"\b{re.escape(fold(name))}\b", folded) is not None
    return fold(name) in folded


def _pieces(text: str) -> list[str]:
    """The parts of a fact that can be replaced by themselves."""
    ends_at = [match.end() for match in _PIECES.finditer(text)]
    parts = [text[a:b] for a, b in zip([0, *ends_at], [*ends_at, len(text)], strict=True) if text[a:b].strip()]
    return parts or [text]


def _without(pieces: Sequence[str], gone: int) -> str:
    """What is left of a fact; empty when nothing is left that could stand by itself.

    A part stands by itself if it has a topic, or is one item of a list.
    """
    han = _HAN.search("".join(pieces)) is not None
    items = len(pieces) > 2 and sum(len(piece) <= _SHORT_PIECE[han] for piece in pieces) >= len(pieces) - 1
    heading = re.search(r"[:：]\s*$", pieces[0]) is not None
    left = [
        piece
        for number, piece in enumerate(pieces)
        if number != gone and (items or (heading and number == 0) or _stands_alone(fold(piece)))
    ]
    text = "".join(left).strip(" ,，；;、:：&").removesuffix(" and").strip()
    if not text or (len(left) == 1 and heading and gone != 0):
        return ""
    if left[0] is not pieces[0] and not starts_with_subject(fold(text)):
        who = subject_words(pieces[0])
        if who and who.lower() not in {"i", "i'm", "im", "i've", "ive", "we", "我"}:
            return f"{who}：{text}" if han else f"{who}: {text}"
        return f"我：{text}" if han else f"About me: {text}"
    return text


def _stands_alone(piece: str) -> bool:
    """Whether a part of a fact says something without the others."""
    if topics_of(piece).keys() - _WEAK:
        return True
    return len(piece) >= _MIN_ALONE and _ZH_VERB.search(piece) is not None
