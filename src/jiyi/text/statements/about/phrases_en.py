"""What an English clause is about: the noun before its verb, or the thing that somebody changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jiyi.model.claim import USER
from jiyi.text.statements.about.phrase import SPEAKER, Phrase, relation
from jiyi.text.statements.about.phrase_words import (
    ADVERB_EN,
    CHANGE_VERB_EN,
    GENERIC,
    LEAD_EN,
    NO_WORDS_EN,
    NOT_A_NOUN_EN,
    REPORTS_EN,
    VERB_EN,
)
from jiyi.text.statements.about.subjects import canonical, is_relation

__all__ = ["PRONOUN_EN", "noun_phrase", "predicate_en", "read_en"]

_TOKEN: Final = re.compile(r"[A-Za-z0-9À-ÿ][\w.+#-]*(?:'(?!s\b)\w+)?(?:'s\b|s'(?=\s))?|[\u3400-\u9fff]+")
_MAX_TOKENS: Final = 9
_FIRST_EN: Final = re.compile(r"(?:i|we|me|us|myself|i'm|im|i've|ive|i'd|i'll|we're|we've|we'll|we'd)$")
PRONOUN_EN: Final = re.compile(
    r"(?:he|she|it|they|this|that|these|those|there|he's|she's|it's|they're|they've|that's|there's|its|hes|shes"
    r"|you|you're|your|it'll|he'll|she'll|they'll|that'll|let's|everyone|everything|nobody|nothing|somebody|someone|one|him|her|them)$"
)
_BASE_VERB: Final = re.compile(
    r"(?:live|work|go|come|get|make|give|want|like|love|hate|prefer|eat|drink|play|study|teach|use|run|drive|own|keep"
    r"|sleep|start|speak|wear|read|write|sing|pay|earn|know|walk|swim|smoke|cook|bake|knit|paint|grow|ride|sell|buy|watch"
    r"|listen|collect|volunteer|commute|cycle|climb|garden|type|train)"
)
_OWN: Final = frozenset({"my", "our"})
_AFTER_OWNER: Final = frozenset({"is", "was", "are", "were", "will"})
_OBJECT_END: Final = re.compile(
    r"(?:to|from|at|into|until|till|back|forward|by|down|up|out|off|for good|again|now|so|because)$"
)


def read_en(clause: str) -> Phrase | None:  # noqa: PLR0911
    """What an English clause is about; `None` where it does not tell."""
    text = LEAD_EN.sub("", clause).strip()
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    if not tokens:
        return None
    first = tokens[0].lower()
    verb = _verb_place(tokens)
    if _FIRST_EN.match(first) or PRONOUN_EN.match(first):
        thing = _object(tokens[1:])
        if thing is not None:
            return thing
        return SPEAKER if _FIRST_EN.match(first) else None
    if verb is None or verb == 0 or verb > _MAX_TOKENS:
        return None
    # "my manager rang", and not "my manager's called Raj".
    if REPORTS_EN.fullmatch(tokens[verb].lower()) and not tokens[verb - 1].endswith("'s"):
        return None
    if any(_FIRST_EN.match(token.lower()) for token in tokens[:verb]):
        # "At work I report to …".
        return SPEAKER
    if VERB_EN.fullmatch(first) or (first.endswith("ing") and verb > 1):
        # "Ditched keto", "doing keto since …": the speaker is left out.
        return None
    if tokens[verb - 1].endswith("'s") and tokens[verb].lower() in _AFTER_OWNER:
        # "Dad's is 3 March": what of his, the clause before tells.
        return None
    # "the rent's now 950": what belongs to nobody has no owner.
    subject = [*tokens[: verb - 1], re.sub(r"'s?$", "", tokens[verb - 1])]
    phrase = noun_phrase(subject)
    if phrase is not None and (thing := _object(tokens[verb:])) is not None:
        # "Dr Hale moved our sessions to Fridays" is about the sessions.
        return thing
    return phrase


def _verb_place(tokens: Sequence[str]) -> int | None:
    """Where the verb begins: the first word that can only be one, and has a noun before it."""
    noun = False
    for place, token in enumerate(tokens):
        lower = token.lower()
        if noun and (VERB_EN.fullmatch(lower) or ADVERB_EN.fullmatch(lower)):
            return place
        if lower.endswith("'s") and _contracted(tokens, place):
            return place + 1
        noun = noun or lower not in NO_WORDS_EN
    return None


def _contracted(tokens: Sequence[str], place: int) -> bool:
    """Whether 's stands for is or has: "the rent's now 950", not "Tom's birthday is"."""
    after = [token.lower() for token in tokens[place + 1 : place + 6]]
    if not after:
        return False
    if after[0].endswith("ing"):
        # "Tom's swimming again", and not "Tom's swimming coach is …".
        return not any(VERB_EN.fullmatch(word) for word in after[1:4])
    if VERB_EN.fullmatch(after[0]) or ADVERB_EN.fullmatch(after[0]) or NOT_A_NOUN_EN.fullmatch(after[0]):
        return True
    return not any(VERB_EN.fullmatch(word) or word.endswith("'s") for word in after[1:])


