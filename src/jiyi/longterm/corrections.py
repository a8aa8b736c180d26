"""Which older facts a message replaces, and which part of them. Code decides; a model may only propose.

The law: a message replaces a claim only if it speaks of the same subject and most likely says that the same attribute
has changed or ended. It replaces that claim alone: what else the older fact says stays, as a fact of its own. Where it
is possible but not likely enough, both stay and are linked as a possible conflict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from jiyi.longterm.attribute_model import AttributeMatch
from jiyi.longterm.claim_reading import in_first_person
from jiyi.longterm.duplicates import LexicalFeatures
from jiyi.longterm.endings import ended, given_up, left_of_ended, one_of_several, subject_of_fact
from jiyi.longterm.pair_evidence import (
    MIN_IN_DOUBT,
    PairEvidence,
    is_certain,
    is_changed_attribute,
    message_evidence,
    min_probability_for,
    pair_evidence,
    same_subject,
)
from jiyi.longterm.part_choice import describing, log_odds, probability_of, replaced_piece, tells_its_own, with_named
from jiyi.longterm.replacement import ComparedText, only_describes, shared_words
from jiyi.longterm.residue import says_something, without_pieces
from jiyi.longterm.vetoes import (
    asks_something_else,
    denies,
    forbidden,
    forbids,
    is_no_conflict,
    only_differs,
    takes_back,
)
from jiyi.model.entry import MemoryEntry
from jiyi.text.chinese_commas import with_chinese_commas
from jiyi.text.day_and_time import says_more, without_day
from jiyi.text.normalize import fold
from jiyi.text.sentences import sentences
from jiyi.text.statements.about.subject_phrases import (
    about_different_things,
    compared_subjects,
    other_things,
)
from jiyi.text.statements.about.subjects import (
    names_in,
)
from jiyi.text.statements.keeping.smalltalk import is_small_talk
from jiyi.text.statements.keeping.statement_features import is_quoted_text, is_role_play
from jiyi.text.statements.parts.claims import only_asks, pieces_of, stated_part
from jiyi.text.statements.parts.own_words import own_words
from jiyi.text.statements.replacing.change_words import (
    adds,
    changes,
    ends,
    is_mistake,
    is_strong_change,
    is_temporary,
    without_unchanged,
)
from jiyi.text.statements.replacing.ended_objects import without_given_up
from jiyi.text.statements.replacing.kept_the_same import keeps_some_of

if TYPE_CHECKING:
    from jiyi.longterm.replacement import ReplacementModel

REPLACES: Final = "replaces"
CONFLICTS: Final = "conflicts"

CERTAIN: Final = 0.8
"""From this probability on a message replaces the claim that it fits best."""
SAID: Final = 0.75
"""The same for a message that says plainly that something has changed."""
_EASIER: Final = 0.2
"""So much less is enough where both are about the same attribute of the same subject."""
_AMONG: Final = (0.0, 0.0, 0.1, 0.25)
"""The same by how many facts may be meant, the last for all above: what stands out among three facts is the right one
in five of six cases from 0.5 on, the only fact there is from 0.8 on."""
_OF_PARTS: Final = 0.1
"""The same for the only fact, where it has several parts: no more than one of them is at stake."""
_TELLS_CHANGE: Final = 0.6
"""Both only for a message that is this likely to tell of a change, and says what: 输了，哎 does not."""
_TELLING_CHARACTERS: Final = 3
_NAMED: Final = 0.35
"""The same where a mistake is taken back, or the thing is named in plain words for a change."""
_SAME_ATTRIBUTE: Final = 0.15
_ONE_ATTRIBUTE: Final = 0.6
"""From this overlap of what two facts may be about on, they are most likely about the same attribute."""
POSSIBLE: Final = 0.35
"""From this probability on both stay and are linked."""
_POSSIBLE_OF_ATTRIBUTE: Final = 0.15
"""The same where both are likely about the same attribute. On unread sets three of five linked pairs are right, with
higher thresholds no more, and half of what is outdated and still current is linked."""
_RELATED: Final = 0.1
_OF_OUTDATED: Final = 1.0
"""The weight of the log odds that a part is outdated by itself."""
_OUTDATED: Final = 0.75
"""From this probability on a part of a fact goes, whichever part is replaced."""
_OUTDATED_BESIDE_NAMED: Final = 0.95
"""The same where the message has a word of one part alone: 镜头换成腾龙的了."""
_UNCLEAR: Final = 0.3
"""Below this probability of every part it is not certain that any of them goes."""
_PIECE: Final = 0.55
"""Below this probability it is not certain which part of a fact is replaced: all of it stays."""
_DENIED: Final = 0.05
"""From this probability on both stay and are linked where a message denies what a fact says."""
_BEYOND_DOUBT: Final = 0.9
"""From this probability on a message replaces more than the one claim that it fits best."""
_AGAINST: Final = -2.95
"""From this value of the network down it speaks against a pair."""
_OF_OTHER_REQUEST: Final = 0.98
"""From this probability on a request to the assistant replaces one that seems to be about something else."""
_PROPOSED: Final = 0.35
"""What a model proposes is one more reason: this is enough then."""
_UNSURE: Final = 0.3
"""A probability that a rule finds too low is cut to this value."""
_NO_CHANGE: Final = 0.05
_MAY_CHANGE: Final = 0.4
"""A message less likely to tell of a change is not linked with what it might contradict."""
_RECONSIDERS: Final = re.compile(r"\bon second thoughts?\b|\bchanged? my mind\b|想了想|改主意|改变主意")
# "Don't forget what I said about the loan" takes nothing back.
_REMINDS: Final = re.compile(
    r"(?:please )?(?:don'?t|do not|never) forget (?:what|that|about|the|my|our)\b|别忘(?:了|记)|不要忘(?:了|记)"
)
# A part that says nothing without the part before it: "Dr Moss is my GP, has been for years".
_CONTINUES: Final = re.compile(r"^(?:(?:has|have|had|been) |since\b)|^(?:一直|已经)[^，]{0,4}(?:年|个月)")


@dataclass(frozen=True, slots=True)
class KnownFact:
    """An older fact, its words, and how similar it is to the new one."""

    entry: MemoryEntry
    lexical: LexicalFeatures
    likeness: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a message means for one older fact."""

    known: KnownFact
    verdict: str
    """`replaces` or `conflicts`."""
    probability: float
    residue: str = ""
    """What the older fact says besides; empty when nothing is left of it."""
    reason: str = ""


