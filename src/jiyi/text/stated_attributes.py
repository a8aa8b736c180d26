"""Which attribute of a person a question asks for, and which a text states: name, age, home, work, diet and the like.

"Where do I live?" and "We moved into the house in Harrogate" share no word. Both get the same term, `@home`, which is
looked for like a word: it tells the texts that state a home from the others. The attributes of a speaker's people have
terms of their own (`@home.sister`): "where do I live?" is not answered by where a sister lives.

Questions are read strictly: a term that was not asked for would count against every answer. Texts are read widely,
because a term that nobody asks for does nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from jiyi.model.claim import USER
from jiyi.text.attribute_forms import ATTRIBUTES, may_ask_for
from jiyi.text.normalize import fold
from jiyi.text.patterns import grouped_by_boundary
from jiyi.text.questions import hands_over_text, question_share
from jiyi.text.sentences import sentences
from jiyi.text.statements.about.subjects import SUBJECT_WORDS, canonical, named_subject, relations_like
from jiyi.text.substrings import SubstringSet

__all__ = ["asked_attributes", "stated_attributes"]

_SIGN: Final = "@"
"""No word begins with it."""
_MAX_TEXT: Final = 1_000
"""A longer text is about more than one person's attributes, and would take long to read."""
_MAX_QUESTION: Final = 120
"""What is longer says more than what it asks."""
_BREAK: Final = re.compile(r"[，。！？；,.!?;:：\n]\s*|\s[-–—]+\s|而且|但是?|不过")


def asked_attributes(question: str, cued: Sequence[str] | None = None) -> tuple[str, ...]:
    """The terms of the attributes that a question asks for; none where it asks for no person's attribute.

    `cued` is what `may_ask_for` has found in it, for a caller that has asked already.
    """
    if len(question) > _MAX_QUESTION:
        return ()
    folded = fold(question)
    names = [name for name in (may_ask_for(folded) if cued is None else cued) if _asking(name).search(folded)]
    whose = _whose(folded) if names else []
    found = [(name, person) for name in names for person in whose]
    # "Do I have a dog?" asks for what the speaker has.
    had = [name for name in names if name in _HAD]
    if had:
        mine = [(name, USER) for name in had if _MINE.search(folded)]
        found = [each for each in found if each[0] not in _HAD] + mine
    if not _OWN_NAME.search(folded):
        # Somebody of whom no relation is known: "what is my physio called?"
        found = [each for each in found if each != ("name", USER)]
    return tuple(_term(*each) for each in found)


def stated_attributes(text: str, asks: float | None = None) -> tuple[str, ...]:
    """The terms of the attributes that a text states, of its speaker or of their people, each once.

    `asks` is its `question_share`, for a caller that knows it already.
    """
    if len(text) > _MAX_TEXT:
        return ()
    cued = _cued(fold(text))
    found = list(_stated(text, cued)) if cued else []
    if not found or hands_over_text(text):
        return ()
    if (question_share(text) if asks is None else asks) > _ASKS_ONLY:
        return ()
    return tuple(dict.fromkeys(_term(name, person) for name, person in found))


def _term(name: str, person: str) -> str:
    return f"{_SIGN}{name}" if person == USER else f"{_SIGN}{name}.{person.replace(' ', '-')}"


def _cued(folded: str) -> list[str]:
    """The attributes of which a folded text has a cue."""
    cues, names = _cues()
    found = {name for cue in cues.found_in(folded) for name in names[cue]}
    return [name for name in ATTRIBUTES if name in found] if found else []


@cache
def _cues() -> tuple[SubstringSet, dict[str, list[str]]]:
    """The cues of all attributes, and of which each is one."""
    names: dict[str, list[str]] = {}
    for name, forms in ATTRIBUTES.items():
        for cue in forms.cues:
            names.setdefault(cue, []).append(name)
    return SubstringSet(names), names


@cache
def _asking(name: str) -> re.Pattern[str]:
    return re.compile(ATTRIBUTES[name].asked)


@cache
def _stating(name: str) -> re.Pattern[str]:
    return re.compile(grouped_by_boundary(ATTRIBUTES[name].stated))


def _whose(folded: str) -> list[str]:
    """Whose attribute a question asks for: the speaker's, or that of whoever its last relation may be."""
    relations = [person for _, person in _anchors(folded) if person != USER]
    if relations:
        return relations_like(relations[-1])
    return [USER] if _MINE.search(folded) else []


def _introduced(text: str) -> Iterator[tuple[str, str]]:
    """Names, and an age beside one, by their capital letters."""
    if _INTRODUCES.search(text) and not _NO_INTRODUCTION.search(text):
        yield "name", USER
        if _AGE_BESIDE_NAME.search(text):
            yield "age", USER
    for match in _named().finditer(text):
        yield "name", canonical(match["of"])


