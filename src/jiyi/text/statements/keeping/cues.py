"""What a person states that is worth remembering, found by rules in Chinese and English.

A sentence that asks, imagines, quotes, passes the time or gives orders to the memory itself states nothing. Of the rest
each is held against the tables of `cue_rules`: the first rule that matches names the kind, and the words of the
sentence may move its domain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jiyi.text.code_spans import inline_code, only_code, without_code_blocks
from jiyi.text.normalize import fold
from jiyi.text.sentences import sentences
from jiyi.text.statements.keeping.cue_rules import DOMAIN_WORDS, DOMAINS, RULES, Domain, Kind, Rule
from jiyi.text.statements.keeping.evidence import has_date, weigh
from jiyi.text.statements.keeping.non_statements import (
    ANNOUNCES,
    HYPOTHETICAL,
    LEAD_IN,
    PASSING,
    QUESTION,
    TASK_FOR_NOW,
)
from jiyi.text.statements.keeping.off_record import without_off_record
from jiyi.text.statements.keeping.others_matters import without_matters_of_others
from jiyi.text.statements.keeping.smalltalk import is_small_talk
from jiyi.text.statements.keeping.steering import without_steering

__all__ = ["DOMAINS", "CueMatch", "Domain", "Kind", "find_statements"]


@dataclass(frozen=True, slots=True)
class CueMatch:
    """Something stated, in the words in which it was."""

    content: str
    kind: Kind
    confidence: float
    """How sure the rule is, 0 to 1."""
    domain: Domain
    importance: float
    """0 to 1; from 0.7 on worth keeping."""


_MAX_TEXT: Final = 40_000
_MAX_SENTENCE: Final = 400  # what is longer was pasted, not said
_MAX_STATEMENTS: Final = 20
_STANDING: Final = frozenset({"instruction", "preference", "health", "decision", "date"})
# A sentence may hold several of these side by side: 我叫李雷，对花生过敏.
_APART: Final = frozenset({"health", "identity", "relation", "decision", "preference", "date"})

_QUOTED: Final = re.compile(
    r"\u201c[^\u201d]*(?:\u201d|\Z)|\u300c[^\u300d]*\u300d|\u300e[^\u300f]*\u300f|\"[^\"\n]*\"|^\s*>.*$", re.MULTILINE
)
_CLAUSE: Final = re.compile(r"[，；,;]\s*(?:and |but |so |而且|并且|另外|还有)?")
_HAPPENS: Final = re.compile(
    r"考试|面试|会议|开会|出差|答辩|体检|手术|婚礼|聚会|航班|演出|出发|报到|入学|交房|发布|验收|复诊|家长会"
    r"|\b(?:exam|interview|meeting|flight|wedding|surgery|appointment|party|delivery|conference|launch|release|trip|visit"
    r"|check-?up|presentation|hearing|recital|game|match|coming|arrives?|starts?|begins?|opens?)\b"
)
_BY_DATE: Final = Rule("date", "tasks_and_schedules", 0.75, 0.7, re.compile(""), lasting=False)


def find_statements(text: str, *, speaker: str = "user") -> list[CueMatch]:
    """What the text states that may be worth remembering, in order, each once.

    Of a speaker other than the user only decisions count: an assistant's reply mostly repeats or explains.
    """
    text = text[:_MAX_TEXT]
    found: dict[str, CueMatch] = {}
    said = without_steering(without_off_record(without_code_blocks(text)))
    for sentence in sentences(without_matters_of_others(said)):
        for statement in _statements(sentence):
            if speaker == "user" or statement.kind == "decision":
                found.setdefault(fold(statement.content), statement)
        if len(found) >= _MAX_STATEMENTS:
            break
    return list(found.values())[:_MAX_STATEMENTS]


# --- one sentence -----------------------------------------------------------------------------------------------------


def _statements(sentence: str) -> Iterator[CueMatch]:
    if len(sentence) > _MAX_SENTENCE or is_small_talk(sentence) or only_code(sentence):
        return
    plain = _without_code(_without_quotes(sentence))
    rule = _rule_for(plain)
    if rule is None:
        return
    parts = list(_side_by_side(sentence, plain)) if rule.kind in _APART else []
    if len(parts) > 1:
        for part, part_rule in parts:
            yield _made(part, part_rule)
    else:
        yield _made(sentence, rule)


def _without_quotes(sentence: str) -> str:
    return _QUOTED.sub(lambda quoted: "□" * len(quoted[0]), sentence)


def _without_code(sentence: str) -> str:
    """The sentence with signs in the place of inline code: its words are no cues."""
    for start, end in inline_code(sentence):
        sentence = f"{sentence[:start]}{'□' * (end - start)}{sentence[end:]}"
    return sentence


def _rule_for(plain: str) -> Rule | None:
    """The rule that the sentence is stated by, unless it states nothing."""
    folded = fold(plain)
    if HYPOTHETICAL.search(folded):
        return None
    rule = next((rule for rule in RULES if rule.pattern.search(folded)), None)
    if rule is None and _HAPPENS.search(folded) and has_date(folded):
        rule = _BY_DATE
    if rule is None:
        rule = weigh(plain, folded)
    if rule is None:
        return None
    if QUESTION.search(folded) and not (rule.kind == "instruction" and _is_wish(folded)):
        return None
    if TASK_FOR_NOW.search(folded) and rule.kind != "instruction":
        return None
    if PASSING.search(folded) and not (rule.lasting and rule.kind in _STANDING):
        return None
    return rule


_WISH: Final = re.compile(r"^(?:please |could you |can you |would you )|能不能|可不可以|可以.{0,20}[吗么]")


def _is_wish(folded: str) -> bool:
    """A wish in the form of a question: "could you always …", 以后能不能…."""
    return _WISH.search(folded) is not None and not re.search(
        r"\b(?:can|could) you (?:remember|note)\b|能.{0,2}记住", folded
    )


def _side_by_side(sentence: str, plain: str) -> Iterator[tuple[str, Rule]]:
    """The clauses that each state something of another kind; what lies between belongs to the one before."""
    starts = [0, *(match.end() for match in _CLAUSE.finditer(plain))]
    places: list[tuple[int, Rule]] = []
    for start, end in zip(starts, [*starts[1:], len(plain)], strict=True):
        rule = _rule_for(plain[start:end].strip(" ，；,;"))
        if rule is not None and rule.kind in _APART and all(rule.kind != known.kind for _, known in places):
            places.append((start, rule))
    if not places:
        return
    places[0] = (0, places[0][1])
    for (start, rule), end in zip(places, [*(place for place, _ in places[1:]), len(sentence)], strict=True):
        yield sentence[start:end].strip(" ，；,;"), rule


def _made(content: str, rule: Rule) -> CueMatch:
    bare = LEAD_IN.sub("", ANNOUNCES.sub("", content)).strip() or content
    domain = rule.domain if rule.domain is not None else _domain(fold(bare), rule)
    if rule.kind == "preference" and _OF_ANOTHER.search(fold(bare)):
        domain = "social_and_relationships"
    return CueMatch(bare, rule.kind, rule.confidence, domain, rule.importance)


# 王总喜欢喝茅台, "Ingrid hates surprises": somebody else's taste.
_OF_ANOTHER: Final = re.compile(
    r"^(?!我|咱|就|最|还是|平时|其实|一直|只|特别|比较|从小|周末|每)[\u4e00-\u9fff]{1,4}?(?:很|特别|最|不|只|就)?(?:喜欢|讨厌|爱[吃喝看听])"
    r"|^(?!i\b|we\b)\w+ (?:really |absolutely )?(?:likes|loves|hates|prefers|dislikes|enjoys)\b"
)


def _domain(folded: str, rule: Rule) -> Domain:
    """The domain that most words speak for; the first of equals."""
    counts = [(len(pattern.findall(folded)), domain) for domain, pattern in DOMAIN_WORDS]
    best = max(count for count, _ in counts)
    if best == 0:
        return "professional_and_academic" if rule.kind == "decision" else "user_preferences"
    return next(domain for count, domain in counts if count == best)