def judge(message: str, olds: Sequence[KnownFact], model: ReplacementModel) -> list[Finding]:
    """What a message of the user replaces among the older facts, the newest first, or may contradict."""
    # A question states nothing: "Where do I live now?" replaces nothing. Nor does a text that is only passed on: an
    # error message, a text to be translated, somebody else's "I".
    if is_quoted_text(message) or is_role_play(fold(message)):
        return []
    message = stated_part(own_words(with_chinese_commas(message)))
    if not message or all(map(is_small_talk, sentences(message))) or _REMINDS.match(fold(message)):
        return []
    over = _over(message, olds, model)
    return _judge_statement(message, olds, model) if over is None else over


def _over(message: str, olds: Sequence[KnownFact], model: ReplacementModel) -> list[Finding] | None:
    """What a message ends that names what is over, and what else it replaces; `None` where it names nothing."""
    over, reason = ended(message, [old.entry for old in olds])
    if over:
        ends_all = [(olds[place], left_of_ended(message, olds[place].entry.content)) for place in over]
        return [Finding(old, REPLACES, 1.0, left, reason) for old, left in ends_all]
    # A clause that says what stays as it was must not be read as a change.
    message = without_unchanged(message)
    gone = given_up(message, [old.entry for old in olds])
    if not gone:
        return None
    over_now = [
        Finding(olds[place], REPLACES, 1.0, _left_of_given_up(message, olds[place], left, model), "it is over")
        if left is not None
        else Finding(olds[place], CONFLICTS, _UNSURE, reason="it or another one is over")
        for place, left in gone.items()
    ]
    rest = without_given_up(message)
    others = [old for place, old in enumerate(olds) if place not in gone]
    return over_now + (judge(rest, others, model) if rest and others and _says_change(fold(rest)) else [])


