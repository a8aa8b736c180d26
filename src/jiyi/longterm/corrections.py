"""Which older facts a message replaces, and which part of them. Code decides; a model may only propose.

The law: a message replaces a claim only if it speaks of the same subject and most likely says that the same attribute
has changed or ended. It replaces that claim alone: what else the older fact says stays, as a fact of its own. Where it
is possible but not likely enough, both stay and are linked as a possible conflict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jiyi.longterm.duplicates import Gist
from jiyi.longterm.endings import PARTNERS, ended, left_of_ended, subject_of_fact
from jiyi.longterm.replacement import WEAK_TOPICS, Compared, closest, mentions, only_describes, shared_words
from jiyi.longterm.residue import HEADING, says_something, without_pieces
from jiyi.longterm.vetoes import forbidden, forbids
from jiyi.model.entry import MemoryEntry
from jiyi.text.change_words import (
    adds,
    changes,
    ends,
    ends_pregnancy,
    is_bygone,
    is_exception,
    is_mistake,
    is_strong_change,
    is_temporary,
    is_wish,
    without_unchanged,
)
from jiyi.text.claims import only_asks, pieces_of, stated_part
from jiyi.text.day_and_time import age_in, unchanged_place, units_in, with_new_value
from jiyi.text.normalize import fold
from jiyi.text.own_words import own_words
from jiyi.text.sentences import sentences
from jiyi.text.smalltalk import is_small_talk
from jiyi.text.statement_features import is_quoted_text, is_role_play
from jiyi.text.subject_phrases import about_different_things, other_things
from jiyi.text.subjects import (
    PRONOUN,
    SUBJECT_WORDS,
    USER,
    mentions_subject,
    names_in,
    starts_with_subject,
    subject_of,
)
from jiyi.text.topics import TOPICS, topics_of

if TYPE_CHECKING:
    from jiyi.longterm.replacement import ReplacementModel

REPLACES: Final = "replaces"
CONFLICTS: Final = "conflicts"

CERTAIN: Final = 0.5
"""From this probability on a message replaces the claim that it fits best."""
SAID: Final = 0.4
"""The same for a message that says plainly that something has changed; both chosen by cross-validation over writers."""
OUTWEIGHS: Final = 0.8
"""From this probability on a message replaces a claim on another topic."""
POSSIBLE: Final = 0.12
"""From this probability on both stay and are linked."""
_BEYOND_DOUBT: Final = 0.9
"""From this probability on a message replaces more than the one claim that it fits best."""
_PROPOSED: Final = 0.35
"""What a model proposes is one more reason: this is enough then."""
SAME_MEASURE: Final = 0.75
"""How likely a new figure of the same attribute in the same unit replaces the old one."""
_MEASURED: Final = frozenset({"weight", "height", "age"})
_MEASURES: Final = re.compile(r"\b(?:weigh\w*|scales?|tall|years? old)\b|体重|上秤|称[了的]|身高|岁")
_NO_CHANGE: Final = 0.05
_NEAR: Final = 0.4
_GOES_ALONG: Final = {True: 0.3, False: 0.5}
"""From this probability on a part of a fact goes with the replaced part, where something ends and elsewhere."""
_PREGNANT: Final = re.compile(r"怀孕|怀上|\bpregnan|\bexpecting\b")
_RESIGNS: Final = re.compile(r"离职|辞职|辞了|\b(?:resign\w*|(?:my|in) notice|quit (?:my|the) job)\b")
_TO_START: Final = re.compile(
    r"(?:[月号日]|下周|下个?月|年后|明年|明天).{0,6}(?:去|到|入职|报到)|入职|报到"
    r"|\b(?:i start|starting|i'm joining|joining)\b"
)
_ABOUT_WORK: Final = frozenset({"上班", "工作", "公司", "job", "work", "start"})
_KIN: Final = (
    frozenset({"child", "son", "daughter", "first child", "second child", "kids"}),
    PARTNERS,
    frozenset({"sister", "elder sister", "younger sister"}),
    frozenset({"brother", "elder brother", "younger brother"}),
    frozenset({"dog", "cat", "pet"}),
    frozenset({"boss", "teacher", "colleague"}),
)
_ABOUT_USER: Final = re.compile(
    r"说|通知|告诉|来电|我(?!的?(?:妈|爸|姐|哥|弟|妹|老|家))|\b(?:said|says|told|rang|wrote|me|us|i|i'm|we)\b"
)
_ROLES: Final = frozenset({"boss", "teacher", "landlord", "roommate", "childminder", "assistant", "doctor"})
_REPORTS: Final = re.compile(r"汇报|匯報|\breport(?:s|ing)? to\b|\bwork(?:s|ing)? for an? ")
_SINGLE: Final = frozenset(topic.name for topic in TOPICS if topic.single)
_MANY: Final = frozenset(topic.name for topic in TOPICS if not topic.single) - {"appointment", "plan", "answer style"}
# "Dr Moss is my GP, has been for years": it says nothing without the part before.
_CONTINUES: Final = re.compile(r"^(?:(?:has|have|had|been) |since\b)|^(?:一直|已经)[^，]{0,4}(?:年|个月)")


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
    probability: float
    residue: str = ""
    """What the older fact says besides; empty when nothing is left of it."""
    reason: str = ""


def judge(message: str, olds: Sequence[Known], model: ReplacementModel) -> list[Finding]:
    """What a message of the user replaces among the older facts, the newest first, or may contradict."""
    # What is asked is not said: "Where do I live now?" replaces nothing.
    # Nor is what is only passed on: an error message, a text to be translated, somebody else's "I".
    if is_quoted_text(message) or is_role_play(fold(message)):
        return []
    message = stated_part(own_words(message))
    if not message or all(map(is_small_talk, sentences(message))):
        return []
    folded = fold(message)
    over, reason = ended(message, [old.entry for old in olds])
    if over:
        ends_all = [(olds[place], left_of_ended(message, olds[place].entry.content)) for place in over]
        return [Finding(old, REPLACES, 1.0, left, reason) for old, left in ends_all]
    new = model.read_message(message)
    if not olds or model.change(new) < _NO_CHANGE:
        return []
    texts = model.read([old.entry.content for old in olds])
    known = [text.text for text in texts]
    apart = [any(pair) for pair in zip(other_things(message, known), forbidden(message, known), strict=True)]
    same = [
        not other and same_subject(new, text, subject_of_fact(old.entry), newest=place == 0)
        for place, (old, text, other) in enumerate(zip(olds, texts, apart, strict=True))
    ]
    values = [
        max(value, SAME_MEASURE) if agrees and _measured_anew(new, text) else value
        for value, agrees, text in zip(model.replaces(new, texts, same), same, texts, strict=True)
    ]
    if (is_exception(folded) or is_wish(folded)) and not is_mistake(folded):
        # An exception replaces nothing, however probable a replacement is by the other features.
        values = [
            value if _same_measure(new, text) and _SINGLE & new.topics.keys() & text.topics.keys() else _unsure(value)
            for value, text in zip(values, texts, strict=True)
        ]
    elif not is_mistake(folded):
        values = [
            _unsure(value) if _never_replaces(new, text) or (value < OUTWEIGHS and _leaves_alone(new, text)) else value
            for value, text in zip(values, texts, strict=True)
        ]
    said = any(told(folded) for told in (is_mistake, is_strong_change, ends, changes))
    enough = SAID if said else CERTAIN
    ordered = sorted(range(len(olds)), key=lambda place: (-values[place], place))
    findings: list[Finding] = []
    for number, place in enumerate(ordered):
        value, old = values[place], olds[place]
        if value >= (_BEYOND_DOUBT if number else enough):
            residue = _residue(new, old, model)
            findings.append(Finding(old, REPLACES, value, residue, "the same subject and attribute have changed"))
        elif value >= POSSIBLE and not number:
            findings.append(Finding(old, CONFLICTS, value, reason="this may contradict it"))
    return findings


def _unsure(value: float) -> float:
    """Not enough to replace anything."""
    return min(value, SAID - 0.01)


def _never_replaces(new: Compared, old: Compared) -> bool:
    """Whether a rule keeps a message from replacing an older fact, whatever the model says."""
    if is_bygone(old.folded) and not is_bygone(new.folded):
        return True
    # Who resigns leaves the job that there is, not the one that is to begin.
    resigns = _RESIGNS.search(new.folded) is not None and _TO_START.search(old.folded) is not None
    if resigns and not shared_words(new, old) - _ABOUT_WORK:
        return True
    # Of what people have several of, one more replaces none.
    several = "pet" in new.topics.keys() & old.topics.keys() or (bool(old.topics) and old.topics.keys() <= _MANY)
    return several and _only_adds(new.folded)


def _leaves_alone(new: Compared, old: Compared) -> bool:
    """Whether a message and an older fact are hardly about the same thing."""
    if ends(new.folded) and not _names_the_same(new, old):
        return True
    if not _only_adds(new.folded):
        return False
    # That both name the same person or a plan says nothing about what is said of them.
    shared = new.topics.keys() & old.topics.keys() - WEAK_TOPICS
    return bool(old.topics.keys() - WEAK_TOPICS) and not shared and not _same_measure(new, old)


def _names_the_same(new: Compared, old: Compared) -> bool:
    """Whether an end may be that of an older fact: not where both are plainly about different things."""
    told, said = old.topics.keys() - WEAK_TOPICS, new.topics.keys() - WEAK_TOPICS
    return not told or not said or bool(told & said) or bool(shared_words(new, old)) or closest(new, old) >= _NEAR


def _same_measure(new: Compared, old: Compared) -> bool:
    """Whether both give a figure in the same unit: kilos, dollars, years."""
    return bool(units_in(new.folded) & units_in(old.folded) - {"day", "hour"})


def _measured_anew(new: Compared, old: Compared) -> bool:
    """Whether both say how heavy, tall or old somebody is: the newer figure is the one that holds."""
    if age_in(new.folded) and age_in(old.folded):
        named = any(mentions(new.folded, name) for name in names_in(old.text))
        return named or subject_of(new.folded) == subject_of(old.folded)
    attributes = _MEASURED & new.topics.keys() & old.topics.keys()
    return bool(attributes) and _same_measure(new, old) and _MEASURES.search(new.folded) is not None


def _only_adds(folded: str) -> bool:
    """Whether a message may only add: it says nothing of a change, an end or a mistake."""
    if is_mistake(folded) or is_strong_change(folded) or ends(folded):
        return False
    return adds(folded) or not changes(folded)


def supports(message: str, old: Known, model: ReplacementModel) -> Finding | None:
    """What becomes of a correction that a model proposes: the same law, for one older fact."""
    folded = fold(message)
    if (
        only_asks(message)
        or is_temporary(folded)
        or (adds(folded) and not is_strong_change(folded) and not is_mistake(folded))
    ):
        return None
    new, (other,) = model.read_message(message), model.read([old.entry.content])
    theirs = subject_of_fact(old.entry)
    apart = about_different_things(message, other.text) or forbids(message, other.text)
    if apart or not same_subject(new, other, theirs, newest=False):
        return None
    (value,) = model.replaces(new, [other], [True])
    if value >= _PROPOSED:
        residue = _residue(new, old, model)
        return Finding(old, REPLACES, value, residue, "proposed, and subject and attribute agree")
    return Finding(old, CONFLICTS, value, reason="proposed, but subject and attribute are not certain")


def _residue(new: Compared, old: Known, model: ReplacementModel) -> str:
    """What the older fact says besides the part that is replaced."""
    pieces = pieces_of(old.entry.content)
    said = new.text
    if len(pieces) < 2:
        return with_new_value(said, old.entry.content) or unchanged_place(said, old.entry.content)
    message, bare = anonymous(without_unchanged(said), pieces)
    parts = model.read(bare)
    new = model.read_message(message)
    ending = ends(new.folded)
    others = {place for place, apart in enumerate(other_things(said, pieces)) if apart}
    gone = _replaced_piece(pieces, model.pieces(new, parts), others)
    along = model.along(new, parts, gone)
    going = {place for place, value in enumerate(along) if value >= _GOES_ALONG[ending]} - others | {gone}
    if gone + 1 < len(pieces) and (
        _CONTINUES.search(parts[gone + 1].folded) or (ending and only_describes(parts[gone + 1], parts[gone]))
    ):
        going.add(gone + 1)
    rest = with_new_value(said, pieces[gone]) if going == {gone} and not ending else ""
    if not rest and gone == 0 and not ending and (place := unchanged_place(said, pieces[0])):
        left = "".join(piece for number, piece in enumerate(pieces) if number not in going)
        return f"{place}, {left}" if left else place
    if rest:
        # "a 2-bed in Bristol for 1450 a month": only the figure is replaced.
        return "".join([*pieces[:gone], rest, *pieces[gone + 1 :]])
    return without_pieces(pieces, going)


def _replaced_piece(pieces: Sequence[str], values: Sequence[float], others: AbstractSet[int]) -> int:
    """The piece that a message replaces: the one with the highest value.

    Never a heading ("What I drive:"), nor one about something else where there is another.
    """
    first = 1 if HEADING.search(pieces[0]) else 0
    return max(range(first, len(pieces)), key=lambda number: (number not in others, values[number]))


def anonymous(message: str, pieces: Sequence[str]) -> tuple[str, list[str]]:
    """A message and the parts of a fact without the names in that fact.

    They say about whom something is said, and draw every likeness to the part in which they happen to stand.
    """
    names = names_in("".join(pieces))
    if not names:
        return message, list(pieces)
    latin, han = [name for name in names if name.isascii()], [name for name in names if not name.isascii()]
    forms = [rf"\b(?:{'|'.join(map(re.escape, latin))})(?:'s)?\b"] if latin else []
    pattern = re.compile("|".join([*forms, *map(re.escape, han)]), re.IGNORECASE)
    without = [" ".join(pattern.sub(" ", text).split()) for text in (message, *pieces)]
    kept = [
        text if says_something(fold(text)) else whole for text, whole in zip(without, (message, *pieces), strict=True)
    ]
    return kept[0], kept[1:]


def same_subject(message: Compared, old: Compared, theirs: str, *, newest: bool) -> bool:  # noqa: PLR0911
    """Whether a message may be about the subject (`theirs`) of an older fact."""
    folded = message.folded
    if any(mentions(folded, name) for name in names_in(old.text)):
        return True
    if theirs != USER and any(mentions(old.folded, name) for name in names_in(message.text)):
        return True
    ours, bare = _subjects(folded)
    if theirs in ours or any(theirs in kin and ours & kin for kin in _KIN):
        return True
    if theirs != USER and (mentions_subject(folded, theirs) or mentions(folded, theirs)):
        return True
    if theirs == USER and bare and ours <= _ROLES and message.gist.numbers and old.gist.numbers:
        # "房东涨价，从这个月开始3600了": a new figure, and nobody who has it.
        return True
    if theirs == USER and (topics_of(bare).keys() & old.topics.keys() or any(word in bare for word in old.gist.terms)):
        # A clause that names nobody, beside one about somebody else, speaks of what the user has said.
        return True
    if "" in ours and theirs != USER and (message.gist.terms & old.gist.terms) - SUBJECT_WORDS:
        # Nobody else is named, and both speak of the same thing: "Elsie's lot have moved to Wednesdays".
        return True
    roles = ours & _ROLES
    if (
        theirs == USER
        and roles
        and (_REPORTS.search(old.folded) or any(mentions_subject(old.folded, r) for r in roles))
    ):
        # The other way round: "I report to Hendrik", "My manager is Folasade".
        return True
    if _PREGNANT.search(old.folded) and ends_pregnancy(folded):
        return True
    if theirs in _ROLES and ours <= {USER, ""} and names_in(old.text):
        # Who holds a role is said of the user as well: "My manager is Colm", "I report to Sunita".
        return True
    if re.search(r"[他她佢]|\b(?:he|she|her|him|they)\b", folded):
        return theirs != USER or newest
    return newest and theirs != USER and "" in ours


def _mentions_any(folded: str, subjects: AbstractSet[str]) -> bool:
    return any(mentions_subject(folded, subject) for subject in subjects)


def _subjects(folded: str) -> tuple[set[str], str]:
    """Whom the clauses of a message are about, and those clauses that do not say; empty text where none does."""
    found: set[str] = set()
    bare: list[str] = []
    for clause in (part.strip() for part in re.split(r"[，,；;。.!！?？]\s*", folded)):
        subject = subject_of(clause)
        if not clause or (found and PRONOUN.search(clause)):
            # He, she or it is whoever was named before.
            continue
        if subject == USER and not starts_with_subject(clause):
            bare.append(clause)
            continue
        found.add(subject)
        if subject != USER and _ABOUT_USER.search(clause):
            # 老师说…, "the surgery rang to say", 把我接来了: it may be about the user as well.
            found.add(USER)
    return found or {"", USER}, "，".join(bare)
