"""The sets of bench.judgement: where they are, and when a text holds a labelled fact."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from jiyi.text import fold

SETS = Path(__file__).parent / "sets" / "judgement"
WRITERS = ("a", "b", "c", "d", "e", "eq", "f", "g", "h", "i", "t5", "t7", "j", "k", "m", "n", "o", "p", "q", "t9", "u")
MEASURED = ("r",)
"""The writer that nothing was learned from. Its totals choose between versions; `s` is left for the last report."""
LANGUAGES = ("zh", "en")
TRAINING = ("t", "t2", "t3", "t4", "t6", "t8", "t10", "t11")
"""The sets that were written to learn from: they are never measured with."""
_DOMAINS = {
    "p": "user_preferences",
    "w": "professional_and_academic",
    "l": "lifestyle_and_interests",
    "s": "social_and_relationships",
    "t": "tasks_and_schedules",
}
SPLITS = ("dev", "held_out")
ATTRIBUTES = "attributes"
PEOPLE = "people"
UNLEARNED_PEOPLE = "people/unlearned"
VALUES = "values"
_PAIRS_OF_VALUES = {"one": 4, "many": 3}
"""How many statements of a group are taken as messages after another one."""


def load(what: str, split: str, writers: Sequence[str], language: str) -> list[dict[str, Any]]:
    """The items of a set: `rounds` or `sequences`; `all` splits or one. Not every writer has both splits."""
    found: list[dict[str, Any]] = []
    for writer in writers:
        for each in SPLITS if split == "all" else (split,):
            path = SETS / writer / f"{what}.{language}.{each}.jsonl"
            if path.exists():
                found += [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return found


def statements() -> list[tuple[str, str]]:
    """(domain, "+" for an unknown one, or "-" for what is not worth keeping; text) of everything to learn from."""
    lines = (SETS / "statements.tsv").read_text("utf-8").splitlines()
    lines += _training_lines("statements.{}.tsv")
    return _labelled(lines)


def facts_of_domains() -> list[tuple[str, str]]:
    """(domain, text) of facts that tell about domains alone: some say nothing without the facts beside them."""
    return _labelled(_training_lines("domains.{}.tsv"))


def _labelled(lines: Sequence[str]) -> list[tuple[str, str]]:
    rows = [line.split("\t", 1) for line in lines if line and not line.startswith("#")]
    return [(_DOMAINS.get(row[0], row[0]), row[1]) for row in rows]


def changes() -> list[str]:
    """Lines of what was known, and what is said next: see the head of changes.txt for their form."""
    lines = (SETS / "changes.txt").read_text("utf-8").splitlines()
    lines += _training_lines("changes.{}.txt")
    return [line for line in lines if line and not line.startswith("#")]


@dataclass(frozen=True, slots=True)
class AttributeLine:
    """A fact of one attribute, and what may be said next."""

    writer: str
    language: str
    attribute: str
    old: str
    """What the change replaces stands in brackets where there is more."""
    change: str
    end: str
    """Empty where such a fact cannot end without another in its place."""
    beside: str
    """A message that replaces nothing of it."""


def attribute_lines() -> list[AttributeLine]:
    """All lines of the folder `attributes`."""
    found = []
    for path in sorted((SETS / ATTRIBUTES).glob("*.tsv")):
        for line in path.read_text("utf-8").splitlines():
            attribute, old, change, end, beside = (field.strip() for field in line.split("\t"))
            writer = f"{ATTRIBUTES}/{path.stem}"
            found.append(AttributeLine(writer, path.stem[:2], attribute, old, change, end.strip("-"), beside))
    return found


def attributes() -> dict[str, bool]:
    """The attributes, and of each whether people have one of it at a time."""
    lines = (SETS / ATTRIBUTES / "attributes.txt").read_text("utf-8").splitlines()
    return {name: how == "one" for name, how in (line.split("\t") for line in lines if not line.startswith("#"))}


def _training_lines(name: str) -> list[str]:
    """The lines of one kind of file in all training sets. Not every set has every kind in both languages."""
    paths = [SETS / folder / name.format(language) for folder, language in product(TRAINING, LANGUAGES)]
    return [line for path in paths if path.exists() for line in path.read_text("utf-8").splitlines()]


def domains_of(fact: Mapping[str, Any]) -> list[str]:
    """The domains that are right for a labelled fact, the best first."""
    named = fact["domain"]
    return [named] if isinstance(named, str) else list(named)


def holds(must: Sequence[str | Sequence[str]], text: str) -> bool:
    """Whether a text has every part, or one of its alternatives; figures must stand alone."""
    folded = fold(text)
    return all(any(_has(part, folded) for part in ([each] if isinstance(each, str) else each)) for each in must)


def _has(part: str, folded: str) -> bool:
    wanted = fold(part)
    if wanted.isdecimal():
        return re.search(rf"(?<!\d){wanted}(?!\d)", folded) is not None
    return wanted in folded


@dataclass(frozen=True, slots=True)
class PersonMessage:
    """What an invented person says after some facts, and which of those do not hold any more then."""

    place: str
    """The file and the line."""
    language: str
    facts: tuple[str, ...]
    text: str
    gone: tuple[str, ...]
    """The parts of facts that do not hold any more."""


def messages_of_people(folder: str = PEOPLE) -> list[PersonMessage]:
    """All messages of a folder but those that an honest reader could not be sure of."""
    return [message for path in sorted((SETS / folder).glob("*.txt")) for message in _messages_in(path)]


def _messages_in(path: Path) -> list[PersonMessage]:
    language = path.stem[:2]
    between = " " if language == "en" else ""
    found = []
    facts: dict[str, list[str]] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if line.startswith("#"):
            facts = {}
        elif line.startswith(">"):
            text, _, label = line[1:].rpartition("=>")
            if "?" not in label:
                gone = tuple(part for name in label.split() for part in _named_parts(name, facts))
                told = tuple(between.join(parts) for parts in facts.values())
                found.append(PersonMessage(f"{path.name}:{number}", language, told, text.strip(), gone))
        elif line.strip():
            name, _, told_fact = line.partition(" ")
            facts[name] = [part.strip() for part in told_fact.split("|")]
    return found


def _named_parts(name: str, facts: Mapping[str, Sequence[str]]) -> list[str]:
    """The parts that a label names: `2` is all of a fact, `2b` its second part, `2ac` its first and third."""
    number = name.rstrip("abcdefgh")
    places = [ord(letter) - ord("a") for letter in name[len(number) :]]
    return [facts[number][place] for place in places] if places else list(facts[number])


def messages_of_values(folder: str = VALUES) -> list[PersonMessage]:
    """The groups of statements with different values of one attribute, as messages after facts.

    Where people have one value at a time, a statement makes the one before it outdated; where they have many, and for
    what stands behind `||`, nothing changes.
    """
    return [message for path in sorted((SETS / folder).glob("*.txt")) for message in _messages_of_groups(path)]


def _messages_of_groups(path: Path) -> list[PersonMessage]:
    chance = random.Random(path.name)
    language = path.stem[:2]
    groups: list[tuple[str, list[str], list[str]]] = []
    for line in path.read_text("utf-8").splitlines():
        how, _, told = line.partition(":")
        if how in _PAIRS_OF_VALUES:
            first, _, second = told.partition("||")
            values, beside = ([part.strip() for part in each.split("|") if part.strip()] for each in (first, second))
            groups.append((how, values, beside))
    found = []
    for number, (how, values, beside) in enumerate(groups):
        # Lines that stand near are about other attributes or other people.
        near = [group for group in groups[max(0, number - 20) : number + 20] if group[1] is not values]
        pairs = [(old, new) for old in values for new in values if old is not new]
        pairs = chance.sample(pairs, min(len(pairs), _PAIRS_OF_VALUES[how]))
        pairs += [(chance.choice(values), each) for each in beside]
        for old, text in pairs:
            others = [
                chance.choice(group[1]) for group in chance.sample(near, min(len(near), chance.choice((0, 0, 1, 3))))
            ]
            others += [each for each in chance.sample(beside, chance.randint(0, 1)) if each != text]
            facts = [old, *others]
            chance.shuffle(facts)
            gone = (old,) if how == "one" and text in values else ()
            found.append(PersonMessage(f"{path.name}:{number + 1}", language, tuple(facts), text, gone))
    return found