def _left_of_given_up(message: str, old: KnownFact, left: str, model: ReplacementModel) -> str:
    """What is left of a fact about something that is given up: whole clauses are judged as after any other change."""
    pieces = [piece.strip(" ,，；;、。.") for piece in pieces_of(old.entry.content)]
    if len(pieces) < 2 or (left and not any(piece in left for piece in pieces)):
        return left
    judged = _residue(model.read_message(message), old, model, message, 1.0)
    # The part that names what is over goes, whatever is judged of the others.
    over = [piece for piece in pieces if left and piece not in left]
    return left if judged is None or any(piece.removesuffix(" and") in judged for piece in over) else judged


def _judge_statement(message: str, olds: Sequence[KnownFact], model: ReplacementModel) -> list[Finding]:
    """The same for what a message states, where it names nothing that is over."""
    whole, message = message, without_unchanged(message)
    folded = fold(message)
    new = model.read_message(message)
    change = model.change(new)
    if not olds or change < _NO_CHANGE:
        return []
    texts = model.read([old.entry.content for old in olds])
    barred = forbidden(message, [text.text for text in texts])
    evidence = evidence_of(new, olds, texts)
    matches = model.attributes(new, texts)
    likely, by_features = model.replaces(new, texts, evidence, message_evidence(folded), matches)
    likely = [0.0 if bars else value for value, bars in zip(likely, barred, strict=True)]
    of_others = [asks_something_else(message, text.text) for text in texts]
    of_pairs = model.of_pairs(new, texts)
    min_values = [
        _OF_OTHER_REQUEST if of_other else min_probability_for(new, text, found, match)
        for text, found, match, of_other in zip(texts, evidence, matches, of_others, strict=True)
    ]
    tells = change >= _TELLS_CHANGE and sum(map(len, new.lexical.terms)) >= _TELLING_CHARACTERS
    among = _AMONG[min(barred.count(False), len(_AMONG) - 1)] if tells else 0.0
    of_parts = _OF_PARTS if tells else 0.0
    values = [
        value if value >= (needed - among if needed <= CERTAIN else needed) else min(value, _UNSURE)
        for value, needed in zip(likely, min_values, strict=True)
    ]
    min_value = SAID if _says_change(folded) else CERTAIN
    enough = [
        min_value - max(_easier(folded, found, match), among, of_parts if len(pieces_of(text.text)) > 1 else 0.0)
        for text, found, match in zip(texts, evidence, matches, strict=True)
    ]
    # Plain words for a change are enough by themselves, unless the network is sure of the contrary.
    plain = _says_change(folded) or _RECONSIDERS.search(folded) is not None
    certain = [
        is_certain(new, text, found)
        or is_changed_attribute(new, text, found, match)
        or (bool(found.same_subject) and takes_back(message, text.text))
        or (plain and feature >= max(needed, doubted) and of_pair > _AGAINST)
        for text, found, match, feature, of_pair, needed, doubted in zip(
            texts, evidence, matches, by_features, of_pairs, enough, min_values, strict=True
        )
    ]
    values = [
        max(value, CERTAIN) if sure and not bars else value
        for value, sure, bars in zip(values, certain, barred, strict=True)
    ]
    differs = only_differs(message)
    values = [
        min(value, _UNSURE) if differs or one_of_several(message, text.text) else value
        for value, text in zip(values, texts, strict=True)
    ]
    ordered = sorted(range(len(olds)), key=lambda place: (-values[place], place))
    findings: list[Finding] = []
    for number, place in enumerate(ordered):
        value, old = values[place], olds[place]
        if value >= (_BEYOND_DOUBT if number else enough[place]):
            residue = _residue(new, old, model, whole, value)
            if residue is None:
                findings.append(Finding(old, CONFLICTS, value, reason="a part of it has changed"))
            else:
                findings.append(Finding(old, REPLACES, value, residue, "the same subject and attribute have changed"))
    if not findings:
        likely = [0.0 if of_other else value for value, of_other in zip(likely, of_others, strict=True)]
        place = max(range(len(olds)), key=lambda place: (likely[place], -place))
        return _linked(new, olds[place], matches[place], min_values[place], likely[place], change)
    gone = [finding.known for finding in findings if finding.verdict == REPLACES]
    same = [texts[place] for place, old in enumerate(olds) if any(old is each for each in gone)]
    for place, text in enumerate(texts):
        if barred[place] or of_others[place] or not any(_of_one_attribute(text, each) for each in same):
            continue
        if all(finding.known is not olds[place] for finding in findings):
            findings += _linked_alone(new, olds[place], text, change, model)
    return findings