def noun_phrase(tokens: Sequence[str]) -> Phrase | None:
    """The thing that a noun with the words around it names."""
    owner, head, before = "", "", True
    words: list[str] = []
    for place, token in enumerate(tokens):
        lower = token.lower()
        if lower in _OWN and not words:
            owner = USER
            continue
        if lower.endswith(("'s", "s'")):
            name = lower.removesuffix("'s").rstrip("'")
            if before:
                owner = name
            words.append(relation(name) or name)
            continue
        if lower in {"of", "for", "to", "with", "at", "in", "on", "from", "by", "about"}:
            before = False
            continue
        if (
            lower in NO_WORDS_EN and not (place and token == "A")  # noqa: S105 - service A
        ) or lower in GENERIC:
            continue
        if not words and lower.isdecimal():
            continue
        words += _of_child(lower) or [relation(lower) or lower]
        if before:
            head = words[-1]
    if owner == USER and not words:
        return Phrase(owner=USER)
    if not words:
        return None
    person = is_relation(canonical(head) or head) or (len(words) == 1 and not owner and tokens[-1][:1].isupper())
    return Phrase(frozenset(words), owner, head or words[-1], person)


def _of_child(word: str) -> list[str]:
    """An eldest and a youngest are children, and not the same one."""
    return ["child", "eldest" if word == "oldest" else word] if word in {"eldest", "oldest", "youngest"} else []


def _object(tokens: Sequence[str]) -> Phrase | None:
    """The thing that somebody changes: "(they've) moved my flight to Oslo to …"."""
    for place, token in enumerate(tokens[:5]):
        if not CHANGE_VERB_EN.fullmatch(token.lower()):
            continue
        rest = tokens[place + 1 :]
        if not rest or rest[0].lower() not in {"my", "our", "the"}:
            return None
        taken: list[str] = []
        for number, word in enumerate(rest):
            lower = word.lower()
            if number and (VERB_EN.fullmatch(lower) or ADVERB_EN.fullmatch(lower)):
                break
            if _OBJECT_END.match(lower) and not (lower in {"to", "from", "at"} and _goes_on(rest, number)):
                break
            taken.append(word)
        return noun_phrase(taken) if 1 < len(taken) <= _MAX_TOKENS else None
    return None


def _goes_on(tokens: Sequence[str], place: int) -> bool:
    """Whether a preposition belongs to the noun: another one follows ("my flight to Oslo to the 8th")."""
    after = [word.lower() for word in tokens[place + 1 : place + 4]]
    return any(word in {"to", "from", "until", "till", "by"} for word in after[1:])


def predicate_en(clause: str) -> str | None:
    """A clause up to its verb ("I've got"), empty where it begins with one, `None` where it has none."""
    found: int | None = None
    for place, match in enumerate(_TOKEN.finditer(clause)):
        lower = match[0].lower()
        contracted = re.search(r"'(?:m|ve|re|d|ll)$", lower) is not None
        if VERB_EN.fullmatch(lower) or _BASE_VERB.fullmatch(lower) or contracted:
            if not place and not contracted:
                return ""
            found = match.end()
        elif found is not None and lower not in {"to", "also", "only", "really", "allergic"}:
            break
        elif found is not None:
            found = match.end()
    return None if found is None else clause[:found]