def _stated(text: str, cued: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Attribute and person; `cued` are the attributes of which the text has a cue."""
    if "name" in cued:
        yield from _introduced(text)
    parts = sentences(text)
    for sentence in parts:
        folded = fold(sentence)
        # Most sentences have a cue and state nothing: that is known before they are taken apart.
        looked_for = cued if len(parts) == 1 else _cued(folded)
        names = [name for name in looked_for if _stating(name).search(folded)]
        if names:
            yield from _stated_in(sentence, folded, names)


def _stated_in(sentence: str, folded: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    anchors: list[tuple[int, str]] | None = None
    breaks = [0, *(match.end() for match in _BREAK.finditer(folded)), len(folded)]
    for start, end in pairwise(breaks):
        clause = folded[start:end]
        matches = [(name, said) for name in names if (said := _stating(name).search(clause))] if clause else []
        if not matches or (len(folded) == len(sentence) and named_subject(sentence[start:end])):
            continue
        if _NOT_SO.search(clause):
            continue
        # Many sentences are about somebody who is named, and need none.
        anchors = _anchors(folded) if anchors is None else anchors
        for name, said in matches:
            before = [person for place, person in anchors if place < start + said.start()]
            person = before[-1] if before else USER
            if person and not (person == USER and said[0].startswith(_OF_SOMETHING)):
                yield name, person


def _anchors(folded: str) -> list[tuple[int, str]]:
    """Where a text says whom the words after it are about; nobody known where a pronoun stands for no relation."""
    found: list[tuple[int, str]] = []
    relation = ""
    for match in _anchor().finditer(folded):
        word = match["of"] or match["owned"] or match["of_zh"] or match["owned_zh"]
        if word:
            relation = canonical(word)
        found.append((match.start(), relation if word or match["pronoun"] or match["pronoun_zh"] else USER))
    return found


@cache
def _anchor() -> re.Pattern[str]:
    words = sorted(SUBJECT_WORDS, key=len, reverse=True)
    alone = [word for word in words if canonical(word) not in _ONLY_OWNED and (len(word) > 1 or word in _ONE_CHARACTER)]
    owned_en, owned_zh = _alternatives(words)
    alone_en, alone_zh = _alternatives(alone)
    first_zh = "".join(sorted({word[0] for word in alone if not word.isascii()}))
    # Nothing begins inside a Latin word, and few Chinese characters begin one of the others.
    return re.compile(
        rf"\b(?:(?:my|our)(?: \w+){{0,2}}? (?P<owned>{owned_en})(?=(?:'s|s)?\b)|(?P<of>{alone_en})(?=(?:'s|s)?\b)"
        r"|(?P<pronoun>(?:he|she|they|he's|she's|they're|his|her|their)\b)"
        r"|(?:i|we|i'm|i've|i'd|we're|we've|im|ive|myself)\b)"
        rf"|(?=[我咱俺他她{first_zh}])"
        rf"(?:我(?:们|家)?的?(?P<owned_zh>{owned_zh})|(?P<of_zh>{alone_zh})|(?P<pronoun_zh>[他她])|我|咱|俺)"
    )


@cache
def _named() -> re.Pattern[str]:
    """Read from the text as it was written: a name begins with a capital letter."""
    words, _ = _alternatives(sorted(SUBJECT_WORDS, key=len, reverse=True))
    return re.compile(rf"\b(?:[Mm]y|[Oo]ur) (?:\w+ ){{0,2}}?(?P<of>{words}),? [A-Z][a-z]+")


def _alternatives(words: Sequence[str]) -> tuple[str, str]:
    """Those in Latin letters, and the others."""
    latin = [re.escape(word) for word in words if word.isascii()]
    return "|".join(latin), "|".join(re.escape(word) for word in words if not word.isascii())


_ASKS_ONLY: Final = 0.9
_OF_SOMETHING: Final = ("named", "called")
"""Not said of the speaker: "a hill called Box Hill"."""
_OWN_NAME: Final = re.compile(
    r"\b(?:my|our)(?: (?:own|full|first|last|real|actual|middle|whole))? (?:name|surname)\b|\bwho am i\b"
    r"|\bam i called\b|\bcall me\b"
    r"|我(?:的|本人|到底|究竟|真|全|大|自己|应该|现在)*(?:名字?|叫|姓|是谁)|称呼我"
)
_HAD: Final = frozenset({"children", "pet"})
_MINE: Final = re.compile(r"\b(?:i|my|me|we|our|i'm|i've)\b|我|咱|俺|本人")
_ONLY_OWNED: Final = frozenset(
    {
        *("teacher", "boss", "senior", "colleague", "classmate", "assistant", "drummer", "friend", "neighbour"),
        *("landlord", "apprentice", "childminder", "partner", "ex"),
    }
)
"""Relations whose words also name a profession or anybody: only "my teacher" is one of the speaker's people."""
_ONE_CHARACTER: Final = "妈爸姐妹哥弟狗猫娃"
_NOT_SO: Final = re.compile(
    r"\b(?:if|would|i'd|we'd|wish|want to|wanna|might|could|hope to|hoping to|dream|thinking (?:of|about)|imagine"
    r"|pretend)\b|如果|要是|假如|想(?:去|要|搬|当|养|学|买)|打算|希望|梦想|考虑"
)
"""What is only wished for or supposed."""
_INTRODUCES: Final = re.compile(
    r"\b(?:I'?m|I’m|I am|[Tt]his is|[Ii]t's) [A-Z][a-z]+(?: [A-Z][a-z]+)?"
    r"(?=$|[,.!;]| and\b| from\b| here\b| by the way\b| btw\b)"
)
_NO_INTRODUCTION: Final = re.compile(
    r"\b(?:I'?m|I’m|I am|[Ii]t's|[Tt]his is) (?:So|Not|In|At|On|Also|OK|Ok|Sorry|Fine|Back|Just|Still|Now|\w+day)\b"
)
_AGE_BESIDE_NAME: Final = re.compile(r"\b(?:I'?m|I’m|I am) [A-Z][a-z]+, \d{1,2}\b")