def _linked_alone(
    new: ComparedText, old: KnownFact, text: ComparedText, change: float, model: ReplacementModel
) -> list[Finding]:
    """What a message that replaces another fact means for one about the same attribute, as if there were no other.

    "The dentist and the physio are both on Thursday now".
    """
    (found,), (match,) = evidence_of(new, [old], [text]), model.attributes(new, [text])
    (value,), _ = model.replaces(new, [text], [found], message_evidence(new.folded), [match])
    # A message that has replaced something already is most likely about that alone.
    if value < CERTAIN:
        return []
    return _linked(new, old, match, min_probability_for(new, text, found, match), value, change)


def _linked(
    new: ComparedText, old: KnownFact, match: AttributeMatch, min_value: float, likely: float, change: float
) -> list[Finding]:
    """The link of a message with a fact that it may contradict, if it may."""
    enough = likely >= _min_for_conflict(match, min_value) and change >= _MAY_CHANGE
    may = _may_contradict(new.text, old.entry.content, enough, likely)
    return [Finding(old, CONFLICTS, likely, reason="this may contradict it")] if may else []


def _of_one_attribute(one: ComparedText, other: ComparedText) -> bool:
    """Whether two facts are most likely about the same attribute."""
    return float(np.sqrt(one.attributes[-1]) @ np.sqrt(other.attributes[-1])) >= _ONE_ATTRIBUTE


def _min_for_conflict(match: AttributeMatch, min_value: float) -> float:
    """From which probability on a message may contradict a fact that it does not replace."""
    if min_value >= MIN_IN_DOUBT:
        return MIN_IN_DOUBT
    return _POSSIBLE_OF_ATTRIBUTE if match.same >= _RELATED else POSSIBLE


def _may_contradict(message: str, fact: str, likely: bool, value: float) -> bool:  # noqa: FBT001
    """Whether both are to be linked: where it is likely enough, or where the message denies what the fact says."""
    denied = value >= _DENIED and denies(message, fact)
    return (likely or denied) and not is_no_conflict(message, fact)


def _says_change(folded: str) -> bool:
    return any(told(folded) for told in (is_mistake, is_strong_change, ends, changes))


def _easier(folded: str, evidence: PairEvidence, match: AttributeMatch) -> float:
    """How much less is enough because it is plain that a message and an older fact speak of the same."""
    reconsiders = is_mistake(folded) or _RECONSIDERS.search(folded) is not None
    if reconsiders or (is_strong_change(folded) and evidence.names_it):
        return _NAMED
    return _EASIER if match.same >= _SAME_ATTRIBUTE and evidence.same_subject else 0.0


def evidence_of(message: ComparedText, olds: Sequence[KnownFact], texts: Sequence[ComparedText]) -> list[PairEvidence]:
    """What speaks for and against that a message replaces each of the older facts."""
    relations = compared_subjects(message.text, [text.text for text in texts])
    return [
        pair_evidence(message, text, subject_of_fact(old.entry), relation, newest=place == 0)
        for place, (old, text, relation) in enumerate(zip(olds, texts, relations, strict=True))
    ]


def supports(message: str, old: KnownFact, model: ReplacementModel) -> Finding | None:
    """What becomes of a correction that a model proposes: the same law, for one older fact."""
    folded = fold(message)
    if only_asks(message) or (adds(folded) and not is_strong_change(folded) and not is_mistake(folded)):
        return None
    new, (other,) = model.read_message(message), model.read([old.entry.content])
    theirs = subject_of_fact(old.entry)
    apart = about_different_things(message, other.text) or forbids(message, other.text)
    if apart or not same_subject(new, other, theirs, newest=False):
        return None
    evidence, matches = evidence_of(new, [old], [other]), model.attributes(new, [other])
    _, (value,) = model.replaces(new, [other], evidence, message_evidence(folded), matches)
    if value >= _PROPOSED and not is_temporary(folded):
        residue = _residue(new, old, model, message, value)
        if residue is None:
            return Finding(old, CONFLICTS, value, reason="proposed, and a part of it has changed")
        return Finding(old, REPLACES, value, residue, "proposed, and subject and attribute agree")
    return Finding(old, CONFLICTS, value, reason="proposed, but subject and attribute are not certain")


def rest_if_replaced(message: str, old: KnownFact, model: ReplacementModel) -> str | None:
    """What is left of an older fact when somebody says that a message takes its place, as after any correction.

    Empty when nothing is; `None` where that cannot be told from what is replaced.
    """
    said = in_first_person(message)
    return _residue(model.read_message(said), old, model, said, 0.0)


def _residue(new: ComparedText, old: KnownFact, model: ReplacementModel, whole: str, likely: float) -> str | None:
    """What the older fact says besides the part that is replaced: whole clauses of it, with its subject.

    `whole` is the message with what it says has not changed, `likely` how surely it replaces something of the fact.

    `None` where it says more, and no border of a clause separates that from the replaced part: nothing is put together
    anew, and nothing of it is lost. Only the day of an appointment is cut out of a clause that has an hour too.
    """
    pieces = pieces_of(old.entry.content)
    said = new.text
    if len(pieces) < 2:
        return _left_of_clause(said, whole, old.entry.content, likely)
    message, bare = anonymous(without_unchanged(said), pieces)
    parts = model.read(bare)
    new = model.read_message(message)
    ending = ends(new.folded)
    others = {place for place, apart in enumerate(other_things(said, pieces)) if apart}
    outdated = model.outdated(new, parts)
    named = [bool(shared_words(new, part)) for part in parts]
    values = with_named(model.pieces(new, parts), named)
    values = [value + _OF_OUTDATED * log_odds(share) for value, share in zip(values, outdated, strict=True)]
    gone = replaced_piece(pieces, values, others)
    enough = _OUTDATED_BESIDE_NAMED if named.count(True) == 1 else _OUTDATED
    going = {place for place, share in enumerate(outdated) if share >= enough and place not in others} | {gone}
    if max(outdated) < _UNCLEAR and probability_of(values, gone, others | describing(parts, gone)) < _PIECE:
        return None
    if gone + 1 < len(pieces) and (
        _CONTINUES.search(parts[gone + 1].folded) or (ending and only_describes(parts[gone + 1], parts[gone]))
    ):
        going.add(gone + 1)
    if not ending or changes(new.folded):
        of_clause = _left_of_clause(said, whole, pieces[gone], likely)
        if of_clause is None:
            return None
        if of_clause:
            # The blank before the next part belongs to the part.
            pieces[gone] = of_clause + pieces[gone][len(pieces[gone].rstrip()) :]
            going -= {gone}
    left = without_pieces(pieces, going)
    if not left and any(tells_its_own(parts[n], parts[gone]) for n in range(len(pieces)) if n not in going):
        # 西坡种李子，请了两个长工: who did, only the part before tells.
        return None
    return left


def _left_of_clause(message: str, whole: str, clause: str, likely: float) -> str | None:
    """What is left of a clause of which something is replaced; `None` where that cannot be told."""
    stays = keeps_some_of(whole, clause)
    left = without_day(message, clause, same_hour=stays)
    if left is not None:
        return left
    return None if stays or says_more(message, clause, figures=likely < _BEYOND_DOUBT) else ""


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
